"""Cuts of a tree by enumeration: every set of groups that covers each leaf once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from gossamer.tree.arrays import Limit, TreeArrays
from gossamer.tree.views import children_of, documents_below

Name = tuple[int, tuple[int, ...]]
"""A node, and those of its children that are taken out."""


@dataclass
class Branch:
    """A part of a tree with a name, what it costs as one group, and two children or none."""

    name: Name
    cost: float
    children: list[Branch] = field(default_factory=list)

    def leaves(self) -> frozenset[Name]:
        return (
            frozenset().union(*(child.leaves() for child in self.children)) if self.children else frozenset([self.name])
        )


def branch(pairs: list[tuple[int, int] | None], costs: list[float], at: int = 0) -> Branch:
    """A tree from the places of the two children of each place, and their costs."""
    below = [branch(pairs, costs, child) for child in pairs[at] or ()]
    return Branch((at, ()), costs[at], below)


def branch_of(t: TreeArrays, node: int) -> Branch:
    """The branch of a node: a pair of the child furthest from the mean and the rest, and so on."""
    children = children_of(t, node)
    away = {
        child: np.square(_members(t, child).mean(axis=0) - _members(t, node).mean(axis=0)).sum() for child in children
    }
    furthest = sorted(children, key=lambda child: (-away[child] if len(children) > 2 else 0.0, child))
    return _rest(t, node, tuple(furthest), ())


def _rest(t: TreeArrays, node: int, children: tuple[int, ...], without: tuple[int, ...]) -> Branch:
    X = np.concatenate([_members(t, child) for child in children]) if children else _members(t, node)
    found = Branch((node, without), _cost(t, X))
    if len(children) == 2:
        found.children = [branch_of(t, child) for child in children]
    elif children:
        found.children = [branch_of(t, children[0]), _rest(t, node, children[1:], (*without, children[0]))]
    return found


def _members(t: TreeArrays, node: int) -> np.ndarray:
    return t.vectors[t.row[t.leaf[documents_below(t, node)]]].astype(np.float64)


def _cost(t: TreeArrays, X: np.ndarray) -> float:
    """n·h."""
    return float(len(X) * np.log1p(X.var(axis=0) / t.limits[Limit.ACUITY]).sum())


def every_cut(node: Branch) -> Iterator[list[Branch]]:
    yield [node]
    if node.children:
        for parts in product(*(list(every_cut(child)) for child in node.children)):
            yield [group for part in parts for group in part]


def cost(cut: list[Branch]) -> float:
    return float(sum(group.cost for group in cut))


def best(tree: Branch, n: int, within: list[Branch]) -> list[Branch]:
    """The cut into n groups, each of which lies in one group of the cut `within`: of whole nodes, if possible.

    Otherwise it is the best into n groups that refines the best into at most n that is of whole nodes.
    """
    refining = [cut for cut in every_cut(tree) if refines(cut, within)]
    names = {group.name for group in within}
    whole = [cut for cut in refining if all(not group.name[1] or group.name in names for group in cut)]
    found = min((cut for cut in whole if len(cut) <= n), key=lambda cut: (round(cost(cut), 9), -len(cut)))
    if len(found) == n:
        return found
    return min((cut for cut in refining if len(cut) == n and refines(cut, found)), key=cost)


def refines(fine: list[Branch], coarse: list[Branch]) -> bool:
    """Whether each group of one cut lies in a group of the other."""
    wholes = [group.leaves() for group in coarse]
    return all(any(group.leaves() <= whole for whole in wholes) for group in fine)
