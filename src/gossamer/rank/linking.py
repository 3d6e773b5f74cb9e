"""Finding the links of leaves: each new leaf searches for its neighbours, as a query would.

A few new leaves are linked one after the other. Many at once are linked together: first to the leaves
beside them in the tree, then, in rounds, to the best that a walk along the links so far can find. A round
reads only the links of the round before, so it runs on all cores and its result does not depend on them.
"""

from __future__ import annotations

import numpy as np

from gossamer.jit import kernel, subkernel
from gossamer.rank.selection import Flags
from gossamer.rank.walk import Guides, Scratch, along_links, enter, start, through_doors
from gossamer.tree.arrays import NONE, Ints, TreeArrays
from gossamer.tree.codes import Codes, code_distance
from gossamer.tree.links import Desk, Links, set_links, sort_by_distance, thin

_BESIDE = 64
"""Leaves of the tree around a new one that it looks at first."""


@kernel
def link_one_by_one(t: TreeArrays, g: Guides, new: Ints, width: int, nobody: Flags, w: Scratch, desk: Desk) -> None:
    """Link new leaf rows in order."""
    beside = np.empty(_BESIDE, np.int32)
    found = np.empty(width, np.int32)
    for i in range(new.shape[0]):
        row = new[i]
        factor, norm = start(g.codes, t.vectors[row], w)
        w.stamps[row] = w.stamp[0]
        through_doors(g, factor, norm, 1 << 30, width, nobody, w)
        for j in range(_leaves_beside(t, row, beside)):
            if g.links.degree[beside[j]] > 0:
                enter(g.codes, beside[j], factor, norm, width, nobody, w)
        along_links(g, factor, norm, 1 << 30, width, nobody, w)
        n = _found(w, found)
        set_links(g.links, g.codes, row, found[:n], w.near[:n], desk)


@kernel
def choose_beside(t: TreeArrays, codes: Codes, first: int, last: int, out: Ints) -> None:
    """For the leaf rows first ... last, links to the leaves beside them in the tree."""
    beside = np.empty(_BESIDE, np.int32)
    distances = np.empty(_BESIDE, np.float32)
    for row in range(first, last):
        out[row - first] = NONE
        if codes.leaf_norm[row] == np.inf:
            continue
        n = _leaves_beside(t, row, beside)
        for i in range(n):
            distances[i] = code_distance(codes, row, beside[i])
        sort_by_distance(beside[:n], distances[:n])
        thin(codes, beside[:n], distances[:n], out.shape[1], out[row - first])


@kernel
def choose_again(
    t: TreeArrays, g: Guides, first: int, last: int, width: int, nobody: Flags, w: Scratch, out: Ints
) -> None:
    """For the leaf rows first ... last, the links they would choose by what the present links lead to."""
    found = np.empty(width, np.int32)
    for row in range(first, last):
        out[row - first] = NONE
        if g.codes.leaf_norm[row] == np.inf:
            continue
        factor, norm = start(g.codes, t.vectors[row], w)
        w.stamps[row] = w.stamp[0]
        through_doors(g, factor, norm, 1 << 30, width, nobody, w)
        for i in range(g.links.degree[row]):
            enter(g.codes, g.links.to[row, i], factor, norm, width, nobody, w)
        along_links(g, factor, norm, 1 << 30, width, nobody, w)
        n = _found(w, found)
        thin(g.codes, found[:n], w.near[:n], out.shape[1], out[row - first])


@kernel
def replace_links(chosen: Ints, links: Links) -> None:
    """Links made anew: what each leaf chose, then links back, those of first choices first, while there is room."""
    rows, own = chosen.shape
    for row in range(rows):
        n = 0
        while n < own and chosen[row, n] != NONE:
            links.to[row, n] = chosen[row, n]
            n += 1
        links.degree[row] = n
    for i in range(own):
        for row in range(rows):
            other = chosen[row, i]
            if other == NONE or links.degree[other] == links.to.shape[1]:
                continue
            present = False
            for j in range(links.degree[other]):
                present = present or links.to[other, j] == row
            if not present:
                links.to[other, links.degree[other]] = row
                links.degree[other] += 1


@subkernel
def _found(w: Scratch, out: Ints) -> int:
    """The leaf rows a walk has kept, nearest first."""
    n = w.counts[0]
    for i in range(n):
        out[i] = w.rows[i] if w.rows[i] >= 0 else ~w.rows[i]
    return n


@kernel
def _leaves_beside(t: TreeArrays, row: int, out: Ints) -> int:
    """Rows of leaves near a leaf in the tree: those of its parent, then of its grandparent ... until `out` is full."""
    n = 0
    below, node = t.owner[row], t.parent[t.owner[row]]
    while node != NONE and n < out.shape[0]:
        child = t.first_child[node]
        while child != NONE and n < out.shape[0]:
            if child != below:
                n = _leaves_of(t, child, out, n)
            child = t.next_sibling[child]
        below, node = node, t.parent[node]
    return n


@subkernel
def _leaves_of(t: TreeArrays, top: int, out: Ints, n: int) -> int:
    """Append the rows of the leaves below `top` to out[:n], as far as there is room."""
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
