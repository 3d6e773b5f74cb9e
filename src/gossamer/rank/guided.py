"""Tree, graph and query → nearly all of the best documents, from a small part of the tree.

A guided search chooses an effort by calibration, walks along the links of a `SearchGraph` and scores what it finds
exactly, so scores are those of an exhaustive search. It answers None where an exhaustive search is the better way. All
functions take the tree arrays and the graph that describes them, and change neither.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Floats
from gossamer.graph.calibration import Calibration, Effort, calibrate, effort_for_budget
from gossamer.graph.search_graph import SearchGraph, build, is_current, needs_building
from gossamer.graph.walk import Filter, Search, search_rows
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison
from gossamer.rank.exact import Scoring, rank_listed
from gossamer.rank.path_sum import PathSum
from gossamer.rank.request import Restriction, SearchRequest
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.rebuild import Neighbours
from gossamer.tree.scoring import EVERYTHING, Ranked

_EVERYTHING = Filter(EVERYTHING, EVERYTHING)

_NEAR = 32
"""Documents near a query that tell whether what a filter allows is near it."""


def prepare(
    t: TreeArrays, graph: SearchGraph | None, *, linked: bool = True, neighbours: Neighbours | None = None,
    comparison: Comparison = ON_PROCESSOR,
) -> SearchGraph | None:  # fmt: skip
    """The graph that guided searches of this tree need: built and calibrated, as far as `graph` is not.

    None where the tree has too few leaves for one.
    """
    if needs_building(graph, t):
        previous = graph if graph is not None and graph.version == t.meta[Meta.CHANGES] else None
        graph = build(t, linked=linked, previous=previous, neighbours=neighbours, comparison=comparison)
    if graph is None or is_current(graph, t):
        return graph
    return replace(graph, calibration=_calibrate(t, graph, 0.0))


def search_guided(
    t: TreeArrays, graph: SearchGraph, Q: Floats, request: SearchRequest, restriction: Restriction | None = None
) -> Ranked | None:
    """The best documents for each row of Q, of those that are allowed.

    Returns k of them, if there are so many, unless a budget runs out before. None where everything has to be scored:
    calibration never saw the recall that is wanted, or so few documents are allowed that scoring them is cheaper.
    """
    if restriction is not None and _are_few(t, restriction.size):
        return None
    effort = effort_for(t, graph, request)
    if effort is None:
        return None
    lost = _lost(t, graph, Q, effort, restriction if request.budget is None else None)
    if restriction is not None:
        leaves = int(t.meta[Meta.LEAVES])
        met = max(64, 5 * request.k // 4) * leaves // restriction.size  # until k of those allowed are among them
        effort = effort._replace(width=min(leaves, effort.width + met))
    ranked = search_with_effort(t, graph, Q, request.k, effort, request.context, restriction)
    if request.budget is None:
        _complete(t, Q, request, restriction, ranked, lost)
    return ranked


def search_with_effort(
    t: TreeArrays, graph: SearchGraph, Q: Floats, k: int, effort: Effort,
    context: float = 0.0, restriction: Restriction | None = None,
) -> Ranked:  # fmt: skip
    """Up to k documents for each row of Q, as many as a search of this effort finds."""
    ranked = Ranked(np.empty((len(Q), k), np.int64), np.empty((len(Q), k)), np.empty(len(Q), np.int64))
    allowed = _EVERYTHING if restriction is None else Filter(restriction.leaves, restriction.flags)
    search = search_for(t, k, effort, context)

    def work(first: int, last: int) -> None:
        workspace = graph.workspaces.take(t, search.width)
        search_rows(t, graph.arrays, Q[first:last], search, allowed, workspace, ranked.rows(first, last))
        graph.workspaces.give_back(workspace)

    in_threads(work, len(Q))
    return ranked


def search_for(t: TreeArrays, k: int, effort: Effort, context: float) -> Search:
    """How a walk of this effort is made."""
    width = max(k, min(effort.width, int(t.meta[Meta.LEAVES])))
    # Without context candidates have the order of their distances, and only those that rounding leaves in doubt are
    # scored. Context changes their order, so all of these are.
    rescored = min(width, 2 * k + (100 if context == 0.0 else 10))
    return Search(k, context, effort.slack, effort.most_nodes, width, rescored)


def effort_for(t: TreeArrays, graph: SearchGraph, request: SearchRequest) -> Effort | None:
    """What a request may spend; None if only an exhaustive search finds what it wants."""
    if request.budget is not None:
        return effort_for_budget(request.k, request.budget, linked=graph.linked)
    calibration = graph.calibration
    if request.context != 0.0:
        leaves = int(t.meta[Meta.LEAVES])
        calibration = graph.contexts.get(request.context, leaves, lambda context: _calibrate(t, graph, context))
    if calibration is None:
        return None
    return (
        calibration.usual_effort(request.k) if request.recall is None else calibration.effort(request.k, request.recall)
    )


def _calibrate(t: TreeArrays, graph: SearchGraph, context: float) -> Calibration:
    return calibrate(
        t,
        lambda Q, k, effort: search_with_effort(t, graph, Q, k, effort, context).documents,
        lambda Q, k: PathSum().search(t, Q, k, Scoring(False, context)).documents,
        linked=graph.linked,
        context=context,
    )


def _lost(
    t: TreeArrays, graph: SearchGraph, Q: Floats, effort: Effort, restriction: Restriction | None
) -> npt.NDArray[np.bool_]:
    """Which queries have few of the allowed documents near them: of the nearest ones, less than half the share of all.

    A walk finds what is allowed among what is near. Where a filter leaves out just what a query is like, it goes round
    in that: with the nearest tenth of 40,000 documents excluded it found 0.72 of the ten nearest others, and with the
    nearest half 0.14, at more cost than to score all of them.
    """
    if restriction is None:
        return np.zeros(len(Q), np.bool_)
    near = search_with_effort(t, graph, Q, _NEAR, effort).documents
    allowed = (restriction.flags[near] != 0) & (near != NONE)
    return 2 * allowed.sum(axis=1) * int(t.meta[Meta.DOCUMENTS]) < _NEAR * restriction.size


def _complete(
    t: TreeArrays, Q: Floats, request: SearchRequest, restriction: Restriction | None, ranked: Ranked,
    lost: npt.NDArray[np.bool_],
) -> None:  # fmt: skip
    """Answer those queries exhaustively that are lost, or whose walk ended, where links lead nowhere, before it had all
    answers."""
    k, scoring = request.k, Scoring(False, request.context)
    most = min(k, int(t.meta[Meta.DOCUMENTS]) if restriction is None else restriction.size)
    short = np.flatnonzero(lost | (ranked.documents[:, most - 1] == NONE))
    if not len(short):
        return
    if restriction is None:
        exact = PathSum().search(t, Q[short], k, scoring)
    else:
        exact = rank_listed(t, Q[short], restriction.documents, k, scoring)
    for ours, theirs in zip(ranked, exact, strict=True):
        ours[short] = theirs


def _are_few(t: TreeArrays, documents: int) -> bool:
    """Whether so few documents are allowed that to score them all is the cheaper way.

    Scoring m documents costs in proportion to m, and a walk that may keep only one in N/m of what it meets must go N/m
    times as far. The two cross near m = √(512·N).
    """
    return documents <= max(1000, math.isqrt(512 * int(t.meta[Meta.LEAVES])))
