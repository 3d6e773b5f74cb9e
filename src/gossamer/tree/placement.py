"""Living insertion: a new leaf goes beside the leaf nearest to it, at the height where it fits.

Uniting a concept v with x loses n·h:

    loss(v, x) = (n+1)·h(v ∪ x) − n·h(v)

and the parent p of v, of K children, was formed at a mean loss of (n_p·h(p) − Σ n_c·h(c)) / (K − 1) for each merge. x
climbs from the nearest leaf while that is less than loss(v, x): there v is nearer to its siblings than to x. It is the
rule by which agglomeration would have merged x, applied to one path (after Kobren et al. 2017). A small concept takes
x in among its leaves, and is divided into two by Ward's rule when it has too many of them (`small_concept`).

A tree that grows so depends on the order of arrival a little; it is agglomerated again as it grows
(`vector_index.renewal`).
"""

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.agglomeration import SMALL_CONCEPT, small_concept
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.insertion import has_room, join, sum_of_children, summarise, widen
from gossamer.tree.scoring import squared_distance
from gossamer.tree.structure import add_document, attach, detach, find_leaf, fresh_inner, new_leaf, replace
from gossamer.tree.utility import (
    TIE,
    LogScale,
    add,
    largest_log_ratio,
    log_det,
    log_det_leaf_with,
    log_det_with,
    log_scale,
)

_OVERFULL: Final = SMALL_CONCEPT + 1


class PlaceWorkspace(NamedTuple):
    """Memory for dividing a small concept that is full."""

    leaves: Ints
    group: Ints
    cost: Doubles
    size: Doubles


@kernel
def new_place_workspace() -> PlaceWorkspace:
    """Room for the leaves of one concept."""
    return PlaceWorkspace(
        np.empty(_OVERFULL, np.int32),
        np.empty(_OVERFULL, np.int32),
        np.empty((_OVERFULL, _OVERFULL)),
        np.empty(_OVERFULL),
    )


@kernel
def insert_by_scan(t: TreeArrays, X: Floats, start: int) -> int:
    """Insert the rows of X from `start` on, each beside the nearest of all leaves; returns the row where room ended."""
    x, work = np.empty(X.shape[1]), new_place_workspace()
    for i in range(start, X.shape[0]):
        if not has_room_to_place(t):
            return i
        copy(X[i], x)
        leaf = begin(t, X[i], x)
        if leaf != NONE:
            place(t, leaf, nearest_leaf(t, leaf), x, work)
    return X.shape[0]


@subkernel
def has_room_to_place(t: TreeArrays) -> bool:
    """Whether there are slots for one more document: a leaf and at most two concepts."""
    return (
        has_room(t)
        and t.meta[Meta.SLOTS] + 3 <= t.size.shape[0]
        and t.meta[Meta.INNER_ROWS] + 2 <= t.mean.shape[0]
        and t.meta[Meta.LEAVES] < t.bucket.shape[0]
    )


@subkernel
def begin(t: TreeArrays, x32: Floats, x: Doubles) -> int:
    """Add a document. An exact duplicate joins its leaf, and NONE is returned; otherwise a leaf without a parent is."""
    t.meta[Meta.CHANGES] += 1
    widen(t.limits, x32)
    document = t.meta[Meta.NEXT_DOCUMENT]
    t.meta[Meta.NEXT_DOCUMENT] += 1
    leaf = find_leaf(t, x32)
    if leaf != NONE:
        join(t, leaf, x, document)
        return NONE
    leaf = new_leaf(t, x32)
    add_document(t, leaf, document)
    return leaf


@subkernel
def nearest_leaf(t: TreeArrays, leaf: int) -> int:
    """The leaf nearest to another, all compared; of equals that with the lowest row. NONE where there is no other."""
    x = t.vectors[t.row[leaf]]
    best, nearest = NONE, np.inf
    for row in range(t.meta[Meta.LEAF_ROWS]):
        other = t.owner[row]
        if t.norm[row] != np.inf and other != leaf:
            distance = squared_distance(t.vectors[row], x)
            if distance < nearest or best == NONE:
                best, nearest = other, distance
    return best


@subkernel
def landing(t: TreeArrays, beside: int, x: Doubles, scale: LogScale) -> int:
    """The node beside which x belongs: `beside`, a leaf near x, or one of its ancestors."""
    tie = TIE * x.shape[0] * largest_log_ratio(t.limits)
    node = beside
    while True:
        parent = t.parent[node]
        if parent == NONE:
            return node
        loss = (t.size[node] + 1) * _h_with(t, node, x, scale) - t.size[node] * t.h[node]
        merge = (t.size[parent] * t.h[parent] - t.s[parent]) / (t.n_children[parent] - 1)
        if not loss > merge + tie:
            return node
        node = parent


@subkernel
def _h_with(t: TreeArrays, node: int, x: Doubles, scale: LogScale) -> float:
    """h(c ∪ x) of a leaf or an internal node."""
    row = t.row[node]
    if t.n_children[node] == 0:
        return log_det_leaf_with(t.vectors[row], t.size[node], x, scale)
    return log_det_with(t.mean[row], t.m2[row], t.size[node], x, scale)


@subkernel
def is_small(t: TreeArrays, node: int) -> bool:
    """Whether a node has leaves alone as children, and few of them."""
    if t.n_children[node] == 0 or t.n_children[node] > small_concept(t.meta[Meta.LEAVES]):
        return False
    child = t.first_child[node]
    while child != NONE:
        if t.n_children[child] > 0:
            return False
        child = t.next_sibling[child]
    return True


@subkernel
def place(t: TreeArrays, leaf: int, beside: int, x: Doubles, work: PlaceWorkspace) -> None:
    """Put a leaf that has no parent into the tree, by the leaf `beside` that is near it (NONE: none was found)."""
    if t.meta[Meta.ROOT] == NONE:
        t.meta[Meta.ROOT] = leaf
        t.meta[Meta.CREATED] += 1
        return
    scale = log_scale(t.limits)
    node = t.meta[Meta.ROOT] if beside == NONE else landing(t, beside, x, scale)
    if t.n_children[node] == 0 and t.parent[node] != NONE and is_small(t, t.parent[node]):
        node = t.parent[node]
    above = t.parent[node]
    if is_small(t, node):
        attach(t, node, leaf)
        t.meta[Meta.INSERTED] += 1
        if t.n_children[node] > small_concept(t.meta[Meta.LEAVES]):
            _divide(t, node, scale, work)
        above = node
    else:
        union = fresh_inner(t)
        replace(t, node, union)
        attach(t, union, node)
        attach(t, union, leaf)
        t.size[union] = t.size[node] + t.size[leaf]
        summarise(t, union, scale)
        t.meta[Meta.FRINGE] += 1
    _add_above(t, above, x, scale)


@subkernel
def _add_above(t: TreeArrays, node: int, x: Doubles, scale: LogScale) -> None:
    """Add x to the moments of a node and of all its ancestors."""
    while node != NONE:
        row = t.row[node]
        add(t.mean[row], t.m2[row], t.size[node], x)
        t.size[node] += 1
        t.h[node] = log_det(t.m2[row], t.size[node], scale)
        t.s[node] = sum_of_children(t, node)
        t.changed[row] = t.meta[Meta.CHANGES]
        node = t.parent[node]


# -- a small concept that is full ----------------------------------------------------------------------


@subkernel
def _divide(t: TreeArrays, node: int, scale: LogScale, work: PlaceWorkspace) -> None:
    """Put the leaves of an overfull concept below two children, the last two clusters of Ward's tree over them.

    A cluster of one leaf stays a leaf.
    """
    leaves, group, n = work.leaves, work.group, 0
    child = t.first_child[node]
    while child != NONE:
        leaves[n] = child
        n += 1
        child = t.next_sibling[child]
    two_clusters(t, n, work)
    for number in range(2):
        members = 0
        for i in range(n):
            members += group[i] == number
        if members > 1:
            _put_below(t, node, leaves[:n], group[:n], number, scale)
    t.meta[Meta.SPLIT] += 1


@subkernel
def _put_below(t: TreeArrays, node: int, leaves: Ints, group: Ints, number: int, scale: LogScale) -> None:
    """Make a child of a node over those of its leaves that are in one group."""
    part = fresh_inner(t)
    for i in range(leaves.shape[0]):
        if group[i] == number:
            detach(t, leaves[i])
            attach(t, part, leaves[i])
            t.size[part] += t.size[leaves[i]]
    summarise(t, part, scale)
    attach(t, node, part)


@subkernel
def two_clusters(t: TreeArrays, n: int, work: PlaceWorkspace) -> None:
    """Write the group, 0 or 1, of each of n leaves: Ward's rule, all pairs compared, until two clusters are left.

    The cost of a union and a third cluster follows from the costs of its parts (Lance and Williams 1967):

        (n₁+n₂+n₃)·d(1∪2, 3) = (n₁+n₃)·d(1, 3) + (n₂+n₃)·d(2, 3) − n₃·d(1, 2)
    """
    leaves, group, cost, size = work
    for i in range(n):
        size[i], group[i] = t.size[leaves[i]], i
        for j in range(i):
            both = size[i] * size[j] / (size[i] + size[j])
            cost[i, j] = both * squared_distance(t.vectors[t.row[leaves[i]]], t.vectors[t.row[leaves[j]]])
            cost[j, i] = cost[i, j]
    for _ in range(n - 2):
        one, other = NONE, NONE
        for i in range(n):
            for j in range(i):
                alive = group[i] == i and group[j] == j
                if alive and (one == NONE or cost[i, j] < cost[one, other]):
                    one, other = i, j
        for k in range(n):
            if group[k] == k and k != one and k != other:
                total = (size[one] + size[k]) * cost[one, k] + (size[other] + size[k]) * cost[other, k]
                cost[other, k] = (total - size[k] * cost[one, other]) / (size[one] + size[other] + size[k])
                cost[k, other] = cost[other, k]
        size[other] += size[one]
        for k in range(n):
            if group[k] == one:
                group[k] = other
    first = group[0]
    for k in range(n):
        group[k] = 0 if group[k] == first else 1


# -- where a vector would go ---------------------------------------------------------------------------


@kernel
def landings(t: TreeArrays, nearest: Ints, X: Floats, out: Ints) -> None:
    """Write the lowest concept that each row of X would lie in, from the leaf nearest to it; the root at the least."""
    scale, x = log_scale(t.limits), np.empty(X.shape[1])
    for i in range(X.shape[0]):
        copy(X[i], x)
        node = landing(t, nearest[i], x, scale)
        if not is_small(t, node) and t.parent[node] != NONE:
            node = t.parent[node]
        out[i] = node
