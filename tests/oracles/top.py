"""The top of a tree from its definitions: the objective is computed from the points for every possible move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gossamer.tree.top import EVENNESS, SWEEPS
from oracles.agglomeration import Clusters, Matrix

Labels = npt.NDArray[np.int64]
"""The group of each point at one level."""


def squared_error(X: Matrix, sizes: Matrix) -> float:
    """Σ n·‖x − mean‖²."""
    return float(sizes @ np.square(X - np.average(X, axis=0, weights=sizes)).sum(axis=1))


def typical_distance(X: Matrix, sizes: Matrix, labels: Labels) -> float:
    """The median squared distance of a point from the mean of its group."""
    means = [np.average(X[labels == group], axis=0, weights=sizes[labels == group]) for group in labels]
    return float(np.median(np.square(X - means).sum(axis=1)))


def objective(X: Matrix, sizes: Matrix, levels: Sequence[Labels], typical: Sequence[float]) -> float:
    """Σ over levels of Σ SSE(g) + b·Σ n_g², with b = EVENNESS · groups · typical distance / n."""
    total = 0.0
    for labels, distance in zip(levels, typical, strict=True):
        groups = [labels == group for group in np.unique(labels)]
        b = EVENNESS * len(groups) * distance / sizes.sum()
        total += sum(squared_error(X[inside], sizes[inside]) + b * sizes[inside].sum() ** 2 for inside in groups)
    return float(total)


def placed(levels: Sequence[Labels], point: int, group: int) -> list[Labels]:
    """The levels after `point` moved to a group of the finest level, and with that to the groups which contain it."""
    model = int(np.flatnonzero(levels[-1] == group)[0])
    moved = [labels.copy() for labels in levels]
    for labels in moved:
        labels[point] = labels[model]
    return moved


def moved(X: Matrix, sizes: Matrix, levels: Sequence[Labels], typical: Sequence[float]) -> list[Labels]:
    """Each point in turn moves to the group with which the objective is lowest, until none moves."""
    levels = list(levels)
    for _ in range(SWEEPS):
        before = levels
        for point, home in enumerate(levels[-1]):
            if np.count_nonzero(levels[-1] == home) > 1:
                options = [placed(levels, point, group) for group in range(levels[-1].max() + 1)]
                objectives = [objective(X, sizes, option, typical) for option in options]
                best = int(np.argmin(objectives))
                if objectives[best] < objectives[home] * (1 - 1e-12):
                    levels = options[best]
        if before is levels:
            break
    return levels


def _ward(X: Matrix, sizes: Matrix, until: int = 1) -> tuple[list[list[int]], list[float], list[frozenset[int]]]:
    """Merge by Ward's rule until so many clusters are left: their points, the costs of the merges, and all unions."""
    clusters, costs = Clusters(X, sizes), []
    members = {name: [name] for name in clusters.size}
    unions = []
    while len(clusters.size) > until:
        names = sorted(clusters.size)
        pairs = [(one, other) for one in names for other in names if one < other]
        one, other = min(pairs, key=lambda pair: clusters.cost(*pair))
        costs.append(clusters.cost(one, other))
        members[clusters.merge(one, other)] = members[one] + members[other]
        unions.append(frozenset(members[one] + members[other]))
    return [members[name] for name in clusters.size], costs, unions


def refined(X: Matrix, sizes: Matrix, labels: Labels, groups: int) -> Labels:
    """Ward's trees within the groups, and the costliest merges of all of them undone until there are `groups`."""
    insides = [np.flatnonzero(labels == group) for group in np.unique(labels)]
    costs = [_ward(X[inside], sizes[inside])[1] for inside in insides]
    extra = groups - len(insides)
    limit = sorted(cost for some in costs for cost in some)[-extra] if extra else np.inf
    finer, found = np.empty_like(labels), 0
    for inside, some in zip(insides, costs, strict=True):
        for part in _ward(X[inside], sizes[inside], 1 + sum(cost >= limit for cost in some))[0]:
            finer[inside[part]] = found
            found += 1
    return finer


def levels_of(X: Matrix, sizes: Matrix, counts: Sequence[int]) -> list[Labels]:
    """The nested groups, coarse levels first."""
    levels: list[Labels] = []
    typical: list[float] = []
    for groups in counts:
        finer = refined(X, sizes, levels[-1] if levels else np.zeros(len(X), np.int64), groups)
        typical.append(typical_distance(X, sizes, finer))
        levels = moved(X, sizes, [*levels, finer], typical)
    return levels


def unions(X: Matrix, sizes: Matrix, levels: Sequence[Labels]) -> set[frozenset[int]]:
    """The points of each union: Ward's of the points in a finest group, of these in a group above, and so on."""
    found: set[frozenset[int]] = set()
    clusters = [[point] for point in range(len(X))]
    for labels in [*reversed(levels), np.zeros(len(X), np.int64)]:
        above = []
        for group in np.unique(labels):
            inside = [cluster for cluster in clusters if labels[cluster[0]] == group]
            weights = np.array([sizes[cluster].sum() for cluster in inside])
            means = np.array([np.average(X[cluster], axis=0, weights=sizes[cluster]) for cluster in inside])
            found |= {frozenset(p for i in union for p in inside[i]) for union in _ward(means, weights)[2]}
            above.append([point for cluster in inside for point in cluster])
        clusters = above
    return found
