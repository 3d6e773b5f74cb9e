"""Inserting documents (DESIGN 1.2, paper section 3.3): sort x down the tree, at each node by the best operator.

Entropies are kept relative to that of a leaf: h = H − D·log a. In every score the weights of the children
add up to one, so the constant cancels, and leaves, whose h is 0, drop out of the sums.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.array_types import CACHE_LINE, NONE, Doubles, Floats
from gossamer.neighbours.heap import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import prefetch
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.structure import (
    attach,
    detach,
    find_leaf,
    free_inner,
    hang_document,
    new_inner,
    new_leaf,
    replace,
)
from gossamer.tree.utility import (
    TIE,
    add,
    block_length,
    log_det,
    log_det_leaf_with,
    log_det_leaves,
    log_det_union,
    log_det_with,
    log_range,
    pool,
    pool_leaf,
)

_INSERT, _CREATE, _MERGE, _SPLIT = range(4)

_ASKED_FOR: Final = 4
"""Cache lines."""


@kernel
def insert_rows(t: TreeArrays, X: Floats, start: int, node: int) -> tuple[int, int]:
    """Insert the rows of X from `start`; returns where it stopped, as (row, node).

    It stops early where the arrays are full. `node` is NONE between documents; otherwise the row is on
    its way, everything above `node` has taken it in, and the call is resumed there with more room.
    """
    x = np.empty(X.shape[1])
    for i in range(start, X.shape[0]):
        if not has_room(t):
            return i, node
        copy(X[i], x)
        if node == NONE:
            t.meta[Meta.CHANGES] += 1
            widen(t.limits, X[i])
            node = find_leaf(t, X[i])
            if node != NONE:
                join(t, node, x, t.meta[Meta.NEXT_DOCUMENT])
                t.meta[Meta.NEXT_DOCUMENT] += 1
                node = NONE
                continue
            node = t.meta[Meta.ROOT]
        node = descend(t, node, X[i], x, t.meta[Meta.NEXT_DOCUMENT])
        if node != NONE:
            return i, node
        t.meta[Meta.NEXT_DOCUMENT] += 1
    return X.shape[0], NONE


@subkernel
def has_room(t: TreeArrays) -> bool:
    """Whether one more step down, which makes at most a leaf and an internal node, finds its slots."""
    return (
        t.meta[Meta.SLOTS] + 2 <= t.size.shape[0]
        and t.meta[Meta.LEAF_ROWS] < t.vectors.shape[0]
        and t.meta[Meta.INNER_ROWS] < t.mean.shape[0]
        and t.meta[Meta.NEXT_DOCUMENT] < t.leaf.shape[0]
    )


@subkernel
def widen(limits: Doubles, x: Floats) -> None:
    """Take x into the range of coordinates seen."""
    low, high = limits[Limit.LOWEST], limits[Limit.HIGHEST]
    for d in range(x.shape[0]):
        low = min(low, x[d])
        high = max(high, x[d])
    limits[Limit.LOWEST], limits[Limit.HIGHEST] = low, high


@subkernel
def descend(t: TreeArrays, node: int, x32: Floats, x: Doubles, document: int) -> int:
    """Sort x in below `node` (NONE: the tree is empty). Returns NONE when done, else where it ran out of room."""
    acuity = t.limits[Limit.ACUITY]
    block = block_length(t.limits)
    tie = TIE * x.shape[0] * log_range(t.limits)
    h_with = -1.0  # h of `node` with x, where the step above has computed it already

    while True:
        if node == NONE:
            leaf = new_leaf(t, x32)
            hang_document(t, leaf, document)
            t.meta[Meta.ROOT] = leaf
            t.meta[Meta.CREATED] += 1
            break
        if not has_room(t):
            return node
        if t.n_children[node] == 0:
            _split_fringe(t, node, x32, document, acuity, block)
            break

        row, n, k = t.row[node], t.size[node], t.n_children[node]
        if h_with < 0.0:
            h_with = log_det_with(t.mean[row], t.m2[row], n, x, acuity, block)
        s, b1, h1, b2 = _two_best(t, node, x, acuity, block, tie)
        n1, n2 = t.size[b1], t.size[b2]
        rest = s - n1 * t.h[b1]  # Σ n·h over the children other than b1

        # Each score is (h(p) − Σ P(c)·h(c)) / number of children; on a tie the operator named first wins.
        operator = _INSERT
        best = (h_with - (rest + (n1 + 1) * h1) / (n + 1)) / k
        score = (h_with - s / (n + 1)) / (k + 1)
        if score > best + tie:
            operator, best = _CREATE, score
        h_merged = 0.0
        if k > 2:
            h_merged = _log_det_merged(t, b1, b2, x, acuity, block)
            score = (h_with - (rest - n2 * t.h[b2] + (n1 + n2 + 1) * h_merged) / (n + 1)) / (k - 1)
            if score > best + tie:
                operator, best = _MERGE, score
        if t.n_children[b1] > 0:
            score = (t.h[node] - (rest + t.s[b1]) / n) / (k - 1 + t.n_children[b1])
            if score > best + tie:
                operator = _SPLIT

        if operator == _SPLIT:
            split(t, b1)
            continue

        # x belongs below this node now, whatever becomes of it further down.
        add(t.mean[row], t.m2[row], n, x)
        t.size[node] = n + 1
        t.h[node] = h_with
        t.changed[row] = t.meta[Meta.CHANGES]
        if operator == _CREATE:
            t.s[node] = s
            leaf = new_leaf(t, x32)
            hang_document(t, leaf, document)
            attach(t, node, leaf)
            t.meta[Meta.CREATED] += 1
            break
        if operator == _MERGE:
            t.s[node] = rest - n2 * t.h[b2] + (n1 + n2 + 1) * h_merged
            node = _merge(t, node, b1, b2, acuity, block)
            h_with = h_merged
        else:
            t.s[node] = rest + (n1 + 1) * h1
            t.meta[Meta.INSERTED] += 1
            node = b1
            h_with = h1

    return NONE


@subkernel
def _two_best(
    t: TreeArrays, node: int, x: Doubles, acuity: float, block: int, tie: float
) -> tuple[float, int, float, int]:
    """The two children that x costs least, (n+1)·h(c + x) − n·h(c), ties to the lower id.

    Returns (Σ n·h over all children, best, its h with x, second best).
    """
    _ask_for_children(t, node)
    tie *= t.size[node] + 1
    s = 0.0
    b1, cost1, h1 = NONE, np.inf, 0.0
    b2, cost2 = NONE, np.inf
    child = t.first_child[node]
    while child != NONE:
        n, row = t.size[child], t.row[child]
        if t.n_children[child] == 0:
            h = log_det_leaf_with(t.vectors[row], n, x, acuity, block)
            cost = (n + 1) * h
        else:
            h = log_det_with(t.mean[row], t.m2[row], n, x, acuity, block)
            own = n * t.h[child]
            s += own
            cost = (n + 1) * h - own
        if cost < cost1 - tie or (cost <= cost1 + tie and child < b1):
            b2, cost2 = b1, cost1
            b1, cost1, h1 = child, cost, h
        elif cost < cost2 - tie or (cost <= cost2 + tie and child < b2):
            b2, cost2 = child, cost
        child = t.next_sibling[child]
    if b2 == NONE:  # costs of NaN, which nothing is below: take the first two, or the first other
        b1, b2, h1 = _first_two(t, node, b1, h1)
    return s, b1, h1, b2


@subkernel
def _first_two(t: TreeArrays, node: int, best: int, h: float) -> tuple[int, int, float]:
    """A best child and another where costs do not tell: the best, if there is one, or else the first; and its h."""
    first = t.first_child[node]
    if best == NONE:
        return first, t.next_sibling[first], 0.0
    return best, first if first != best else t.next_sibling[first], h


@subkernel
def _ask_for_children(t: TreeArrays, node: int) -> None:
    """Have the beginnings of the children's moments fetched, all at once; what follows, processors fetch unasked.

    Most are in no cache: with this, refining takes a tenth less time. (Asking for whole rows, or only for the next
    child's, gains nothing.)
    """
    dim = t.vectors.shape[1]
    child = t.first_child[node]
    while child != NONE:
        first = t.row[child] * dim
        for line in range(_ASKED_FOR):
            if t.n_children[child] == 0:
                prefetch(t.vectors, first + line * (CACHE_LINE // 4))
            else:
                prefetch(t.mean, first + line * (CACHE_LINE // 8))
                prefetch(t.m2, first + line * (CACHE_LINE // 8))
        child = t.next_sibling[child]


@subkernel
def _log_det_merged(t: TreeArrays, b1: int, b2: int, x: Doubles, acuity: float, block: int) -> float:
    """h(b1 ∪ b2 ∪ x), for children of either kind."""
    if t.n_children[b1] == 0:
        b1, b2 = b2, b1  # if one of them is a leaf, it is b2 now
    n1, r1 = t.size[b1], t.row[b1]
    n2, r2 = t.size[b2], t.row[b2]
    if t.n_children[b2] > 0:
        return log_det_union(t.mean[r1], t.m2[r1], n1, t.mean[r2], t.m2[r2], 1.0, n2, x, acuity, block)
    if t.n_children[b1] > 0:
        return log_det_union(t.mean[r1], t.m2[r1], n1, t.vectors[r2], t.m2[r1], 0.0, n2, x, acuity, block)
    return log_det_leaves(t.vectors[r1], n1, t.vectors[r2], n2, x, acuity, block)


@subkernel
def pool_child(t: TreeArrays, mean: Doubles, m2: Doubles, n: int, child: int) -> None:
    """Pool the moments (of n documents so far) with those of a child, leaf or not."""
    row = t.row[child]
    if t.n_children[child] == 0:
        pool_leaf(mean, m2, n, t.vectors[row], t.size[child])
    else:
        pool(mean, m2, n, t.mean[row], t.m2[row], t.size[child])


@subkernel
def sum_of_children(t: TreeArrays, node: int) -> float:
    """S(p) = Σ n·h over the children."""
    s = 0.0
    child = t.first_child[node]
    while child != NONE:
        s += t.size[child] * t.h[child]
        child = t.next_sibling[child]
    return s


@subkernel
def moments_of_children(t: TreeArrays, node: int) -> None:
    """Take the moments of a node afresh from its children."""
    row = t.row[node]
    mean, m2 = t.mean[row], t.m2[row]
    for d in range(mean.shape[0]):
        mean[d], m2[d] = 0.0, 0.0
    n = 0
    child = t.first_child[node]
    while child != NONE:
        pool_child(t, mean, m2, n, child)
        n += t.size[child]
        child = t.next_sibling[child]


@subkernel
def _merge(t: TreeArrays, parent: int, b1: int, b2: int, acuity: float, block: int) -> int:
    """Put b1 and b2 under a node of their own, which is returned."""
    merged = new_inner(t)
    detach(t, b1)
    detach(t, b2)
    attach(t, parent, merged)
    attach(t, merged, b2)
    attach(t, merged, b1)
    t.size[merged] = t.size[b1] + t.size[b2]
    moments_of_children(t, merged)
    t.h[merged] = log_det(t.m2[t.row[merged]], t.size[merged], acuity, block)
    t.s[merged] = sum_of_children(t, merged)
    t.meta[Meta.MERGED] += 1
    return merged


@subkernel
def split(t: TreeArrays, node: int) -> None:
    """Replace `node` by its children."""
    parent = t.parent[node]
    detach(t, node)
    child = t.first_child[node]
    while child != NONE:
        after = t.next_sibling[child]
        attach(t, parent, child)
        child = after
    free_inner(t, node)
    t.meta[Meta.SPLIT] += 1


@subkernel
def _split_fringe(t: TreeArrays, leaf: int, x32: Floats, document: int, acuity: float, block: int) -> None:
    """A leaf meets another vector: a new node over both takes its place."""
    inner = new_inner(t)
    replace(t, leaf, inner)
    twin = new_leaf(t, x32)
    hang_document(t, twin, document)
    attach(t, inner, leaf)
    attach(t, inner, twin)
    t.size[inner] = t.size[leaf] + 1
    moments_of_children(t, inner)
    t.h[inner] = log_det(t.m2[t.row[inner]], t.size[inner], acuity, block)
    t.meta[Meta.FRINGE] += 1


@subkernel
def join(t: TreeArrays, leaf: int, x: Doubles, document: int) -> None:
    """An exact duplicate joins its leaf: every ancestor takes it in, no operator is asked."""
    acuity = t.limits[Limit.ACUITY]
    block = block_length(t.limits)
    hang_document(t, leaf, document)
    node = t.parent[leaf]
    while node != NONE:
        row = t.row[node]
        add(t.mean[row], t.m2[row], t.size[node], x)
        t.size[node] += 1
        t.h[node] = log_det(t.m2[row], t.size[node], acuity, block)
        t.s[node] = sum_of_children(t, node)
        t.changed[row] = t.meta[Meta.CHANGES]
        node = t.parent[node]
    t.meta[Meta.JOINED] += 1
