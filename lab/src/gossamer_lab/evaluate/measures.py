"""Measures of a ranking, query by query, by ir-measures.

Documents are passed by rank, not by score, so that they are strictly ordered and ties cannot flatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import ir_measures
import numpy as np

from gossamer.errors import InputError
from gossamer_lab.data.collection import Collection
from gossamer_lab.engine import Doubles, Longs

DEPTH: Final = 10
MAIN: Final = "nDCG@10"
AUTHORS: Final = "nDCG@10 (authors)"
"""As the paper's program computes it, see `authors_ndcg`; not to be compared with nDCG@10."""
PRINTED: Final = ("Recall@5", "MRR@5", "nDCG@5 (authors)", "Recall@10", "MRR@10", AUTHORS)
"""The measures that the paper prints."""

_MEASURES: Final[dict[str, Any]] = {
    "Recall@5": ir_measures.R @ 5, "Recall@10": ir_measures.R @ 10, "MRR@10": ir_measures.RR @ 10,
    MAIN: ir_measures.nDCG @ 10,
}  # fmt: skip
MEASURES: Final = tuple(_MEASURES)


@dataclass(frozen=True)
class Scores:
    """Every measure for every query, in percent."""

    values: dict[str, Doubles]

    def mean(self, measure: str) -> float:
        """The mean over all queries."""
        return float(self[measure].mean())

    def __getitem__(self, measure: str) -> Doubles:
        if measure not in self.values:
            raise InputError(f"there is no measure {measure!r}: choose one of {', '.join(self.values)}")
        return self.values[measure]


def score(collection: Collection, rows: Longs) -> Scores:
    """The measures of a ranking: for each query rows of documents, best first, -1 past the end.

    Documents that are the query's own text are left out first, so give `depth_for(collection)` of them.
    """
    if len(rows) != len(collection.query_ids):
        raise InputError(f"{len(rows)} rankings for {len(collection.query_ids)} queries: give one for each")
    ranked = [_without(own, each)[:DEPTH] for own, each in zip(collection.own_rows, rows, strict=True)]
    place = {query: row for row, query in enumerate(collection.query_ids)}
    values = {name: np.zeros(len(ranked)) for name in MEASURES}
    names = {str(measure): name for name, measure in _MEASURES.items()}
    for found in _evaluated(collection, ranked):
        values[names[str(found.measure)]][place[found.query_id]] = 100.0 * found.value
    first = list(_first_answers(collection, ranked))
    values["MRR@5"] = 100.0 * np.array([1.0 / rank if rank is not None and rank <= 5 else 0.0 for rank in first])
    for k in (5, DEPTH):
        values[f"nDCG@{k} (authors)"] = 100.0 * np.array([authors_ndcg(rank, k) for rank in first])
    return Scores(values)


def depth_for(collection: Collection, depth: int = DEPTH) -> int:
    """How many documents to ask for, so that `depth` are left without the query's own text."""
    return min(len(collection), depth + max((len(own) for own in collection.own_rows), default=0))


def authors_ndcg(rank: int | None, k: int) -> float:
    """What the authors' program calls nDCG@k, for one answer at `rank` (from 1; None where it was not found).

    It calls scikit-learn's ``ndcg_score([ideal], [relevance])`` with the one-hot list of the ideal ranking as the truth
    and that of the actual ranking as the scores. All scores but one are ties then, over which scikit-learn averages:
    1 if the answer is first, the mean discount of places 2 to k if it is anywhere else, and 0 if it is absent.
    """
    if rank is None or rank > k:
        return 0.0
    return 1.0 if rank == 1 else float(np.mean(1.0 / np.log2(np.arange(2, k + 1) + 1.0)))


def _first_answers(collection: Collection, ranked: list[Longs]) -> Iterator[int | None]:
    """The rank of each query's first answer."""
    for query, rows in zip(collection.query_ids, ranked, strict=True):
        right = {collection.row_of[id] for id in collection.answers[query] if id in collection.row_of}
        yield next((rank for rank, row in enumerate(rows.tolist(), 1) if row in right), None)


def _without(own: Longs, rows: Longs) -> Longs:
    rows = rows[rows >= 0]
    return rows if not len(own) else rows[~np.isin(rows, own)]


def _evaluated(collection: Collection, ranked: list[Longs]) -> Iterator[Any]:
    qrels = [
        ir_measures.Qrel(query, id, grade)
        for query in collection.query_ids
        for id, grade in collection.answers[query].items()
        if grade > 0
    ]
    run = [
        ir_measures.ScoredDoc(query, collection.ids[row], float(-rank))
        for query, rows in zip(collection.query_ids, ranked, strict=True)
        for rank, row in enumerate(rows.tolist())
    ]
    yield from ir_measures.iter_calc(list(_MEASURES.values()), qrels, run)
