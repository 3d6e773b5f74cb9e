"""Insertion (paper section 3.3): x goes down from the root, at each node by the operator that scores best.

Of a node p with n documents and K children, S = Σ n_c·h(c) over the children, and b1, b2 the two that x fits best; a
prime means "with x". Each score is the partition utility, (h(p) − Σ P(c)·h(c)) / number of children:

    insert into b1                  ( h(p') − [S − n₁h₁ + (n₁+1)·h(b1')] / (n+1) ) / K
    new child                       ( h(p') − S / (n+1) ) / (K+1)
    merge b1 and b2 (if K > 2)      ( h(p') − [S − n₁h₁ − n₂h₂ + (n₁+n₂+1)·h(b1∪b2∪x)] / (n+1) ) / (K−1)
    split b1 (if it has children)   ( h(p) − [S − n₁h₁ + S(b1)] / n ) / (K−1+K₁)

With H = Σ_d log σ²_d of a node, D dimensions and acuity a, h = H − D·log a is the entropy above that of a leaf. The
weights of the children add up to one, so the constant cancels, and leaves, whose h is 0, drop out of the sums.
"""

from typing import Final

import numpy as np

from gossamer.array_types import CACHE_LINE, NONE, Doubles, Floats, Ints
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import prefetch
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.structure import add_document, attach, detach, find_leaf, free_inner, new_inner, new_leaf, replace
from gossamer.tree.utility import (
    TIE,
    LogScale,
    Moments,
    add,
    largest_log_ratio,
    log_det,
    log_det_leaf_with,
    log_det_leaves,
    log_det_union,
    log_det_with,
    log_scale,
    pool,
    pool_leaf,
)

_INSERT, _CREATE, _MERGE, _SPLIT = range(4)

_PREFETCHED: Final = 4
"""Cache lines at the beginning of each child's moments that are prefetched. The processor prefetches what follows by
itself. (Inserting all documents of a large tree again took a tenth less time than without; to prefetch whole rows, or
the next child only, gained nothing.)"""


@kernel
def insert_rows(t: TreeArrays, X: Floats, start: int, node: int) -> tuple[int, int]:
    """Insert the rows of X from `start` on; returns (row, node) where it stopped.

    It stops early where the arrays are full, and is called again with larger ones. `node` is NONE between documents;
    otherwise all nodes above `node` include the row already, and insertion resumes at `node`.
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


@kernel
def descents(t: TreeArrays, X: Floats, out: Ints) -> None:
    """Write the lowest concept that each row of X would lie in if it were inserted by the four operators.

    A step down goes to the child that fits best, unless a new child scores better. No concepts are merged or split for
    it: what is in them stays together, and the best child is on the way either way.
    """
    x, limits = np.empty(X.shape[1]), np.empty_like(t.limits)
    for i in range(X.shape[0]):
        copy(X[i], x)
        leaf = find_leaf(t, X[i])
        if leaf != NONE:
            out[i] = leaf if t.parent[leaf] == NONE else t.parent[leaf]
            continue
        copy(t.limits, limits)
        widen(limits, X[i])
        out[i] = _descent(t, x, log_scale(limits), TIE * x.shape[0] * largest_log_ratio(limits))


@subkernel
def _descent(t: TreeArrays, x: Doubles, scale: LogScale, tie: float) -> int:
    """The lowest concept on the way of x; a root that is a leaf, if that is all there is."""
    node = t.meta[Meta.ROOT]
    while t.n_children[node] > 0:
        row, n, k = t.row[node], t.size[node], t.n_children[node]
        s, best, h_best, _ = _two_best(t, node, x, scale, tie)
        h_with = log_det_with(t.mean[row], t.m2[row], n, x, scale)
        insert = (h_with - (s - t.size[best] * t.h[best] + (t.size[best] + 1) * h_best) / (n + 1)) / k
        create = (h_with - s / (n + 1)) / (k + 1)
        if t.n_children[best] == 0 or create > insert + tie:
            return node
        node = best
    return node


@subkernel
def has_room(t: TreeArrays) -> bool:
    """Whether there are slots for one more step down, which makes at most a leaf and an internal node."""
    return (
        t.meta[Meta.SLOTS] + 2 <= t.size.shape[0]
        and t.meta[Meta.LEAF_ROWS] < t.vectors.shape[0]
        and t.meta[Meta.INNER_ROWS] < t.mean.shape[0]
        and t.meta[Meta.NEXT_DOCUMENT] < t.leaf.shape[0]
    )


@subkernel
def widen(limits: Doubles, x: Floats) -> None:
    """Extend the range of coordinates seen so far to those of x."""
    low, high = limits[Limit.LOWEST], limits[Limit.HIGHEST]
    for d in range(x.shape[0]):
        low = min(low, x[d])
        high = max(high, x[d])
    limits[Limit.LOWEST], limits[Limit.HIGHEST] = low, high


@subkernel
def descend(t: TreeArrays, node: int, x32: Floats, x: Doubles, document: int) -> int:
    """Insert x below `node` (NONE: the tree is empty). Returns NONE when done, else the node where room ran out."""
    scale = log_scale(t.limits)
    tie = TIE * x.shape[0] * largest_log_ratio(t.limits)
    h_with = -1.0  # h(node ∪ x), where the step above has computed it already

    while True:
        if node == NONE:
            leaf = new_leaf(t, x32)
            add_document(t, leaf, document)
            t.meta[Meta.ROOT] = leaf
            t.meta[Meta.CREATED] += 1
            break
        if not has_room(t):
            return node
        if t.n_children[node] == 0:
            _split_fringe(t, node, x32, document, scale)
            break

        row, n, k = t.row[node], t.size[node], t.n_children[node]
        if h_with < 0.0:
            h_with = log_det_with(t.mean[row], t.m2[row], n, x, scale)
        s, b1, h1, b2 = _two_best(t, node, x, scale, tie)
        n1, n2 = t.size[b1], t.size[b2]
        rest = s - n1 * t.h[b1]  # Σ n·h over the children other than b1

        # On a tie the operator named first wins.
        operator = _INSERT
        best = (h_with - (rest + (n1 + 1) * h1) / (n + 1)) / k
        score = (h_with - s / (n + 1)) / (k + 1)
        if score > best + tie:
            operator, best = _CREATE, score
        h_merged = 0.0
        if k > 2:
            h_merged = _log_det_merged(t, b1, b2, x, scale)
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

        # Whatever happens further down, x is below this node from now on.
        add(t.mean[row], t.m2[row], n, x)
        t.size[node] = n + 1
        t.h[node] = h_with
        t.changed[row] = t.meta[Meta.CHANGES]
        if operator == _CREATE:
            t.s[node] = s
            leaf = new_leaf(t, x32)
            add_document(t, leaf, document)
            attach(t, node, leaf)
            t.meta[Meta.CREATED] += 1
            break
        if operator == _MERGE:
            t.s[node] = rest - n2 * t.h[b2] + (n1 + n2 + 1) * h_merged
            node = _merge(t, node, b1, b2, scale)
            h_with = h_merged
        else:
            t.s[node] = rest + (n1 + 1) * h1
            t.meta[Meta.INSERTED] += 1
            node = b1
            h_with = h1

    return NONE


@subkernel
def _two_best(t: TreeArrays, node: int, x: Doubles, scale: LogScale, tie: float) -> tuple[float, int, float, int]:
    """The two children whose n·h rises least by x, (n+1)·h(c ∪ x) − n·h(c); on a tie the one with the lower id.

    Returns (Σ n·h over all children, the best, its h with x, the second best).
    """
    _prefetch_children(t, node)
    tie *= t.size[node] + 1
    s = 0.0
    b1, cost1, h1 = NONE, np.inf, 0.0
    b2, cost2 = NONE, np.inf
    child = t.first_child[node]
    while child != NONE:
        n, row = t.size[child], t.row[child]
        if t.n_children[child] == 0:
            h = log_det_leaf_with(t.vectors[row], n, x, scale)
            cost = (n + 1) * h
        else:
            h = log_det_with(t.mean[row], t.m2[row], n, x, scale)
            own = n * t.h[child]
            s += own
            cost = (n + 1) * h - own
        if cost < cost1 - tie or (cost <= cost1 + tie and child < b1):
            b2, cost2 = b1, cost1
            b1, cost1, h1 = child, cost, h
        elif cost < cost2 - tie or (cost <= cost2 + tie and child < b2):
            b2, cost2 = child, cost
        child = t.next_sibling[child]
    if b2 == NONE:  # costs are NaN, which compares with nothing
        b1, b2, h1 = _first_two(t, node, b1, h1)
    return s, b1, h1, b2


@subkernel
def _first_two(t: TreeArrays, node: int, best: int, h: float) -> tuple[int, int, float]:
    """Two children where costs are NaN: the best, if there is one, else the first; any other; and the h of the best."""
    first = t.first_child[node]
    if best == NONE:
        return first, t.next_sibling[first], 0.0
    return best, first if first != best else t.next_sibling[first], h


@subkernel
def _prefetch_children(t: TreeArrays, node: int) -> None:
    """Load the beginning of the moments of all children into the cache, where most of them are not."""
    dim = t.vectors.shape[1]
    child = t.first_child[node]
    while child != NONE:
        first = t.row[child] * dim
        for line in range(_PREFETCHED):
            if t.n_children[child] == 0:
                prefetch(t.vectors, first + line * (CACHE_LINE // 4))
            else:
                prefetch(t.mean, first + line * (CACHE_LINE // 8))
                prefetch(t.m2, first + line * (CACHE_LINE // 8))
        child = t.next_sibling[child]


@subkernel
def _log_det_merged(t: TreeArrays, b1: int, b2: int, x: Doubles, scale: LogScale) -> float:
    """h(b1 ∪ b2 ∪ x), for leaves and internal nodes."""
    if t.n_children[b1] == 0:
        b1, b2 = b2, b1  # if one of them is a leaf, it is b2 now
    n1, r1 = t.size[b1], t.row[b1]
    n2, r2 = t.size[b2], t.row[b2]
    if t.n_children[b1] == 0:
        return log_det_leaves(t.vectors[r1], n1, t.vectors[r2], n2, x, scale)
    one = Moments(n1, t.mean[r1], t.m2[r1])
    if t.n_children[b2] == 0:
        return log_det_union(one, Moments(n2, t.vectors[r2], t.m2[r1]), 0.0, x, scale)
    return log_det_union(one, Moments(n2, t.mean[r2], t.m2[r2]), 1.0, x, scale)


@subkernel
def _pool_child(t: TreeArrays, mean: Doubles, m2: Doubles, n: int, child: int) -> None:
    """Pool moments of n documents with those of a child, a leaf or an internal node."""
    row = t.row[child]
    if t.n_children[child] == 0:
        pool_leaf(mean, m2, n, t.vectors[row], t.size[child])
    else:
        pool(mean, m2, n, Moments(t.size[child], t.mean[row], t.m2[row]))


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
    """Set the moments of a node to the pooled moments of its children."""
    row = t.row[node]
    pool_children(t, node, t.mean[row], t.m2[row])


@subkernel
def pool_children(t: TreeArrays, node: int, mean: Doubles, m2: Doubles) -> None:
    """Write the pooled moments of the children of a node."""
    for d in range(mean.shape[0]):
        mean[d], m2[d] = 0.0, 0.0
    n = 0
    child = t.first_child[node]
    while child != NONE:
        _pool_child(t, mean, m2, n, child)
        n += t.size[child]
        child = t.next_sibling[child]


@subkernel
def summarise(t: TreeArrays, node: int, scale: LogScale) -> None:
    """Compute the moments, h and s of a node, whose size is known, from its children."""
    moments_of_children(t, node)
    t.h[node] = log_det(t.m2[t.row[node]], t.size[node], scale)
    t.s[node] = sum_of_children(t, node)


@subkernel
def _merge(t: TreeArrays, parent: int, b1: int, b2: int, scale: LogScale) -> int:
    """Put b1 and b2 below a new child of `parent`, which is returned."""
    merged = new_inner(t)
    detach(t, b1)
    detach(t, b2)
    attach(t, parent, merged)
    attach(t, merged, b2)
    attach(t, merged, b1)
    t.size[merged] = t.size[b1] + t.size[b2]
    summarise(t, merged, scale)
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
def _split_fringe(t: TreeArrays, leaf: int, x32: Floats, document: int, scale: LogScale) -> None:
    """Replace a leaf by a new node over it and a leaf for x."""
    inner = new_inner(t)
    replace(t, leaf, inner)
    other = new_leaf(t, x32)
    add_document(t, other, document)
    attach(t, inner, leaf)
    attach(t, inner, other)
    t.size[inner] = t.size[leaf] + 1
    summarise(t, inner, scale)
    t.meta[Meta.FRINGE] += 1


@subkernel
def join(t: TreeArrays, leaf: int, x: Doubles, document: int) -> None:
    """Add an exact duplicate to its leaf, and to the moments of all ancestors; no operator is considered."""
    scale = log_scale(t.limits)
    add_document(t, leaf, document)
    node = t.parent[leaf]
    while node != NONE:
        row = t.row[node]
        add(t.mean[row], t.m2[row], t.size[node], x)
        t.size[node] += 1
        t.h[node] = log_det(t.m2[row], t.size[node], scale)
        t.s[node] = sum_of_children(t, node)
        t.changed[row] = t.meta[Meta.CHANGES]
        node = t.parent[node]
    t.meta[Meta.JOINED] += 1
