"""One collection, one model, several methods: `gossamer eval compare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gossamer_lab.evaluate.measures import MAIN
from gossamer_lab.evaluate.run import BASELINE, result_row, results_table, run
from gossamer_lab.job import Job
from gossamer_lab.methods.rankers import method_of
from gossamer_lab.tables import Report

METHODS: Final = (
    BASELINE, "cosine@raw", "l2@pca", "bm25@words", "best-first@pca", "path-sum@pca", "guided@default",
    "hybrid@default",
)  # fmt: skip
"""The methods that are measured by default."""

_TIMES: Final = "Times: all queries in one call, when the ranking was made. The machine may be busy: read them loosely."


@dataclass(frozen=True)
class Wanted:
    """What to evaluate."""

    collection: str
    model: str = "minilm"
    methods: tuple[str, ...] = METHODS
    documents: int | None = None
    queries: int | None = None
    seed: int = 0
    keep_own: bool = False
    orders: int = 0
    baseline: str = BASELINE


def report(wanted: Wanted, job: Job) -> Report:
    """Load, embed, rank and measure."""
    for name in (*wanted.methods, wanted.baseline):
        method_of(name)  # an unknown name is an error before the work, not after
    data = job.embedded(
        wanted.collection, wanted.model, documents=wanted.documents, queries=wanted.queries, seed=wanted.seed,
        keep_own=wanted.keep_own,
    )  # fmt: skip
    task = job.prepared(data)
    results = run(task, wanted.methods, job.rankings, baseline=wanted.baseline, orders=wanted.orders, say=job.say)
    made, dim = data.collection, data.E.shape[1]
    sizes = f"{len(made):,} documents, {len(made.queries):,} queries"
    about = f"{made.name} ({made.about}), {sizes}, {data.model} vectors of {dim} dimensions"
    rows = [
        {**result_row(each), "build s": each.build, "ms a query": 1e3 * each.search / len(each.scores[MAIN])}
        for each in results
    ]
    table = results_table("results", f"{about}; baseline {wanted.baseline}", rows, [_TIMES])
    return job.report("compare", about, [table])
