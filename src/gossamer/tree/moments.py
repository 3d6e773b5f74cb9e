"""Moments that need not be saved: those of concepts over leaves alone follow from the leaves.

About half of all concepts lie directly above leaves, and moments are half of what a tree takes on disk. A row of
`mean` and `m2` is left out where pooling the leaves in their order gives the same bits; free rows are left out too, and
read back as zeros. So what is saved and read again is the same tree.
"""

import numpy as np

from gossamer.array_types import NONE, Doubles, Ints
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.utility import pool_leaf


@kernel
def rows_to_save(t: TreeArrays) -> Ints:
    """The rows of `mean` and `m2`, in ascending order, that do not follow from the leaves."""
    saved = np.zeros(t.meta[Meta.INNER_ROWS], np.uint8)
    mean, m2 = np.empty(t.mean.shape[1]), np.empty(t.mean.shape[1])
    for node in range(t.meta[Meta.SLOTS]):
        if t.n_children[node] > 0:
            row = t.row[node]
            if not _pool_leaves(t, node, mean, m2) or not _same(mean, t.mean[row]) or not _same(m2, t.m2[row]):
                saved[row] = 1
    return np.flatnonzero(saved).astype(np.int32)


@kernel
def compute_moments(t: TreeArrays, saved: Ints) -> None:
    """Compute the moments of the concepts over leaves alone whose rows are not in `saved`."""
    known = np.zeros(t.mean.shape[0], np.uint8)
    for row in saved:
        known[row] = 1
    mean, m2 = np.empty(t.mean.shape[1]), np.empty(t.mean.shape[1])
    for node in range(t.meta[Meta.SLOTS]):
        row = t.row[node]
        if t.n_children[node] > 0 and known[row] == 0 and _pool_leaves(t, node, mean, m2):
            t.mean[row] = mean
            t.m2[row] = m2


@subkernel
def _pool_leaves(t: TreeArrays, node: int, mean: Doubles, m2: Doubles) -> bool:
    """Write the pooled moments of a node's children; whether all of them are leaves."""
    for d in range(mean.shape[0]):
        mean[d], m2[d] = 0.0, 0.0
    n = 0
    child = t.first_child[node]
    while child != NONE:
        if t.n_children[child] > 0:
            return False
        pool_leaf(mean, m2, n, t.vectors[t.row[child]], t.size[child])
        n += t.size[child]
        child = t.next_sibling[child]
    return True


@subkernel
def _same(one: Doubles, other: Doubles) -> bool:
    for d in range(one.shape[0]):
        if one[d] != other[d]:
            return False
    return True
