"""Queries and options, checked → the answers to each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from gossamer.checks import one_of, positive
from gossamer.errors import DtypeError, EmptyTextError, InputError, ParameterError
from gossamer.filters import Node
from gossamer.index import overview
from gossamer.index.hits import hits_of
from gossamer.index.query import (
    Predicate,
    Query,
    Scope,
    View,
    as_condition,
    as_weight,
    check_confidence,
    doubts,
    scope_of,
)
from gossamer.index.ranking import Ranking, rank, rank_by
from gossamer.index.selection import Selection, candidates, select
from gossamer.index.state import IndexState
from gossamer.lexical.scores import Weight
from gossamer.rank.request import METHODS, Method, as_recall
from gossamer.results import Hit, Hits

Rerank: TypeAlias = Callable[[str | None, list[Hit]], Sequence[float]]
"""A query and candidates → a score for each of them, the higher the better."""


class SearchArguments(TypedDict, total=False):
    """The named arguments of `Index.search`, for its types."""

    where: Mapping[str, Any] | Predicate | None
    within: int | None
    hybrid: bool | float
    vector: npt.ArrayLike | None
    recall: float | None
    explain: bool
    min_confidence: float
    diversity: float
    group_by: str | None
    boost: Mapping[str, Any] | None
    rerank: Rerank | None
    method: Method


@dataclass(frozen=True)
class SearchOptions:
    """How to look for answers: the arguments of `Index.search`, checked."""

    k: int
    where: Node | Predicate | None
    within: int | None
    weight: Weight
    """Of BM25."""
    recall: float | None
    explain: bool
    min_confidence: float
    selection: Selection
    rerank: Rerank | None
    method: Method

    @classmethod
    def checked(cls, k: int, arguments: SearchArguments) -> SearchOptions:
        """The options, or the error that says what is wrong with them."""
        where, rerank, hybrid = arguments.get("where"), arguments.get("rerank"), arguments.get("hybrid", True)
        method, diversity = arguments.get("method", "guided"), arguments.get("diversity", 0.0)
        recall = arguments.get("recall")
        one_of(method, "method", METHODS)
        check_confidence(arguments.get("min_confidence", 0.0))
        if rerank is not None and not callable(rerank):
            raise ParameterError(f"rerank must be a function of a query and its candidates, got {rerank!r}")
        if rerank is not None and diversity:
            raise ParameterError("rerank and diversity both decide the order of the answers: leave one of the two out")
        options = cls(
            k=positive(k, "k"),
            where=as_condition(where),
            within=arguments.get("within"),
            weight=as_weight(hybrid),
            recall=None if recall is None else as_recall(recall),
            explain=arguments.get("explain", False),
            min_confidence=arguments.get("min_confidence", 0.0),
            selection=Selection.checked(diversity, arguments.get("group_by"), arguments.get("boost")),
            rerank=rerank,
            method=method,
        )
        return options if method == "guided" else options._by_the_tree_alone(hybrid)

    def _by_the_tree_alone(self, hybrid: bool | float) -> SearchOptions:
        """The options of one of the paper's methods, whose scores are log densities: nothing can be added to them."""
        without = {
            "hybrid": not isinstance(hybrid, bool) and hybrid > 0.0,
            "recall": self.recall is not None,
            "explain": self.explain,
            "diversity": self.selection.diversity > 0.0,
            "boost": self.selection.recency is not None,
            "where": self.where is not None and self.method == "best-first",
            "within": self.within is not None and self.method == "best-first",
        }
        for name, is_given in without.items():
            if is_given:
                raise ParameterError(f"{name} has no meaning for method={self.method!r}: leave it out")
        return replace(self, weight=0.0)

    @property
    def candidates(self) -> int:
        """Documents to find: more than k where others are to be ranked again."""
        return self.k if self.rerank is None else candidates(self.k)


def as_queries(query: str | Sequence[str] | None, vector: npt.ArrayLike | None) -> tuple[list[str | None], bool]:
    """The texts of queries, and whether there are several: a list or column of texts, or a matrix of vectors."""
    if isinstance(query, Iterable) and not isinstance(query, str | bytes | Mapping):
        return list(query), True
    if isinstance(query, str) and not query.strip() and vector is None:
        raise EmptyTextError("the query is empty: say what to look for, or use documents(where=…) for all that match")
    try:
        rows = np.shape(vector)[:-1] if vector is not None and query is None else ()
    except ValueError as error:
        raise InputError(f"vector must be a vector or a matrix, but its rows differ in length ({error})") from error
    return ([None] * rows[0], True) if len(rows) == 1 else ([query], False)


def answers(state: IndexState, view: View, queries: Sequence[Query], options: SearchOptions) -> list[Hits]:
    """The answers to each query, best first."""
    scope = scope_of(view, options.where, options.within, options.recall)
    recency = options.selection.recency
    dated = () if recency is None else (recency.path,)
    unknown = doubts(view, options.where, options.selection.fields, dated)
    found = [Hits(warnings=unknown) for _ in queries]
    asked = [] if scope.is_empty else list(range(len(queries)))
    if options.min_confidence > 0.0:
        asked = [at for at in asked if _confidence(state, view, queries[at]) >= options.min_confidence]
    wanted, k = [queries[at] for at in asked], options.candidates
    rankings = _rankings(view, wanted, k, scope, options)
    for at, hits in zip(asked, hits_of(view, wanted, rankings, k, explain=options.explain), strict=True):
        hits.warnings = unknown
        found[at] = hits
    return found


def ranked_again(query: str | None, hits: Hits, options: SearchOptions) -> Hits:
    """The k hits to which `rerank` gives the highest scores; of equals those that were better before."""
    if options.rerank is None or not hits:
        return hits
    returned = options.rerank(query, list(hits))
    try:
        given = np.asarray(returned, np.float64)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"rerank must return a number for each of the {len(hits)} candidates: {error}") from error
    if given.shape != (len(hits),) or np.isnan(given).any():
        raise ParameterError(
            f"rerank must return a number for each of the {len(hits)} candidates, none of them NaN: "
            f"it returned an array of shape {given.shape}"
        )
    best = np.argsort(-given, kind="stable")[: options.k].tolist()
    hits[:] = [replace(hits[place], score=float(given[place])) for place in best]
    return hits


def _rankings(view: View, queries: Sequence[Query], k: int, scope: Scope, options: SearchOptions) -> list[Ranking]:
    """The ranking of each query."""
    if options.method != "guided":
        return [_selected(view, partial(rank_by, view, query, options.method, scope), k, options) for query in queries]
    if options.selection.is_plain:
        return _guided(view, queries, k, scope)
    return [
        _selected(view, lambda count, query=query: _guided(view, [query], count, scope)[0], k, options)  # type: ignore[misc]
        for query in queries
    ]


def _selected(view: View, rank: Callable[[int], Ranking], k: int, options: SearchOptions) -> Ranking:
    return rank(k) if options.selection.is_plain else select(view, rank, k, options.selection)


def _guided(view: View, queries: Sequence[Query], k: int, scope: Scope) -> list[Ranking]:
    """The rankings of guided searches. Queries for phrases have a scope of their own, the others are one batch."""
    free = [at for at, query in enumerate(queries) if query.documents is None]
    found = dict(zip(free, rank(view, [queries[at] for at in free], k, scope) if free else [], strict=True))
    for at, query in enumerate(queries):
        if at not in found:
            limited = scope.limited_to(view, query.documents)
            found[at] = Ranking([], 0) if limited.is_empty else rank(view, [query], k, limited)[0]
    return [found[at] for at in range(len(queries))]


def _confidence(state: IndexState, view: View, query: Query) -> float:
    return overview.baseline(state, view).confidence(overview.nearest_cosine(view, query))
