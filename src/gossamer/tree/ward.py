"""Ward's method over weighted points, all pairs compared: one tree, or a tree within each of several groups.

The cost of merging two clusters is what the union adds to the squared distances within (Ward 1963):

    ΔSSE(c₁, c₂) = n₁n₂/(n₁+n₂) · ‖μ₁ − μ₂‖²

Everything is computed from the inner products of the points, which are made once. They are exact whole numbers, and
what follows from them is added up in a fixed order, so that the number of threads that multiply makes no difference.
"""

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.runtime.jit import ordered_kernel, ordered_subkernel

_EXACT_BITS: Final = 53
"""Bits of a whole number that is exact in float64."""


class Forest(NamedTuple):
    """Binary trees over points: the two clusters merged at each step, those of one tree side by side.

    Points are named 0 … n − 1 and unions n, n + 1 ...
    """

    merges: Ints  # parts before the unions that contain them, the lower name first
    costs: Doubles  # of each merge; no lower than those of its parts


def ward(sizes: Doubles, means: Doubles) -> list[tuple[int, int]]:
    """Ward's tree over weighted points: the two clusters merged at each step."""
    one_group = np.zeros(len(sizes), np.int64)
    merges = ward_forest(inner_products(means), sizes, one_group, 1).merges
    return [(one, other) for one, other in merges.tolist()]


def inner_products(means: Doubles) -> Doubles:
    """The inner products of all pairs of points, about their mean and in some unit.

    Coordinates are rounded to whole numbers whose products add up exactly in float64, in any order. NaN counts as the
    mean.
    """
    away = np.nan_to_num(means - means.mean(axis=0))  # with NaN no cluster would be the nearest, and no chain would end
    bits = (_EXACT_BITS - means.shape[1].bit_length()) // 2
    whole = np.rint(away * (2.0**bits / max(float(np.abs(away).max()), 1e-300)))
    products: Doubles = whole @ whole.T
    return products


def pooled_products(products: Doubles, sizes: Doubles, group: Longs, groups: int) -> Doubles:
    """The inner products of the means of groups: Σ_u∈g Σ_v∈h n_u·n_v·⟨u, v⟩ / (n_g·n_h)."""
    pooled = np.zeros((groups, groups))
    _pool(products, sizes, group, np.zeros((groups, len(sizes))), pooled)
    total = np.bincount(group, weights=sizes, minlength=groups)
    return pooled / (total[:, None] * total)


@ordered_kernel
def _pool(products: Doubles, sizes: Doubles, group: Longs, sums: Doubles, pooled: Doubles) -> None:
    """Add up n_u·n_v·⟨u, v⟩ by groups in `pooled`; `sums`, by group and point v, is over u alone. Both hold zeros."""
    for u in range(sums.shape[1]):
        for v in range(sums.shape[1]):
            sums[group[u], v] += sizes[u] * products[u, v]
    for g in range(sums.shape[0]):
        for v in range(sums.shape[1]):
            pooled[g, group[v]] += sizes[v] * sums[g, v]


def ward_forest(products: Doubles, sizes: Doubles, group: Longs, groups: int) -> Forest:
    """Ward's tree within each group of points, that of group 0 first. Every group must have a point."""
    members = np.bincount(group, minlength=groups)
    order, first = np.argsort(group, kind="stable"), np.append(0, np.cumsum(members))
    made, most = len(sizes) - groups, int(members.max())
    forest = Forest(np.empty((made, 2), np.int32), np.empty(made))
    clusters = _Clusters(np.empty((most, most)), np.empty(most), np.empty(most, np.int32), np.empty(most + 1, np.int64))
    _merge_within(products, sizes, order, first, clusters, forest)
    return forest


class _Clusters(NamedTuple):
    """Clusters that are left, by place. A union takes the place of one of its parts."""

    costs: Doubles  # of merging two; infinite for a cluster and itself, and for places that are empty
    size: Doubles
    names: Ints  # NONE where a place is empty
    chain: Longs  # workspace


@ordered_kernel
def _merge_within(
    products: Doubles, sizes: Doubles, order: Longs, first: Longs, clusters: _Clusters, forest: Forest
) -> None:
    """Ward's tree of the points order[first[g]:first[g + 1]], for each g."""
    costs, size, names = clusters.costs, clusters.size, clusters.names
    for g in range(first.shape[0] - 1):
        n = first[g + 1] - first[g]
        for i in range(n):
            u = order[first[g] + i]
            names[i], size[i] = u, sizes[u]
            for j in range(i):  # once for both orders: pooled products may differ in the last bits, and a chain of
                v = order[first[g] + j]  # clusters that disagree about their distance never ends
                squared = products[u, u] + products[v, v] - 2.0 * products[u, v]
                costs[i, j] = costs[j, i] = squared * (sizes[u] * sizes[v] / (sizes[u] + sizes[v]))
            costs[i, i] = np.inf
        _merge_all(clusters, n, forest, first[g] - g, sizes.shape[0])


@ordered_subkernel
def _merge_all(clusters: _Clusters, count: int, forest: Forest, made: int, points: int) -> None:
    """Merge the first `count` clusters until one is left; merges are written from `made` on.

    By chains of nearest neighbours (Murtagh 1983): from any cluster to its nearest, from there to that one's nearest,
    until two are each other's nearest. Ward's tree merges these two whatever it merges before (its costs are
    reducible), so merges come in another order but are the same.
    """
    costs, size, names, chain = clusters.costs, clusters.size, clusters.names, clusters.chain
    length = 0
    for union in range(made, made + count - 1):
        if length == 0:
            chain[0], length = 0, 1
            while names[chain[0]] == NONE:
                chain[0] += 1
        length = _extend_chain(costs, count, chain, length) - 2
        left, right = chain[length + 1], chain[length]
        cost = costs[left, right]
        swapped = names[left] > names[right]
        forest.merges[union, 0] = names[right] if swapped else names[left]
        forest.merges[union, 1] = names[left] if swapped else names[right]
        forest.costs[union] = cost
        for part in forest.merges[union]:  # rounding must not make a union cheaper than its parts
            if part >= points and forest.costs[part - points] > forest.costs[union]:
                forest.costs[union] = forest.costs[part - points]
        # The cost of a union and another follows from the costs of its parts and that one (Lance and Williams 1967).
        n = size[left] + size[right]
        for k in range(count):
            if names[k] != NONE and k != left and k != right:
                total = (size[left] + size[k]) * costs[left, k] + (size[right] + size[k]) * costs[right, k]
                nearer = min(costs[left, k], costs[right, k])  # which rounding must not make a union's cost lower than
                costs[left, k] = costs[k, left] = max(nearer, (total - size[k] * cost) / (n + size[k]))
            costs[right, k] = costs[k, right] = np.inf
        size[left], names[left], names[right] = n, points + union, NONE


@ordered_subkernel
def _extend_chain(costs: Doubles, count: int, chain: Longs, length: int) -> int:
    """Follow a chain until its last two clusters are each other's nearest; returns its length then."""
    while True:
        last = chain[length - 1]
        nearest, lowest = NONE, np.inf
        if length > 1:  # of equals the one before, or a chain of equals would never end
            nearest = chain[length - 2]
            lowest = costs[last, nearest]
        for k in range(count):
            if costs[last, k] < lowest:
                nearest, lowest = k, costs[last, k]
        if length > 1 and nearest == chain[length - 2]:
            return length
        chain[length] = nearest
        length += 1
