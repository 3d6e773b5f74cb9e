"""Changes to the links between nodes: slots, lists of children and documents, leaves by content. No statistics here."""

import numpy as np

from gossamer.array_types import NONE, Floats, Ints, Longs
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays

# -- slots ---------------------------------------------------------------------------------------------


@subkernel
def new_leaf(t: TreeArrays, x: Floats) -> int:
    """A leaf that holds x and no document yet, and that `find_leaf` finds."""
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
    """An internal node without children; the caller fills in its moments."""
    node = t.meta[Meta.FREE_INNER]
    if node == NONE:
        return fresh_inner(t)
    t.meta[Meta.FREE_INNER] = t.next_sibling[node]
    _clear(t, node)
    t.changed[t.row[node]] = t.meta[Meta.CHANGES]
    t.meta[Meta.NODES] += 1
    return node


@subkernel
def fresh_inner(t: TreeArrays) -> int:
    """An internal node in a slot that was never used: its number was never that of another concept."""
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
    """Free the slot of a leaf that has no parent any more."""
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
    """Free the slot of an internal node that has no parent any more."""
    t.size[node] = 0
    t.n_children[node] = 0
    t.next_sibling[node] = t.meta[Meta.FREE_INNER]
    t.meta[Meta.FREE_INNER] = node
    t.meta[Meta.NODES] -= 1


# -- leaves by content ---------------------------------------------------------------------------------


@subkernel
def squared_length(x: Floats) -> float:
    """Σ x², in double precision."""
    total = 0.0
    for d in range(x.shape[0]):
        total += np.float64(x[d]) * x[d]
    return total


@subkernel
def content_hash(x: Floats) -> int:
    """A hash of the bytes of x. A tree that is rebuilt depends on it: leaves are listed in its order."""
    bits = x.view(np.uint32)
    total = np.uint64(0)
    for d in range(bits.shape[0]):
        total += np.uint64(bits[d]) * (np.uint64(2 * d + 1) * np.uint64(0x9E3779B97F4A7C15))
    total ^= total >> np.uint64(29)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(32)
    return np.int64(total & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@kernel
def hash_rows(X: Floats, out: Longs) -> None:
    """Write the hash of every row."""
    for i in range(X.shape[0]):
        out[i] = content_hash(X[i])


@subkernel
def _equal(a: Floats, b: Floats) -> bool:
    for d in range(a.shape[0]):
        if a[d] != b[d]:
            return False
    return True


@subkernel
def find_leaf(t: TreeArrays, x: Floats) -> int:
    """The leaf that holds exactly x, or NONE."""
    key = content_hash(x)
    node = t.bucket[key & (t.bucket.shape[0] - 1)]
    while node != NONE:
        row = t.row[node]
        if t.key[row] == key and _equal(t.vectors[row], x):
            return node
        node = t.chain[row]
    return NONE


@kernel
def rehash(t: TreeArrays) -> None:
    """Fill `bucket`, which was replaced by a longer one, with all leaves."""
    t.bucket[:] = NONE
    mask = t.bucket.shape[0] - 1
    for node in range(t.meta[Meta.SLOTS]):
        if t.size[node] > 0 and t.n_children[node] == 0:
            row = t.row[node]
            place = t.key[row] & mask
            t.chain[row] = t.bucket[place]
            t.bucket[place] = node


# -- lists of children and of documents ----------------------------------------------------------------


@subkernel
def attach(t: TreeArrays, parent: int, child: int) -> None:
    """Make `child`, which has no parent, the first child of `parent`."""
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
    """Remove `child` from the list of its parent."""
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
    """Put `new`, which has no parent, below the parent of `old`, which has none afterwards."""
    parent = t.parent[old]
    if parent == NONE:
        t.meta[Meta.ROOT] = new
        t.parent[new] = NONE
    else:
        detach(t, old)
        attach(t, parent, new)
    t.parent[old] = NONE


@subkernel
def add_document(t: TreeArrays, leaf: int, document: int) -> None:
    """Add a document to a leaf."""
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
def remove_document(t: TreeArrays, document: int) -> int:
    """Remove a document from its leaf, which is returned."""
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


# -- traversal -----------------------------------------------------------------------------------------


@kernel
def parents_first(t: TreeArrays, top: int) -> Ints:
    """The nodes of the subtree under `top`, level by level: every parent before its children."""
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
    """Append the rows of the leaves below `top`, depth first, to out[:n], while there is room; returns the new n."""
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
    """The rows of all leaves, depth first: leaves near each other in the tree are near each other in the list."""
    rows = np.empty(t.meta[Meta.LEAVES], np.int32)
    append_leaf_rows(t, t.meta[Meta.ROOT], rows, 0)
    return rows


def sibling_leaves(t: TreeArrays, leaves: Ints) -> Ints:
    """For each of some leaves another leaf below the same parent; for a leaf that is the root, itself."""
    parents = t.parent[leaves]
    others = np.where(parents == NONE, leaves, t.first_child[parents])
    others = np.where((others == leaves) & (parents != NONE), t.next_sibling[others], others)
    while (inner := t.n_children[others] > 0).any():
        others = np.where(inner, t.first_child[others], others)
    return others
