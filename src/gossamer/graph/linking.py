"""Finding the links of leaves. The first are compared each with each (see `pairs`), and link to the nearest. Of later
ones each searches for its neighbours, as a query would, among those linked before.

Many of the latter are linked in batches. A batch reads only the links that were there before it, so it runs on all
cores and its result does not depend on them; then its links are put in, one leaf after the other. Batches are small
beside what is linked already, so that hardly any leaf has its nearest in its own batch, unless that is beside it in the
tree, where it is found all the same. (Linking all at once, in rounds that each read the links of the round before, took
two and a half times as many distances for links as good.)
"""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Floats, Ints
from gossamer.graph.codes import Codes
from gossamer.graph.links import Desk, Links, add_link, thin
from gossamer.graph.walk import DOORS, Guides, Scratch, along_links, enter, nearest_concepts, start, through_doors
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.selection import Flags
from gossamer.tree.structure import append_leaf_rows

_BESIDE = 64
"""Leaves of the tree around a new one that it looks at first."""


@kernel
def choose_links(t: TreeArrays, g: Guides, new: Ints, width: int, nobody: Flags, w: Scratch, out: Ints) -> None:
    """For new leaf rows, what each should link to by what the present links lead to."""
    beside = np.empty(_BESIDE, np.int32)
    found = np.empty(width, np.int32)
    entrances = np.empty(DOORS, np.int32)
    for i in range(new.shape[0]):
        row = new[i]
        factor, norm = start(g.codes, t.vectors[row], w)
        w.marks[row] = w.mark[0]
        nearest_concepts(g.frontier, factor, 1 << 30, w, entrances)
        through_doors(g, entrances, factor, norm, width, nobody, w)
        for j in range(_leaves_beside(t, row, beside)):
            if g.links.degree[beside[j]] != 0:
                enter(g.codes, beside[j], factor, norm, width, nobody, w)
        # Ends when the links of all the best were followed: what is merely near is as good to link to as the nearest.
        along_links(g, factor, norm, width, 1.0, 1 << 30, width, nobody, w)
        n = _found(w, found)
        out[i] = NONE
        thin(g.codes, found[:n], w.near[:n], out.shape[1], out[i])


@kernel
def choose_among(codes: Codes, found: Ints, near: Floats, out: Ints) -> None:
    """For leaf rows of which the nearest are known: what each should link to."""
    for i in range(found.shape[0]):
        out[i] = NONE
        thin(codes, found[i], near[i], out.shape[1], out[i])


@kernel
def put_links(links: Links, codes: Codes, new: Ints, chosen: Ints, desk: Desk) -> None:
    """Give new leaf rows the links they chose, and links back to them."""
    for i in range(new.shape[0]):
        n = 0
        while n < chosen.shape[1] and chosen[i, n] != NONE:
            n += 1
        links.degree[new[i]] = max(0, links.degree[new[i]])  # none is coming any more
        for j in range(n):
            add_link(links, codes, new[i], chosen[i, j], desk)
    for i in range(new.shape[0]):
        for other in chosen[i]:
            if other != NONE:
                add_link(links, codes, other, new[i], desk)


@subkernel
def _found(w: Scratch, out: Ints) -> int:
    """The leaf rows a walk has kept, nearest first."""
    n = w.counts[0]
    for i in range(n):
        out[i] = w.rows[i] if w.rows[i] >= 0 else ~w.rows[i]
    return n


@subkernel
def _leaves_beside(t: TreeArrays, row: int, out: Ints) -> int:
    """Rows of leaves near a leaf in the tree: those of its parent, then of its grandparent ... until `out` is full."""
    n = 0
    below, node = t.owner[row], t.parent[t.owner[row]]
    while node != NONE and n < out.shape[0]:
        child = t.first_child[node]
        while child != NONE and n < out.shape[0]:
            if child != below:
                n = append_leaf_rows(t, child, out, n)
            child = t.next_sibling[child]
        below, node = node, t.parent[node]
    return n
