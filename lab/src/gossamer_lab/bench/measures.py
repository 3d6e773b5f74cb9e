"""What is measured besides time: recall against exact answers, and the cost of a recall on a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer_lab.engine import Doubles, Floats, Longs

Ids = npt.NDArray[Any]

_BLOCK: Final = 256
"""Queries whose distances to every document are in memory at once."""
_EXTRA: Final = 32
"""Candidates beyond k that float32 distances keep for float64 to decide."""
_SAME: Final = 1e-6
"""Relative difference of squared distances below which two documents are equally near."""


def exact_neighbours(X: Floats, Q: Floats, k: int) -> Longs:
    """The k rows of X nearest to each row of Q: screened in float32, decided in float64."""
    k = min(k, len(X))
    candidates = min(len(X), k + _EXTRA)
    norms = np.einsum("nd,nd->n", X, X)
    found = np.empty((len(Q), k), np.int64)
    for start in range(0, len(Q), _BLOCK):
        some = Q[start : start + _BLOCK]
        rough = norms - 2.0 * (some @ X.T)
        near = np.argpartition(rough, candidates - 1, axis=1)[:, :candidates] if candidates < len(X) else None
        near = np.tile(np.arange(len(X)), (len(some), 1)) if near is None else np.sort(near, axis=1)
        order = np.argsort(distances(X, some, near), axis=1, kind="stable")[:, :k]
        found[start : start + len(some)] = np.take_along_axis(near, order, axis=1)
    return found


def distances(X: Floats, Q: Floats, ids: Ids) -> Doubles:
    """Squared distances from each query to its own row of ids, in float64; infinite where the id is negative."""
    apart = np.empty(ids.shape)
    for i, (x, own) in enumerate(zip(Q, ids, strict=True)):
        apart[i] = np.square(X[own].astype(np.float64) - x).sum(axis=1)
    apart[ids < 0] = np.inf
    return apart


def recall(X: Floats, Q: Floats, found: Ids, exact: Ids) -> float:
    """The share of the true nearest that were found; documents as near as the last true one count as true.

    Which of several equally near documents an index returns is chance, not recall.
    """
    if not exact.size:
        return 1.0
    limits = distances(X, Q, exact).max(axis=1)
    near = distances(X, Q, found) <= (limits * (1.0 + _SAME) + _SAME)[:, None]
    hits = [min(exact.shape[1], len(np.unique(row[good]))) for row, good in zip(found, near, strict=True)]
    return float(np.mean(hits) / exact.shape[1])


def overlap(found: Ids, exact: Ids) -> float:
    """The share of the exact ids that were found."""
    hits = [len(np.intersect1d(a, b)) for a, b in zip(found, exact, strict=True)]
    return float(np.mean(hits) / exact.shape[1])


def cost_at(recall: float, recalls: Sequence[float], costs: Sequence[float]) -> float | None:
    """What a recall costs on a curve: between two points linear in recall and log cost.

    Points that cost more than another of at least their recall are left out. A recall below that of the cheapest
    point costs what that point does; one above the best point's has no cost (None).
    """
    points = front(recalls, costs)
    if not points or recall > points[-1][0]:
        return None
    below = points[0]
    for point in points:
        if point[0] >= recall:
            return _between(recall, below, point)
        below = point
    return None


def first_reaching(recall: float, recalls: Sequence[float], costs: Sequence[float]) -> int | None:
    """The place of the cheapest point with at least this recall."""
    good = [i for i, r in enumerate(recalls) if r >= recall]
    return min(good, key=lambda i: costs[i]) if good else None


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The b of cost ~ size^b, by least squares on logarithms."""
    slope = np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float)), 1)[0]
    return float(slope)


def front(recalls: Sequence[float], costs: Sequence[float]) -> list[tuple[float, float]]:
    """The points that no other beats in both recall and cost, by rising recall."""
    kept: list[tuple[float, float]] = []
    for point in sorted(zip(recalls, costs, strict=True), key=lambda p: (p[1], -p[0])):
        if not kept or point[0] > kept[-1][0]:
            kept.append(point)
    return kept


def _between(recall: float, below: tuple[float, float], above: tuple[float, float]) -> float:
    if above[0] == below[0]:
        return above[1]
    share = (recall - below[0]) / (above[0] - below[0])
    return math.exp((1.0 - share) * math.log(below[1]) + share * math.log(above[1]))
