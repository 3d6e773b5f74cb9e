"""The best cut of a tree: n concepts that cover every document once, chosen by utility and not by depth.

The category utility of a partition into groups c is H(root) − Σ P(c)·H(c) (factor ½ dropped), so the best cut into at
most n groups minimises the cost Σ n_c·H(c). To open a concept, that is to replace it by its children, never costs
anything, so a best cut has as many of n groups as the branching of the tree allows.

The minimum is found exactly, in two steps. First a price is added for every group (a Lagrange multiplier): then each
concept can be decided independently of all others, whether it is one group or is opened, in one pass up the tree. The
lowest price at which at most n groups remain bounds the minimum from below, and a pass down the tree shows which
concepts no best cut opens. Second, dynamic programming over the number of groups (a knapsack on a tree) decides the
others: a few hundred of a hundred thousand concepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.checks import positive
from gossamer.errors import ParameterError
from gossamer.runtime import deadline
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.structure import parents_first

Flags: TypeAlias = npt.NDArray[np.bool_]

_ROUNDING: Final = 1e-12
"""Costs that differ by less than this share of the largest cost count as equal."""

_HALVINGS: Final = 60
"""Steps of the bisection for the price. A price that is not exact is no error: it leaves more to the second step."""


def best_cut(tree: TreeArrays, n: int) -> list[int]:
    """The concepts of the best cut into about `n` groups, large ones first; none for an empty tree.

    A cut contains all children of a concept or none, so there may be no cut into exactly `n` groups: then it has the
    nearest number that there is, of two the lower. There are at most as many groups as different documents.
    """
    return nested_cuts(tree, [n])[0]


def nested_cuts(tree: TreeArrays, sizes: Sequence[int]) -> list[list[int]]:
    """Cuts from coarse to fine, into about `sizes` groups: the best one, then the best that refines it, and so on.

    Each group of a cut lies in one group of the cut before.
    """
    wanted = [positive(size, "the number of groups") for size in sizes]
    if not wanted or any(finer <= coarser for coarser, finer in pairwise(wanted)):
        raise ParameterError(f"levels are rising numbers of groups, as in [8, 40, 200], got {list(sizes)}")
    if tree.meta[Meta.ROOT] == NONE:
        return [[] for _ in wanted]
    costs = CostTree.of(tree)
    cuts = []
    for size in wanted:
        places = costs.nearest_cut(size)
        cuts.append(sorted(costs.nodes[places].tolist(), key=lambda node: (-int(tree.size[node]), node)))
        costs.refine_only(places)
    return cuts


@dataclass(frozen=True)
class CostTree:
    """A tree with a cost for each node. Nodes have places 0, 1, 2 ..., level by level, siblings side by side."""

    nodes: Ints
    n_children: Longs
    first: Longs
    """The place of the first child, where there is one."""
    levels: list[slice]
    cost: Doubles
    """Of each node as one group; infinite where it must not be one."""

    @classmethod
    def of(cls, tree: TreeArrays) -> CostTree:
        """The nodes of a tree; a group costs n·h, that is n·H less what its documents would cost as leaves."""
        nodes = parents_first(tree, int(tree.meta[Meta.ROOT]))
        return cls.by_counts(nodes, tree.n_children[nodes].astype(np.int64), tree.size[nodes] * tree.h[nodes])

    @classmethod
    def by_counts(cls, nodes: Ints, n_children: Longs, cost: Doubles) -> CostTree:
        """From nodes listed level by level, with the number of children and the cost of each."""
        ends = 1 + np.cumsum(n_children)
        levels, start, stop = [], 0, 1
        while start < len(nodes):
            levels.append(slice(start, stop))
            start, stop = stop, int(ends[stop - 1])
        return cls(nodes, n_children, ends - n_children, levels, cost)

    def children(self, place: int) -> range:
        """The places of the children of a node."""
        first = int(self.first[place])
        return range(first, first + int(self.n_children[place]))

    def nearest_cut(self, n: int) -> list[int]:
        """The best cut into `n` groups, or where there is none, into the nearest number that there is."""
        fewer = self.cut(n)
        # To open one more concept adds at most as many groups as the widest has children.
        widest = int(self.n_children[fewer].max())
        for more in range(n + 1, min(2 * n - len(fewer), len(fewer) + widest)):
            found = self.cut(more)
            if len(found) > n:
                return found
        return fewer

    def cut(self, n: int) -> list[int]:
        """The places of the cut into at most `n` groups with the lowest cost."""
        price = _price(self, n)
        bound = _Bound.at(self, price, n)
        if bound.gap <= bound.rounding:
            return self.below(bound.opened)
        tables = _tables(self, bound.may_open(self), n)
        return _read_off(self, tables)

    def below(self, opened: Flags) -> list[int]:
        """The cut that opens exactly the nodes `opened`."""
        found, waiting = [], [0]
        while waiting:
            place = waiting.pop()
            if opened[place]:
                waiting.extend(self.children(place))
            else:
                found.append(place)
        return found

    def refine_only(self, cut: Sequence[int]) -> None:
        """Allow no group above this cut from now on."""
        inside = np.zeros(len(self.nodes), bool)
        inside[list(cut)] = True
        for above, below in pairwise(self.levels):
            inside[below] |= np.repeat(inside[above], self.n_children[above])
        self.cost[~inside] = np.inf


# -- a price for every group ---------------------------------------------------------------------------


def _priced(tree: CostTree, price: float) -> tuple[Doubles, Doubles, Longs]:
    """For each node, with a price for every group: the lowest cost, the lowest if it is opened, and the groups then."""
    least = tree.cost + price
    opened = np.full(len(least), np.inf)
    groups = np.ones(len(least), np.int64)
    for above, below in zip(reversed(tree.levels[:-1]), reversed(tree.levels[1:]), strict=True):
        inner = above.start + np.flatnonzero(tree.n_children[above])
        starts = tree.first[inner] - below.start
        opened[inner] = np.add.reduceat(least[below], starts)
        better = opened[inner] < least[inner]
        groups[inner[better]] = np.add.reduceat(groups[below], starts)[better]
        least[inner] = np.minimum(least[inner], opened[inner])
    return least, opened, groups


def _price(tree: CostTree, n: int) -> float:
    """The lowest price at which the best cut has at most `n` groups, by bisection."""
    low, high = 0.0, float(tree.cost[np.isfinite(tree.cost)].sum()) + 1.0
    for _ in range(_HALVINGS):
        deadline.check()
        middle = (low + high) / 2
        if _priced(tree, middle)[2][0] > n:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class _Bound:
    """What a price implies for all cuts into at most n groups."""

    opened: Flags
    """Nodes that the best cut at this price opens."""
    forced: Doubles
    """For each node, a lower bound of the cost of all cuts that open it, and so all above it."""
    cost: float
    """Of the best cut at this price, price excluded: it has at most n groups, so that the best cut costs no more."""
    gap: float
    """By how much the cost of the best cut may be lower."""
    rounding: float
    """Costs that differ by less are equal."""

    @classmethod
    def at(cls, tree: CostTree, price: float, n: int) -> _Bound:
        least, opened, groups = _priced(tree, price)
        forced = opened - n * price
        for above, below in pairwise(tree.levels):
            parents = np.repeat(np.arange(above.start, above.stop), tree.n_children[above])
            forced[below] = forced[parents] - least[below] + opened[below]
        cost = float(least[0] - groups[0] * price)
        rounding = _ROUNDING * float(np.max(tree.cost, where=np.isfinite(tree.cost), initial=0.0))
        return cls(opened < tree.cost + price, forced, cost, cost - float(least[0] - n * price), rounding)

    def may_open(self, tree: CostTree) -> Flags:
        """The nodes that a best cut may open; with each of them all above it."""
        flags: Flags = (self.forced <= self.cost + self.rounding) & (tree.n_children > 0)
        return flags


# -- dynamic programming over the number of groups -----------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """For a node and each number of groups: the lowest cost, and how many of the groups each child gets."""

    cost: Doubles
    """By number of groups, from 0, which is impossible."""
    shares: tuple[Longs, ...] = ()
    """For the second child and each after it: its number of groups, by the number that it and those before it have."""


def _tables(tree: CostTree, inner: Flags, n: int) -> dict[int, _Table]:
    """The tables of the nodes that may be opened and of their children, children before parents."""
    tables: dict[int, _Table] = {}
    for place in reversed(np.flatnonzero(inner).tolist()):
        deadline.check()
        for child in tree.children(place):
            if child not in tables:
                tables[child] = _Table(np.array([np.inf, tree.cost[child]]))
        tables[place] = _table(tree.cost[place], [tables[child] for child in tree.children(place)], n)
    return tables or {0: _Table(np.array([np.inf, tree.cost[0]]))}


def _table(alone: float, children: Sequence[_Table], n: int) -> _Table:
    """The table of a node with these children; as one group it costs `alone`."""
    cost, shares = children[0].cost, []
    for child in children[1:]:
        cost, share = _combine(cost, child.cost, n)
        shares.append(share)
    if len(cost) < 2:  # more children than groups
        return _Table(np.array([np.inf, alone]))
    cost[1] = alone
    return _Table(cost, tuple(shares))


def _combine(left: Doubles, right: Doubles, n: int) -> tuple[Doubles, Longs]:
    """The lowest cost of two parts by their number of groups together, and the groups of the right part in it."""
    most = min(len(left) + len(right) - 2, n)
    cost = np.full(most + 1, np.inf)
    share = np.zeros(most + 1, np.int64)
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    for count in range(1, min(len(few) - 1, most) + 1):
        stop = min(most, count + len(many) - 1)
        totals = few[count] + many[: stop - count + 1]
        better = totals < cost[count : stop + 1]
        cost[count : stop + 1][better] = totals[better]
        share[count : stop + 1][better] = count
    return cost, share if few is right else np.arange(most + 1) - share


def _read_off(tree: CostTree, tables: dict[int, _Table]) -> list[int]:
    """The best cut by the tables; of equal ones that with the fewest groups."""
    found, waiting = [], [(0, int(np.argmin(tables[0].cost)))]
    while waiting:
        place, groups = waiting.pop()
        if groups == 1:
            found.append(place)
            continue
        children = tree.children(place)
        for child, share in zip(reversed(children), reversed(tables[place].shares), strict=False):
            waiting.append((child, int(share[groups])))
            groups -= int(share[groups])
        waiting.append((children[0], groups))
    return found
