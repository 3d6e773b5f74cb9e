"""New vectors → leaves in the tree and in the graph, one after the other.

One walk along links finds the leaves nearest to a new one: beside the nearest it is put into the tree
(`tree.placement`), and among them its own links are chosen (`links`). Without links, a descent through the tree finds
the nearest. The tree, codes and links that come out depend on the order of the vectors and on nothing else.
"""

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Floats, Ints
from gossamer.graph.codes import encode_leaf, encode_path
from gossamer.graph.linking import add_links
from gossamer.graph.links import NEW_LINKS, LinkWorkspace, new_link_workspace, thin
from gossamer.graph.walk import (
    ENTRIES,
    GraphArrays,
    Search,
    descend,
    enter_by_parts,
    follow_links,
    nearest_parts,
    start,
)
from gossamer.graph.workspace import Workspace
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.placement import begin, has_room_to_place, new_place_workspace, place
from gossamer.tree.scoring import Flags

CONSIDERED: Final = 96
"""Nearest leaves among which the links of a new leaf are chosen: fewer than linking all at once considers, since those
that come later link back."""

_DESCENT: Final = 1000
"""Nodes that are scored to find the nearest leaf where there are no links."""


class Grown(NamedTuple):
    """What became of some rows: how many are in, as far as there was room, and how many are outside the grid."""

    rows: int
    outside: int


def grow(t: TreeArrays, g: GraphArrays, X: Floats, first: int, w: Workspace) -> Grown:
    """Insert the rows of X from `first` on. `w` has room for CONSIDERED leaves, the arrays of `g` for all of `t`."""
    chosen = np.empty((1, NEW_LINKS), np.int32)
    return Grown(*_grow(t, g, X, first, w, new_link_workspace(), chosen))


@kernel
def _grow(
    t: TreeArrays, g: GraphArrays, X: Floats, first: int, w: Workspace, links: LinkWorkspace, chosen: Ints
) -> tuple[int, int]:
    x, found, outside = np.empty(X.shape[1]), np.empty(CONSIDERED, np.int32), 0
    work, linked, one = new_place_workspace(), g.links.degree.shape[0] > 0, np.empty(1, np.int32)
    everything = np.zeros(0, np.uint8)
    for i in range(first, X.shape[0]):
        if not has_room_to_place(t):
            return i, outside
        copy(X[i], x)
        leaf = begin(t, X[i], x)
        if leaf == NONE:  # it joined a leaf; the concepts above have changed
            encode_path(t, g.codes, t.leaf[t.meta[Meta.NEXT_DOCUMENT] - 1])
            continue
        row = t.row[leaf]
        outside += encode_leaf(t, g.codes, row)
        n = _nearest(t, g, X[i], row, w, found, everything)
        place(t, leaf, t.owner[found[0]] if n > 0 else NONE, x, work)
        encode_path(t, g.codes, leaf)
        if linked:
            one[0], chosen[0] = row, NONE
            thin(g.codes, found[:n], w.near[:n], NEW_LINKS, chosen[0])
            add_links(g.links, g.codes, one, chosen, links)
    return X.shape[0], outside


@subkernel
def _nearest(t: TreeArrays, g: GraphArrays, x: Floats, row: int, w: Workspace, found: Ints, everything: Flags) -> int:
    """Write the rows of leaves near x, nearest first, without its own; returns how many."""
    scale = start(g.codes, x, w)
    w.marks[row] = w.mark[0]
    search = Search(CONSIDERED, 0.0, 1.0, 1 << 30, CONSIDERED, 0)
    if g.links.degree.shape[0] > 0:
        entries = w.unseen[:ENTRIES]
        nearest_parts(g.entry_points, scale, 1 << 30, w, entries)
        enter_by_parts(g, entries, scale, CONSIDERED, everything, w)
        follow_links(g, scale, search, everything, w)
    else:
        descend(t, g.codes, scale, Search(CONSIDERED, 0.0, 1.0, _DESCENT, CONSIDERED, 0), everything, w)
    n = min(w.counts[0], found.shape[0])
    for i in range(n):
        found[i] = w.rows[i] if w.rows[i] >= 0 else ~w.rows[i]
    return n
