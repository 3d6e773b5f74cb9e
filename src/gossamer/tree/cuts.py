"""The best cut of a tree into groups: a few concepts that cover every document once, chosen by utility, not by depth.

The category utility of a partition into groups c is ``H(root) − Σ P(c)·H(c)`` (factor ½ dropped), so the best cut
with at most n groups minimises ``Σ n_c·H(c)``: what is left unexplained within groups. Going down never costs
anything, so a best cut uses as many of its n groups as the branching of the tree lets it.

That minimum is found exactly, in two steps. A price on every group makes each concept's choice, to be one group or
to leave it to its children, independent of all others: one pass up the tree. The price at which at most n groups
remain bounds the minimum from below, and a pass down shows which concepts no best cut takes apart. What is left,
a few hundred concepts where there were a hundred thousand, is small enough for dynamic programming over the number
of groups (a knapsack on a tree).
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
"""Sums closer than this share of the largest cost are taken for equal."""

_HALVINGS: Final = 60
"""Of the interval in which the price is sought. A rough price is no error: it leaves more to the second step."""


def best_cut(tree: TreeArrays, n: int) -> list[int]:
    """The concepts of the best cut into about `n` groups, large ones first; none of an empty tree.

    A cut takes all children of a concept or none, so that a small `n` may not be met: then the number nearest to it is
    taken, of two the lower. Documents alone are never split, so there are no more groups than different documents.
    """
    return nested_cuts(tree, [n])[0]


def nested_cuts(tree: TreeArrays, sizes: Sequence[int]) -> list[list[int]]:
    """Cuts from coarse to fine, of about `sizes` groups each: the best one, then the best that refines it, and so on.

    Each group of a cut lies inside one group of the cut before.
    """
    wanted = [positive(size, "the number of groups") for size in sizes]
    if not wanted or any(finer <= coarser for coarser, finer in pairwise(wanted)):
        raise ParameterError(f"levels are rising numbers of groups, as in [8, 40, 200], got {list(sizes)}")
    if tree.meta[Meta.ROOT] == NONE:
        return [[] for _ in wanted]
    outline = Outline.of(tree)
    cuts = []
    for size in wanted:
        places = outline.nearest_cut(size)
        cuts.append(sorted(outline.nodes[places].tolist(), key=lambda node: (-int(tree.size[node]), node)))
        outline.keep_apart(places)
    return cuts


@dataclass(frozen=True)
class Outline:
    """A tree by levels: places 0, 1, 2 ..., parents before children, and the children of one side by side."""

    nodes: Ints
    n_children: Longs
    first: Longs
    """The place of the first child, where there is one."""
    levels: list[slice]
    cost: Doubles
    """Of each place as a group; infinite where it may not be one."""

    @classmethod
    def of(cls, tree: TreeArrays) -> Outline:
        """A tree as it is. A group costs n·H, less what its documents would cost as leaves."""
        nodes = parents_first(tree, int(tree.meta[Meta.ROOT]))
        return cls.by_counts(nodes, tree.n_children[nodes].astype(np.int64), tree.size[nodes] * tree.h[nodes])

    @classmethod
    def by_counts(cls, nodes: Ints, n_children: Longs, cost: Doubles) -> Outline:
        """From nodes listed level by level, with the number of children and the cost of each."""
        ends = 1 + np.cumsum(n_children)
        levels, start, stop = [], 0, 1
        while start < len(nodes):
            levels.append(slice(start, stop))
            start, stop = stop, int(ends[stop - 1])
        return cls(nodes, n_children, ends - n_children, levels, cost)

    def children(self, place: int) -> range:
        """The places of the children."""
        first = int(self.first[place])
        return range(first, first + int(self.n_children[place]))

    def nearest_cut(self, n: int) -> list[int]:
        """The best cut with `n` groups, or where there is none with the number nearest to it."""
        fewer = self.cut(n)
        # Taking one more concept apart adds at most as many groups as the widest has children.
        widest = int(self.n_children[fewer].max())
        for more in range(n + 1, min(2 * n - len(fewer), len(fewer) + widest)):
            found = self.cut(more)
            if len(found) > n:
                return found
        return fewer

    def cut(self, n: int) -> list[int]:
        """The places of a cut with at most `n` groups that costs least."""
        price = _price(self, n)
        bound = _Bound.at(self, price, n)
        if bound.gap <= bound.rounding:
            return self.below(bound.apart)
        tables = _tables(self, bound.may_open(self), n)
        return _read_off(self, tables)

    def below(self, apart: Flags) -> list[int]:
        """The cut that takes exactly the places `apart` to pieces: those reached from the root that are not."""
        found, waiting = [], [0]
        while waiting:
            place = waiting.pop()
            if apart[place]:
                waiting.extend(self.children(place))
            else:
                found.append(place)
        return found

    def keep_apart(self, cut: Sequence[int]) -> None:
        """From now on nothing above this cut is a group."""
        inside = np.zeros(len(self.nodes), bool)
        inside[list(cut)] = True
        for above, below in pairwise(self.levels):
            inside[below] |= np.repeat(inside[above], self.n_children[above])
        self.cost[~inside] = np.inf


# -- a price for every group ---------------------------------------------------------------------------


def _priced(outline: Outline, price: float) -> tuple[Doubles, Doubles, Longs]:
    """For each place the least that everything below costs, price included: at all, and taken apart; and its groups."""
    least = outline.cost + price
    apart = np.full(len(least), np.inf)
    groups = np.ones(len(least), np.int64)
    for above, below in zip(reversed(outline.levels[:-1]), reversed(outline.levels[1:]), strict=True):
        inner = above.start + np.flatnonzero(outline.n_children[above])
        starts = outline.first[inner] - below.start
        apart[inner] = np.add.reduceat(least[below], starts)
        better = apart[inner] < least[inner]
        groups[inner[better]] = np.add.reduceat(groups[below], starts)[better]
        least[inner] = np.minimum(least[inner], apart[inner])
    return least, apart, groups


def _price(outline: Outline, n: int) -> float:
    """The lowest price, nearly, at which the best cut has at most `n` groups."""
    low, high = 0.0, float(outline.cost[np.isfinite(outline.cost)].sum()) + 1.0
    for _ in range(_HALVINGS):
        deadline.check()
        middle = (low + high) / 2
        if _priced(outline, middle)[2][0] > n:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class _Bound:
    """What one price tells about all cuts with at most n groups."""

    apart: Flags
    """Places that the best cut at this price takes to pieces."""
    forced: Doubles
    """No cut that takes a place to pieces, and with it all above, costs less than this."""
    cost: float
    """Of the best cut at this price, without the price: a cut with at most n groups, so the best costs no more."""
    gap: float
    """How much less the best might cost."""
    rounding: float

    @classmethod
    def at(cls, outline: Outline, price: float, n: int) -> _Bound:
        least, apart, groups = _priced(outline, price)
        forced = apart - n * price
        for above, below in pairwise(outline.levels):
            parents = np.repeat(np.arange(above.start, above.stop), outline.n_children[above])
            forced[below] = forced[parents] - least[below] + apart[below]
        cost = float(least[0] - groups[0] * price)
        rounding = _ROUNDING * float(np.max(outline.cost, where=np.isfinite(outline.cost), initial=0.0))
        return cls(apart < outline.cost + price, forced, cost, cost - float(least[0] - n * price), rounding)

    def may_open(self, outline: Outline) -> Flags:
        """The places that a best cut may take to pieces; with each of them all above it."""
        flags: Flags = (self.forced <= self.cost + self.rounding) & (outline.n_children > 0)
        return flags


# -- dynamic programming over the number of groups -----------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """For a place and each number of groups: the least cost, and how many of the groups each child gets."""

    cost: Doubles
    """By number of groups, from none, which is impossible."""
    shares: tuple[Longs, ...] = ()
    """For the second child and each after it: how many of the groups that it and those before it have are its own."""


def _tables(outline: Outline, inner: Flags, n: int) -> dict[int, _Table]:
    """The table of every place that may be a group or lie above one, children before parents."""
    tables: dict[int, _Table] = {}
    for place in reversed(np.flatnonzero(inner).tolist()):
        deadline.check()
        for child in outline.children(place):
            if child not in tables:
                tables[child] = _Table(np.array([np.inf, outline.cost[child]]))
        tables[place] = _opened(outline.cost[place], [tables[child] for child in outline.children(place)], n)
    return tables or {0: _Table(np.array([np.inf, outline.cost[0]]))}


def _opened(alone: float, children: Sequence[_Table], n: int) -> _Table:
    """The table of a place with these children: one group costs `alone`."""
    cost, shares = children[0].cost, []
    for child in children[1:]:
        cost, share = _together(cost, child.cost, n)
        shares.append(share)
    if len(cost) < 2:  # more children than groups
        return _Table(np.array([np.inf, alone]))
    cost[1] = alone
    return _Table(cost, tuple(shares))


def _together(left: Doubles, right: Doubles, n: int) -> tuple[Doubles, Longs]:
    """The least cost of two parts side by side by their number of groups, and the groups of the right one."""
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


def _read_off(outline: Outline, tables: dict[int, _Table]) -> list[int]:
    """The cut that the tables say is the best; of equals the one with the fewest groups."""
    found, waiting = [], [(0, int(np.argmin(tables[0].cost)))]
    while waiting:
        place, groups = waiting.pop()
        if groups == 1:
            found.append(place)
            continue
        children = outline.children(place)
        for child, share in zip(reversed(children), reversed(tables[place].shares), strict=False):
            waiting.append((child, int(share[groups])))
            groups -= int(share[groups])
        waiting.append((children[0], groups))
    return found
