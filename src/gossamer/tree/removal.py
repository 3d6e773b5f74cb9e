"""Removal: subtract a document from its ancestors, the inverse of insertion for their statistics.

A leaf without documents goes, and an internal node left with one child is replaced by that child. Concepts that merging
or splitting made stay.
"""

import numpy as np

from gossamer.array_types import NONE, Doubles, Longs
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.insertion import moments_of_children, sum_of_children
from gossamer.tree.structure import detach, free_inner, free_leaf, remove_document, replace
from gossamer.tree.utility import log_det, log_scale, subtract


@kernel
def remove_documents(t: TreeArrays, documents: Longs) -> None:
    """Remove documents, which must be in the tree, one after the other."""
    x = np.empty(t.vectors.shape[1])
    for i in range(documents.shape[0]):
        _remove_one(t, documents[i], x)


@subkernel
def _remove_one(t: TreeArrays, document: int, x: Doubles) -> None:
    """Remove one document; x is overwritten."""
    scale = log_scale(t.limits)
    t.meta[Meta.CHANGES] += 1
    leaf = remove_document(t, document)
    copy(t.vectors[t.row[leaf]], x)
    node = t.parent[leaf]
    if t.size[leaf] == 0:
        node = _remove_leaf(t, leaf)
    while node != NONE:
        row = t.row[node]
        exact = subtract(t.mean[row], t.m2[row], t.size[node], x)
        t.size[node] -= 1
        if not exact:
            moments_of_children(t, node)
        t.h[node] = log_det(t.m2[row], t.size[node], scale)
        t.s[node] = sum_of_children(t, node)
        t.changed[row] = t.meta[Meta.CHANGES]
        node = t.parent[node]


@subkernel
def _remove_leaf(t: TreeArrays, leaf: int) -> int:
    """Remove a leaf without documents, and replace a parent left with one child by that child.

    Returns the lowest ancestor left, which still counts the document.
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
