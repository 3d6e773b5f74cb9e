"""Measures of a ranking, query by query, by ir-measures.

A ranking is handed over by its ranks, not its scores: strictly ordered, so that ties cannot flatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.errors import InputError, MissingExtraError
from gossamer_lab.evaluate.collection import Collection, Rows

Doubles = npt.NDArray[np.float64]

DEPTH: Final = 10
MEASURES: Final = (
    "Recall@5", "Recall@10", "Success@5", "Success@10", "MRR@5", "MRR@10", "nDCG@5", "nDCG@10",
)  # fmt: skip
AUTHORS: Final = ("nDCG@5 (authors)", "nDCG@10 (authors)")
"""As the paper's program computes it: see `authors_ndcg`. Never to be compared with the measures above."""
MAIN: Final = "nDCG@10"


@dataclass(frozen=True)
class Scores:
    """Every measure for every query, in percent."""

    values: dict[str, Doubles]

    def mean(self, measure: str) -> float:
        """Over all queries."""
        return float(self[measure].mean())

    def __getitem__(self, measure: str) -> Doubles:
        if measure not in self.values:
            raise InputError(f"there is no measure {measure!r}: choose one of {', '.join(self.values)}")
        return self.values[measure]


def score(collection: Collection, rows: Rows) -> Scores:
    """The measures of a ranking: for each query rows of documents, best first, -1 past the end.

    Documents that are the query's own text are left out first, so give `depth_for(collection)` of them.
    """
    if len(rows) != len(collection.query_ids):
        raise InputError(f"{len(rows)} rankings for {len(collection.query_ids)} queries: give one for each")
    ranked = [_without(own, each)[:DEPTH] for own, each in zip(collection.own_rows, rows, strict=True)]
    place = {query: row for row, query in enumerate(collection.query_ids)}
    values = {name: np.zeros(len(ranked)) for name in (*MEASURES, *AUTHORS)}
    names = {str(measure): name for name, measure in _measures().items()}
    for found in _evaluated(collection, ranked):
        values[names[str(found.measure)]][place[found.query_id]] = 100.0 * found.value
    hits = list(_first_hits(collection, ranked))
    for name, k in zip(AUTHORS, (5, 10), strict=True):
        values[name] = 100.0 * np.array([authors_ndcg(rank, k) for rank in hits])
    return Scores(values)


def depth_for(collection: Collection, depth: int = DEPTH) -> int:
    """How many documents to ask for, so that `depth` are left without the query's own text."""
    return min(len(collection), depth + max((len(own) for own in collection.own_rows), default=0))


def authors_ndcg(rank: int | None, k: int) -> float:
    """What the authors' program calls nDCG@k, for one answer at `rank` (from 1; None where it was not found).

    It calls scikit-learn's ``ndcg_score([ideal], [relevance])`` with the one-hot list of the ideal ranking as the truth
    and that of the actual ranking as the scores. All scores but one are ties then, over which scikit-learn averages:
    1 if the hit is first, the mean discount of places 2 to k if it is anywhere else, and 0 if it is absent.
    """
    if rank is None or rank > k:
        return 0.0
    return 1.0 if rank == 1 else float(np.mean(1.0 / np.log2(np.arange(2, k + 1) + 1.0)))


def _first_hits(collection: Collection, ranked: list[Rows]) -> Iterator[int | None]:
    """The rank of each query's first answer."""
    for query, rows in zip(collection.query_ids, ranked, strict=True):
        right = {collection.row_of[id] for id in collection.answers[query] if id in collection.row_of}
        yield next((rank for rank, row in enumerate(rows.tolist(), 1) if row in right), None)


def _without(own: Rows, rows: Rows) -> Rows:
    rows = rows[rows >= 0]
    return rows if not len(own) else rows[~np.isin(rows, own)]


def _evaluated(collection: Collection, ranked: list[Rows]) -> Iterator[Any]:
    ir = _library()
    qrels = [
        ir.Qrel(query, id, grade)
        for query in collection.query_ids
        for id, grade in collection.answers[query].items()
        if grade > 0
    ]
    run = [
        ir.ScoredDoc(query, collection.ids[row], float(-rank))
        for query, rows in zip(collection.query_ids, ranked, strict=True)
        for rank, row in enumerate(rows.tolist())
    ]
    yield from ir.iter_calc(list(_measures().values()), qrels, run)


def _measures() -> dict[str, Any]:
    ir = _library()
    kinds = {"Recall": ir.R, "Success": ir.Success, "MRR": ir.RR, "nDCG": ir.nDCG}
    return {name: kinds[name.split("@")[0]] @ int(name.split("@")[1]) for name in MEASURES}


def _library() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("measuring with ir-measures", "eval") from error
    return ir_measures
