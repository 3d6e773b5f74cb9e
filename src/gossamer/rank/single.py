"""One raw query → its best documents, by one compiled call: checked, projected, walked and scored.

The walk for one query takes some 40 µs. Called one after the other from Python, the steps around it took as much again.
What they need is prepared once for each state of an index; whatever is not the common case is left to `rank.ranking`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gossamer.array_types import NONE, Floats
from gossamer.checks import LARGEST
from gossamer.graph.search_graph import SearchGraph
from gossamer.graph.walk import Filter, GraphArrays, Search, search_rows
from gossamer.graph.workspace import Workspace
from gossamer.rank.guided import effort_for, search_for
from gossamer.rank.request import SearchRequest
from gossamer.runtime.jit import compiled_for, kernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import EVERYTHING, Ranked
from gossamer.whitening.projection import Projection, project_rows

_EVERYTHING: Final = Filter(EVERYTHING, EVERYTHING)

_LARGEST_SQUARE: Final = LARGEST**2 / 2
"""A sum of squares below this has no NaN, infinity or too large value."""

_MOST_KINDS: Final = 64
"""Different k and recalls for which a search is kept."""

REFUSED: Final = -1
"""The query is not finite, or the walk found too few documents."""


class SingleSearch:
    """Searches for one query in one state of an index. Its parts must not change meanwhile."""

    def __init__(self, t: TreeArrays, graph: SearchGraph, projection: Projection) -> None:
        self._tree, self._graph, self._projection = t, graph, projection
        self._searches: dict[tuple[int, float | None], Search | None] = {}
        self._search_raw: Callable[..., int] | None = None

    def is_of(self, t: TreeArrays, graph: SearchGraph | None) -> bool:
        """Whether it searches this tree by this graph."""
        return self._tree is t and self._graph is graph

    def best(self, q: Floats, k: int, recall: float | None) -> tuple[Ranked, bool] | None:
        """The k best documents for a raw query, as a ranking of one row, and whether some of them have equal scores.

        None where that cannot be told by one walk: see `REFUSED`.
        """
        kind = k, recall
        search = self._searches[kind] if kind in self._searches else self._search(kind)
        if search is None:
            return None
        pool = self._graph.workspaces
        workspace = pool.take(self._tree, search.width)
        found = Ranked(np.empty((1, k), np.int64), np.empty((1, k)), np.empty(1, np.int64))
        arguments = q, self._projection, self._tree, self._graph.arrays, search, _EVERYTHING, workspace, found
        if self._search_raw is None:
            self._search_raw = compiled_for(search_raw, *arguments)
        outcome = self._search_raw(*arguments)
        pool.give_back(workspace)
        return None if outcome == REFUSED else (found, outcome > 0)

    def _search(self, kind: tuple[int, float | None]) -> Search | None:
        """How far to walk; None where everything has to be scored."""
        k, recall = kind
        request = SearchRequest.checked(k, "guided", 0.0, recall=recall)
        effort = effort_for(self._tree, self._graph, request) if request.is_guided else None
        search = None if effort is None else search_for(self._tree, request.k, effort, 0.0)
        if len(self._searches) < _MOST_KINDS:
            self._searches[kind] = search
        return search


@kernel
def search_raw(
    q: Floats, p: Projection, t: TreeArrays, g: GraphArrays, search: Search, allowed: Filter, w: Workspace, out: Ranked
) -> int:
    """Write the k best documents for a raw query; returns `REFUSED`, or how many have the score of the one before."""
    squares = 0.0
    for d in range(q.shape[0]):
        squares += np.float64(q[d]) * np.float64(q[d])
    if not squares < _LARGEST_SQUARE:
        return REFUSED
    X = np.empty((1, p.matrix.shape[1]), np.float32)
    project_rows(q.reshape((1, q.shape[0])), p.mean, p.matrix, True, X)
    search_rows(t, g, X, search, allowed, w, out)
    most = min(search.k, t.meta[Meta.DOCUMENTS])
    if out.documents[0, most - 1] == NONE:
        return REFUSED
    tied = 0
    for i in range(1, most):
        if out.scores[0, i] == out.scores[0, i - 1]:
            tied += 1
    return tied


def as_one_query(Q: Any, dim: int) -> Floats | None:
    """A query that is one vector of float32, ready to be searched for; None for anything else."""
    if type(Q) is not np.ndarray or Q.dtype != np.float32 or Q.shape not in ((dim,), (1, dim)):
        return None
    return Q.reshape(-1) if Q.flags.c_contiguous and Q.flags.aligned else None
