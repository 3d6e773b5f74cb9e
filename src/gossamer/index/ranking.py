"""Queries → the documents that score best: the tree's nearest passages and the documents with their words, fused.

In: one state of an index, queries with their lexical scores, and where to look. Out: for each query documents with
their best passages and both parts of their scores, best first. The arithmetic is in `gossamer.rank.fusion`. Passages
are numbered as the tree numbers them, until they become part of an answer. A document's score does not depend on the
filter it was found through.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, DocumentNumber, Doubles, Longs
from gossamer.index.query import Query, Scope, View
from gossamer.rank.fusion import Best, Scored, best_of, fused, lexical_needed, rounded
from gossamer.rank.request import Method
from gossamer.runtime import deadline

_MORE: Final = 8
"""Documents that are scored because of their words alone, as a multiple of those looked at so far, before the tree is
searched deeper."""


class Ranking(NamedTuple):
    """The k best documents, best first, and those that score as the last of them."""

    found: list[Scored]
    visited: int
    """Nodes of the tree, and documents found by their words, that were scored."""
    in_order: bool = False
    """Whether the order is final, and not that of the scores."""


class _Near(NamedTuple):
    """What the tree finds for a query."""

    best: dict[DocumentNumber, Best]
    floor: float
    """A cosine that no other passage exceeds."""
    visited: int


def rank(view: View, queries: Sequence[Query], k: int, scope: Scope) -> list[Ranking]:
    """For each query the k best documents in scope; all of them where there are fewer."""
    depth = max(4 * k, 50)
    near = _nearest(view, queries, depth, scope)
    return [_ranked(view, query, k, scope, depth, found) for query, found in zip(queries, near, strict=True)]


def rank_by(view: View, query: Query, method: Method, scope: Scope, k: int) -> Ranking:
    """The k best documents in scope by one of the paper's methods; their scores are those of their best passages."""
    depth = max(4 * k, 50)
    while True:
        found = view.vectors.rank(query.projected[None], depth, method, scope.restriction)
        passages = found.documents[0][found.documents[0] != NONE]
        scores = found.scores[0][: len(passages)].tolist()
        best = best_of(view.table.owners(passages).tolist(), view.passages(passages), scores)
        if len(best) >= k or len(passages) < depth:
            return Ranking(fused(best, {}, k), int(found.visited[0]))
        depth *= 4


def _ranked(view: View, query: Query, k: int, scope: Scope, depth: int, near: _Near) -> Ranking:
    """The ranking of one query; where the `depth` nearest passages do not decide it, more of them are looked for."""
    among = _documents_in(view, scope) if query.lexical.words else None
    visited = 0
    while True:
        deadline.check()
        best, floor = near.best, near.floor
        visited += near.visited
        for by_words in (k, depth):  # more of them raise the threshold where words count much
            visited += _add_passages(view, query, query.lexical.best(by_words, among).documents, scope, best)
            needed = lexical_needed(ranked := fused(best, _lexical(query, best), k), k, floor)
            more = query.lexical.above(needed, among).documents if needed >= 0.0 else None
            if more is not None and len(more) <= _MORE * depth:
                if added := _add_passages(view, query, more, scope, best):
                    ranked = fused(best, _lexical(query, best), k)
                return Ranking(ranked, visited + added)
        depth *= 4
        (near,) = _nearest(view, [query], depth, scope)


def _add_passages(view: View, query: Query, documents: Longs, scope: Scope, best: dict[DocumentNumber, Best]) -> int:
    """Add the best passage in scope of each document that is not in `best` yet; returns how many these are."""
    new = [document for document in documents.tolist() if document not in best]
    best |= _best_passages(view, query, new, scope)
    return len(new)


def _lexical(query: Query, documents: Iterable[DocumentNumber]) -> dict[DocumentNumber, float]:
    """The lexical part of the scores of some documents; empty for a query without words."""
    if not query.lexical.words:
        return {}
    numbers = list(documents)
    return dict(zip(numbers, query.lexical.of(np.array(numbers, np.int64)).tolist(), strict=True))


def _nearest(view: View, queries: Sequence[Query], depth: int, scope: Scope) -> list[_Near]:
    """For each query the documents of the `depth` nearest passages."""
    if not view.vectors.ranks_by_cosine:
        passages = view.table.all_passages() if scope.restriction is None else scope.restriction.documents
        return [_Near(_best(view, query, passages), -math.inf, len(passages)) for query in queries]
    X = np.stack([query.projected for query in queries])
    near = view.vectors.nearest(X, depth, recall=scope.recall, restriction=scope.restriction)
    return [_as_near(view, *found) for found in zip(near.documents, near.cosines, near.visited.tolist(), strict=True)]


def _as_near(view: View, passages: Longs, cosines: Doubles, visited: int) -> _Near:
    count = int(np.count_nonzero(passages != NONE))
    near = rounded(cosines[:count])
    best = best_of(view.table.owners(passages[:count]).tolist(), view.passages(passages[:count]), near)
    return _Near(best, -math.inf if count < len(passages) else near[-1], visited)


def _documents_in(view: View, scope: Scope) -> Longs | None:
    """The documents of which a passage is in scope, ascending; None for all."""
    return None if scope.restriction is None else view.table.owning(scope.restriction.flags)


def _best_passages(
    view: View, query: Query, documents: Sequence[DocumentNumber], scope: Scope
) -> dict[DocumentNumber, Best]:
    """The best passage in scope of each document."""
    if not documents:
        return {}
    passages = view.table.passages(documents)
    if scope.restriction is not None:
        passages = passages[scope.restriction.flags[passages] != 0]
    return _best(view, query, passages)


def _best(view: View, query: Query, passages: Longs) -> dict[DocumentNumber, Best]:
    cosines = rounded(view.vectors.similarity(query.projected, passages))
    return best_of(view.table.owners(passages).tolist(), view.passages(passages), cosines)


# -- all documents ---------------------------------------------------------------------------------------


class AllScores:
    """The scores of all documents for one query: estimates of all of them, and exact scores of some.

    documents   their numbers, ascending; every other column, and every place, refers to this order
    estimates   scores, each off by at most `error`
    """

    def __init__(self, view: View, query: Query) -> None:
        self._view, self._query = view, query
        passages = view.table.all_passages()
        rough = view.vectors.similarity_to_all(query.projected)
        self.documents, dense = _best_of_each(view.table.owners(passages), rough.cosines[passages])
        self.estimates = dense + query.lexical.of(self.documents)
        self.error = rough.error + 1e-9  # cosines are rounded to nine places

    def exact(self, places: Longs) -> list[Scored]:
        """Some documents with their exact scores."""
        documents = self.documents[places].tolist()
        best = _best(self._view, self._query, self._view.table.passages(documents))
        lexical = _lexical(self._query, documents)
        return [Scored(number, best[number][1], best[number][0], lexical.get(number, 0.0)) for number in documents]

    def about(self, score: float) -> Longs:
        """Places of documents that may have this score."""
        return np.flatnonzero(np.abs(self.estimates - score) <= self.error)

    def best(self, k: int, *, but: int | None = None) -> Longs:
        """Places of documents that may be among the k best, the one at `but` left out; never fewer than there are."""
        estimates = self.estimates
        if but is not None:
            estimates = estimates.copy()
            estimates[but] = -np.inf
        if len(estimates) <= k:
            return np.flatnonzero(estimates > -np.inf)
        last = estimates.max() if k == 1 else np.partition(estimates, -k)[-k]
        return np.flatnonzero(estimates >= last - 2.0 * self.error)


def _best_of_each(owners: Longs, cosines: Doubles) -> tuple[Longs, Doubles]:
    """The documents of passages, ascending, and the highest cosine of each."""
    if (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        owners, cosines = owners[order], cosines[order]
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    return owners[first], np.maximum.reduceat(cosines, first)
