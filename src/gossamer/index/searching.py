"""Queries and options, checked → the answers to each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import numpy as np
import numpy.typing as npt

from gossamer.checks import positive
from gossamer.errors import InputError, ParameterError
from gossamer.filters import Node, parse
from gossamer.index import overview
from gossamer.index.hits import hits_of
from gossamer.index.query import Query, Scope, View, as_weight, check_confidence, scope_of
from gossamer.index.ranking import Ranking, rank
from gossamer.index.state import IndexState
from gossamer.rank.diversity import spread
from gossamer.results import Hits

_SPREAD: Final = 5
"""Candidates among which different answers are chosen, as a multiple of k."""


class SearchArguments(TypedDict, total=False):
    """The named arguments of `Index.search`, for its types."""

    where: Mapping[str, Any] | None
    within: int | None
    hybrid: bool | float
    vector: npt.ArrayLike | None
    recall: float | None
    explain: bool
    min_confidence: float
    diversity: float


@dataclass(frozen=True)
class SearchOptions:
    """How to look for answers: the arguments of `Index.search`, checked."""

    k: int
    where: Node | None
    within: int | None
    weight: float
    """Of BM25."""
    recall: float | None
    explain: bool
    min_confidence: float
    diversity: float

    @classmethod
    def checked(
        cls,
        k: int,
        where: Mapping[str, Any] | None,
        within: int | None,
        hybrid: bool | float,
        recall: float | None,
        explain: bool,
        min_confidence: float,
        diversity: float,
    ) -> SearchOptions:
        """The options, or the error that says what is wrong with them."""
        check_confidence(min_confidence)
        if isinstance(diversity, bool) or not isinstance(diversity, int | float) or not 0.0 <= diversity <= 1.0:
            raise ParameterError(f"diversity must be a number from 0 to 1, got {diversity!r}")
        condition = None if where is None else parse(where)
        weight = as_weight(hybrid)
        return cls(positive(k, "k"), condition, within, weight, recall, explain, min_confidence, float(diversity))


def as_queries(query: str | Sequence[str] | None, vector: npt.ArrayLike | None) -> tuple[list[str | None], bool]:
    """The texts of queries, and whether there are several: a list of texts, or a matrix of vectors."""
    if isinstance(query, list | tuple):
        return list(query), True
    try:
        rows = np.shape(vector)[:-1] if vector is not None and query is None else ()
    except ValueError as error:
        raise InputError(f"vector must be a vector or a matrix, but its rows differ in length ({error})") from error
    return ([None] * rows[0], True) if len(rows) == 1 else ([query], False)  # type: ignore[list-item]


def answers(state: IndexState, view: View, queries: Sequence[Query], options: SearchOptions) -> list[Hits]:
    """The answers to each query, best first."""
    scope = scope_of(view, options.where, options.within, options.recall)
    unknown = () if options.where is None else view.table.unknown_fields(view.db, options.where)
    found = [Hits(warnings=unknown) for _ in queries]
    asked = [] if scope.is_empty else list(range(len(queries)))
    if options.min_confidence > 0.0:
        asked = [at for at in asked if _confidence(state, view, queries[at]) >= options.min_confidence]
    wanted = [queries[at] for at in asked]
    candidates = max(_SPREAD * options.k, 50) if options.diversity else options.k
    rankings = _rankings(view, wanted, candidates, scope)
    if options.diversity:
        rankings = [_spread_out(view, ranking, candidates, options) for ranking in rankings]
    for at, hits in zip(asked, hits_of(view, wanted, rankings, options.k, explain=options.explain), strict=True):
        hits.warnings = unknown
        found[at] = hits
    return found


def _rankings(view: View, queries: Sequence[Query], k: int, scope: Scope) -> list[Ranking]:
    """The ranking of each query. Those that ask for phrases have a scope of their own, the others are one batch."""
    free = [at for at, query in enumerate(queries) if query.documents is None]
    found = dict(zip(free, rank(view, [queries[at] for at in free], k, scope) if free else [], strict=True))
    for at, query in enumerate(queries):
        if at not in found:
            limited = scope.limited_to(view, query.documents)
            found[at] = Ranking([], 0) if limited.is_empty else rank(view, [query], k, limited)[0]
    return [found[at] for at in range(len(queries))]


def _spread_out(view: View, ranking: Ranking, candidates: int, options: SearchOptions) -> Ranking:
    """The k answers of which each is good and differs from those before it."""
    found = ranking.found[:candidates]
    if not found:
        return ranking
    units = view.units(np.array([each.passage for each in found]))
    places = spread(np.array([each.score for each in found]), units, options.k, options.diversity)
    return Ranking([found[place] for place in places], ranking.visited, in_order=True)


def _confidence(state: IndexState, view: View, query: Query) -> float:
    return overview.baseline(state, view).confidence(overview.nearest_cosine(view, query))
