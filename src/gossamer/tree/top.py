"""The top of a tree: the last clusters of an agglomeration become groups, groups of groups, and so on up to the root.

Ward's rule never takes back a merge, and what it merged wrongly below is wrong in every group above. So the clusters,
called points here, are moved as well as merged: Fisher's redistribution (1996), of clusters and not of documents. There
is a ladder of levels with 6, 12, 24, 48 ... groups, each group inside one of the level above. Levels are made from
coarse to fine. Each is cut from Ward's trees within the groups of the level before. Then single points move from group
to group, and with that between the groups above, while this objective falls:

    F = Σ over levels l of ( Σ_g∈l SSE(g)  +  b_l · Σ_g∈l n_g² ),     b_l = EVENNESS · k_l · d²/n

SSE(g) is the sum of squared distances to the mean of group g, n_g its documents, and k_l the number of groups. The
first term is the loss of utility (n·h, to first order: see `agglomeration`), added up over the levels, so that none is
good at the cost of the others. The second term is EVENNESS · n·d² where all groups have the same size, and up to k_l
times that otherwise. It decides between partitions of nearly the same utility, of which a collection without clear
classes has many. d² is the median squared distance of a point from the mean of its group when the level is cut: the
median, because one document far from all others would make a mean large.

The binary tree is then Ward's: of the points in each group of the finest level, and of the groups in each group of the
level above.

Figures: MiniLM, γ = 0.15, 1,500 points; bbc_news, 20newsgroups and banking77. NMI is that of the best cut into as many
groups as there are classes, relative to k-means. Error and largest group are relative to k-means too, on average over
cuts into 5, 8, 12, 20 and 50 groups of these three, 30,000 of QQP, and MS MARCO; in brackets the worst of the 25.

    |                                         | NMI              | dendrogram purity | error | largest group |
    |-----------------------------------------|------------------|-------------------|-------|---------------|
    | Ward                                    | 0.88, 0.94, 1.02 | .82, .44, .52     | 1.023 | 1.40 (3.0)    |
    | this                                    | 1.02, 1.01, 1.02 | .92, .50, .52     | 1.012 | 1.02 (1.8)    |
    | EVENNESS 0                              | 1.02, 1.03, 1.02 | .92, .51, .51     | 1.011 | 1.20 (2.3)    |
    | EVENNESS 0, levels from fine to coarse, |                  |                   |       |               |
    | finer groups moved, each level alone    | 0.90, 0.96, 1.03 | .83, .46, .54     | 1.021 | 1.31 (2.3)    |
    | EVENNESS 0, points moved in the finest  |                  |                   |       |               |
    | level alone, within the group above     | 1.01, 1.00, 0.98 | .91, .49, .46     | 1.013 | 1.19 (2.2)    |
    | ladder 6, 18, 54 ...                    | 1.00, 1.00, 1.02 | .91, .50, .52     | 1.012 | 1.02 (1.5)    |
    | ladder 4, 16, 64 ...                    | 1.01, 0.98, 1.02 | .92, .47, .53     | 1.013 | 1.06 (1.5)    |
    | ladder 4, 8, 16 ...                     | 1.01, 1.02, 1.00 | .91, .51, .50     | 1.012 | 1.06 (1.5)    |
    | 2,200 points (twice the time)           | 1.02, 1.03, 1.02 | .92, .52, .52     | 1.010 | 1.08 (1.8)    |

The largest of 5 to 12 groups has 0.37 to 0.19 of MS MARCO (Ward 0.65 to 0.53), 0.25 to 0.12 of QQP, and 0.29 to 0.14
of 20newsgroups. Of the groups with 50 or more documents in a tree over nine tenths of 20newsgroups, 0.52 are found
again in a tree over all (Jaccard ≥ 0.5), by Ward's top 0.44; banking77: 0.88 and 0.85; bbc_news: 0.89 and 0.80;
MS MARCO: 0.47 and 0.47.

What did not help: to weigh the error of coarse or of fine levels more (one gains what the other loses); to merge two
groups and split another while that lowers the error (Ward's start and moves are as good as the best of twelve random
starts); to move whole groups of one level between groups of the level above as well (purity rises by 0.01 and the time
by half).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.runtime.jit import ordered_kernel, ordered_subkernel
from gossamer.tree.ward import inner_products, pooled_products, ward_forest

COARSEST: Final = 6
FACTOR: Final = 2
"""Groups of the coarsest level, and how many times as many each next level has. Any number of groups is near one of
the levels then; other ladders are as good within the noise."""

POINTS_PER_GROUP: Final = 6
"""Points that the groups of a level have on average, at least. Fewer than 36 points become Ward's tree as it is."""

EVENNESS: Final = 0.02
"""Weight of the second term of the objective. The largest of 5 groups has 0.62 of MS MARCO with 0, 0.63 with 0.005 and
0.37 with 0.02; with 0.05, NMI and purity are 0.03 lower on bbc_news."""

SWEEPS: Final = 20
"""How often all points are looked at, at most, after a level was added."""

_TOLERANCE: Final = 1e-9
"""Moving a point of n documents must lower the objective by more than this share of n·d²: more than rounding does."""


class Levels(NamedTuple):
    """Nested groups of points, numbered over all levels, coarse levels first."""

    group: Longs  # of each point, at the finest level
    parent: Longs  # of each group; NONE at the coarsest level
    finest: int  # the number of the first group of the finest level


def top_merges(sizes: Doubles, means: Doubles) -> list[tuple[int, int]]:
    """A binary tree over weighted points whose cuts into any number of groups have a low squared error.

    Points are named 0 … n − 1 and unions n, n + 1 ...; returns the two merged at each step.
    """
    products = inner_products(means)
    merges = _binary_tree(products, sizes, moved_levels(products, sizes))
    return [(one, other) for one, other in merges.tolist()]


def ladder(points: int) -> list[int]:
    """How many groups each level over so many points has, coarse levels first."""
    groups, counts = COARSEST, []
    while groups * POINTS_PER_GROUP <= points:
        counts.append(groups)
        groups *= FACTOR
    return counts


def moved_levels(products: Doubles, sizes: Doubles) -> Levels:
    """The levels over points with these inner products and sizes, after all moves: see the module."""
    levels = Levels(np.zeros(len(sizes), np.int64), np.empty(0, np.int64), 0)
    penalty = np.empty(0)
    for groups in ladder(len(sizes)):
        levels = _with_finer_level(products, sizes, levels, groups)
        typical = typical_distance(products, sizes, levels)
        penalty = np.append(penalty, np.full(groups, EVENNESS * groups * typical / sizes.sum()))
        move_points(products, sizes, levels, penalty, _TOLERANCE * typical)
    return levels


def typical_distance(products: Doubles, sizes: Doubles, levels: Levels) -> float:
    """The median squared distance of a point from the mean of its group at the finest level."""
    groups = _Groups.empty(len(sizes), np.zeros(len(levels.parent)))
    _add_up(groups, products, sizes, levels)
    own, size = levels.group, groups.size[levels.group]
    towards = groups.sums[own, np.arange(len(sizes))] / size
    return float(np.median(products.diagonal() - 2.0 * towards + groups.square[own] / size**2))


# -- moves ---------------------------------------------------------------------------------------------


class _Groups(NamedTuple):
    """What the costs of moves follow from, by group."""

    sums: Doubles  # by point: the inner product of the point and the sum of the group's documents
    size: Doubles  # documents
    square: Doubles  # the squared length of the sum of its documents
    penalty: Doubles  # b of its level
    members: Longs  # points
    costs: Doubles  # workspace

    @classmethod
    def empty(cls, points: int, penalty: Doubles) -> Self:
        count = len(penalty)
        size, square, costs = np.zeros(count), np.zeros(count), np.zeros(count)
        return cls(np.zeros((count, points)), size, square, penalty, np.zeros(count, np.int64), costs)


def move_points(products: Doubles, sizes: Doubles, levels: Levels, penalty: Doubles, least: float) -> int:
    """Move points between groups of the finest level while the objective falls; returns how many moves that took.

    Points are looked at in order, again and again: each moves to the group where the objective is lowest, if it falls
    by more than `least` for each of its documents. The last point of a group stays. `penalty` is b of each group's
    level.
    """
    return _move_points(products, sizes, levels, _Groups.empty(len(sizes), penalty), least)


@ordered_kernel
def _move_points(products: Doubles, sizes: Doubles, levels: Levels, groups: _Groups, least: float) -> int:
    """The moves of `move_points`; `groups` are empty."""
    _add_up(groups, products, sizes, levels)
    moves = 0
    for _ in range(SWEEPS):
        before = moves
        for point in range(sizes.shape[0]):
            if groups.members[levels.group[point]] > 1:
                _costs_of_places(groups, levels, point, sizes[point], products[point, point])
                target = _cheapest_group(levels, point, groups.costs, least * sizes[point])
                if target != levels.group[point]:
                    _move(groups, products, sizes, levels, point, target)
                    moves += 1
        if moves == before:
            break
    return moves


@ordered_kernel
def _add_up(groups: _Groups, products: Doubles, sizes: Doubles, levels: Levels) -> None:
    """Fill the tables, which hold zeros."""
    parent = levels.parent
    for point, group in enumerate(levels.group):
        groups.size[group] += sizes[point]
        groups.members[group] += 1
        for other in range(len(sizes)):
            groups.sums[group, other] += sizes[point] * products[point, other]
    for group in range(len(parent) - 1, -1, -1):
        if parent[group] != NONE:
            groups.size[parent[group]] += groups.size[group]
            groups.members[parent[group]] += groups.members[group]
            for other in range(len(sizes)):
                groups.sums[parent[group], other] += groups.sums[group, other]
    for point, finest in enumerate(levels.group):
        group = finest
        while group != NONE:
            groups.square[group] += sizes[point] * groups.sums[group, point]
            group = parent[group]


@ordered_subkernel
def _costs_of_places(groups: _Groups, levels: Levels, point: int, n: float, square: float) -> None:
    """By group: what the objective is higher by with a point of n documents there, at the group's level and all above.

    With d the distance of the point from the mean of group g, which has n_g documents (Hartigan 1975):

        joining g   n_g·n/(n_g + n)·d² + b·((n_g + n)² − n_g²)
        leaving g   n_g·n/(n_g − n)·d² + b·(n_g² − (n_g − n)²)
    """
    costs = groups.costs
    for group in range(len(costs)):
        costs[group] = 1.0
    group = levels.group[point]
    while group != NONE:
        costs[group] = -1.0  # it is there already
        group = levels.parent[group]
    for group in range(len(costs)):
        size, sign = groups.size[group], costs[group]
        squared = square + (groups.square[group] / size - 2.0 * groups.sums[group, point]) / size
        costs[group] = size * n / (size + sign * n) * squared + groups.penalty[group] * n * (2.0 * size + sign * n)
        if levels.parent[group] != NONE:
            costs[group] += costs[levels.parent[group]]


@ordered_subkernel
def _cheapest_group(levels: Levels, point: int, costs: Doubles, least: float) -> int:
    """The group of the finest level with the lowest cost, if it is lower by `least` than that of the point's own."""
    best = levels.group[point]
    lowest = costs[best] - least
    for group in range(levels.finest, len(costs)):
        if costs[group] < lowest:
            best, lowest = group, costs[group]
    return best


@ordered_subkernel
def _move(groups: _Groups, products: Doubles, sizes: Doubles, levels: Levels, point: int, target: int) -> None:
    """Move a point to another group of the finest level, and so between the groups above that differ."""
    n, source = sizes[point], levels.group[point]
    levels.group[point] = target
    while source != target:
        for group, change in ((source, -n), (target, n)):
            sums = groups.sums[group]
            groups.square[group] += change * (2.0 * sums[point] + change * products[point, point])
            groups.size[group] += change
            groups.members[group] += 1 if change > 0.0 else -1
            for other in range(len(sizes)):
                sums[other] += change * products[point, other]
        source, target = levels.parent[source], levels.parent[target]


# -- levels --------------------------------------------------------------------------------------------


def _with_finer_level(products: Doubles, sizes: Doubles, levels: Levels, groups: int) -> Levels:
    """Divide the finest groups into `groups` in all, by undoing the costliest merges of Ward's trees within them."""
    old = len(levels.parent) - levels.finest if len(levels.parent) else 1
    forest = ward_forest(products, sizes, levels.group - levels.finest, old)
    undone = np.zeros(len(forest.costs), np.bool_)
    # Of equal costs the later merge, so that no merge is undone before one that contains it.
    undone[np.argsort(forest.costs, kind="stable")[len(undone) - (groups - old) :]] = True
    cluster = np.arange(len(sizes) + len(undone))
    _find_clusters(forest.merges, undone, cluster)
    part = np.unique(cluster[: len(sizes)], return_inverse=True)[1]
    parent = np.full(groups, NONE, np.int64)
    if len(levels.parent):
        parent[part] = levels.group
    return Levels(len(levels.parent) + part, np.append(levels.parent, parent), len(levels.parent))


@ordered_kernel
def _find_clusters(merges: Ints, undone: npt.NDArray[np.bool_], cluster: Longs) -> None:
    """Replace the name of each point and union by that of the cluster it is in when some merges are undone."""
    points = len(cluster) - len(merges)
    for i in range(len(merges) - 1, -1, -1):
        if not undone[i]:
            for part in merges[i]:
                cluster[part] = cluster[points + i]


# -- the binary tree -----------------------------------------------------------------------------------


def _binary_tree(products: Doubles, sizes: Doubles, levels: Levels) -> Ints:
    """Ward's merges of the points within the finest groups, then of these within the groups above, up to the root."""
    names, merges = np.arange(len(sizes), dtype=np.int32), [np.empty((0, 2), np.int32)]
    next_name = len(sizes)
    for group, count in _bottom_up(levels):
        forest = ward_forest(products, sizes, group, count)
        unions = np.arange(next_name, next_name + len(forest.merges), dtype=np.int32)
        names = np.append(names, unions)
        merges.append(names[forest.merges])
        next_name += len(unions)
        names = names[_last_clusters(group, count)]
        products = pooled_products(products, sizes, group, count)
        sizes = np.bincount(group, weights=sizes, minlength=count).astype(np.float64)
    return np.concatenate(merges)


def _bottom_up(levels: Levels) -> Iterator[tuple[Longs, int]]:
    """The levels from fine to coarse, and the root: the group of each point, or finer group, and how many there are."""
    group, parent = levels.group, levels.parent
    while len(parent):
        first = int(group.min())
        yield group - first, len(parent) - first
        group, parent = parent[first:], parent[:first]
    yield np.zeros(len(group), np.int64), 1


def _last_clusters(group: Longs, count: int) -> Longs:
    """By group: the name in its forest of the cluster that is left, a union or the group's only point."""
    members = np.bincount(group, minlength=count)
    only = np.zeros(count, np.int64)
    only[group] = np.arange(len(group))
    last: Longs = len(group) - 1 + np.cumsum(members - 1)
    return np.where(members > 1, last, only)
