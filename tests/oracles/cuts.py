"""Cuts of a tree by enumeration: every set of nodes that covers each leaf once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product


@dataclass
class Branch:
    """A node with a name, what it costs as one group, and its children."""

    name: int
    cost: float
    children: list[Branch] = field(default_factory=list)

    def leaves(self) -> frozenset[int]:
        if not self.children:
            return frozenset([self.name])
        return frozenset().union(*(child.leaves() for child in self.children))


def branch(counts: list[int], costs: list[float]) -> Branch:
    """A tree from the numbers of children of its nodes, level by level, and their costs."""
    nodes = [Branch(name, cost) for name, cost in enumerate(costs)]
    following = iter(nodes[1:])
    for node, count in zip(nodes, counts, strict=True):
        node.children = [next(following) for _ in range(count)]
    return nodes[0]


def every_cut(node: Branch) -> Iterator[list[Branch]]:
    yield [node]
    if node.children:
        for parts in product(*(list(every_cut(child)) for child in node.children)):
            yield [group for part in parts for group in part]


def cost(cut: list[Branch]) -> float:
    return float(sum(group.cost for group in cut))


def lowest_cost(tree: Branch, n: int, within: list[Branch] | None = None) -> float:
    """Of all cuts into at most n groups, each of which lies in one group of the cut `within`."""
    coarser = [group.leaves() for group in within or [tree]]
    return min(
        cost(cut)
        for cut in every_cut(tree)
        if len(cut) <= n and all(any(group.leaves() <= whole for whole in coarser) for group in cut)
    )
