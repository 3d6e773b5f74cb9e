"""Restricted searches at every selectivity, and an index after half of its documents were exchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gossamer import VectorIndex
from gossamer.results import SearchResult
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.measures import Ids, exact_neighbours, recall
from gossamer_lab.bench.report import Report, Row, section
from gossamer_lab.bench.systems import build_gossamer
from gossamer_lab.engine import Effort, Floats, Kernel, Longs, concept_of_size, count_leaves
from gossamer_lab.methods.prepared import grow
from gossamer_lab.timing import Say, clock, take_turns, threads

K: Final = 10

SELECTIVITIES: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 1.0)
CONCEPTS: Final = (0.003, 0.03, 0.3)
_SINGLES: Final = 20
"""Queries that are timed one a call."""
_BATCH: Final = 1000
"""Documents added in one call while an index is exchanged."""

Options = dict[str, Any]


def run(data: Data, *, repeats: int, n_threads: int, say: Say) -> Report:
    """Measure restricted searches, then the exchange of documents."""
    say("building")
    index: VectorIndex = build_gossamer(data.X).index
    with threads(n_threads):
        rows = restricted_rows(data, index, repeats, say)
    notes = [
        "allowed: a random set of ids; within: one concept. recall@10 among the allowed, against exact. batch: all "
        "queries share the filter of one call; single: the filter is handed over with each query."
    ]
    say("exchanging half of the documents")
    churn(data.X[:3000], data.Q[:5])  # compiles
    exchanged, times = churn(data.X, data.Q)
    sections = [
        section("restricted searches (default target 0.98)", rows, notes),
        section("after deleting a random half and inserting as many new", exchanged),
        section("what the exchange took", times),
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
        node = concept_of_size(index, round(share * n))
        cases[f"within {share:.1%}"] = ({"within": node}, np.sort(np.array(index.documents_below(node), np.int64)))
    works: dict[str, Callable[[], float]] = {}
    for name, (options, _) in cases.items():
        index.search(data.Q[:2], K, **options)
        works[f"{name} batch"] = _batch(index, data.Q, options)
        works[f"{name} single"] = _single(index, data.Q[:_SINGLES], options)
    times = take_turns(works, repeats, say)
    rows: list[Row] = []
    for name, (options, documents) in cases.items():
        result = index.search(data.Q, K, **options)
        exact = documents[exact_neighbours(data.X[documents], data.Q, K)]
        batch, single = times[f"{name} batch"], times[f"{name} single"]
        rows.append(
            {
                "filter": name,
                "documents": len(documents),
                "selectivity": len(documents) / n,
                "how": _how(index, result, documents),
                "recall@10": recall(data.X, data.Q, result.ids, exact),
                "answers": float((result.ids >= 0).sum(axis=1).mean()),
                "scored": float(result.visited.mean()),
                "µs batch": batch.over(len(data.Q)).best * 1e6,
                "µs batch, median": batch.over(len(data.Q)).median * 1e6,
                "µs single": single.over(min(_SINGLES, len(data.Q))).best * 1e6,
            }
        )
    return rows


def _how(index: VectorIndex, result: SearchResult, documents: Longs) -> str:
    """Whether every allowed document was scored, or a guided search found the answers; told by the nodes visited."""
    everything = int((result.visited == count_leaves(index, documents)).sum())
    if everything == len(result.visited):
        return "all scored"
    return "guided" if not everything else f"guided, {everything} scored in full"


def _batch(index: VectorIndex, Q: Floats, options: Options) -> Callable[[], float]:
    return lambda: clock(lambda: index.search(Q, K, **options))[0]


def _single(index: VectorIndex, Q: Floats, options: Options) -> Callable[[], float]:
    return lambda: clock(lambda: [index.search(x, K, **options) for x in Q])[0]


# -- exchanging documents --------------------------------------------------------------------------


def churn(X: Floats, Q: Floats) -> tuple[list[Row], list[Row]]:
    """Delete a random half of an index, insert as many new documents, and compare with a fresh one of the same."""
    rng = np.random.default_rng(1)
    n = len(X) * 2 // 3
    order = rng.permutation(len(X))
    first, new = order[:n], order[n : n + n // 2]
    gone = rng.permutation(first)[: len(new)]
    old = _built(X, first)
    deleting, _ = clock(lambda: _delete(old, gone))
    adding, _ = clock(lambda: _add_in_batches(old, X, new))
    final = np.concatenate([first[~np.isin(first, gone)], new])
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
    steps = (
        (f"deleting {len(gone):,}", deleting, len(gone)),
        (f"inserting {len(new):,}, {_BATCH:,} a call", adding, len(new)),
        (f"building {len(final):,} afresh", building, len(final)),
    )
    return rows, [{"what": what, "seconds": s, "µs/document": s / count * 1e6} for what, s, count in steps]


def _built(X: Floats, rows: Longs) -> VectorIndex:
    index = VectorIndex(X.shape[1], whitener=None, acuity="auto")
    grow(index, X[rows], rows.tolist())
    return index


def _add_in_batches(index: VectorIndex, X: Floats, rows: Longs) -> None:
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        index.add(X[some], ids=some.tolist())
    index.settle()


def _delete(index: VectorIndex, rows: Longs) -> None:
    index.remove(rows.tolist())
    index.settle()


def _found(index: VectorIndex, Q: Floats, setting: Options | float) -> Ids:
    """The answers with options of `VectorIndex.search`, or with a slack."""
    if isinstance(setting, dict):
        return index.search(Q, K, **setting).ids
    kernel = Kernel.of(index)
    if not kernel.ready:
        return index.search(Q, K).ids
    return np.array(index.ids_of(kernel.search(Q, K, Effort(setting)).documents))
