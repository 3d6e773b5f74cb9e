"""Tree → where walks start: large concepts that partition the leaves, their parts, and a leaf of each part.

A search scores all of the large concepts and the parts of the nearest, and enters by the leaves of the nearest parts.
The entry point of a part is the leaf reached by always descending to the child nearest to the part's mean. (Cutting the
tree once, into a quarter of √N concepts, led less well for more nodes: among 76,000 documents 68 instead of 34 before
the first link is followed, and a quarter more in all.) Entry points only decide where a walk starts, so they may be
older than the tree.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Bytes, Doubles, Floats, Ints
from gossamer.graph.codes import Codes, encode_nodes
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import squared_distance

_FEWEST: Final = 8
_MOST: Final = 32
"""Bounds on the number of large concepts, and of parts of each, which is N^¼ for N leaves."""


class EntryPoints(NamedTuple):
    """Entry concepts with their parts; the parts of one concept stand together."""

    concepts: Bytes  # codes of their means
    concept_norms: Floats  # infinite where no part can be entered
    first: Ints  # the first part of each concept; and at the end the number of parts
    parts: Bytes  # codes of their means
    part_norms: Floats  # infinite where the leaf was removed
    leaves: Ints  # by part: the leaf row to enter by

    def without(self, removed: Ints) -> EntryPoints:
        """These entry points less those at leaf rows that were removed."""
        part_norms = np.where(np.isin(self.leaves, removed), np.inf, self.part_norms)
        closed = np.minimum.reduceat(part_norms, self.first[:-1]) == np.inf
        return self._replace(part_norms=part_norms, concept_norms=np.where(closed, np.inf, self.concept_norms))

    @property
    def any_left(self) -> bool:
        """Whether a walk can start anywhere."""
        return bool(np.isfinite(self.part_norms).any())


def choose_entry_points(t: TreeArrays, codes: Codes) -> EntryPoints:
    """Cut the tree into large concepts, each of those into parts, and descend from each part to its entry point."""
    room = np.empty(max(_FEWEST, min(_MOST, round(int(t.meta[Meta.LEAVES]) ** 0.25))), np.int32)
    concepts = room[: cut_by_size(t, int(t.meta[Meta.ROOT]), room)].copy()
    parts_of_each = [room[: cut_by_size(t, int(node), room)].copy() for node in concepts]
    parts = np.concatenate(parts_of_each)
    leaves = np.empty(len(parts), np.int32)
    for at, node in enumerate(parts):
        row = t.row[node]
        mean = np.array(t.mean[row] if t.n_children[node] else t.vectors[row], np.float64)
        leaves[at] = nearest_by_descent(t, int(node), mean)
    concept_codes, concept_norms = _codes_of(t, codes, concepts)
    part_codes, part_norms = _codes_of(t, codes, parts)
    return EntryPoints(
        concepts=concept_codes,
        concept_norms=concept_norms,
        first=np.cumsum([0, *map(len, parts_of_each)], dtype=np.int32),
        parts=part_codes,
        part_norms=part_norms,
        leaves=leaves,
    )


def _codes_of(t: TreeArrays, codes: Codes, nodes: Ints) -> tuple[Bytes, Floats]:
    """The codes and norms of nodes, some of which may be leaves."""
    out, norms = np.zeros((len(nodes), codes.leaf.shape[1]), np.int8), np.empty(len(nodes), np.float32)
    encode_nodes(t, nodes, codes, out, norms)
    return out, norms


@kernel
def cut_by_size(t: TreeArrays, top: int, out: Ints) -> int:
    """Write a partition of what is below `top`: replace the largest node by its children while they fit into `out`.

    Of equal sizes the first in `out` is replaced. Returns the number of nodes.
    """
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
def nearest_by_descent(t: TreeArrays, node: int, x: Doubles) -> int:
    """The row of the leaf reached by always going to the child whose mean is nearest to x; of equals, the lowest id."""
    while t.n_children[node] > 0:
        best, nearest = NONE, np.inf
        child = t.first_child[node]
        while child != NONE:
            row = t.row[child]
            if t.n_children[child] == 0:
                distance = squared_distance(t.vectors[row], x)
            else:
                distance = squared_distance(t.mean[row], x)
            # The first is taken whatever its distance: if all are NaN, none would be nearest.
            if best == NONE or distance < nearest or (distance == nearest and child < best):
                best, nearest = child, distance
            child = t.next_sibling[child]
        node = best
    return t.row[node]
