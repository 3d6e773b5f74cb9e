"""One search, as asked for: its parameters checked, and the ranker they call for."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import Floats, Longs
from gossamer.checks import one_of, positive
from gossamer.errors import ParameterError
from gossamer.rank.best_first import best_first
from gossamer.rank.exact import rank_listed
from gossamer.rank.guided import Guide, are_few, search_guided
from gossamer.rank.path_sum import Aggregate, PathSum
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.selection import Ranked

Method: TypeAlias = Literal["guided", "path-sum", "best-first"]

_USES: Final = {
    "guided": {"budget", "recall", "context", "allowed", "within"},
    "path-sum": {"aggregate", "context", "allowed", "within"},
    "best-first": {"budget"},
}
"""Which parameters each method uses: none is taken in silence by a method that does not."""

_RECALL: Final = 0.98
_MOST: Final = 10_000_000


class Request(NamedTuple):
    """What to search for and how."""

    k: int
    method: Method
    budget: int | None
    recall: float
    aggregate: Aggregate
    context: float

    @classmethod
    def checked(
        cls,
        k: Any,
        method: Any,
        budget: Any,
        recall: Any,
        aggregate: Any,
        context: Any,
        own: float,
        **given: Any,
    ) -> Request:
        """The request, or the error that says what is wrong with it. `own` is the context of the index."""
        k = positive(k, "k")
        if k > _MOST:
            raise ParameterError(f"k is {k}, and a search returns at most {_MOST:,} documents: ask for fewer")
        one_of(method, "method", tuple(_USES))
        given |= {"budget": budget, "recall": recall, "aggregate": aggregate, "context": context}
        for name, value in given.items():
            if value is not None and name not in _USES[method]:
                raise ParameterError(f"{name} has no meaning for method={method!r}: leave it out")
        if aggregate == "mean" and context is not None:
            raise ParameterError('context applies to aggregate="sum" alone: leave one of the two out')
        if recall is not None and budget is not None:
            raise ParameterError("budget and recall are two ways to say the same: leave one of the two out")
        return cls(
            k=k,
            method=method,
            budget=None if budget is None else positive(budget, "budget"),
            recall=_RECALL if recall is None else _as_recall(recall),
            aggregate="mean" if one_of(aggregate or "sum", "aggregate", ("sum", "mean")) == "mean" else "sum",
            context=own if context is None else as_context(context),
        )

    def rank(
        self, t: TreeArrays, X: Floats, guide: Guide, path_sum: PathSum, documents: Longs | None, *, together: bool
    ) -> Ranked:
        """Rank for each row of X, among `documents` (ascending) if given.

        `together`: they are those of one concept. A walk leads to where the query is, which may be far from there,
        so they are scored one and all.
        """
        if self.method == "best-first":
            return best_first(t, X, self.k, self.budget)
        everything = together or (documents is not None and are_few(t, documents)) or not guide.ready(t)
        if self.method == "guided" and self.recall < 1.0 and not everything:
            effort = guide.effort(t, self.k, self.budget, self.recall, self.context)
            if effort is not None:
                budgeted = self.budget is not None
                return search_guided(guide, t, X, self.k, effort, self.context, documents, budgeted=budgeted)
        if documents is not None:
            return rank_listed(t, X, documents, self.k, mean=self.aggregate == "mean", context=self.context)
        return path_sum.search(t, X, self.k, self.aggregate, self.context)


def as_context(context: Any) -> float:
    """A context: how much of the paper's sum there is in a score."""
    if not isinstance(context, int | float | np.number) or not 0.0 <= context <= 1.0:
        raise ParameterError(f"context must be a number from 0 (path gain) to 1 (the paper's sum), got {context!r}")
    return float(context)


def _as_recall(recall: Any) -> float:
    if not isinstance(recall, int | float | np.number) or not 0.0 < recall <= 1.0:
        raise ParameterError(f"recall must be a share of the true answers, above 0 and at most 1, got {recall!r}")
    return float(recall)
