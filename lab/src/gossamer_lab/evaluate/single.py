"""One collection, one model, several methods: what `gossamer eval run` does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from gossamer_lab.evaluate.datasets import Own, load
from gossamer_lab.evaluate.embed import Embedded, embed, from_files
from gossamer_lab.evaluate.methods import method_of
from gossamer_lab.evaluate.places import kept
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.run import BASELINE, DEFAULT, Say, run, silent
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.summary import query_by_query, table
from gossamer_lab.evaluate.tables import Report


@dataclass(frozen=True)
class Wanted:
    """What to evaluate."""

    collection: str
    model: str = "minilm"
    methods: tuple[str, ...] | None = None
    documents: int | None = None
    queries: int | None = None
    seed: int = 0
    own: Own = "drop"
    orders: int = 0
    baseline: str = BASELINE
    vectors: tuple[Path, Path] | None = None


def report(
    wanted: Wanted,
    *,
    folder: Path | None = None,
    cache: Path | None = None,
    fresh: bool = False,
    say: Say = silent,
    command: str = "",
) -> Report:
    """Load, embed, rank, measure."""
    start = time.perf_counter()
    names = wanted.methods or DEFAULT
    for name in (*names, wanted.baseline):
        method_of(name)  # complain before the work, not after
    where = kept(cache)
    data = prepare(wanted, folder=folder, cache=cache, say=say)
    task = Prepared(data, cache=where)
    results = run(task, names, Runs(where, fresh=fresh), baseline=wanted.baseline, orders=wanted.orders, say=say)
    title = f"{describe(data)}; baseline {wanted.baseline}"
    tables = [table("results", title, results)]
    each = query_by_query(data.collection.query_ids, results)
    return Report("run", command, describe(data), tables, time.perf_counter() - start, attached=[each])


def prepare(wanted: Wanted, *, folder: Path | None, cache: Path | None, say: Say = silent) -> Embedded:
    """The collection with its vectors."""
    say(f"reading {wanted.collection}", 0, 0)
    collection = load(
        wanted.collection,
        folder=folder,
        documents=wanted.documents,
        queries=wanted.queries,
        seed=wanted.seed,
        own=wanted.own,
    )
    if wanted.vectors is not None:
        return from_files(collection, *wanted.vectors)
    encoding = f"encoding with {wanted.model}"
    return embed(
        collection, wanted.model, folder=folder, cache=cache, progress=lambda done, total: say(encoding, done, total)
    )


def describe(data: Embedded) -> str:
    """A collection and its vectors in words."""
    made = data.collection
    sizes = f"{len(made):,} documents, {len(made.queries):,} queries"
    return f"{made.name} ({made.about}), {sizes}, {data.model} vectors of {data.E.shape[1]} dimensions"
