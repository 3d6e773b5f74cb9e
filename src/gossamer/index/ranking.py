"""Queries → the documents that score best: the tree's nearest passages and the documents with their words, fused.

In: one state of an index, queries with their lexical scores, and where to look. Out: for each query documents with
their best passages and both parts of their scores, best first. The arithmetic is in `gossamer.rank.fusion`. Passages
are numbered as the tree numbers them, until they become part of an answer. A document's score does not depend on the
filter it was found through.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Longs
from gossamer.index.query import Query, Scope, View
from gossamer.lexical.scores import LexicalScores
from gossamer.rank.cosines import CosineBounds
from gossamer.rank.fusion import OPENING, Candidates, Scored, best_of, fused, lexical_needed, rounded
from gossamer.rank.request import Method
from gossamer.runtime import deadline

_MORE: Final = 8
"""Documents that are scored because of their words alone, as a multiple of those looked at so far, before the tree is
searched deeper."""


_MANY: Final = 256
"""Documents whose scores are bounded more narrowly before they are computed exactly, if there are more."""

_ROUNDING: Final = 2e-9
"""Cosines and openings are rounded to nine places, each by half of this at most."""

_NOTHING: Final = Candidates(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


class Ranking(NamedTuple):
    """The k best documents, best first, and those that score as the last of them."""

    found: list[Scored]
    visited: int
    """Nodes of the tree, and documents found by their words, that were scored."""
    in_order: bool = False
    """Whether the order is final, and not that of the scores."""


class _Near(NamedTuple):
    """What the tree finds for a query."""

    found: Candidates
    floor: float
    """A cosine that no other passage exceeds."""
    visited: int


def rank(view: View, queries: Sequence[Query], k: int, scope: Scope) -> list[Ranking]:
    """For each query the k best documents in scope; all of them where there are fewer."""
    with_words = any(query.lexical.words for query in queries)
    plain = not with_words and view.table.one_each
    depth = 2 * k if plain else max(4 * k, 50)  # words raise documents that are not so near, first passages lower some
    near = _nearest(view, queries, depth, scope)
    return [_ranked(view, query, k, scope, depth, found) for query, found in zip(queries, near, strict=True)]


def rank_by(view: View, query: Query, method: Method, scope: Scope, k: int) -> Ranking:
    """The k best documents in scope by one of the paper's methods; their scores are those of their best passages."""
    depth = max(4 * k, 50)
    while True:
        found = view.vectors.rank(query.projected[None], depth, method, scope.restriction)
        passages = found.documents[0][found.documents[0] != NONE]
        best = best_of(view.table.owners(passages), passages, found.scores[0][: len(passages)])
        if len(best.documents) >= k or len(passages) < depth:
            return Ranking(fused(best, None, k), int(found.visited[0]))
        depth *= 4


def _ranked(view: View, query: Query, k: int, scope: Scope, depth: int, near: _Near) -> Ranking:
    """The ranking of one query; where the `depth` nearest passages do not decide it, more of them are looked for."""
    words = query.lexical
    if words.words and scope.restriction is not None:
        words = words.among(view.table.which_own(view.words.numbers, scope.restriction.flags))
    visited = 0
    while True:
        deadline.check()
        found = near.found
        visited += near.visited
        for by_words in (k, depth):  # more of them raise the threshold where words count much
            more = _unseen(view, query, words.best(by_words), scope, found)
            found, visited = _together(found, more), visited + len(more.documents)
            ranked = _fused(words, found, k)
            needed = lexical_needed(ranked, k, near.floor)
            if needed < 0.0:
                continue
            above = words.above(needed)
            if len(above) <= _MORE * depth:
                more = _unseen(view, query, above, scope, found)
                if len(more.documents):
                    ranked = _fused(words, _together(found, more), k)
                return Ranking(ranked, visited + len(more.documents))
        depth *= 4
        (near,) = _nearest(view, [query], depth, scope)


def scores_of(view: View, query: Query, documents: Longs) -> list[Scored]:
    """Some documents, each with the parts of its score, best first."""
    return _fused(query.lexical, _best(view, query, view.table.passages(documents.tolist())), len(documents))


def _unseen(view: View, query: Query, documents: Longs, scope: Scope, found: Candidates) -> Candidates:
    """Those of some documents that were not found yet, each with its best passage in scope."""
    if not len(documents):
        return _NOTHING
    seen = set(found.documents.tolist())
    new = [document for document in documents.tolist() if document not in seen]
    if not new:
        return _NOTHING
    passages = view.table.passages(new)
    if scope.restriction is not None:
        passages = passages[scope.restriction.flags[passages] != 0]
    return _best(view, query, passages)


def _together(found: Candidates, more: Candidates) -> Candidates:
    return found.and_others(more) if len(more.documents) else found


def _fused(words: LexicalScores, found: Candidates, k: int) -> list[Scored]:
    return fused(found, words.of(found.documents) if words.words else None, k)


def _nearest(view: View, queries: Sequence[Query], depth: int, scope: Scope) -> list[_Near]:
    """For each query the documents of the `depth` nearest passages."""
    if not view.vectors.ranks_by_cosine:
        passages = view.table.all_passages() if scope.restriction is None else scope.restriction.documents
        return [_Near(_best(view, query, passages), -math.inf, len(passages)) for query in queries]
    X = queries[0].projected[None] if len(queries) == 1 else np.stack([query.projected for query in queries])
    near = view.vectors.nearest(X, depth, recall=scope.recall, restriction=scope.restriction)
    each = zip(queries, near.documents, near.cosines, near.visited.tolist(), strict=True)
    return [_as_near(view, *found) for found in each]


def _as_near(view: View, query: Query, passages: Longs, cosines: Doubles, visited: int) -> _Near:
    near, floor = rounded(cosines), -math.inf
    if passages[-1] != NONE:
        floor = float(near[-1])
    else:
        found = passages != NONE
        passages, near = passages[found], near[found]
    return _Near(_opened(view, query, best_of(view.table.owners(passages), passages, near)), floor, visited)


def _best(view: View, query: Query, passages: Longs) -> Candidates:
    cosines = rounded(view.vectors.similarity(query.projected, passages))
    return _opened(view, query, best_of(view.table.owners(passages), passages, cosines))


def _opened(view: View, query: Query, found: Candidates) -> Candidates:
    """Documents with what their first passages take away; in an index without long texts that is nothing."""
    if view.table.one_each:
        return found
    first = view.table.first_passages(found.documents)
    if np.array_equal(first, found.passages):
        return found
    alike = np.einsum("ij,ij->i", view.units(first), view.units(found.passages), dtype=np.float64)
    return found.opened(view.vectors.similarity(query.projected, first), alike)


# -- all documents ---------------------------------------------------------------------------------------


class AllScores:
    """The scores of all documents for one query: bounds of all of them, and exact scores of some.

    documents   their numbers, ascending; every other column, and every place, refers to this order
    least, most bounds of the scores
    """

    def __init__(self, view: View, query: Query) -> None:
        self._view, self._query = view, query
        passages = view.table.all_passages()
        cosines = view.vectors.similarity_bounds(query.projected)
        if len(passages) < len(cosines.least):
            cosines = CosineBounds(cosines.least[passages], cosines.most[passages])
        self.documents, least, most = self._bounds(passages, cosines)
        self._words = query.lexical.of(self.documents)
        self.least, self.most = least + (self._words - _ROUNDING), most + (self._words + _ROUNDING)

    def _bounds(self, passages: Longs, cosines: CosineBounds) -> tuple[Longs, Doubles, Doubles]:
        """The documents of all passages, or some, and bounds of their scores by meaning."""
        owners = self._view.table.owners(passages)
        return (owners, *cosines) if self._view.table.one_each else _bounds_of_each(owners, *cosines)

    def exact(self, places: Longs) -> list[Scored]:
        """Some documents with their exact scores, best first."""
        return _fused(self._query.lexical, self._candidates(places), len(places))

    def exact_scores(self, places: Longs) -> tuple[Longs, Doubles]:
        """The numbers of some documents and their exact scores, in no order: quick, for thousands of them."""
        found, words = self._candidates(places), self._query.lexical
        dense = found.cosines + found.openings
        return found.documents, dense + words.of(found.documents) if words.words else dense

    def _candidates(self, places: Longs) -> Candidates:
        return _best(self._view, self._query, self._view.table.passages(self.documents[places]))

    def around(self, score: float) -> tuple[int, Longs]:
        """How many documents surely score above `score`, and the places of those that may or may not."""
        above = int(np.count_nonzero(self.least > score))
        around = np.flatnonzero((self.most >= score) & (self.least <= score))
        if len(around) > _MANY:
            passages = self._view.table.passages(self.documents[around])
            cosines = self._view.vectors.similarity_bounds(self._query.projected, passages)
            _, least, most = self._bounds(passages, cosines)
            wanted = score - self._words[around]
            above += int(np.count_nonzero(least - _ROUNDING > wanted))
            around = around[(most + _ROUNDING >= wanted) & (least - _ROUNDING <= wanted)]
        return above, around

    def best(self, k: int, *, but: int | None = None) -> Longs:
        """Places of documents that may be among the k best, the one at `but` left out; never fewer than there are."""
        least, most = self.least, self.most
        if but is not None:
            least, most = least.copy(), most.copy()
            least[but] = most[but] = -np.inf
        if len(least) <= k:
            return np.flatnonzero(most > -np.inf)
        last = least.max() if k == 1 else np.partition(least, -k)[-k]
        return np.flatnonzero(most >= last)


def _bounds_of_each(owners: Longs, least: Doubles, most: Doubles) -> tuple[Longs, Doubles, Doubles]:
    """The documents of passages, ascending, and bounds of the scores of each by meaning.

    That is between the cosine of the best passage and the mean of it and the first one's.
    """
    if (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        owners, least, most = owners[order], least[order], most[order]
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    best = np.maximum.reduceat(least, first)
    return owners[first], best + OPENING * (least[first] - best), np.maximum.reduceat(most, first)
