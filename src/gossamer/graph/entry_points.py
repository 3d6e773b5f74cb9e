"""The entrance of a guided search: large concepts that cut across the tree, and the parts of each, block by block.

A search looks at all of the former and at the parts of the nearest. Each part has a door, the leaf nearest to its
prototype, from which links lead on. (A single cut, into a quarter of √N concepts, was less of a guide for more nodes:
among 76,000 documents 68 instead of 34 before the first link is followed, and a quarter more in all.) The frontier
may lag behind the tree: it only decides where a walk starts.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Bytes, Doubles, Floats, Ints
from gossamer.graph.codes import Codes
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.density import squared_distance

_FEWEST: Final = 8
_MOST: Final = 32
"""Large concepts, and parts of each: the fourth root of how many leaves there are, within these."""


class Frontier(NamedTuple):
    """The large concepts, and their parts, those of one after those of the other."""

    whole: Bytes
    whole_norms: Floats  # infinite where nobody can enter
    first: Ints  # part of each; and one number more: how many parts there are
    part: Bytes
    part_norms: Floats  # infinite where the door is gone
    doors: Ints  # of parts: leaf rows

    def without(self, gone: Ints) -> Frontier:
        """The same, entered by none of the leaf rows that are gone, until it is chosen anew."""
        part_norms = np.where(np.isin(self.doors, gone), np.inf, self.part_norms)
        closed = np.minimum.reduceat(part_norms, self.first[:-1]) == np.inf
        return self._replace(part_norms=part_norms, whole_norms=np.where(closed, np.inf, self.whole_norms))

    @property
    def is_open(self) -> bool:
        """Whether there is any way in."""
        return bool(np.isfinite(self.part_norms).any())


def choose_frontier(t: TreeArrays, codes: Codes) -> Frontier:
    """Cut the tree, and what is below each of the concepts that gives: the largest is opened until there are enough."""
    leaves = int(t.meta[Meta.LEAVES])
    room = np.empty(max(_FEWEST, min(_MOST, round(leaves**0.25))), np.int32)
    wholes = room[: _cut(t, int(t.meta[Meta.ROOT]), room)].copy()
    parts = [room[: _cut(t, int(node), room)].copy() for node in wholes]
    nodes = np.concatenate(parts)
    doors = np.empty(len(nodes), np.int32)
    for at, node in enumerate(nodes):
        row = t.row[node]
        doors[at] = _door(t, int(node), np.array(t.mean[row] if t.n_children[node] else t.vectors[row], np.float64))
    first = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    return Frontier(*_codes_of(t, codes, wholes), first, *_codes_of(t, codes, nodes), doors)


def _codes_of(t: TreeArrays, codes: Codes, nodes: Ints) -> tuple[Bytes, Floats]:
    """The codes of nodes, some of which may be leaves, and their norms."""
    rows, inner = t.row[nodes], t.n_children[nodes] > 0
    inner_rows, leaf_rows = np.where(inner, rows, 0), np.where(inner, 0, rows)
    return (
        np.where(inner[:, None], codes.inner[inner_rows], codes.leaf[leaf_rows]),
        np.where(inner, codes.inner_norm[inner_rows], codes.leaf_norm[leaf_rows]),
    )


@kernel
def _cut(t: TreeArrays, top: int, out: Ints) -> int:
    """Open the largest concept of the cut again and again while its children fit; returns how many there are."""
    out[0] = top
    n = 1
    while True:
        largest = NONE
        for i in range(n):
            fits = t.n_children[out[i]] > 0 and n - 1 + t.n_children[out[i]] <= out.shape[0]
            if fits and (largest == NONE or t.size[out[i]] > t.size[out[largest]]):
                largest = i
        if largest == NONE:
            return n
        child = t.first_child[out[largest]]
        out[largest] = child
        child = t.next_sibling[child]
        while child != NONE:
            out[n] = child
            n += 1
            child = t.next_sibling[child]


@kernel
def _door(t: TreeArrays, node: int, prototype: Doubles) -> int:
    """The row of the leaf that is reached by always going to the child nearest to the prototype."""
    while t.n_children[node] > 0:
        best, nearest = NONE, np.inf
        child = t.first_child[node]
        while child != NONE:
            row = t.row[child]
            if t.n_children[child] == 0:
                distance = squared_distance(t.vectors[row], prototype)
            else:
                distance = squared_distance(t.mean[row], prototype)
            # The first is taken whatever its distance: of NaN none would be the nearest.
            if best == NONE or distance < nearest or (distance == nearest and child < best):
                best, nearest = child, distance
            child = t.next_sibling[child]
        node = best
    return t.row[node]
