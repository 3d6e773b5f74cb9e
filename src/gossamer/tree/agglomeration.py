"""Agglomeration: leaves → a tree over them, built from below by Ward's rule.

Cobweb merges the two concepts whose union loses least, n·h with h = Σ_d log(1 + var_d/a). For an acuity a far above the
variances, as ours is, the loss is Σ_d ΔSSE_d/a to first order, where

    ΔSSE(c₁, c₂) = n₁n₂/(n₁+n₂) · ‖μ₁ − μ₂‖²

is what the union adds to the squared distances within: Ward's criterion (Ward 1963). So large loads are agglomerated by
Ward's rule, which is Cobweb's merge at a large acuity, applied to all clusters and not to the children of one node.
Every merge stays a level of the tree, so that there is a cut into any number of groups; only concepts of a few leaves
have these as children. What people see is a view of the tree with fewer levels (`tree.browsing`).

All leaves are compared once, by codes (`neighbours.all_pairs`). From then on a cluster knows a few near ones, a union
knows those that its parts knew, and only these are compared. When a third of the clusters are left, their nearest
neighbours are found again: by comparing all, or where there are many and links between leaves are known, by comparing
those that links lead to. Over the last 1,500, all compared, `top` makes the levels that people see.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Bytes, Doubles, Floats, Ints, Longs
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison, Nearest, nearest_of_some
from gossamer.neighbours.ordering import heap_pop, heap_push, sorted_insert
from gossamer.neighbours.quantise import choose_robust_grid, encode_rows, to_steps
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.insertion import split, summarise
from gossamer.tree.structure import attach, new_inner
from gossamer.tree.top import top_merges
from gossamer.tree.utility import log_scale
from gossamer.tree.ward import ward

NEIGHBOURS: Final = 8
"""Near clusters that each cluster knows."""

LARGEST_GROUP: Final = ON_PROCESSOR.largest_group
"""Leaves up to which all are compared each with each; more are divided into groups."""

_PIVOTS: Final = 1024
"""Leaves by which larger collections are divided: those with the same nearest pivot are in one group."""

_REFRESHED: Final = 3
"""Nearest neighbours are found again whenever the number of clusters has been divided by this."""

_EXACT: Final = 1500
"""The last clusters, which are compared each with each and make the top of the tree. (With a tenth of the leaves, where
that is less, bbc_news had 222 clusters and an NMI of 0.93 of k-means'; with all of them 1.02.)"""

_BY_LINKS: Final = 16_384
"""Clusters above which near ones are found by links where these are known. (A renewal of 106,000 documents takes 3.1 s
instead of 5.0, and the utility of the tree is 17.93 instead of 17.88.)"""

SMALL_CONCEPT: Final = 12
"""Leaves up to which a concept has them all as children, without levels between; fewer in a tree of few leaves."""


# -- nearest neighbours of the leaves ------------------------------------------------------------------


def codes_of(points: Floats) -> Bytes:
    """The codes of points that are in steps of a grid."""
    codes = np.empty(points.shape, np.int8)
    in_threads(lambda first, last: encode_rows(points[first:last], codes[first:last]), len(points))
    return codes


def nearest_neighbours(
    codes: Bytes,
    width: int,
    progress: Callable[[float], None],
    *,
    order: Longs | None = None,
    largest_group: int | None = None,
    comparison: Comparison = ON_PROCESSOR,
) -> Nearest:
    """The `width` nearest others of each code, or NEIGHBOURS if that is more.

    More than `largest_group` codes (None: as many as `comparison` is made for) are divided into groups of those that
    stand together in `order`, or where that is None, in an order of their own; only codes of one group are compared.
    `progress` is called with the share that is done.
    """
    count = len(codes)
    width = max(0, min(max(width, NEIGHBOURS), count - 1))
    if width == 0:
        return Nearest(np.empty((count, 0), np.int32), np.empty((count, 0), np.float32))
    largest_group = comparison.largest_group if largest_group is None else largest_group
    if count <= largest_group:
        return comparison.nearest(codes, width, progress)
    groups = np.array_split(_order_by_pivots(codes) if order is None else order, -(-count // largest_group))
    found = Nearest(np.empty((count, width), np.int32), np.empty((count, width), np.float32))
    for number, group in enumerate(groups):

        def group_progress(share: float, number: int = number) -> None:
            progress((number + share) / len(groups))

        places, found.distances[group] = comparison.nearest(codes[group], width, group_progress)
        found.places[group] = group[places]
    return found


def _order_by_pivots(codes: Bytes) -> Longs:
    """Codes with the same nearest pivot side by side, and pivots in the order of Ward's tree over them."""
    pivots = codes[:_PIVOTS]
    members = [[number] for number in range(len(pivots))]
    for one, other in ward(np.ones(len(pivots)), pivots.astype(np.float64)):
        members.append(members[one] + members[other])
    rank = np.argsort(members[-1])
    return np.argsort(rank[nearest_of_some(codes, pivots)], kind="stable")


# -- merges --------------------------------------------------------------------------------------------


class Clusters(NamedTuple):
    """Clusters that are left, by place. A union takes the place of its first part."""

    means: Floats
    sizes: Doubles
    names: Ints  # as in the merges: points from 0 on, then unions in the order they were made
    alive: npt.NDArray[np.bool_]


class _Candidates(NamedTuple):
    """What each cluster knows of near ones, and where candidates are compared."""

    near: Ints  # by cluster: near ones, that with the lowest cost first; NONE where there are no more
    costs: Floats  # of merging with the first
    met: Doubles  # the size of the first when the cost was computed
    part_of: Longs  # the cluster that each was merged into; itself while it is alive
    marks: Ints  # by cluster: the last search that saw it
    gathered: Ints  # workspace
    gathered_costs: Floats


def agglomerate(
    points: Floats, sizes: Longs, nearest: Nearest | None = None,
    *, links: Ints | None = None, neighbours: int = NEIGHBOURS, by_links: int = _BY_LINKS,
    comparison: Comparison = ON_PROCESSOR,
) -> Ints:  # fmt: skip
    """The binary tree over weighted points: the two clusters merged at each step.

    Points are named 0 … n − 1 and unions n, n + 1 ... `nearest` are the nearest neighbours of the points, where they
    are known, and `links` the points that each is linked to; each cluster knows `neighbours` others. Of more than
    `by_links` clusters, near ones are found by links. `points` are overwritten.
    """
    count = len(points)
    merges = np.empty((count - 1, 2), np.int32)
    names, weights = np.arange(count, dtype=np.int32), sizes.astype(np.float64)
    made, exact = 0, compared_exactly(count)
    while len(points) > exact:
        alive = np.ones(len(points), np.bool_)
        clusters = Clusters(points, weights, names, alive)
        if nearest is not None:
            near = nearest.places[:, :neighbours].copy()  # overwritten by merging
        elif links is not None and len(points) > by_links:
            near = near_by_links(clusters, links, merges[:made], neighbours)
        else:
            to_steps(points, choose_robust_grid(points))
            found = nearest_neighbours(codes_of(points), neighbours, lambda share: None, comparison=comparison)
            near = found.places[:, :neighbours].copy()
        until = max(exact, len(points) // _REFRESHED)
        made = _merge_nearest(clusters, near, until, merges, made)
        if alive.all():  # links lead nowhere: compare all
            assert nearest is not None or links is not None, "of all compared, each knows another, so two were merged"
            links = None
        points, weights, names, nearest = points[alive], weights[alive], names[alive], None
    for one, other in top_merges(weights, points.astype(np.float64)):
        merges[made] = [names[one], names[other]]
        names = np.append(names, np.int32(count + made))
        made += 1
    return merges


def near_by_links(clusters: Clusters, links: Ints, merges: Ints, width: int) -> Ints:
    """For each cluster, of those that links lead to from its points, the `width` with which a union costs least.

    `links` are points by point, and `merges` those that made the clusters of them; NONE where there are fewer.
    """
    place = np.full(len(links) + len(merges), NONE, np.int32)
    place[clusters.names] = np.arange(len(clusters.names), dtype=np.int32)
    _pass_down(merges, len(links), place)
    members = np.argsort(place[: len(links)], kind="stable").astype(np.int32)
    starts = np.searchsorted(place[members], np.arange(len(clusters.names) + 1))
    near = np.full((len(clusters.names), width), NONE, np.int32)
    _near_by_links(clusters, links, place, members, starts, near)
    return near


@kernel
def _pass_down(merges: Ints, points: int, place: Ints) -> None:
    """Write the place of each union at those of the two that were merged."""
    for i in range(merges.shape[0] - 1, -1, -1):
        for part in merges[i]:
            if place[points + i] != NONE:
                place[part] = place[points + i]


@kernel
def _near_by_links(clusters: Clusters, links: Ints, place: Ints, members: Ints, starts: Longs, near: Ints) -> None:
    marks, costs = np.full(near.shape[0], NONE, np.int32), np.empty(near.shape[1], np.float32)
    for one in range(near.shape[0]):
        marks[one], kept = one, 0
        for member in members[starts[one] : starts[one + 1]]:
            for point in links[member]:
                if point == NONE or marks[place[point]] == one:
                    continue
                other = place[point]
                marks[other] = one
                if sorted_insert(costs, near[one], kept, _cost(clusters, one, other), other) != NONE:
                    kept = min(kept + 1, near.shape[1])


def compared_exactly(count: int) -> int:
    """How many of the last clusters over `count` points are compared each with each."""
    return max(1, min(_EXACT, count))


@kernel
def _merge_nearest(clusters: Clusters, near: Ints, until: int, merges: Ints, made: int) -> int:
    """Merge the two clusters with the lowest cost, again and again, until `until` are left or none knows another.

    Writes `merges` from `made` on; returns how many there are then. A cost on the heap may be out of date: it is
    computed again when it comes to the top.
    """
    count, width = near.shape
    first_union = merges.shape[0] + 1
    alive, sizes = clusters.alive, clusters.sizes
    candidates = _Candidates(
        near=near,
        costs=np.empty(count, np.float32),
        met=np.zeros(count),
        part_of=np.arange(count),
        marks=np.zeros(count, np.int32),
        gathered=np.empty(2 * width, np.int32),
        gathered_costs=np.empty(2 * width, np.float32),
    )
    costs, met, part_of = candidates.costs, candidates.met, candidates.part_of
    keys, items, waiting, search = np.empty(count, np.float32), np.empty(count, np.int32), 0, 0
    for one in range(count):
        search += 1
        _choose_candidates(clusters, candidates, one, _gather(candidates, one, one, search, 0))
        waiting = heap_push(keys, items, waiting, costs[one], one)
    remaining = count
    while waiting > 0 and remaining > until:
        one, cost = items[0], keys[0]
        waiting = heap_pop(keys, items, waiting)
        if part_of[one] != one or cost != costs[one]:
            continue  # it was merged since, or its cost was computed again
        other = near[one, 0]
        if other == NONE:
            continue
        search, n = search + 1, 0
        if part_of[other] == other and not sizes[other] > met[one]:  # sizes never fall
            _pool_means(clusters, one, other)
            part_of[other], alive[other] = one, False
            merges[made, 0], merges[made, 1] = clusters.names[one], clusters.names[other]
            clusters.names[one] = first_union + made
            made += 1
            remaining -= 1
            n = _gather(candidates, one, other, search, 0)
        _choose_candidates(clusters, candidates, one, _gather(candidates, one, one, search, n))
        waiting = heap_push(keys, items, waiting, costs[one], one)
    return made


@subkernel
def _gather(candidates: _Candidates, cluster: int, known_to: int, search: int, n: int) -> int:
    """Append to the n candidates of a cluster those that another knows, as the clusters they are part of now.

    Each is listed once in a search. Returns how many there are then.
    """
    part_of, marks = candidates.part_of, candidates.marks
    for other in candidates.near[known_to]:
        if other != NONE:
            while part_of[other] != other:
                part_of[other] = part_of[part_of[other]]
                other = part_of[other]
            if other != cluster and marks[other] != search:
                marks[other] = search
                candidates.gathered[n] = other
                n += 1
    return n


@subkernel
def _choose_candidates(clusters: Clusters, candidates: _Candidates, one: int, n: int) -> None:
    """Of the n candidates gathered for a cluster, keep those with the lowest cost: ΔSSE of the union."""
    near = candidates.near[one]
    costs = candidates.gathered_costs[: near.shape[0]]
    kept = 0
    for i in range(n):
        other = candidates.gathered[i]
        if sorted_insert(costs, near, kept, _cost(clusters, one, other), other) != NONE:
            kept = min(kept + 1, near.shape[0])
    for at in range(kept, near.shape[0]):
        near[at] = NONE
    candidates.costs[one] = costs[0] if kept > 0 else np.inf
    candidates.met[one] = clusters.sizes[near[0]]


@subkernel
def _cost(clusters: Clusters, one: int, other: int) -> float:
    """ΔSSE of a union. NaN becomes infinity, so that such a cluster is merged last, but is merged."""
    a, b = clusters.sizes[one], clusters.sizes[other]
    return min(np.inf, _squared_distance(clusters.means[one], clusters.means[other]) * (a * b / (a + b)))


@subkernel
def _squared_distance(a: Floats, b: Floats) -> np.float32:
    """Σ (a − b)², in single precision: it decides the order of merges, and is not kept."""
    total = np.float32(0.0)
    for d in range(a.shape[0]):
        gap = a[d] - b[d]
        total += gap * gap
    return total


@subkernel
def _pool_means(clusters: Clusters, one: int, other: int) -> None:
    """Put the mean and size of a union in the place of its first part."""
    sizes = clusters.sizes
    sizes[one] += sizes[other]
    share = np.float32(sizes[other] / sizes[one])
    a, b = clusters.means[one], clusters.means[other]
    for d in range(a.shape[0]):
        a[d] += (b[d] - a[d]) * share


# -- concepts ------------------------------------------------------------------------------------------


class Dendrogram(NamedTuple):
    """A binary tree that becomes concepts."""

    nodes: Ints  # by name: those of the points, which are leaves without a parent, then of the unions made so far
    merges: Ints
    order: Ints  # of the merges: see `children_first`
    leaves: Ints  # below each union, by merge


def dendrogram(leaves: Ints, merges: Ints) -> Dendrogram:
    """Merges of leaves as a plan for `add_concepts`."""
    nodes = np.concatenate([leaves, np.full(len(merges), NONE, np.int32)])
    order = children_first(merges)
    return Dendrogram(nodes, merges, order, _leaves_below(merges, order))


@kernel
def children_first(merges: Ints) -> Ints:
    """The numbers of the merges, depth first: each after those that made its parts."""
    unions, points = merges.shape[0], merges.shape[0] + 1
    order, waiting = np.empty(unions, np.int32), np.empty(unions + 1, np.int32)
    waiting[0], n = unions - 1, min(1, unions)
    for i in range(unions - 1, -1, -1):
        n -= 1
        union = waiting[n]
        order[i] = union
        for part in merges[union]:
            if part >= points:
                waiting[n] = part - points
                n += 1
    return order


@kernel
def _leaves_below(merges: Ints, order: Ints) -> Ints:
    """How many points each merge unites."""
    points = merges.shape[0] + 1
    counts = np.empty(merges.shape[0], np.int32)
    for merge in order:
        counts[merge] = 0
        for part in merges[merge]:
            counts[merge] += 1 if part < points else counts[part - points]
    return counts


@subkernel
def small_concept(leaves: int) -> int:
    """The leaves that a small concept has at most in a tree of so many: a twelfth of them, from 2 to SMALL_CONCEPT."""
    return max(2, min(SMALL_CONCEPT, leaves // 12))


@kernel
def add_concepts(t: TreeArrays, plan: Dendrogram, start: int) -> int:
    """Make nodes of the merges order[start:], as far as there is room; returns where it stopped.

    A union of few leaves (`small_concept`) has these as children; every other has the two that were merged.
    """
    scale = log_scale(t.limits)
    order, merges, nodes, small = plan.order, plan.merges, plan.nodes, small_concept(plan.merges.shape[0] + 1)
    for i in range(start, order.shape[0]):
        if t.meta[Meta.SLOTS] == t.size.shape[0] or t.meta[Meta.INNER_ROWS] == t.mean.shape[0]:
            return i
        node = new_inner(t)
        for part in merges[order[i]]:
            attach(t, node, nodes[part])
            t.size[node] += t.size[nodes[part]]
        if plan.leaves[order[i]] <= small:
            for part in merges[order[i]]:
                if t.n_children[nodes[part]] > 0:
                    split(t, nodes[part])
        summarise(t, node, scale)  # of the children it keeps: moments over leaves alone are not saved, see `moments`
        nodes[merges.shape[0] + 1 + order[i]] = node
        t.meta[Meta.ROOT] = node
        t.meta[Meta.MERGED] += 1
    return order.shape[0]
