"""The shape of the tree: slots, child lists, documents of a leaf, leaves by content. No statistics here."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Floats, Ints
from gossamer.neighbours.heap import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.utility import content_hash, same, squared_length


@subkernel
def new_leaf(t: TreeArrays, x: Floats) -> int:
    """A leaf slot that holds x and no document yet; findable by content."""
    node = t.meta[Meta.FREE_LEAF]
    if node != NONE:
        t.meta[Meta.FREE_LEAF] = t.next_sibling[node]
    else:
        node = t.meta[Meta.SLOTS]
        t.meta[Meta.SLOTS] += 1
        t.row[node] = t.meta[Meta.LEAF_ROWS]
        t.owner[t.row[node]] = node
        t.meta[Meta.LEAF_ROWS] += 1
    _clear(t, node)
    row = t.row[node]
    copy(x, t.vectors[row])
    t.norm[row] = squared_length(x)
    t.key[row] = content_hash(x)
    place = t.key[row] & (t.bucket.shape[0] - 1)
    t.chain[row] = t.bucket[place]
    t.bucket[place] = node
    t.meta[Meta.NODES] += 1
    t.meta[Meta.LEAVES] += 1
    return node


@subkernel
def new_inner(t: TreeArrays) -> int:
    """An internal slot without children; its moments are for the caller to fill in."""
    node = t.meta[Meta.FREE_INNER]
    if node != NONE:
        t.meta[Meta.FREE_INNER] = t.next_sibling[node]
    else:
        node = t.meta[Meta.SLOTS]
        t.meta[Meta.SLOTS] += 1
        t.row[node] = t.meta[Meta.INNER_ROWS]
        t.meta[Meta.INNER_ROWS] += 1
    _clear(t, node)
    t.changed[t.row[node]] = t.meta[Meta.CHANGES]
    t.meta[Meta.NODES] += 1
    return node


@subkernel
def _clear(t: TreeArrays, node: int) -> None:
    t.size[node] = 0
    t.parent[node] = NONE
    t.first_child[node] = NONE
    t.next_sibling[node] = NONE
    t.prev_sibling[node] = NONE
    t.n_children[node] = 0
    t.h[node] = 0.0
    t.s[node] = 0.0
    t.first_document[node] = NONE


@subkernel
def free_leaf(t: TreeArrays, node: int) -> None:
    """Give back the slot of a leaf that hangs nowhere any more."""
    row = t.row[node]
    place = t.key[row] & (t.bucket.shape[0] - 1)
    if t.bucket[place] == node:
        t.bucket[place] = t.chain[row]
    else:
        before = t.bucket[place]
        while t.chain[t.row[before]] != node:
            before = t.chain[t.row[before]]
        t.chain[t.row[before]] = t.chain[row]
    t.norm[row] = np.inf
    t.size[node] = 0
    t.next_sibling[node] = t.meta[Meta.FREE_LEAF]
    t.meta[Meta.FREE_LEAF] = node
    t.meta[Meta.NODES] -= 1
    t.meta[Meta.LEAVES] -= 1


@subkernel
def free_inner(t: TreeArrays, node: int) -> None:
    """Give back the slot of an internal node that hangs nowhere any more."""
    t.size[node] = 0
    t.n_children[node] = 0
    t.next_sibling[node] = t.meta[Meta.FREE_INNER]
    t.meta[Meta.FREE_INNER] = node
    t.meta[Meta.NODES] -= 1


@subkernel
def find_leaf(t: TreeArrays, x: Floats) -> int:
    """The leaf that holds exactly x, or NONE."""
    key = content_hash(x)
    node = t.bucket[key & (t.bucket.shape[0] - 1)]
    while node != NONE:
        row = t.row[node]
        if t.key[row] == key and same(t.vectors[row], x):
            return node
        node = t.chain[row]
    return NONE


@kernel
def rehash(t: TreeArrays) -> None:
    """Fill `bucket`, which was replaced by a longer one, from the leaves alive."""
    t.bucket[:] = NONE
    mask = t.bucket.shape[0] - 1
    for node in range(t.meta[Meta.SLOTS]):
        if t.size[node] > 0 and t.n_children[node] == 0:
            row = t.row[node]
            place = t.key[row] & mask
            t.chain[row] = t.bucket[place]
            t.bucket[place] = node


@subkernel
def attach(t: TreeArrays, parent: int, child: int) -> None:
    """Hang `child`, which hangs nowhere, under `parent`."""
    head = t.first_child[parent]
    t.parent[child] = parent
    t.prev_sibling[child] = NONE
    t.next_sibling[child] = head
    if head != NONE:
        t.prev_sibling[head] = child
    t.first_child[parent] = child
    t.n_children[parent] += 1


@subkernel
def detach(t: TreeArrays, child: int) -> None:
    """Take `child` out of its parent's list."""
    parent, before, after = t.parent[child], t.prev_sibling[child], t.next_sibling[child]
    if before != NONE:
        t.next_sibling[before] = after
    else:
        t.first_child[parent] = after
    if after != NONE:
        t.prev_sibling[after] = before
    t.n_children[parent] -= 1
    t.parent[child] = NONE


@subkernel
def replace(t: TreeArrays, old: int, new: int) -> None:
    """Put `new`, which hangs nowhere, where `old` hangs; `old` hangs nowhere afterwards."""
    parent = t.parent[old]
    if parent == NONE:
        t.meta[Meta.ROOT] = new
        t.parent[new] = NONE
    else:
        detach(t, old)
        attach(t, parent, new)
    t.parent[old] = NONE


@subkernel
def hang_document(t: TreeArrays, leaf: int, document: int) -> None:
    """Put a document into `leaf`."""
    t.meta[Meta.DOCUMENTS] += 1
    head = t.first_document[leaf]
    t.leaf[document] = leaf
    t.prev_document[document] = NONE
    t.next_document[document] = head
    if head != NONE:
        t.prev_document[head] = document
    t.first_document[leaf] = document
    t.size[leaf] += 1


@subkernel
def drop_document(t: TreeArrays, document: int) -> int:
    """Take a document off its leaf, which is returned."""
    leaf, before, after = t.leaf[document], t.prev_document[document], t.next_document[document]
    if before != NONE:
        t.next_document[before] = after
    else:
        t.first_document[leaf] = after
    if after != NONE:
        t.prev_document[after] = before
    t.leaf[document] = NONE
    t.size[leaf] -= 1
    t.meta[Meta.DOCUMENTS] -= 1
    return leaf


@kernel
def parents_first(t: TreeArrays, top: int) -> Ints:
    """The nodes of the subtree under `top`, every parent before its children."""
    order = np.empty(t.meta[Meta.NODES], np.int32)
    order[0] = top
    filled = 1
    at = 0
    while at < filled:
        child = t.first_child[order[at]]
        while child != NONE:
            order[filled] = child
            filled += 1
            child = t.next_sibling[child]
        at += 1
    return order[:filled]


@subkernel
def append_leaf_rows(t: TreeArrays, top: int, out: Ints, n: int) -> int:
    """Append the rows of the leaves below `top`, in the order of the tree, to out[:n], as far as there is room.

    Returns how many there are then.
    """
    node = top
    while n < out.shape[0]:
        if t.n_children[node] > 0:
            node = t.first_child[node]
            continue
        out[n] = t.row[node]
        n += 1
        while node != top and t.next_sibling[node] == NONE:
            node = t.parent[node]
        if node == top:
            break
        node = t.next_sibling[node]
    return n


@kernel
def leaf_rows(t: TreeArrays) -> Ints:
    """The rows of all leaves, in the order of the tree."""
    rows = np.empty(t.meta[Meta.LEAVES], np.int32)
    append_leaf_rows(t, t.meta[Meta.ROOT], rows, 0)
    return rows


def one_beside_each(t: TreeArrays, leaves: Ints) -> Ints:
    """For each of some leaves another below the same parent; for a root without children, itself."""
    parents = t.parent[leaves]
    others = np.where(parents == NONE, leaves, t.first_child[parents])
    others = np.where((others == leaves) & (parents != NONE), t.next_sibling[others], others)
    while (inner := t.n_children[others] > 0).any():
        others = np.where(inner, t.first_child[others], others)
    return others
