"""A node as people see it: a read-only view into the arrays."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Doubles
from gossamer.errors import UnknownIdError
from gossamer.tree.arrays import Limit, Meta, TreeArrays


class NodeView:
    """One concept: what it covers and where it hangs. Values are read when asked for, and cannot be written."""

    __slots__ = ("_t", "id")

    def __init__(self, t: TreeArrays, node: int) -> None:
        known = isinstance(node, int | np.integer) and 0 <= node < t.meta[Meta.SLOTS] and t.size[node] > 0
        if not known:
            raise UnknownIdError(f"there is no node {node!r}: it never was, or it went when documents moved")
        self._t = t
        self.id = int(node)

    @property
    def count(self) -> int:
        """Documents below."""
        return int(self._t.size[self.id])

    @property
    def is_leaf(self) -> bool:
        """Whether this is a single vector."""
        return bool(self._t.n_children[self.id] == 0)

    @property
    def mean(self) -> Doubles:
        """The prototype: the mean of the documents below."""
        t, row = self._t, self._t.row[self.id]
        mean: Doubles = np.array(t.vectors[row] if self.is_leaf else t.mean[row], np.float64)
        return _frozen(mean)

    @property
    def variance(self) -> Doubles:
        """σ² = M2/n + acuity, a dimension each."""
        t, row = self._t, self._t.row[self.id]
        acuity = t.limits[Limit.ACUITY]
        if self.is_leaf:
            return _frozen(np.full(t.vectors.shape[1], acuity))
        return _frozen(t.m2[row] / self.count + acuity)

    @property
    def parent(self) -> int | None:
        """The id of the node above; None at the root."""
        parent = int(self._t.parent[self.id])
        return None if parent == NONE else parent

    @property
    def children(self) -> tuple[int, ...]:
        """The ids of the nodes below, in ascending order."""
        t, found = self._t, []
        child = int(t.first_child[self.id])
        while child != NONE:
            found.append(child)
            child = int(t.next_sibling[child])
        return tuple(sorted(found))

    @property
    def child_nodes(self) -> tuple[NodeView, ...]:
        """The nodes below."""
        return tuple(NodeView(self._t, child) for child in self.children)

    @property
    def documents(self) -> tuple[int, ...]:
        """The documents below, in ascending order."""
        from gossamer.tree.inspect import documents_below

        return tuple(documents_below(self._t, self.id).tolist())

    def __repr__(self) -> str:
        return f"NodeView(id={self.id}, count={self.count}, children={len(self.children)})"


def _frozen(array: Doubles) -> Doubles:
    array.flags.writeable = False
    return array
