"""The entrance of a guided search: a few hundred middle-sized concepts that cut across the tree, scanned as one block.

Each has a door, the leaf nearest to its prototype, from which links lead on. The frontier may lag behind the
tree: it only decides where a walk starts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gossamer.jit import kernel
from gossamer.rank.density import squared_distance
from gossamer.tree.arrays import NONE, Doubles, Floats, Ints, Meta, TreeArrays
from gossamer.tree.codes import Bytes, Codes


class Frontier(NamedTuple):
    """One entry a concept of the cut."""

    codes: Bytes
    norms: Floats
    doors: Ints  # leaf rows


def choose_frontier(t: TreeArrays, codes: Codes) -> Frontier:
    """Cut the tree into about ¼√N concepts, from 32 to 256: the largest is opened until there are enough."""
    wanted = max(32, min(256, int(math.sqrt(int(t.meta[Meta.LEAVES])) / 4)))
    cut = np.empty(wanted, np.int32)
    cut = cut[: _cut(t, cut)]
    rows = t.row[cut]
    inner = t.n_children[cut] > 0
    doors = np.empty(len(cut), np.int32)
    for at, node in enumerate(cut):
        doors[at] = _door(t, int(node), np.array(t.mean[rows[at]] if inner[at] else t.vectors[rows[at]], np.float64))
    return Frontier(
        np.where(inner[:, None], codes.inner[np.where(inner, rows, 0)], codes.leaf[np.where(inner, 0, rows)]),
        np.where(inner, codes.inner_norm[np.where(inner, rows, 0)], codes.leaf_norm[np.where(inner, 0, rows)]),
        doors,
    )


@kernel
def _cut(t: TreeArrays, out: Ints) -> int:
    """Open the largest concept of the cut again and again while its children fit; returns how many there are."""
    out[0] = t.meta[Meta.ROOT]
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
            if distance < nearest or (distance == nearest and child < best):
                best, nearest = child, distance
            child = t.next_sibling[child]
        node = best
    return t.row[node]
