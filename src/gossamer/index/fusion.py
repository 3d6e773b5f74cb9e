"""Dense and lexical scores fused into one ranking of documents.

    score = cosine of query and passage in the whitened space  +  w · BM25 / (best BM25 of any document)

It is the score that is fused, not the rank (DESIGN 1.4, point 10), and a document's score does not depend on
the filter it was found through. Both lists are read only as deep as needed: by Fagin's threshold argument, what
neither list has shown yet scores at most the sum of where the two lists stand, so once k documents are above
that sum the rest cannot matter.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.runtime import deadline
from gossamer.store import rows
from gossamer.vector_index.vector_index import VectorIndex

WEIGHT = 0.15
"""Of BM25 against the cosine: 0.1 to 0.2 helped on every collection measured."""

_DIGITS = 9
"""Cosines are rounded to so many: beyond lies the noise of float32, and equal texts must score equal."""


class Scored(NamedTuple):
    """A document with its best passage and both parts of its score."""

    document: int
    passage: int
    dense: float
    lexical: float

    @property
    def score(self) -> float:
        """The sum."""
        return self.dense + self.lexical


@dataclass(frozen=True)
class Scope:
    """Where a search looks: passages with their documents, or everywhere; and the concept, where one is named."""

    passages: Mapping[int, int] | None = None
    concept: int | None = None
    """Given where the passages are exactly those below it: the ranker then need not look at a list."""
    recall: float | None = None
    """How much of the true nearest the dense search aims for; None for its own default."""


def normalised(scores: Mapping[int, float], weight: float) -> dict[int, float]:
    """BM25 as the weighted share of the best."""
    best = max(scores.values(), default=1.0)
    return {document: weight * (score / best) for document, score in scores.items()}


class Ranking(NamedTuple):
    """Documents, best first, and how many nodes of the tree and documents beside it were scored for them."""

    found: list[Scored]
    visited: int


def rank(
    db: sqlite3.Connection, vectors: VectorIndex, q: Floats, k: int, lexical: Mapping[int, float], scope: Scope
) -> Ranking:
    """The k best documents or more; all there are where they are fewer."""
    order = _by_score(lexical, scope)
    depth, visited = max(4 * k, 50), 0
    while True:
        deadline.check()
        best, floor, scored = _nearest(db, vectors, q, depth, scope)
        beside = [document for document in order[:depth] if document not in best]
        visited += scored + len(beside)
        best |= best_passages(db, vectors, q, beside, scope)
        ranked = [
            Scored(document, passage, dense, lexical.get(document, 0.0)) for document, (dense, passage) in best.items()
        ]
        ranked.sort(key=lambda found: (-found.score, found.document))
        unseen = floor + (lexical[order[depth]] if depth < len(order) else 0.0)
        if floor == -math.inf or (len(ranked) >= k and ranked[k - 1].score >= unseen):
            return Ranking(ranked, visited)
        depth *= 4


def _by_score(lexical: Mapping[int, float], scope: Scope) -> list[int]:
    """The documents in scope by their lexical score, best first; thousands of them, so not by Python's sort."""
    if scope.passages is not None:
        inside = set(scope.passages.values())
        lexical = {document: score for document, score in lexical.items() if document in inside}
    documents = np.fromiter(lexical.keys(), np.int64, len(lexical))
    scores = np.fromiter(lexical.values(), np.float64, len(lexical))
    order: list[int] = documents[np.lexsort((documents, -scores))].tolist()
    return order


def best_passages(
    db: sqlite3.Connection, vectors: VectorIndex, q: Floats, documents: Iterable[int], scope: Scope
) -> dict[int, tuple[float, int]]:
    """For each document the cosine of its best passage, and which that is."""
    owners = rows.owned_by(db, documents)
    if scope.passages is not None:
        owners = {passage: document for passage, document in owners.items() if passage in scope.passages}
    return _best(vectors, q, owners)


def all_scores(
    db: sqlite3.Connection, vectors: VectorIndex, q: Floats, lexical: Mapping[int, float]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Every document in ascending order, with both parts of its score."""
    owners = rows.owners(db)
    cosines = np.array(_cosines(vectors, q, list(owners)))
    documents, places = np.unique(np.fromiter(owners.values(), np.int64, len(owners)), return_inverse=True)
    dense = np.full(len(documents), -np.inf)
    np.maximum.at(dense, places, cosines)
    return documents, dense, np.array([lexical.get(document, 0.0) for document in documents.tolist()])


def _nearest(
    db: sqlite3.Connection, vectors: VectorIndex, q: Floats, depth: int, scope: Scope
) -> tuple[dict[int, tuple[float, int]], float, int]:
    """Documents by the `depth` nearest passages, a cosine that no other passage exceeds, and the nodes scored."""
    if vectors.whitener is None:
        # Vectors as they are need not have one length, so the tree's distances would not rank as cosines do.
        owners = scope.passages
        if owners is None:
            owners = rows.owners(db)
        return _best(vectors, q, owners), -math.inf, len(owners)
    allowed = None if scope.passages is None or scope.concept is not None else list(scope.passages)
    found = vectors.nearest(q, depth, allowed=allowed, within=scope.concept, recall=scope.recall)
    near = zip(found.ids[0].tolist(), _rounded(found.scores[0]), strict=True)
    cosines = {passage: cosine for passage, cosine in near if passage != -1}
    if scope.passages is not None:
        owners = {passage: scope.passages[passage] for passage in cosines}
    else:
        owners = rows.owners_of(db, cosines)
    complete = len(cosines) < depth or not owners
    floor = -math.inf if complete else next(reversed(cosines.values()))
    return _best_of(cosines, owners), floor, int(found.visited[0])


def _best(vectors: VectorIndex, q: Floats, owners: Mapping[int, int]) -> dict[int, tuple[float, int]]:
    passages = list(owners)
    return _best_of(dict(zip(passages, _cosines(vectors, q, passages), strict=True)), owners)


def _best_of(cosines: Mapping[int, float], owners: Mapping[int, int]) -> dict[int, tuple[float, int]]:
    """For each document its best passage, the first of equals, and that one's cosine."""
    best: dict[int, tuple[float, int]] = {}
    for passage, document in owners.items():
        cosine = cosines[passage]
        if document not in best or (cosine, -passage) > (best[document][0], -best[document][1]):
            best[document] = (cosine, passage)
    return best


def _cosines(vectors: VectorIndex, q: Floats, passages: list[int]) -> list[float]:
    return _rounded(vectors.similarity(q, passages)) if passages else []


def _rounded(cosines: npt.NDArray[np.float64]) -> list[float]:
    return [round(cosine, _DIGITS) for cosine in cosines.tolist()]
