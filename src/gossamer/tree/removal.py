"""Removing documents: the exact inverse for the statistics (DESIGN 1.2)."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Doubles, Longs
from gossamer.neighbours.heap import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.insertion import moments_of_children, sum_of_children
from gossamer.tree.structure import detach, drop_document, free_inner, free_leaf, replace
from gossamer.tree.utility import block_length, log_det, subtract


@kernel
def remove_documents(t: TreeArrays, documents: Longs) -> None:
    """Remove documents, which must be there, one after the other."""
    x = np.empty(t.vectors.shape[1])
    for i in range(documents.shape[0]):
        take_out(t, documents[i], x)


@subkernel
def take_out(t: TreeArrays, document: int, x: Doubles) -> None:
    """Remove one document; its vector is left in x."""
    acuity = t.limits[Limit.ACUITY]
    block = block_length(t.limits)
    t.meta[Meta.CHANGES] += 1
    leaf = drop_document(t, document)
    copy(t.vectors[t.row[leaf]], x)
    node = t.parent[leaf]
    if t.size[leaf] == 0:
        node = _drop_leaf(t, leaf)
    while node != NONE:
        row = t.row[node]
        whole = subtract(t.mean[row], t.m2[row], t.size[node], x)
        t.size[node] -= 1
        if not whole:
            moments_of_children(t, node)
        t.h[node] = log_det(t.m2[row], t.size[node], acuity, block)
        t.s[node] = sum_of_children(t, node)
        t.changed[row] = t.meta[Meta.CHANGES]
        node = t.parent[node]


@subkernel
def _drop_leaf(t: TreeArrays, leaf: int) -> int:
    """Take an empty leaf off the tree; a parent left with one child gives its place to that child.

    Returns the lowest ancestor that still counts the document.
    """
    parent = t.parent[leaf]
    if parent == NONE:
        t.meta[Meta.ROOT] = NONE
        free_leaf(t, leaf)
        return NONE
    detach(t, leaf)
    free_leaf(t, leaf)
    if t.n_children[parent] > 1:
        return parent
    grandparent = t.parent[parent]
    only = t.first_child[parent]
    detach(t, only)
    replace(t, parent, only)
    free_inner(t, parent)
    return grandparent
