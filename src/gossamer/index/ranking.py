"""A query → the documents that score best: the tree's nearest passages and FTS5's documents, fused.

In: one state of an index, a query with its lexical scores, and where to look. Out: documents with their best passages
and both parts of their scores, best first. The arithmetic is in `gossamer.rank.fusion`; here rows are read for it. A
document's score does not depend on the filter it was found through.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from gossamer.array_types import DocumentNumber, Doubles, Longs, PassageNumber
from gossamer.index.query import Query, Scope, View
from gossamer.rank.fusion import Best, Scored, best_of, by_lexical_score, fused, is_complete, rounded
from gossamer.runtime import deadline
from gossamer.store import rows


class Ranking(NamedTuple):
    """Documents, best first."""

    found: list[Scored]
    visited: int
    """Nodes of the tree, and documents found by their words, that were scored."""


def rank(view: View, query: Query, k: int, scope: Scope) -> Ranking:
    """At least the k best documents in scope; all of them where there are fewer."""
    among = None if scope.passages is None else set(scope.passages.values())
    order = by_lexical_score(query.lexical, among)
    depth, visited = max(4 * k, 50), 0
    while True:
        deadline.check()
        best, floor, scored = _nearest(view, query, depth, scope)
        by_words = [document for document in order[:depth] if document not in best]
        visited += scored + len(by_words)
        best |= _best_passages(view, query, by_words, scope)
        ranked = fused(best, query.lexical)
        if is_complete(ranked, k, floor, query.lexical[order[depth]] if depth < len(order) else 0.0):
            return Ranking(ranked, visited)
        depth *= 4


class AllScores(NamedTuple):
    """Every document of an index as columns, in ascending order of `documents`."""

    documents: Longs
    passages: Longs
    """The best passage of each."""
    dense: Doubles
    lexical: Doubles


def score_all(view: View, query: Query) -> AllScores:
    """Both parts of the score of every document, none left out."""
    owners = rows.owners(view.db)
    passages = np.fromiter(owners, np.int64, len(owners))
    documents = np.fromiter(owners.values(), np.int64, len(owners))
    cosines = np.array(_cosines(view, query, list(owners)))
    if (np.diff(documents) > 0).all():  # each document has one passage
        best = np.arange(len(documents))
    else:
        order = np.lexsort((passages, -cosines, documents))
        best = order[np.unique(documents[order], return_index=True)[1]]
    lexical = np.array([query.lexical.get(document, 0.0) for document in documents[best].tolist()])
    return AllScores(documents[best], passages[best], cosines[best], lexical)


def _nearest(view: View, query: Query, depth: int, scope: Scope) -> tuple[dict[DocumentNumber, Best], float, int]:
    """Documents by the `depth` nearest passages, a cosine that no other passage exceeds, and the nodes scored."""
    if view.vectors.whitener is None:
        # Vectors that are not whitened differ in length, so the tree's distances do not rank as cosines do.
        owners = rows.owners(view.db) if scope.passages is None else scope.passages
        return _best(view, query, owners), -math.inf, len(owners)
    allowed = None if scope.passages is None or scope.concept is not None else list(scope.passages)
    found = view.vectors.nearest(query.projected, depth, allowed=allowed, within=scope.concept, recall=scope.recall)
    near = zip(found.ids[0].tolist(), rounded(found.scores[0]), strict=True)
    cosines = {passage: cosine for passage, cosine in near if passage != -1}
    if scope.passages is not None:
        owners = {passage: scope.passages[passage] for passage in cosines}
    else:
        owners = rows.owners_of(view.db, cosines)
    all_seen = len(cosines) < depth or not owners
    floor = -math.inf if all_seen else next(reversed(cosines.values()))
    return best_of(cosines, owners), floor, int(found.visited[0])


def _best_passages(
    view: View, query: Query, documents: Iterable[DocumentNumber], scope: Scope
) -> dict[DocumentNumber, Best]:
    """The best passage in scope of each document."""
    owners = rows.owned_by(view.db, documents)
    if scope.passages is not None:
        owners = {passage: document for passage, document in owners.items() if passage in scope.passages}
    return _best(view, query, owners)


def _best(view: View, query: Query, owners: Mapping[PassageNumber, DocumentNumber]) -> dict[DocumentNumber, Best]:
    passages = list(owners)
    return best_of(dict(zip(passages, _cosines(view, query, passages), strict=True)), owners)


def _cosines(view: View, query: Query, passages: list[PassageNumber]) -> list[float]:
    return rounded(view.vectors.similarity(query.projected, passages)) if passages else []
