"""Uniting: a tree over given leaves, made from below.

Always the two are united whose union adds least to the squared distances within (Ward 1963), as Cobweb's merge would
unite them, but chosen among all there are and not among the children of one node. Of the binary tree that this gives, a
level is left out wherever the partition utility is for it: Cobweb's split (DESIGN 1.2).

A leaf is compared with every other once, by codes (see `pairs`). After that each knows a few that are near, a union
knows those that its parts knew, and only these are compared. Where few unions are left, their nearest are sought anew;
the last are compared each with each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Bytes, Doubles, Floats, Ints, Longs
from gossamer.neighbours.all_pairs import encode_rows, nearest_of_all, nearest_of_some
from gossamer.neighbours.heap import pop, push
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.insertion import moments_of_children, split, sum_of_children
from gossamer.tree.structure import attach, new_inner
from gossamer.tree.utility import block_length, log_det

NEIGHBOURS: Final = 8
"""Others that each knows."""

_SHARE: Final = 0.1
_MOST: Final = 1500
"""When so few unions are left, by the number of leaves and at most, each is compared with each."""

_SOUGHT_ANEW: Final = 3
"""When one in so many is left, each seeks its nearest anew."""

_BELOW: Final = 0.02
"""A level is left out where utility rises by more than this share. (With −0.02, of two trees nearly as good the
smaller: a sixth fewer concepts and memory for them, and the same recall.)"""

_ABOVE: Final = 0.2
"""The same for the last unions, which are what people look at. (With 0.1 dendrogram purity is 0.01 to 0.02 lower; with
0.3 it is 0.01 higher, and recall 0.005 lower.)"""

_FLAT: Final = -0.02
"""The same for all unions of a flat tree."""

_WIDEST, _WIDEST_FLAT = 12, 32
"""Children that a concept may get by this."""

_PIVOTS: Final = 1024
"""Points by which the others are put in order, where there are too many to compare each with each."""

ALL: Final = 131_072
"""Up to so many points are compared each with each."""

_SAMPLE: Final = 4096
_PART: Final = 4096
"""Points by which the middle and the step are chosen, and points at a time that fit into the cache."""

_FAR: Final = 4.0
"""What is farther from the middle than so many times the median is cut off in codes."""

_FARTHEST: Final = 1e5
"""Steps."""

_EXACT_BITS: Final = 53
"""Of whole numbers in float64."""


class Nearest(NamedTuple):
    """Of some points, the nearest others of each."""

    places: Ints  # nearest first; NONE where there are no more
    apart: Floats  # squared distances in steps, by codes


def in_steps(points: Floats) -> float:
    """Write points in steps from their middle, of which most have at most 127 in any dimension.

    By medians, of the first few thousand: points far from all others change neither. Those are moved nearer, to where
    they are still far: the range of numbers is for the others. Returns how long a step is.
    """
    some = points[:_SAMPLE]
    centre = np.median(some, axis=0)
    reach = np.abs(some - centre).max(axis=1)
    farthest, usual = float(reach.max()), _FAR * float(np.median(reach))
    step = max((min(farthest, usual) or farthest) / 127.0, 1e-30)
    for first in range(0, len(points), _PART):
        part = points[first : first + _PART]
        part -= centre
        np.clip(part * np.float64(1.0 / step), -_FARTHEST, _FARTHEST, out=part, casting="same_kind")
    return step


def nearest_points(points: Floats, width: int, order: Longs | None, hear: Callable[[float], None]) -> Nearest:
    """The `width` nearest others of each point, which are in steps; or more, if uniting needs them.

    Too many to compare each with each are compared in groups: of those that stand together in an `order`; if None is
    given, in one of their own. `hear` is told what share is done.
    """
    width = max(0, min(max(width, NEIGHBOURS), len(points) - 1))
    if width == 0:
        return Nearest(np.empty((len(points), 0), np.int32), np.empty((len(points), 0), np.float32))
    codes = np.empty(points.shape, np.int8)
    in_threads(lambda first, last: encode_rows(points[first:last], codes[first:last]), len(points))
    if len(points) <= ALL:
        return Nearest(*nearest_of_all(codes, width, hear))
    groups = np.array_split(_order_by_pivots(codes) if order is None else order, -(-len(points) // ALL))
    places, apart = np.empty((len(points), width), np.int32), np.empty((len(points), width), np.float32)
    for number, group in enumerate(groups):

        def hear_part(share: float, number: int = number) -> None:
            hear((number + share) / len(groups))

        found, apart[group] = nearest_of_all(codes[group], width, hear_part)
        places[group] = group[found]
    return Nearest(places, apart)


def _order_by_pivots(codes: Bytes) -> Longs:
    """An order in which those that have the same of the first few nearest stand together, and what is near those."""
    pivots = codes[:_PIVOTS]
    groups = [[number] for number in range(len(pivots))]
    for one, other in ward(np.ones(len(pivots)), pivots.astype(np.float64)):
        groups.append(groups[one] + groups[other])
    rank = np.argsort(groups[-1])
    return np.argsort(rank[nearest_of_some(codes, pivots)], kind="stable")


def united(points: Floats, sizes: Longs, nearest: Nearest | None) -> Ints:
    """The binary tree over points with a size: the pair united at each step, by place; a union takes the next place.

    `nearest` are those of the points, if they are known. `points` are overwritten.
    """
    count = len(points)
    pairs = np.empty((count - 1, 2), np.int32)
    names, size = np.arange(count, dtype=np.int32), sizes.astype(np.float64)
    made, few = 0, few_of(count)
    while len(points) > few:
        if nearest is None:
            in_steps(points)
            nearest = nearest_points(points, NEIGHBOURS, None, lambda share: None)
        known = np.ascontiguousarray(nearest.places[:, :NEIGHBOURS])
        left = np.ones(len(points), np.bool_)
        made = _unite_near(points, size, known, max(few, len(points) // _SOUGHT_ANEW), names, left, pairs, made)
        assert not left.all(), "each knows another, so that two are united"
        points, size, names, nearest = points[left], size[left], names[left], None
    for one, other in ward(size, points.astype(np.float64)):
        pairs[made] = [names[one], names[other]]
        names = np.append(names, np.int32(count + made))
        made += 1
    return pairs


def few_of(count: int) -> int:
    """How many unions of so many points are compared each with each."""
    return max(1, min(_MOST, int(_SHARE * count)))


@kernel
def _unite_near(
    points: Floats, sizes: Doubles, near: Ints, until: int, names: Ints, left: npt.NDArray[np.bool_], pairs: Ints,
    made: int,
) -> int:  # fmt: skip
    """Unite the two that add least, again and again, until so many are left or none knows another.

    A union stands where the first of its parts stood, as `left` shows at the end. Writes `pairs` from `made` on, and
    returns how many there are then.
    """
    count, width = near.shape
    first = pairs.shape[0] + 1  # the place of the first union
    into = np.arange(count)
    marks, mark = np.zeros(count, np.int32), 0
    keys, things, waiting = np.empty(count, np.float32), np.empty(count, np.int32), 0
    costs, met = np.empty(count, np.float32), np.zeros(count)  # with the nearest, and the size it had then
    some, added = np.empty(2 * width, np.int32), np.empty(2 * width, np.float32)
    for one in range(count):
        mark += 1
        n = _gather(near[one], into, marks, mark, one, some, 0)
        costs[one] = _look_at(points, sizes, one, some[:n], added, near[one])
        met[one] = sizes[near[one, 0]]
        waiting = push(keys, things, waiting, costs[one], one)
    remaining = count
    while waiting > 0 and remaining > until:
        one, cost = things[0], keys[0]
        waiting = pop(keys, things, waiting)
        if into[one] != one or cost != costs[one]:
            continue  # it was united since, or looked again
        other = near[one, 0]
        if other == NONE:
            continue
        mark, n = mark + 1, 0
        if into[other] == other and not sizes[other] > met[one]:  # sizes never fall
            _pool(points, sizes, one, other)
            into[other], left[other] = one, False
            pairs[made, 0], pairs[made, 1] = names[one], names[other]
            names[one] = first + made
            made += 1
            remaining -= 1
            n = _gather(near[other], into, marks, mark, one, some, 0)
        n = _gather(near[one], into, marks, mark, one, some, n)
        costs[one] = _look_at(points, sizes, one, some[:n], added, near[one])
        met[one] = sizes[near[one, 0]]
        waiting = push(keys, things, waiting, costs[one], one)
    return made


@subkernel
def _gather(known: Ints, into: Longs, marks: Ints, mark: int, mine: int, out: Ints, n: int) -> int:
    """Append those that are known to out[:n], as the unions that they are part of now, each once; returns how many."""
    for other in known:
        if other != NONE:
            while into[other] != other:
                into[other] = into[into[other]]
                other = into[other]
            if other != mine and marks[other] != mark:
                marks[other] = mark
                out[n] = other
                n += 1
    return n


@subkernel
def _look_at(points: Floats, sizes: Doubles, mine: int, some: Ints, added: Floats, out: Ints) -> float:
    """Write those of `some` whose union with `mine` would add least, that first; returns what it adds."""
    kept = 0
    for other in some:
        cost = _apart(points[mine], points[other]) * (sizes[mine] * sizes[other] / (sizes[mine] + sizes[other]))
        cost = min(np.inf, cost)  # of NaN, infinity: it comes last, but it comes
        if kept == out.shape[0]:
            if cost >= added[kept - 1]:
                continue
            kept -= 1
        at = kept
        while at > 0 and added[at - 1] > cost:
            added[at], out[at] = added[at - 1], out[at - 1]
            at -= 1
        added[at], out[at] = cost, other
        kept += 1
    for at in range(kept, out.shape[0]):
        out[at] = NONE
    return added[0] if kept > 0 else np.inf


@subkernel
def _apart(a: Floats, b: Floats) -> np.float32:
    """Σ (a − b)², in single precision: it decides what is united, and is no part of what is kept."""
    total = np.float32(0.0)
    for d in range(a.shape[0]):
        gap = a[d] - b[d]
        total += gap * gap
    return total


@subkernel
def _pool(points: Floats, sizes: Doubles, one: int, other: int) -> None:
    """The mean and the weight of two, in the place of the first."""
    sizes[one] += sizes[other]
    share = np.float32(sizes[other] / sizes[one])
    a, b = points[one], points[other]
    for d in range(a.shape[0]):
        a[d] += (b[d] - a[d]) * share


def ward(sizes: Doubles, means: Doubles) -> list[tuple[int, int]]:
    """Ward's tree over points with a weight, each compared with each: the pair united at each step, as in `united`.

    By chains of nearest neighbours: from any point go to its nearest, from there to that one's nearest, until two are
    each other's. They are a pair of Ward's tree whatever is united before (its distances are reducible), so unions
    come out of order but are the same.
    """
    points = len(sizes)
    size, place = sizes.astype(np.float64), np.arange(points)  # of what stands in each row and column of `added`
    added = _added_by_pairs(size, means)
    pairs: list[tuple[int, int]] = []
    chain: list[int] = []
    for union in range(points, 2 * points - 1):
        if not chain:
            chain.append(int((place != NONE).argmax()))
        left, right = _mutual(added, chain)
        pairs.append((int(min(place[left], place[right])), int(max(place[left], place[right]))))
        # What uniting any other with this union adds follows from what it would with either (Lance and Williams 1967).
        n = size[left] + size[right]
        theirs = (size[left] + size) * added[left] + (size[right] + size) * added[right] - size * added[left, right]
        added[left] = added[:, left] = theirs / (n + size)
        added[right] = added[:, right] = np.inf
        size[left], place[left], place[right] = n, union, NONE
    return pairs


def _added_by_pairs(size: Doubles, mean: Doubles) -> Doubles:
    """What each pair, united, would add to the squared distances within, in some unit; infinite for a point and itself.

    Of coordinates as whole numbers, so large that products still add up exactly: then they add up to the same in any
    order, and the tree does not depend on how many threads multiply.
    """
    away = np.nan_to_num(mean - mean.mean(axis=0))  # of NaN none would be the nearest, and no chain would end
    bits = (_EXACT_BITS - mean.shape[1].bit_length()) // 2
    whole = np.rint(away * (2.0**bits / max(float(np.abs(away).max()), 1e-300)))
    products = whole @ whole.T
    square = products.diagonal()
    squared = square[:, None] + square - 2.0 * products
    added: Doubles = squared * (size[:, None] * size / (size[:, None] + size))
    np.fill_diagonal(added, np.inf)
    return added


def _mutual(added: Doubles, chain: list[int]) -> tuple[int, int]:
    """Two that are each other's nearest; the chain goes on where it was, and loses the two."""
    while True:
        nearest = int(added[chain[-1]].argmin())
        # Of equals the one before, or a chain of equals would never end.
        if len(chain) > 1 and added[chain[-1], chain[-2]] <= added[chain[-1], nearest]:
            return chain.pop(), chain.pop()
        chain.append(nearest)


# -- putting it into the tree --------------------------------------------------------------------------


@kernel
def parts_first(pairs: Ints) -> Ints:
    """The numbers of the unions, so that each comes after its parts, and all of one part before the other."""
    unions, leaves = pairs.shape[0], pairs.shape[0] + 1
    order, waiting = np.empty(unions, np.int32), np.empty(unions + 1, np.int32)
    waiting[0], n = unions - 1, min(1, unions)
    for i in range(unions - 1, -1, -1):
        n -= 1
        union = waiting[n]
        order[i] = union
        for part in pairs[union]:
            if part >= leaves:
                waiting[n] = part - leaves
                n += 1
    return order


def limits_of(leaves: int, *, flat: bool) -> tuple[int, float, float, int]:
    """From which number on unions are the last; the share by which leaving a level out must raise utility before, and
    from there on; and how many children a concept may get."""
    few = few_of(leaves)
    return (leaves - few, _FLAT, _FLAT, _WIDEST_FLAT) if flat else (leaves - few, _BELOW, _ABOVE, _WIDEST)


@kernel
def plant(
    t: TreeArrays, nodes: Ints, pairs: Ints, order: Ints, start: int, last: int, below: float, above: float, widest: int
) -> int:
    """Make nodes of order[start:], as far as there is room; returns where it stopped.

    `nodes` are those of the places: leaves, which hang nowhere, and then of the unions that were made. For the rest
    see `limits_of`.
    """
    acuity, block = t.limits[Limit.ACUITY], block_length(t.limits)
    for i in range(start, order.shape[0]):
        if t.meta[Meta.SLOTS] == t.size.shape[0] or t.meta[Meta.INNER_ROWS] == t.mean.shape[0]:
            return i
        node = new_inner(t)
        for part in pairs[order[i]]:
            attach(t, node, nodes[part])
            t.size[node] += t.size[nodes[part]]
        moments_of_children(t, node)
        t.h[node] = log_det(t.m2[t.row[node]], t.size[node], acuity, block)
        t.s[node] = sum_of_children(t, node)
        _leave_levels_out(t, node, above if order[i] >= last else below, widest)
        nodes[pairs.shape[0] + 1 + order[i]] = node
        t.meta[Meta.ROOT] = node
        t.meta[Meta.MERGED] += 1
    return order.shape[0]


@subkernel
def _leave_levels_out(t: TreeArrays, node: int, share: float, widest: int) -> None:
    """Put the children of a child in its place, as long as that raises utility by a share."""
    while True:
        best = (1.0 + share) * (t.h[node] - t.s[node] / t.size[node]) / t.n_children[node]
        gone = NONE
        child = t.first_child[node]
        while child != NONE:
            children = t.n_children[node] - 1 + t.n_children[child]
            if t.n_children[child] > 0 and children <= widest:
                within = t.s[node] - t.size[child] * t.h[child] + t.s[child]
                utility = (t.h[node] - within / t.size[node]) / children
                if utility > best:
                    best, gone = utility, child
            child = t.next_sibling[child]
        if gone == NONE:
            return
        split(t, gone)
        t.s[node] = sum_of_children(t, node)
