"""Restricted searches at every selectivity, and an index after half of its documents were exchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gossamer.array_types import Floats, Longs
from gossamer.graph.calibration import Effort
from gossamer.results import SearchResult
from gossamer.tree.arrays import Meta
from gossamer.vector_index.vector_index import VectorIndex
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.measures import exact_neighbours, recall
from gossamer_lab.bench.report import Report, Row, Section
from gossamer_lab.bench.search import K
from gossamer_lab.bench.systems import build_gossamer, grow, guide_of
from gossamer_lab.bench.timing import Say, Times, clock, take_turns, threads

SELECTIVITIES: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0)
CONCEPTS: Final = (0.003, 0.03, 0.3)
_SINGLES: Final = 20
_BATCH: Final = 1000
"""Documents added in one call while an index is exchanged."""

Options = dict[str, Any]


def run(data: Data, *, repeats: int, n_threads: int, say: Say) -> Report:
    """Both tables."""
    say("building")
    index: VectorIndex = build_gossamer(data.X).index
    with threads(n_threads):
        rows = restricted_rows(data, index, repeats, say)
    notes = [
        "allowed: a random set of ids; within: one concept. recall@10 among the allowed, against exact. batch: all "
        "queries share the filter of one call; single: the filter is handed over with each query.",
    ]
    say("exchanging half of the documents")
    churn(data.X[:3000], data.Q[:5])  # compiles
    exchanged, times = churn(data.X, data.Q)
    sections = [
        Section("restricted searches (default target 0.98)", rows, notes),
        Section("after deleting a random half and inserting as many new", exchanged),
        Section("what the exchange took", times),
    ]
    return Report("filter", data.description, {"threads": n_threads, "rounds": repeats, "k": K}, sections)


# -- filters ---------------------------------------------------------------------------------------


def restricted_rows(data: Data, index: VectorIndex, repeats: int, say: Say) -> list[Row]:
    """One row for each selectivity, by ids and by concept."""
    n = len(data.X)
    shuffled = np.random.default_rng(0).permutation(n)
    cases: dict[str, tuple[Options, Longs]] = {"no filter": ({}, np.arange(n))}
    for share in SELECTIVITIES:
        allowed = np.sort(shuffled[: max(1, round(share * n))])
        cases[f"allowed {share:.2%}"] = ({"allowed": allowed.tolist()}, allowed)
    for share in CONCEPTS:
        node = _concept_of(index, round(share * n))
        below = np.array(index.documents_below(node), np.int64)
        cases[f"within {share:.1%}"] = ({"within": node}, np.sort(below))
    works: dict[str, Callable[[], float]] = {}
    for name, (options, _) in cases.items():
        index.search(data.Q[:2], K, **options)
        works[f"{name} batch"] = _batch(index, data.Q, options)
        works[f"{name} single"] = _single(index, data.Q[:_SINGLES], options)
    times = take_turns(works, repeats, say)
    return [
        _restricted_row(data, index, name, options, documents, times[f"{name} batch"], times[f"{name} single"])
        for name, (options, documents) in cases.items()
    ]


def _restricted_row(
    data: Data, index: VectorIndex, name: str, options: Options, documents: Longs, batch: Times, single: Times
) -> Row:
    result = index.search(data.Q, K, **options)
    few = data.X[documents]
    exact = documents[exact_neighbours(few, data.Q, K)]
    found = result.ids
    return {
        "filter": name,
        "documents": len(documents),
        "selectivity": len(documents) / len(data.X),
        "way": _way(index, result, documents),
        "recall@10": recall(data.X, data.Q, found, exact),
        "answers": float((found >= 0).sum(axis=1).mean()),
        "scored": float(result.visited.mean()),
        "µs batch": batch.over(len(data.Q)).best * 1e6,
        "µs batch, median": batch.over(len(data.Q)).median * 1e6,
        "µs single": single.over(min(_SINGLES, len(data.Q))).best * 1e6,
    }


def _way(index: VectorIndex, result: SearchResult, documents: Longs) -> str:
    """Whether everything allowed was scored, or a walk found the answers; told by what was visited."""
    leaves = len(np.unique(index.tree.arrays.leaf[documents]))
    everything = int((result.visited == leaves).sum())
    if everything == len(result.visited):
        return "all scored"
    return "guided" if not everything else f"guided, {everything} scored in full"


def _concept_of(index: VectorIndex, size: int) -> int:
    """The concept whose number of documents is nearest to `size`, by ratio."""
    arrays = index.tree.arrays
    made = int(arrays.meta[Meta.SLOTS])
    inner = np.flatnonzero((arrays.size[:made] > 0) & (arrays.n_children[:made] > 0))
    return int(inner[np.abs(np.log(arrays.size[inner] / size)).argmin()])


def _batch(index: VectorIndex, Q: Floats, options: Options) -> Callable[[], float]:
    return lambda: clock(lambda: index.search(Q, K, **options))[0]


def _single(index: VectorIndex, Q: Floats, options: Options) -> Callable[[], float]:
    def all_of_them() -> None:
        for x in Q:
            index.search(x, K, **options)

    return lambda: clock(all_of_them)[0]


# -- exchanging documents --------------------------------------------------------------------------


def churn(X: Floats, Q: Floats) -> tuple[list[Row], list[Row]]:
    """Delete a random half of an index, insert as many new documents, and compare with a fresh one of the same."""
    rng = np.random.default_rng(1)
    n = len(X) * 2 // 3
    order = rng.permutation(len(X))
    first, new = order[:n], order[n : n + n // 2]
    gone = rng.permutation(first)[: len(new)]
    kept = first[~np.isin(first, gone)]
    old = _built(X, first)
    removing, _ = clock(lambda: _remove(old, gone))
    adding, _ = clock(lambda: _add_in_batches(old, X, new))
    final = np.concatenate([kept, new])
    building, fresh = clock(lambda: _built(X, final))
    old.check()
    exact = np.sort(final)[exact_neighbours(X[np.sort(final)], Q, K)]
    settings: dict[str, Options | float] = {
        **{f"target {t}": {"recall": t} for t in (0.90, 0.95, 0.98, 0.99)},
        **{f"budget {b}": {"budget": b} for b in (500, 2000)},
        **{f"slack {slack}": slack for slack in (1.0, 1.05, 1.1)},
    }
    rows = []
    for name, setting in settings.items():
        a, b = (recall(X, Q, _found(index, Q, setting), exact) for index in (old, fresh))
        rows.append({"setting": name, "recall, exchanged": a, "recall, fresh": b, "recall lost": b - a})
    times: list[Row] = [
        {"what": f"removing {len(gone):,}", "seconds": removing, "µs/document": removing / len(gone) * 1e6},
        {
            "what": f"inserting {len(new):,}, {_BATCH:,} a call",
            "seconds": adding,
            "µs/document": adding / len(new) * 1e6,
        },
        {"what": f"building {len(final):,} afresh", "seconds": building, "µs/document": building / len(final) * 1e6},
    ]
    return rows, times


def _built(X: Floats, rows: Longs) -> VectorIndex:
    index = VectorIndex(X.shape[1], whitener=None, acuity="auto")
    grow(index, X[rows], rows.tolist())
    return index


def _add_in_batches(index: VectorIndex, X: Floats, rows: Longs) -> None:
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        index.add(X[some], ids=some.tolist())
    index.settle()


def _remove(index: VectorIndex, rows: Longs) -> None:
    index.remove(rows.tolist())
    index.settle()


def _found(index: VectorIndex, Q: Floats, setting: Options | float) -> Any:
    guide = guide_of(index)
    if isinstance(setting, dict) or not guide.ready(index.tree.arrays):
        return index.search(Q, K, **(setting if isinstance(setting, dict) else {})).ids
    found = guide.search(index.tree.arrays, Q, K, Effort(setting)).documents
    return index._ids.of(found)
