"""A query → the documents that score best: the tree's nearest passages and the documents with its words, fused.

In: one state of an index, a query with its lexical scores, and where to look. Out: documents with their best passages
and both parts of their scores, best first. The arithmetic is in `gossamer.rank.fusion`; here rows are read for it. A
document's score does not depend on the filter it was found through.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import DocumentNumber, Doubles, Longs, PassageNumber
from gossamer.index.query import Query, Scope, View
from gossamer.rank.fusion import Best, Scored, best_of, fused, lexical_needed, rounded
from gossamer.runtime import deadline
from gossamer.store import rows

_MORE: Final = 8
"""Documents that are scored because of their words alone, as a multiple of those looked at so far, before the tree is
searched deeper."""


class Ranking(NamedTuple):
    """Documents, best first."""

    found: list[Scored]
    visited: int
    """Nodes of the tree, and documents found by their words, that were scored."""


def rank(view: View, query: Query, k: int, scope: Scope) -> Ranking:
    """At least the k best documents in scope; all of them where there are fewer."""
    among = None if scope.passages is None else np.unique(np.fromiter(scope.passages.values(), np.int64))
    depth, visited = max(4 * k, 50), 0
    while True:
        deadline.check()
        best, floor, scored = _nearest(view, query, depth, scope)
        visited += scored
        for by_words in (k, depth):  # more of them raise the threshold where words count much
            visited += _add_passages(view, query, query.lexical.best(by_words, among).documents, scope, best)
            needed = lexical_needed(ranked := fused(best, _lexical(query, best)), k, floor)
            more = query.lexical.above(needed, among).documents if needed >= 0.0 else None
            if more is not None and len(more) <= _MORE * depth:
                if added := _add_passages(view, query, more, scope, best):
                    ranked = fused(best, _lexical(query, best))
                return Ranking(ranked, visited + added)
        depth *= 4


def _add_passages(view: View, query: Query, documents: Longs, scope: Scope, best: dict[DocumentNumber, Best]) -> int:
    """Add the best passage in scope of each document that is not in `best` yet; returns how many these are."""
    new = [document for document in documents.tolist() if document not in best]
    best |= _best_passages(view, query, new, scope)
    return len(new)


def _lexical(query: Query, documents: Iterable[DocumentNumber]) -> dict[DocumentNumber, float]:
    """The lexical part of the scores of some documents."""
    numbers = list(documents)
    return dict(zip(numbers, query.lexical.of(np.array(numbers, np.int64)).tolist(), strict=True))


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
    return AllScores(documents[best], passages[best], cosines[best], query.lexical.of(documents[best]))


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
