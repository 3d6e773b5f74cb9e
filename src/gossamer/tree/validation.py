"""Whether the arrays of a tree agree with each other. Looked at when a tree is loaded, before a kernel sees it.

Kernels trust these arrays. They follow a link without asking whether it leads anywhere, and a list until it ends: a
wrong number crashes the interpreter, and a list that leads back into itself never ends. A checksum does not help
against a file that somebody made, so everything that a kernel indexes with or follows is checked here, once.

The checks build on each other, and each may trust only what those before it have shown:

shapes      dtypes and lengths, against `meta`; `meta` itself
slots       which slots are leaves and which are internal nodes, and that each has a row of its own
family      parents, children and sizes
documents   each document alive is in one leaf
free lists  hold exactly the slots that are not in use
buckets     find every leaf by its content
values      finite, within the limits, and equal to what is computed from others

A tree without cycles needs no walk to be shown: an internal node has at least two children and as many documents as
they have together, so sizes fall from parent to child, and around a cycle they could not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.checks import LARGEST
from gossamer.errors import InvariantError
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Limit, Meta, TreeArrays, empty_arrays, rows_in_use
from gossamer.tree.utility import block_length, content_hash, log_det, squared_length

TOLERANCE: Final = 1e-8
"""How far a kept number may be from the one taken afresh, relative to the range of the data (means), its square
(variances) or one nat a dimension (entropies)."""

_SUM_TOLERANCE: Final = 1e-9
"""The same for sums that were added up in another order: relative to the sum."""

_SMALLEST_ACUITY, _LARGEST_ACUITY = 1e-60, 1e60

_FIRST_META: Final = Meta.CHANGES + 1
"""Trees were once saved with so many numbers in `meta`. Those that came later count operators, and are 0 then."""

_COUNTED: Final = (Meta.SLOTS, Meta.LEAF_ROWS, Meta.INNER_ROWS, Meta.NODES, Meta.LEAVES, Meta.DOCUMENTS)

_Flags = npt.NDArray[np.bool_]


def as_tree(arrays: Mapping[str, npt.NDArray[Any]], dim: int) -> TreeArrays:
    """The tree that saved arrays describe; `InvariantError` if they are not those of a tree of `dim` dimensions."""
    for name in TreeArrays._fields:
        _hold(name in arrays, f"there is no array {name!r}")
    for name in arrays:
        _hold(name in TreeArrays._fields, f"there is an array {name!r}, which no tree has")
    t = TreeArrays(**arrays)
    if t.meta.ndim == 1 and t.meta.dtype == np.int64 and _FIRST_META <= len(t.meta) < Meta.SIZE:
        t = t._replace(meta=np.concatenate([t.meta, np.zeros(Meta.SIZE - len(t.meta), np.int64)]))
    check_arrays(t, dim)
    return t


def check_arrays(t: TreeArrays, dim: int) -> None:
    """Raise `InvariantError` naming the first thing that is wrong. Arrays end where what is in use ends."""
    _check_shapes(t, dim)
    is_leaf = _check_slots(t)
    _check_family(t, is_leaf)
    _check_documents(t, is_leaf)
    _check_free_lists(t, is_leaf)
    _check_buckets(t, is_leaf)
    _check_leaf_values(t)
    _check_inner_values(t)


# -- shapes --------------------------------------------------------------------------------------------


def _check_shapes(t: TreeArrays, dim: int) -> None:
    template = empty_arrays(dim, 1.0)
    for name in t._fields:
        array, expected = getattr(t, name), getattr(template, name)
        _hold(
            array.dtype == expected.dtype and array.ndim == expected.ndim and array.shape[1:] == expected.shape[1:],
            f"{name} has dtype {array.dtype} and shape {array.shape}, not {expected.dtype} with rows of shape "
            f"{expected.shape[1:]}",
        )
        _hold(array.flags.c_contiguous and array.flags.aligned, f"{name} is not laid out row after row")
    _hold(len(t.meta) == Meta.SIZE, f"meta holds {len(t.meta)} numbers, not {int(Meta.SIZE)}")
    _hold(len(t.limits) == Limit.SIZE, f"limits holds {len(t.limits)} numbers, not {int(Limit.SIZE)}")
    meta = t.meta
    most = int(np.iinfo(np.int32).max)  # links are numbers of 32 bits
    for field in (*_COUNTED, Meta.NEXT_DOCUMENT):
        _hold(0 <= meta[field] < most, f"{Meta._fields[field]} is {meta[field]}")
    for field in Meta:
        if field >= Meta.CHANGES and field != Meta.SIZE:
            _hold(0 <= meta[field] < 2**62, f"{Meta._fields[field]} is {meta[field]}")
    for field in (Meta.ROOT, Meta.FREE_LEAF, Meta.FREE_INNER):
        _hold(
            NONE <= meta[field] < meta[Meta.SLOTS],
            f"{Meta._fields[field]} is {meta[field]} of {meta[Meta.SLOTS]} slots",
        )
    _hold(meta[Meta.SLOTS] == meta[Meta.LEAF_ROWS] + meta[Meta.INNER_ROWS], "a slot has no row, or a row no slot")
    for name, rows in rows_in_use(meta).items():
        _hold(len(getattr(t, name)) == rows, f"{name} has {len(getattr(t, name))} rows, not {rows}")
    _hold((meta[Meta.ROOT] == NONE) == (meta[Meta.DOCUMENTS] == 0), "only a tree without documents has no root")
    _hold(meta[Meta.CHANGES] > 0 or not meta[Meta.LEAF_ROWS], "there are vectors, but none was ever added")
    acuity, lowest, highest = t.limits
    _hold(_SMALLEST_ACUITY < acuity < _LARGEST_ACUITY, f"the acuity is {acuity}")
    if meta[Meta.LEAF_ROWS]:
        _hold(-LARGEST <= lowest <= highest <= LARGEST, f"coordinates reach from {lowest} to {highest}")
    else:
        _hold(lowest == np.inf and highest == -np.inf, f"there are no vectors, but limits {lowest} and {highest}")


# -- structure -----------------------------------------------------------------------------------------


def _check_slots(t: TreeArrays) -> _Flags:
    """Returns which slots are for leaves."""
    slots, meta = len(t.size), t.meta
    _hold(_within(t.owner, 0, slots), "an owner is no slot")
    _hold(_within(t.row, 0, slots), "a row is out of range")  # of the right kind: below
    is_leaf = np.zeros(slots, np.bool_)
    is_leaf[t.owner] = True
    _hold(int(is_leaf.sum()) == len(t.owner), "a slot owns two rows")
    _hold(np.array_equal(t.row[t.owner], np.arange(len(t.owner))), "a leaf's row is owned by another slot")
    inner_rows = t.row[~is_leaf]
    _hold(
        np.array_equal(np.bincount(inner_rows, minlength=len(t.mean)), np.ones(len(t.mean))),
        "two internal nodes share a row",
    )
    alive = t.size > 0
    _hold(_within(t.size, 0, int(meta[Meta.DOCUMENTS]) + 1), "a size is negative, or larger than the tree")
    _hold(int(alive.sum()) == meta[Meta.NODES], "the nodes alive are not as many as counted")
    _hold(int((alive & is_leaf).sum()) == meta[Meta.LEAVES], "the leaves alive are not as many as counted")
    has_children = alive & ~is_leaf
    _hold(bool((t.n_children[has_children] >= 2).all()), "an internal node has fewer than two children")
    _hold(bool((t.n_children[~has_children] == 0).all()), "a leaf, or a slot not in use, has children")
    return is_leaf


def _check_family(t: TreeArrays, is_leaf: _Flags) -> None:
    slots, root = len(t.size), int(t.meta[Meta.ROOT])
    alive = t.size > 0
    if root == NONE:
        _hold(not alive.any(), "a tree without a root has nodes")
        return
    _hold(bool(alive[root]) and t.parent[root] == NONE, "the root is not in use, or has a parent")
    _hold(t.size[root] == t.meta[Meta.DOCUMENTS], "the root does not hold every document")
    inner = alive & ~is_leaf
    nodes = np.flatnonzero(alive)
    below = nodes[nodes != root]
    parents = t.parent[below]
    _hold(_within(parents, 0, slots) and bool(inner[parents].all()), "a parent is no internal node")
    _hold(
        np.array_equal(np.bincount(parents, minlength=slots)[inner], t.n_children[inner]),
        "n_children does not count the children",
    )
    totals = np.bincount(parents, weights=t.size[below], minlength=slots)
    _hold(np.array_equal(totals[inner], t.size[inner]), "a node does not hold as many documents as its children")
    _hold(bool((t.first_child[alive & is_leaf] == NONE).all()), "a leaf has a first child")
    _check_lists(
        np.flatnonzero(inner), below, t.first_child, t.next_sibling, t.prev_sibling, t.parent, "a list of children"
    )


def _check_documents(t: TreeArrays, is_leaf: _Flags) -> None:
    slots = len(t.size)
    _hold(_within(t.leaf, NONE, slots), "the leaf of a document is no node")
    documents = np.flatnonzero(t.leaf != NONE)
    _hold(len(documents) == t.meta[Meta.DOCUMENTS], "the documents alive are not as many as counted")
    leaves = np.flatnonzero((t.size > 0) & is_leaf)
    held = np.bincount(t.leaf[documents], minlength=slots)
    _hold(int(held[leaves].sum()) == len(documents), "a document is in a node that is no leaf")
    _hold(np.array_equal(held[leaves], t.size[leaves]), "a leaf does not count its documents")
    _check_lists(leaves, documents, t.first_document, t.next_document, t.prev_document, t.leaf, "a list of documents")


def _check_lists(
    owners: Longs, members: Longs, first: Ints, after: Ints, before: Ints, owner_of: Ints, what: str
) -> None:
    """Doubly linked lists, one for each owner, hold exactly the members that say they are its."""
    is_member = np.zeros(len(after), np.bool_)
    is_member[members] = True
    heads = members[before[members] == NONE]
    _hold(len(heads) == len(owners), f"{what} has no beginning, or two")
    _hold(np.array_equal(first[owner_of[heads]], heads), f"{what} begins elsewhere")
    _hold(_within(after[members], NONE, len(after)), f"{what} leads out of range")
    linked = members[after[members] != NONE]
    following = after[linked]
    _hold(bool(is_member[following].all()), f"{what} leads to what is not in use")
    _hold(np.array_equal(before[following], linked), f"{what} reads otherwise backwards")
    _hold(np.array_equal(owner_of[following], owner_of[linked]), f"{what} leads into another")
    _hold(count_reached(heads, after) == len(members), f"{what} leads in a circle")


def _check_free_lists(t: TreeArrays, is_leaf: _Flags) -> None:
    for field, kind in ((Meta.FREE_LEAF, is_leaf), (Meta.FREE_INNER, ~is_leaf)):
        free = (t.size == 0) & kind
        after = t.next_sibling[free]
        _hold(_within(after, NONE, len(t.size)), f"the list {Meta._fields[field]} leads out of range")
        first = t.meta[field : field + 1]
        following = np.concatenate([first[first != NONE], after[after != NONE]])
        _hold(bool(free[following].all()), f"the list {Meta._fields[field]} leads to a slot of another kind, or in use")
        reached = count_reached(first, t.next_sibling)
        _hold(reached == int(free.sum()), f"the list {Meta._fields[field]} leaves free slots out, or leads in a circle")


def _check_buckets(t: TreeArrays, is_leaf: _Flags) -> None:
    length, slots = len(t.bucket), len(t.size)
    _hold(length > 0 and length & (length - 1) == 0, f"there are {length} buckets, not a power of two")
    in_use = (t.size > 0) & is_leaf
    leaves = np.flatnonzero(in_use)
    places = np.full(slots, NONE)
    places[leaves] = t.key[t.row[leaves]] & (length - 1)
    after = np.full(slots, NONE, np.int32)
    after[leaves] = t.chain[t.row[leaves]]
    _hold(_within(t.bucket, NONE, slots) and _within(after, NONE, slots), "a bucket leads out of range")
    filled, linked = np.flatnonzero(t.bucket != NONE), np.flatnonzero(after != NONE)
    heads, following = t.bucket[filled].astype(np.int64), after[linked]
    _hold(bool(in_use[heads].all() and in_use[following].all()), "a bucket leads to what is no leaf")
    right = np.array_equal(places[heads], filled) and np.array_equal(places[following], places[linked])
    _hold(right, "a leaf is in the bucket of another content")
    found = np.bincount(np.concatenate([heads, following]), minlength=slots)
    _hold(np.array_equal(found > 0, in_use) and bool((found <= 1).all()), "a leaf is in no bucket, or twice")
    _hold(count_reached(heads, after) == len(leaves), "a bucket leads in a circle")


@kernel
def count_reached(heads: Longs, after: Ints) -> int:
    """How many steps lists have that begin at `heads`, NONE aside; more than there are places if one has no end.

    Every number must be a place of `after`, or NONE.
    """
    count, most = 0, after.shape[0]
    for head in heads:
        at = np.int64(head)
        while at != NONE and count <= most:
            count += 1
            at = np.int64(after[at])
    return count


# -- values --------------------------------------------------------------------------------------------


def _check_leaf_values(t: TreeArrays) -> None:
    rows = len(t.vectors)
    norms, keys = np.empty(rows), np.empty(rows, np.int64)
    _measure_leaves(t, norms, keys)
    _hold(bool(np.isfinite(norms).all()), "a vector holds NaN or infinity")
    lowest, highest = t.limits[Limit.LOWEST], t.limits[Limit.HIGHEST]
    _hold(rows == 0 or lowest <= t.vectors.min() <= t.vectors.max() <= highest, "a vector is outside the limits")
    alive = t.size[t.owner] > 0
    _hold(bool((t.norm[~alive] == np.inf).all()), "a row without a leaf can be found")
    off = np.abs(t.norm - norms)[alive]
    _hold(bool((off <= _SUM_TOLERANCE * norms[alive]).all()), "norm is not the squared length of the vector")
    _hold(np.array_equal(t.key[alive], keys[alive]), "key is not the hash of the vector")
    keys = np.sort(keys[alive])
    twice = keys[1:][keys[1:] == keys[:-1]]
    alike = t.vectors[alive & np.isin(t.key, twice)] if len(twice) else t.vectors[:0]
    different = np.unique(alike.view(f"V{alike.strides[0]}")) if len(alike) else alike
    _hold(len(different) == len(alike), "equal vectors do not share a leaf")


@kernel
def _measure_leaves(t: TreeArrays, norms: Doubles, keys: Longs) -> None:
    """Take what is known of each vector afresh: squared length (not finite if the vector is not) and hash."""
    for row in range(t.vectors.shape[0]):
        norms[row], keys[row] = squared_length(t.vectors[row]), content_hash(t.vectors[row])


def _check_inner_values(t: TreeArrays) -> None:
    nodes = np.flatnonzero(t.n_children > 0)
    h_of_leaves = t.h[t.owner[t.size[t.owner] > 0]]
    _hold(not h_of_leaves.any(), "the entropy of a leaf is not 0")
    if not len(nodes):
        return
    lowest, highest = float(t.limits[Limit.LOWEST]), float(t.limits[Limit.HIGHEST])
    width, dim = max(highest - lowest, 1e-30), t.mean.shape[1]
    slack = TOLERANCE * max(abs(lowest), abs(highest), width)
    low, high, least, most, h = (np.empty(len(nodes)) for _ in range(5))
    _measure_inners(t, nodes, low, high, least, most, h)
    _hold(bool((low >= lowest - slack).all() and (high <= highest + slack).all()), "a mean is outside the limits")
    variance = most / t.size[nodes]
    _hold(bool((least >= 0.0).all()), "a sum of squares is negative or NaN")
    _hold(bool((variance <= (0.25 + TOLERANCE) * width * width).all()), "a variance is larger than the limits allow")
    _hold(bool((np.abs(t.h[nodes] - h) <= TOLERANCE * dim).all()), "h is not the entropy of the node")
    below = np.flatnonzero((t.size > 0) & (t.parent != NONE))
    s = np.bincount(t.parent[below], weights=t.size[below] * t.h[below], minlength=len(t.size))[nodes]
    _hold(bool((np.abs(t.s[nodes] - s) <= TOLERANCE * dim * t.size[nodes]).all()), "s is not the sum over children")
    changed = t.changed[t.row[nodes]]
    _hold(
        _within(changed, 1, int(t.meta[Meta.CHANGES]) + 1), "a node changed before the first change, or after the last"
    )


@kernel
def _measure_inners(
    t: TreeArrays, nodes: Longs, low: Doubles, high: Doubles, least: Doubles, most: Doubles, h: Doubles
) -> None:
    """The range of each node's mean and sums of squares, NaN where they hold one, and its entropy taken afresh."""
    acuity, block = t.limits[Limit.ACUITY], block_length(t.limits)
    for i in range(nodes.shape[0]):
        mean, m2 = t.mean[t.row[nodes[i]]], t.m2[t.row[nodes[i]]]
        a = b = mean[0]
        c = e = m2[0]
        nothing = 0.0
        for d in range(mean.shape[0]):
            a, b = min(a, mean[d]), max(b, mean[d])
            c, e = min(c, m2[d]), max(e, m2[d])
            nothing += (mean[d] + m2[d]) * 0.0  # NaN if one of them is NaN or infinite
        low[i], high[i], least[i], most[i] = a + nothing, b + nothing, c + nothing, e + nothing
        h[i] = log_det(m2, t.size[nodes[i]], acuity, block)


def _within(array: npt.NDArray[np.integer[Any]], least: int, end: int) -> bool:
    """Whether all numbers are at least `least` and below `end`."""
    return not len(array) or bool(array.min() >= least and array.max() < end)


def _hold(condition: bool | np.bool_, otherwise: str) -> None:
    if not condition:
        raise InvariantError(f"the tree is inconsistent: {otherwise}")
