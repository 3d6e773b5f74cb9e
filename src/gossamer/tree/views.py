"""Reading a tree: one node, its documents, levels, and whole paths from the root. What people see is in `browsing`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.errors import UnknownIdError
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.structure import parents_first


class NodeView:
    """A read-only view of one node. Values are read from the tree when asked for."""

    __slots__ = ("_t", "id")

    def __init__(self, t: TreeArrays, node: int) -> None:
        whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        if not whole or not 0 <= node < t.meta[Meta.SLOTS] or t.size[node] == 0:
            raise UnknownIdError(f"there is no node {node!r}: there never was, or the tree changed since")
        self._t = t
        self.id = int(node)

    @property
    def count(self) -> int:
        """Documents below."""
        return int(self._t.size[self.id])

    @property
    def is_leaf(self) -> bool:
        """Whether this is a leaf: one vector, and the documents that have it."""
        return bool(self._t.n_children[self.id] == 0)

    @property
    def mean(self) -> Doubles:
        """The prototype: the mean of the documents below."""
        t, row = self._t, self._t.row[self.id]
        mean: Doubles = np.array(t.vectors[row] if self.is_leaf else t.mean[row], np.float64)
        return _frozen(mean)

    @property
    def variance(self) -> Doubles:
        """σ² = M2/n + acuity, for each dimension."""
        t, row = self._t, self._t.row[self.id]
        acuity = t.limits[Limit.ACUITY]
        if self.is_leaf:
            return _frozen(np.full(t.vectors.shape[1], acuity))
        return _frozen(t.m2[row] / self.count + acuity)

    @property
    def parent(self) -> int | None:
        """The id of the parent; None for the root."""
        parent = int(self._t.parent[self.id])
        return None if parent == NONE else parent

    @property
    def children(self) -> tuple[int, ...]:
        """The ids of the children, in ascending order."""
        return children_of(self._t, self.id)

    @property
    def child_nodes(self) -> tuple[NodeView, ...]:
        """Views of the children."""
        return tuple(NodeView(self._t, child) for child in self.children)

    @property
    def documents(self) -> tuple[int, ...]:
        """The documents below, in ascending order."""
        return tuple(documents_below(self._t, self.id).tolist())

    def __repr__(self) -> str:
        return f"NodeView(id={self.id}, count={self.count}, children={len(self.children)})"


def _frozen(array: Doubles) -> Doubles:
    array.flags.writeable = False
    return array


def children_of(t: TreeArrays, node: int) -> tuple[int, ...]:
    """The children of a node, in ascending order."""
    found = []
    child = int(t.first_child[node])
    while child != NONE:
        found.append(child)
        child = int(t.next_sibling[child])
    return tuple(sorted(found))


def documents_below(t: TreeArrays, node: int) -> Longs:
    """The documents below a node, in ascending order."""
    order = parents_first(t, node)
    waiting = t.first_document[order[t.n_children[order] == 0]]
    found = []
    while len(waiting):
        found.append(waiting)
        waiting = t.next_document[waiting]
        waiting = waiting[waiting != NONE]
    return np.sort(np.concatenate(found)).astype(np.int64)


def levels(t: TreeArrays) -> list[Ints]:
    """The nodes by depth: the root, its children, their children ..."""
    order = parents_first(t, t.meta[Meta.ROOT])
    found = []
    start, stop = 0, 1
    while start < len(order):  # a level ends where the children of its nodes begin
        found.append(order[start:stop])
        start, stop = stop, stop + int(t.n_children[order[start:stop]].sum())
    return found


def depth(t: TreeArrays) -> int:
    """Steps from the root to the deepest leaf; 0 for an empty tree or a single leaf."""
    return len(levels(t)) - 1 if t.meta[Meta.ROOT] != NONE else 0


def branching(t: TreeArrays) -> Ints:
    """The number of children of every internal node."""
    in_use = t.size[: t.meta[Meta.SLOTS]] > 0
    children = t.n_children[: t.meta[Meta.SLOTS]][in_use]
    return children[children > 0]


# -- paths ---------------------------------------------------------------------------------------------


def path_to(t: TreeArrays, node: int) -> tuple[int, ...]:
    """The nodes from the root to `node`; raises `UnknownIdError` where there is no such node."""
    return paths_to(t, [NodeView(t, node).id])[0]


def paths_to(t: TreeArrays, nodes: Iterable[int]) -> list[tuple[int, ...]]:
    """The nodes from the root to each of several; parts that paths have in common are followed once."""
    known: dict[int, tuple[tuple[int, ...], int]] = {NONE: ((), 0)}  # a path through the node, and its length up to it
    found = []
    for node in nodes:
        rest, at = [], node
        while at not in known:
            rest.append(at)
            at = int(t.parent[at])
        whole, step = known[at]
        path = (*whole[:step], *reversed(rest))
        for steps, new in enumerate(path[step:], step + 1):
            known[new] = path, steps
        found.append(path)
    return found
