"""The best cut of a tree: n groups that cover every document once, chosen by utility and not by depth.

The category utility of a partition into groups c is H(root) − Σ P(c)·H(c) (factor ½ dropped), so the best cut into n
groups minimises the cost Σ n_c·h(c). To open a concept, that is to replace it by its children, never costs anything.

A cut exists for every n from 1 to the number of leaves. Where a concept with more than two children stands in the way,
it is opened in part: the children furthest from its mean become groups of their own, and the rest stays one group. For
this, a node with children c₁, c₂ ... (furthest first) is read as a chain of pairs: c₁ and the rest, c₂ and the rest of
that, and so on. Cuts of whole nodes are tried first.

The minimum is found exactly, in two steps. First a price is added for every group (a Lagrange multiplier): then each
node can be decided independently of all others, whether it is one group or is opened, in one pass up the tree. The
lowest price at which at most n groups remain bounds the minimum from below, and a pass down the tree shows which
nodes no best cut opens, and which none leaves closed. Second, dynamic programming over the number of groups (a
knapsack on a tree) decides the others: a few hundred of a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.checks import positive
from gossamer.errors import ParameterError
from gossamer.neighbours.ordering import heap_pop, heap_push
from gossamer.runtime import deadline
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.utility import Moments, log_det, log_scale, pool, pool_leaf
from gossamer.tree.views import documents_below

Flags: TypeAlias = npt.NDArray[np.bool_]

_ROUNDING: Final = 1e-12
"""Costs that differ by less than this share of the largest cost count as equal."""

_LARGEST: Final = 1e200
"""A cost that is larger, or NaN, which a projection that overflowed may cause, counts as this."""

_HALVINGS: Final = 60
"""Steps of the bisection for the price. A price that is not exact is no error: it leaves more to the second step."""


class Group(NamedTuple):
    """One group of a cut: the documents below a node, but not those below some of its children."""

    node: int
    without: tuple[int, ...]
    """Children that are not in the group, furthest from the mean of the node first; usually none."""
    size: int
    """Documents."""
    cost: float
    """n·h of the group."""

    def documents(self, tree: TreeArrays) -> Longs:
        """The documents of the group, in ascending order."""
        found = documents_below(tree, self.node)
        for child in self.without:
            found = np.setdiff1d(found, documents_below(tree, child), assume_unique=True)
        return found


def best_cut(tree: TreeArrays, n: int) -> list[Group]:
    """The best cut into `n` groups, large ones first; into one for each leaf where `n` is larger than their number."""
    return nested_cuts(tree, [n])[0]


def nested_cuts(tree: TreeArrays, sizes: Sequence[int]) -> list[list[Group]]:
    """Cuts from coarse to fine, into `sizes` groups: the best one, then the best that refines it, and so on.

    Each group of a cut lies in one group of the cut before.
    """
    wanted = [positive(size, "the number of groups") for size in sizes]
    if not wanted or any(finer <= coarser for coarser, finer in pairwise(wanted)):
        raise ParameterError(f"levels are rising numbers of groups, as in [8, 40, 200], got {list(sizes)}")
    if tree.meta[Meta.ROOT] == NONE:
        return [[] for _ in wanted]
    pairs = BinaryTree(*_as_pairs(tree))
    cuts, places = [], [0]
    for size in wanted:
        places = pairs.refined(places, size)
        groups = [pairs.group(place, tree) for place in places]
        cuts.append(sorted(groups, key=lambda group: (-group.size, group.node)))
    return cuts


def linkage(tree: TreeArrays, cut: Sequence[Group]) -> Doubles:
    """How the tree merges the groups of a cut again, two at a time, as a linkage matrix of SciPy.

    A row has the numbers of the two that are merged, the height and the number of groups in the union. Groups have
    their numbers in `cut`; the union of row i is number len(cut) + i. The height is the utility that the merge loses,
    for each document of the tree, and at least that of the merges below it.
    """
    if len(cut) < 2:
        return np.empty((0, 4))
    pairs = BinaryTree(*_as_pairs(tree))
    at = {(group.node, len(group.without)): number for number, group in enumerate(cut)}
    places = np.flatnonzero(np.isin(pairs.node, [group.node for group in cut])).tolist()
    keys = ((place, (int(pairs.node[place]), int(pairs.taken[place]))) for place in places)
    number = {place: at[key] for place, key in keys if key in at}
    above: set[int] = set()
    for place in number:
        while (place := int(pairs.above[place])) not in above and place != NONE:
            above.add(place)
    height, count = dict.fromkeys(number, 0.0), dict.fromkeys(number, 1)
    for place in sorted(above, reverse=True):  # children first
        left, right = int(pairs.left[place]), int(pairs.right[place])
        lost = (pairs.cost[place] - pairs.cost[left] - pairs.cost[right]) / (2 * tree.size[pairs.node[0]])
        height[place] = max(float(lost), height[left], height[right])
        count[place] = count[left] + count[right]
    rows: list[list[float]] = []
    for place in sorted(above, key=lambda place: (height[place], -place)):
        merged = sorted(number[child] for child in (int(pairs.left[place]), int(pairs.right[place])))
        number[place] = len(cut) + len(rows)
        rows.append([*merged, height[place], count[place]])
    return np.array(rows, np.float64)


# -- a tree as pairs -----------------------------------------------------------------------------------


class BinaryTree(NamedTuple):
    """A tree in which every node has two children or none. Its nodes have places 0, 1, 2 ..., parents first."""

    left: Ints
    right: Ints
    """NONE for a leaf, as `left`."""
    cost: Doubles
    """Of each place as one group. That of a pair is at least the sum of its parts."""
    node: Ints
    """In the tree that was read as pairs."""
    taken: Ints
    """Children of the node that are not in this place: 0 for a whole node, more for the rest of one."""
    above: Ints
    """The parent; NONE for the root."""

    def refined(self, coarse: Sequence[int], n: int) -> list[int]:
        """The best cut into `n` groups each of which lies in one of the cut `coarse`; of whole nodes, if possible."""
        if n > len(self.cost) // 2:
            return np.flatnonzero(self.left == NONE).tolist()
        allowed = self.taken == 0
        allowed[list(coarse)] = True
        found = self.cut(np.where(allowed & self.inside(coarse), self.cost, np.inf), n)
        return found if len(found) == n else self.cut(np.where(self.inside(found), self.cost, np.inf), n)

    def inside(self, cut: Sequence[int]) -> Flags:
        """Which places lie in a group of a cut."""
        flags = np.zeros(len(self.cost), bool)
        flags[list(cut)] = True
        _spread(self.left, self.right, flags)
        return flags

    def cut(self, cost: Doubles, n: int) -> list[int]:
        """The cut into at most `n` groups with the lowest `cost`, of equal ones with the most groups.

        The cost of a place that must not be a group is infinite.
        """
        bound = _Bound.at(self, cost, n)
        if bound.gap <= bound.rounding and bound.groups == n:
            return self.below(bound.opened)
        return _read_off(self, _tables(self, cost, bound, n), bound.rounding)

    def below(self, opened: Flags) -> list[int]:
        """The cut that opens exactly the places `opened`."""
        found, waiting = [], [0]
        while waiting:
            place = waiting.pop()
            if opened[place]:
                waiting += int(self.right[place]), int(self.left[place])
            else:
                found.append(place)
        return found

    def group(self, place: int, tree: TreeArrays) -> Group:
        """The group that a place stands for."""
        at, without = place, []
        for _ in range(int(self.taken[place])):
            at = int(self.above[at])
            without.append(int(self.node[self.left[at]]))
        size = tree.size[self.node[place]] - tree.size[without].sum()
        return Group(int(self.node[place]), tuple(reversed(without)), int(size), float(self.cost[place]))


@kernel
def _as_pairs(t: TreeArrays) -> tuple[Ints, Ints, Doubles, Ints, Ints, Ints]:
    """The arrays of a `BinaryTree`: a node with children c₁, c₂ ... is the pair of c₁ and the rest, and so on."""
    places, dim, widest = 2 * t.meta[Meta.LEAVES] - 1, t.vectors.shape[1], 1
    for slot in range(t.meta[Meta.SLOTS]):
        if t.size[slot] > 0:
            widest = max(widest, t.n_children[slot])
    left, right, above = np.full(places, NONE, np.int32), np.full(places, NONE, np.int32), np.empty(places, np.int32)
    node, taken, cost = np.empty(places, np.int32), np.zeros(places, np.int32), np.empty(places)
    children, keys = np.empty(widest, np.int32), np.empty(widest)
    mean, m2 = np.empty(dim), np.empty(dim)
    node[0], above[0] = t.meta[Meta.ROOT], NONE
    n = 1
    for at in range(places):
        if taken[at] > 0:
            continue  # laid out with its node
        cost[at] = t.size[node[at]] * t.h[node[at]]
        count = t.n_children[node[at]]
        _furthest_first(t, node[at], children, keys)
        pair = at
        for i in range(count - 1):
            left[pair], right[pair] = n, n + 1
            above[n], above[n + 1] = pair, pair
            node[n], node[n + 1] = children[i], children[i + 1]
            if i < count - 2:
                node[n + 1], taken[n + 1] = node[at], i + 1
            pair = n + 1
            n += 2
        _cost_of_rests(t, children[:count], mean, m2, above, cost, pair)
    for at in range(places - 1, -1, -1):
        if not cost[at] < _LARGEST:
            cost[at] = _LARGEST
        if left[at] != NONE:
            cost[at] = max(cost[at], cost[left[at]] + cost[right[at]])  # rounding must not make opening cost something
    return left, right, cost, node, taken, above


@subkernel
def _furthest_first(t: TreeArrays, node: int, children: Ints, keys: Doubles) -> None:
    """Write the children of a node, the furthest from its mean first, of equals the lowest id."""
    n = 0
    child = t.first_child[node]
    while child != NONE:
        if t.n_children[node] == 2:
            key = 0.0  # the order does not matter
        elif t.n_children[child] == 0:
            key = -_squared_distance(t.mean[t.row[node]], t.vectors[t.row[child]])
        else:
            key = -_squared_distance(t.mean[t.row[node]], t.mean[t.row[child]])
        n = heap_push(keys, children, n, key, child, True)
        child = t.next_sibling[child]
    # Popped from the heap, the first goes to the end, which gets free: reversed, the list is in order.
    count = n
    while n > 0:
        first = children[0]
        n = heap_pop(keys, children, n, True)
        children[n] = first
    for i in range(count // 2):
        children[i], children[count - 1 - i] = children[count - 1 - i], children[i]


@subkernel
def _squared_distance(mean: Doubles, other: Doubles) -> float:
    total = 0.0
    for d in range(mean.shape[0]):
        gap = mean[d] - other[d]
        total += gap * gap
    return total


@subkernel
def _cost_of_rests(
    t: TreeArrays, children: Ints, mean: Doubles, m2: Doubles, above: Ints, cost: Doubles, last: int
) -> None:
    """Write n·h of the rests of a node, from the smallest, two children, on. `last` is the place of the last child."""
    if children.shape[0] < 3:
        return
    scale, place, n = log_scale(t.limits), last, 0
    mean[:] = 0.0
    m2[:] = 0.0
    for i in range(children.shape[0] - 1, 0, -1):
        child, row, size = children[i], t.row[children[i]], t.size[children[i]]
        if t.n_children[child] == 0:
            pool_leaf(mean, m2, n, t.vectors[row], size)
        else:
            pool(mean, m2, n, Moments(size, t.mean[row], t.m2[row]))
        n += size
        if i < children.shape[0] - 1:
            place = above[place]
            cost[place] = n * log_det(m2, n, scale)


@kernel
def _spread(left: Ints, right: Ints, flags: Flags) -> None:
    """Set the flags of all places below one whose flag is set."""
    for at in range(left.shape[0]):
        if flags[at] and left[at] != NONE:
            flags[left[at]] = flags[right[at]] = True


# -- a price for every group ---------------------------------------------------------------------------


@kernel
def _priced(left: Ints, right: Ints, cost: Doubles, price: float) -> tuple[Doubles, Doubles, Longs]:
    """For each place, with a price for every group: the lowest cost, that if opened, and the groups of the first."""
    places = left.shape[0]
    least, opened, groups = np.empty(places), np.full(places, np.inf), np.ones(places, np.int64)
    for at in range(places - 1, -1, -1):
        least[at] = cost[at] + price
        if left[at] != NONE:
            opened[at] = least[left[at]] + least[right[at]]
            if opened[at] < least[at]:
                least[at] = opened[at]
                groups[at] = groups[left[at]] + groups[right[at]]
    return least, opened, groups


@dataclass(frozen=True)
class _Bound:
    """What the lowest price at which the best cut has at most n groups implies for all cuts into at most n groups."""

    opened: Flags
    """Places that the best cut at this price opens."""
    groups: int
    """Of that cut, at most n."""
    gap: float
    """By how much the best cut may cost less than that cut."""
    may_open: Flags
    """Places that a best cut may open; with each of them all above it."""
    may_close: Flags
    """Places that may be one group of a best cut."""
    rounding: float
    """Costs that differ by less are equal."""

    @classmethod
    def at(cls, tree: BinaryTree, cost: Doubles, n: int) -> _Bound:
        price = _price(tree, cost, n)
        least, opened, groups = _priced(tree.left, tree.right, cost, price)
        found = float(least[0] - groups[0] * price)
        rounding = _ROUNDING * float(np.max(cost, where=np.isfinite(cost), initial=0.0))
        closed = cost + price
        best_cut_opens = opened < closed
        _force(tree.left, tree.right, least, opened, closed, n * price)
        most, inner = found + rounding, tree.left != NONE
        gap = found - float(least[0] - n * price)
        return cls(best_cut_opens, int(groups[0]), gap, (opened <= most) & inner, closed <= most, rounding)


def _price(tree: BinaryTree, cost: Doubles, n: int) -> float:
    """The lowest price at which the best cut has at most `n` groups, by bisection."""
    low, high = 0.0, float(cost[np.isfinite(cost)].sum()) + 1.0
    for _ in range(_HALVINGS):
        deadline.check()
        middle = (low + high) / 2
        if _priced(tree.left, tree.right, cost, middle)[2][0] > n:
            low = middle
        else:
            high = middle
    return high


@kernel
def _force(left: Ints, right: Ints, least: Doubles, opened: Doubles, closed: Doubles, paid: float) -> None:
    """Replace the costs of opening a place and of leaving it closed by lower bounds for all of a cut that does so.

    A cut that opens or closes a place opens all above it: f(c) = f_open(parent) − least(c) + f(c). `paid` is what n
    groups pay.
    """
    opened[0] -= paid
    closed[0] -= paid
    for at in range(left.shape[0]):
        if left[at] != NONE:
            for child in (left[at], right[at]):
                elsewhere = opened[at] - least[child]
                opened[child] += elsewhere
                closed[child] += elsewhere


# -- dynamic programming over the number of groups -----------------------------------------------------


class _Table(NamedTuple):
    """For a place: the lowest cost by the number of groups, and how many of the groups its right part gets."""

    fewest: int
    """The number of groups of the first entry."""
    cost: Doubles
    share: Longs


def _tables(tree: BinaryTree, cost: Doubles, bound: _Bound, n: int) -> dict[int, _Table]:
    """The tables of the places that may be opened and of their children, children before parents."""
    tables: dict[int, _Table] = {}
    for place in reversed(np.flatnonzero(bound.may_open).tolist()):
        deadline.check()
        left, right = (
            tables[child] if child in tables else _Table(1, cost[child : child + 1], np.zeros(1, np.int64))
            for child in (int(tree.left[place]), int(tree.right[place]))
        )
        table = _combined(left, right, n)
        if bound.may_close[place] or not len(table.cost):
            rest = table.fewest - 2 if len(table.cost) else 0  # numbers of groups that there are not
            table = _Table(
                1,
                np.concatenate([cost[place : place + 1], np.full(rest, np.inf), table.cost]),
                np.concatenate([np.zeros(1 + rest, np.int64), table.share]),
            )
        tables[place] = table
    return tables


def _combined(left: _Table, right: _Table, n: int) -> _Table:
    """The table of two parts together, up to n groups."""
    fewest = left.fewest + right.fewest
    length = min(len(left.cost) + len(right.cost) - 1, n + 1 - fewest)
    cost, share = np.full(max(0, length), np.inf), np.zeros(max(0, length), np.int64)
    few, many = (left, right) if len(left.cost) <= len(right.cost) else (right, left)
    for more in range(min(len(few.cost), length)):
        stop = min(length, more + len(many.cost))
        totals = few.cost[more] + many.cost[: stop - more]
        better = totals < cost[more:stop]
        cost[more:stop][better] = totals[better]
        share[more:stop][better] = few.fewest + more
    return _Table(fewest, cost, share if few is right else fewest + np.arange(len(share)) - share)


def _read_off(tree: BinaryTree, tables: dict[int, _Table], rounding: float) -> list[int]:
    """The best cut by the tables; of equal ones that with the most groups."""
    if 0 not in tables:
        return [0]
    best = np.flatnonzero(tables[0].cost <= tables[0].cost.min() + rounding)
    found, waiting = [], [(0, tables[0].fewest + int(best[-1]))]
    while waiting:
        place, groups = waiting.pop()
        if groups == 1:
            found.append(place)
            continue
        table = tables[place]
        share = int(table.share[groups - table.fewest])
        waiting += (int(tree.right[place]), share), (int(tree.left[place]), groups - share)
    return found
