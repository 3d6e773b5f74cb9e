"""Leaves without links → links, chosen among each leaf's nearest by codes.

The first leaves of an index are compared each with each (`neighbours.all_pairs`). Each later leaf searches for its
neighbours, as a query does, among those linked before. A batch of these reads only links made before the batch, so it
runs on all cores and does not depend on their number; then its links are added, one leaf after the other. Batches are
small beside what is linked already, so hardly any leaf has its nearest in its own batch, unless that is beside it in
the tree, where it is found all the same. (Linking all at once, in rounds that each read the links of the round before,
took two and a half times as many distances for links as good.)
"""

from typing import Final

import numpy as np

from gossamer.array_types import NONE, Floats, Ints
from gossamer.graph.codes import Codes, code_distance
from gossamer.graph.links import NEW_LINKS, PENDING, Links, LinkWorkspace, add_link, new_link_workspace, thin
from gossamer.graph.walk import ENTRIES, GraphArrays, Search, enter, enter_by_parts, follow_links, nearest_parts, start
from gossamer.graph.workspace import Workspace, WorkspacePool
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison, Nearest
from gossamer.neighbours.ordering import sorted_insert
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.rebuild import Neighbours
from gossamer.tree.structure import append_leaf_rows, leaf_rows

CONSIDERED: Final = 128
"""Nearest leaves among which the links of a leaf are chosen."""

ALL_PAIRS: Final = ON_PROCESSOR.linked
"""Leaves that are compared each with each, where no links exist yet."""

_SCATTERED: Final = 4
"""One in so many of these is linked to others of this sample before all are linked: such links are longer, and lead
from one cluster to the next. (Where there are clusters, walks without them need half as much slack again.)"""

_BATCH: Final = 0.02
_LEAST_BATCH: Final = 64
"""Leaves that are linked in one batch, as a share of those linked already, and at least."""

_BESIDE: Final = 64
"""Leaves near a new one in the tree that its search starts from, besides the entry points."""


_VIA: Final = 4
"""Links of a leaf, the shortest, whose own links are looked at for its nearest neighbours. (Of the eight nearest among
23,000 questions of QQP 0.89 are found so, and the very nearest of 0.998; with 8 links 0.92, at twice the time.)"""


_SHORTEST: Final = 8
"""Links of a leaf, the shortest, by which near clusters are found. (With 16 a renewal of 106,000 documents takes a
tenth longer, and the utility of the tree is the same.)"""


def link_leaves(
    t: TreeArrays, g: GraphArrays, rows: Ints, pool: WorkspacePool,
    neighbours: Neighbours | None = None, comparison: Comparison = ON_PROCESSOR,
) -> None:  # fmt: skip
    """Link leaf rows, none of which is linked yet. Where no leaf is, as many as `comparison` is made for are compared
    each with each; if the `neighbours` of all leaves are known already, they are not sought again."""
    linked = int(t.meta[Meta.LEAVES]) - len(rows)
    if linked == 0:
        first, rows = rows[: comparison.linked], rows[comparison.linked :]
        in_order = leaf_rows(t)
        scattered = in_order[np.isin(in_order, first[: len(first) // _SCATTERED])]
        _link_to(g, scattered, *_nearest_among(g.codes, scattered, comparison))
        every = in_order[np.isin(in_order, first)]
        known = None if neighbours is None else _known_neighbours(t, neighbours, every)
        _link_to(g, every, *(_nearest_among(g.codes, every, comparison) if known is None else known))
        linked = len(first)
    while len(rows):
        size = max(_LEAST_BATCH, int(_BATCH * linked))
        batch, rows = rows[:size], rows[size:]
        _link_batch(t, g, batch, pool)
        linked += len(batch)


def _link_to(g: GraphArrays, rows: Ints, found: Ints, near: Floats) -> None:
    """Link leaf rows to some of those found near them, besides what they are linked to already."""
    chosen = np.empty((len(rows), NEW_LINKS), np.int32)

    def choose(first: int, last: int) -> None:
        thin_rows(g.codes, found[first:last], near[first:last], chosen[first:last])

    in_threads(choose, len(rows))
    add_links(g.links, g.codes, rows, chosen, new_link_workspace())


def _link_batch(t: TreeArrays, g: GraphArrays, batch: Ints, pool: WorkspacePool) -> None:
    chosen = np.empty((len(batch), NEW_LINKS), np.int32)
    g.links.degree[batch] = PENDING

    def choose(first: int, last: int) -> None:
        workspace = pool.take(t, CONSIDERED)
        search_links(t, g, batch[first:last], CONSIDERED, workspace, chosen[first:last])
        pool.give_back(workspace)

    in_threads(choose, len(batch))
    add_links(g.links, g.codes, batch, chosen, new_link_workspace())


def _nearest_among(codes: Codes, rows: Ints, comparison: Comparison) -> tuple[Ints, Floats]:
    """For each of some leaf rows the nearest of the others, and their squared distances."""
    places, near = comparison.nearest(codes.leaf[rows, : len(codes.centre)], CONSIDERED, lambda share: None)
    near *= max(np.float32(codes.step * codes.step), np.finfo(np.float32).tiny)  # infinity times 0 is NaN
    return _rows_at(rows, places), near


def _known_neighbours(t: TreeArrays, known: Neighbours, rows: Ints) -> tuple[Ints, Floats] | None:
    """The same from neighbours that were found before; None if they are not those of all these rows."""
    if known.changes != t.meta[Meta.CHANGES] or len(known.leaves) != len(rows):
        return None
    theirs = t.row[known.leaves]
    places = np.empty(len(t.vectors), np.int32)
    places[theirs] = np.arange(len(theirs))
    order = places[rows]
    return _rows_at(theirs, known.places[order]), known.distances[order]


def _rows_at(rows: Ints, places: Ints) -> Ints:
    """The rows at places, and NONE where there is none."""
    found = rows[places]
    found[places == NONE] = NONE
    return found


def neighbours_by_links(g: GraphArrays, rows: Ints, width: int) -> tuple[Nearest, Ints]:
    """For each of some leaf rows the nearest of the others, among those one or two links away, by codes; and those that
    its shortest links lead to.

    Places are those in `rows`; NONE where fewer are found.
    """
    places = np.full(len(g.links.degree), NONE, np.int32)
    places[rows] = np.arange(len(rows), dtype=np.int32)
    found = Nearest(np.full((len(rows), width), NONE, np.int32), np.full((len(rows), width), np.inf, np.float32))

    def search(first: int, last: int) -> None:
        marks = np.full(len(places), NONE, np.int32)
        out = Nearest(found.places[first:last], found.distances[first:last])
        nearest_two_links_away(g, rows[first:last], places, marks, out)

    in_threads(search, len(rows))
    in_use = np.arange(_SHORTEST) < g.links.degree[rows][:, None]
    return found, np.where(in_use, places[g.links.to[rows, :_SHORTEST]], np.int32(NONE))


@kernel
def nearest_two_links_away(g: GraphArrays, rows: Ints, places: Ints, marks: Ints, out: Nearest) -> None:
    """Write the nearest of the leaves that are one or two links away from each row. `marks` are all NONE before."""
    to, degree = g.links.to, g.links.degree
    for i in range(rows.shape[0]):
        row, kept = rows[i], 0
        near, distances = out.places[i], out.distances[i]
        marks[row] = i
        for j in range(-1, min(_VIA, degree[row])):
            via = row if j < 0 else to[row, j]
            for k in range(degree[via]):
                other = to[via, k]
                if marks[other] == i or places[other] == NONE:
                    continue
                marks[other] = i
                distance = code_distance(g.codes, row, other)
                if sorted_insert(distances, near, kept, distance, places[other]) != NONE:
                    kept = min(kept + 1, near.shape[0])


@kernel
def thin_rows(codes: Codes, found: Ints, near: Floats, out: Ints) -> None:
    """Write what each leaf row should link to, by those found near it, nearest first; NONE past the end."""
    for i in range(found.shape[0]):
        out[i] = NONE
        thin(codes, found[i], near[i], out.shape[1], out[i])


@kernel
def search_links(t: TreeArrays, g: GraphArrays, rows: Ints, width: int, w: Workspace, out: Ints) -> None:
    """Write what each leaf row should link to, by the nearest `width` that a walk along present links finds."""
    beside, entries, found = np.empty(_BESIDE, np.int32), np.empty(ENTRIES, np.int32), np.empty(width, np.int32)
    everything = np.zeros(0, np.uint8)
    # A walk ends when the links of all that it keeps were followed: what is merely near is as good to link to as the
    # nearest.
    search = Search(width, 0.0, 1.0, 1 << 30, width, 0)
    for i in range(rows.shape[0]):
        scale = start(g.codes, t.vectors[rows[i]], w)
        w.marks[rows[i]] = w.mark[0]
        nearest_parts(g.entry_points, scale, 1 << 30, w, entries)
        enter_by_parts(g, entries, scale, width, everything, w)
        for j in range(leaves_beside(t, rows[i], beside)):
            if g.links.degree[beside[j]] != 0:
                enter(g.codes, beside[j], scale, width, everything, w)
        follow_links(g, scale, search, everything, w)
        n = w.counts[0]
        for j in range(n):
            found[j] = w.rows[j] if w.rows[j] >= 0 else ~w.rows[j]
        out[i] = NONE
        thin(g.codes, found[:n], w.near[:n], out.shape[1], out[i])


@kernel
def add_links(links: Links, codes: Codes, rows: Ints, chosen: Ints, work: LinkWorkspace) -> None:
    """Give leaf rows the links chosen for them, and then links back to them."""
    for i in range(rows.shape[0]):
        links.degree[rows[i]] = max(0, links.degree[rows[i]])  # not pending any more
        for other in chosen[i]:
            if other == NONE:
                break
            add_link(links, codes, rows[i], other, work)
    for i in range(rows.shape[0]):
        for other in chosen[i]:
            if other != NONE:
                add_link(links, codes, other, rows[i], work)


@subkernel
def leaves_beside(t: TreeArrays, row: int, out: Ints) -> int:
    """Write the rows of other leaves below a leaf's parent, then below its grandparent, and so on until `out` is full;
    returns how many."""
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
