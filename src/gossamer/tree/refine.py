"""Redistribution (Fisher 1996): take documents out and sort them in again, now that the concepts are there.

The first documents were sorted into a tree that knew little. Two remedies:

- A sweep gives each document a second chance in the tree as it is.
- Growing anew (`loosened`) takes all of them out and sorts them in again in an order that has to do with what
  they are, not with when they came, with sweeps on the way: the first ones early, while a concept in the wrong place is
  still small. What comes of it depends on the documents alone. (After a sweep alone, two thirds of what the order of
  arrival did to a tree are still there, on MS MARCO.) It takes twice as long as a sweep.

Ids of documents and leaves stay what they are, and so do rows; only the concepts between them change.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.jit import kernel
from gossamer.tree.arrays import (
    DOCUMENT_FIELDS,
    INNER_FIELDS,
    LEAF_FIELDS,
    NODE_FIELDS,
    NONE,
    RESERVE,
    Floats,
    Ints,
    Longs,
    Meta,
    TreeArrays,
)
from gossamer.tree.grow import descend, has_room, join, widen
from gossamer.tree.kernels import content_hash, copy
from gossamer.tree.shrink import take_out
from gossamer.tree.structure import find_leaf, free_inner, hang_document, leaf_rows, new_leaf

SWEPT_AT: Final = (0.1, 0.3, 1.0)
"""The shares of the documents after which those that are in are sorted in again. The early ones take a tenth of the
time and raise what the tree alone finds by half a point; with an eighth, a quarter and half it is as much."""

_INNERS: Final = 0.57
"""Internal nodes a leaf that there is room for. (QQP needs 0.50, MS MARCO 0.56 with those that regrouping adds; too
little means to copy them all.)"""


def loosened(t: TreeArrays, more: int) -> TreeArrays:
    """The same documents, in leaves that hang nowhere yet, and room for the internal nodes that they and `more` leaves
    will need. `t` stays as it is.

    The vectors are shared, because they are many: the rows in use hold the same in both.
    """
    changing = (*NODE_FIELDS, *LEAF_FIELDS[1:], *DOCUMENT_FIELDS, "bucket", "meta", "limits")
    arrays = {name: getattr(t, name).copy() for name in changing}
    inners = max(int(t.meta[Meta.INNER_ROWS]), int(_INNERS * (t.meta[Meta.LEAVES] + more))) + 2 * RESERVE
    for name in INNER_FIELDS:
        old = getattr(t, name)
        arrays[name] = np.zeros((inners, *old.shape[1:]), old.dtype)
    loose = t._replace(**arrays)
    uproot(loose)
    return loose


@kernel
def uproot(t: TreeArrays) -> None:
    """Free all internal nodes, the lowest to be used again first; leaves keep their slots, rows and documents."""
    for node in range(t.meta[Meta.SLOTS] - 1, -1, -1):
        if t.n_children[node] > 0:
            free_inner(t, node)
    t.bucket[:] = NONE
    t.meta[Meta.ROOT] = NONE
    t.meta[Meta.NODES], t.meta[Meta.LEAVES], t.meta[Meta.DOCUMENTS] = 0, 0, 0
    t.meta[Meta.CHANGES] += 1


@kernel
def add_loose(t: TreeArrays, X: Floats) -> None:
    """Put the rows of X, for which there must be room, into leaves that hang nowhere yet."""
    for i in range(X.shape[0]):
        widen(t.limits, X[i])
        leaf = find_leaf(t, X[i])
        if leaf == NONE:
            leaf = new_leaf(t, X[i])
        hang_document(t, leaf, t.meta[Meta.NEXT_DOCUMENT])
        t.meta[Meta.NEXT_DOCUMENT] += 1


def by_content(t: TreeArrays, leaves: Ints, *salt: int) -> Ints:
    """Leaves in an order that depends on what they hold, but looks random; another one for each salt."""
    return leaves[shuffled(t.key[t.row[leaves]], *salt)]


def content_order(X: Floats) -> Longs:
    """The rows of X in an order that depends on what they hold, but looks random."""
    keys = np.empty(len(X), np.int64)
    _hash_rows(X, keys)
    return shuffled(keys)


def shuffled(keys: Longs, *salt: int) -> Longs:
    """The places of keys in a random order that does not depend on where they stand."""
    mixed = keys.astype(np.uint64)
    for number in (*salt, 0):
        mixed ^= np.uint64(int(number) % 2**63)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):  # splitmix64 (Steele 2014)
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
    return np.argsort(mixed, kind="stable")


@kernel
def _hash_rows(X: Floats, out: Longs) -> None:
    for i in range(X.shape[0]):
        out[i] = content_hash(X[i])


@kernel
def sort_in(t: TreeArrays, documents: Ints, start: int, node: int, loose: bool) -> tuple[int, int]:
    """Sort documents[start:] in, one after the other; as far as the arrays have room.

    Where they are `loose`, their leaves hang nowhere yet, and are named by the first document of each. Else each is
    taken out first, but for those that share a leaf: they stay where they are. Returns (documents done, node): where
    `node` is not NONE, the document at hand is on its way, as in `insert_rows`, and the call is resumed there with more
    room.
    """
    x = np.empty(t.vectors.shape[1])
    x32 = np.empty(t.vectors.shape[1], np.float32)
    for i in range(start, documents.shape[0]):
        if not has_room(t):
            return i, node
        document = documents[i]
        if node == NONE:
            leaf = t.leaf[document]
            if loose:
                t.next_sibling[leaf] = t.meta[Meta.FREE_LEAF]
                t.meta[Meta.FREE_LEAF] = leaf
            elif t.size[leaf] > 1 or t.meta[Meta.DOCUMENTS] == 1:
                continue
            else:
                take_out(t, document, x)
            node = t.meta[Meta.ROOT]
        # The slot that was freed last is the first to be used again: the leaf keeps its id and its row.
        leaf = t.meta[Meta.FREE_LEAF]
        other = t.next_document[document] if loose else NONE
        copy(t.vectors[t.row[leaf]], x)
        copy(t.vectors[t.row[leaf]], x32)
        node = descend(t, node, x32, x, document)
        if node != NONE:
            return i, node
        while other != NONE:
            after = t.next_document[other]
            join(t, leaf, x, other)
            other = after
    return documents.shape[0], NONE


def in_tree_order(t: TreeArrays) -> TreeArrays:
    """`t` with the rows of its leaves in the order of the tree: what is near in it is then near in memory.

    Searches of a batch take 4 to 8 % less time so. Every row must hold a leaf, and nobody else may know rows by number.
    """
    rows = int(t.meta[Meta.LEAF_ROWS])
    order = leaf_rows(t)
    arrays = {}
    for name in LEAF_FIELDS:
        array = getattr(t, name)
        arrays[name] = np.empty_like(array)
        np.take(array, order, axis=0, out=arrays[name][:rows], mode="clip")  # which checks nothing, and copies once
    t.row[arrays["owner"][:rows]] = np.arange(rows, dtype=np.int32)
    return t._replace(**arrays)


@kernel
def total_utility(t: TreeArrays) -> float:
    """Σ over internal nodes p of P(p) · (h(p) − Σ P(c|p)·h(c)) / K: each partition's utility, by who passes it."""
    total = 0.0
    for node in range(t.meta[Meta.SLOTS]):
        if t.n_children[node] > 0:
            total += (t.size[node] * t.h[node] - t.s[node]) / t.n_children[node]
    return total / max(1, t.meta[Meta.DOCUMENTS])
