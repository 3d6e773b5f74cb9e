"""The links of each leaf to near leaves: add one, thin them, drop a leaf.

Links are kept shortest first and thinned by the rule of relative neighbourhood graphs: leaf a links to b unless it
links to some c, nearer to a than b is, with |b − c| < |a − b|. So no two links point the same way. The leaves that a
leaf links to link back while they have room. From any good start a walk along such links, always on to what is nearest
to a query, ends at the nearest leaves (Toussaint 1980; thinning as in HNSW, Malkov and Yashunin 2016). All distances
are those between codes.
"""

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Floats, Ints, aligned
from gossamer.graph.codes import Codes, code_distance
from gossamer.neighbours.ordering import copy, insertion_sort, sorted_insert
from gossamer.runtime.jit import kernel, subkernel

Lengths: TypeAlias = npt.NDArray[np.uint8]

LONGEST: Final = 255
"""The length, in units, that is kept of a link this long or longer."""

NEW_LINKS: Final = 16
"""Links that a new leaf makes."""

MAX_LINKS: Final = 32
"""Links that a leaf has at most, those back included: two cache lines."""

_MOST_THINNED: Final = MAX_LINKS - MAX_LINKS // 4
"""Links that are left where all of a leaf's links are thinned: room for the next, so that thinning stays rare."""

PENDING: Final = -1
"""The degree of a leaf of the batch that is being linked: it has no links yet, but others may link to it."""


class Links(NamedTuple):
    """By leaf row: where its links lead (leaf rows), shortest first, their lengths, and how many there are."""

    to: Ints
    length: Lengths  # in units, rounded down
    degree: Ints
    unit: float


class LinkWorkspace(NamedTuple):
    """Memory for choosing the links of one leaf."""

    neighbours: Ints
    candidates: Ints
    distances: Floats


def new_link_workspace() -> LinkWorkspace:
    """Room for the links of two leaves."""
    return LinkWorkspace(
        neighbours=np.zeros(MAX_LINKS, np.int32),
        candidates=np.zeros(2 * MAX_LINKS, np.int32),
        distances=np.zeros(2 * MAX_LINKS, np.float32),
    )


def no_links(codes: Codes) -> Links:
    """Links of no rows, with a unit such that LONGEST of them span the leaves."""
    farthest = float(np.max(codes.leaf_norm, where=np.isfinite(codes.leaf_norm), initial=0.0))
    return Links(
        to=np.zeros((0, MAX_LINKS), np.int32),
        length=np.zeros((0, MAX_LINKS), np.uint8),
        degree=np.zeros(0, np.int32),
        unit=max(2.0 * math.sqrt(farthest), 1e-30) / LONGEST,
    )


def copied(links: Links, rows: int) -> Links:
    """A copy of `links` with room for at least `rows`."""
    old = len(links.degree)
    room = max(rows, old if old >= rows else old * 3 // 2)
    to, length = aligned((room, MAX_LINKS), np.int32, NONE), aligned((room, MAX_LINKS), np.uint8)
    degree = np.zeros(room, np.int32)
    to[:old], length[:old], degree[:old] = links.to, links.length, links.degree
    return Links(to, length, degree, links.unit)


def with_rows(links: Links, rows: int) -> Links:
    """`links`, or a copy where they have room for fewer rows than that."""
    return links if len(links.degree) >= rows else copied(links, rows)


def measured(to: Ints, degree: Ints, codes: Codes) -> Links:
    """Links of which nothing else is known, in order and with their lengths."""
    links = no_links(codes)._replace(to=to.copy(), length=np.zeros(to.shape, np.uint8), degree=degree)
    _measure(links, codes, new_link_workspace())
    return links


@subkernel
def thin(codes: Codes, rows: Ints, distances: Floats, most: int, out: Ints) -> int:
    """Of candidates in order of distance, keep each that is at least as near to the leaf as to all kept before it.

    Returns how many were kept, at most `most`.
    """
    kept = 0
    for i in range(rows.shape[0]):
        if kept == most:
            break
        near = distances[i] != np.inf and rows[i] != NONE
        for j in range(kept):
            if code_distance(codes, rows[i], out[j]) < distances[i]:
                near = False
                break
        if near:
            out[kept] = rows[i]
            kept += 1
    return kept


@subkernel
def _length(links: Links, distance: float) -> int:
    """The length to keep of a link that spans this squared distance."""
    if distance == np.inf:  # there is no leaf at its end any more
        return LONGEST
    # Clipped before conversion: NaN, or what is too large for an integer, would be converted to anything.
    return int(min(np.float64(LONGEST), math.sqrt(max(0.0, distance)) / links.unit))


@kernel
def _measure(links: Links, codes: Codes, work: LinkWorkspace) -> None:
    """Sort all links, and set their lengths."""
    for row in range(links.degree.shape[0]):
        degree = max(0, links.degree[row])
        rows, distances = links.to[row, :degree], work.distances[:degree]
        for i in range(degree):
            distances[i] = code_distance(codes, row, rows[i])
        insertion_sort(distances, rows)
        for i in range(degree):
            links.length[row, i] = _length(links, distances[i])


@subkernel
def add_link(links: Links, codes: Codes, row: int, other: int, work: LinkWorkspace) -> None:
    """Let `row` link to `other`. Where it has no room, all its links are thinned to make some."""
    degree = links.degree[row]
    for i in range(degree):
        if links.to[row, i] == other:
            return
    if degree < MAX_LINKS:
        sorted_insert(links.length[row], links.to[row], degree, _length(links, code_distance(codes, row, other)), other)
        links.degree[row] = degree + 1
        return
    copy(links.to[row], work.candidates)
    work.candidates[MAX_LINKS] = other
    _relink(links, codes, row, MAX_LINKS + 1, work)


@subkernel
def _relink(links: Links, codes: Codes, row: int, n: int, work: LinkWorkspace) -> None:
    """Choose the links of a leaf anew from the first n candidates in the workspace, which are in any order.

    As `thin` does, but a leaf whose nearest is this one stays linked: an outlier may be linked from nowhere else.
    """
    candidates, distances = work.candidates[:n], work.distances[:n]
    for i in range(n):
        distances[i] = code_distance(codes, row, candidates[i])
    insertion_sort(distances, candidates)
    out, kept = links.to[row], 0
    for i in range(n):
        other = candidates[i]
        depends = links.degree[other] > 0 and links.to[other, 0] == row
        near = distances[i] != np.inf and kept < (MAX_LINKS - 1 if depends else _MOST_THINNED)
        if not depends:
            for j in range(kept):
                if not near:
                    break
                near = not code_distance(codes, other, out[j]) < distances[i]
        if near:
            out[kept], links.length[row, kept] = other, _length(links, distances[i])
            kept += 1
    links.degree[row] = kept


@kernel
def drop_leaves(links: Links, codes: Codes, rows: Ints, work: LinkWorkspace) -> None:
    """Remove leaves one after the other. Their codes must be marked as removed already."""
    for i in range(rows.shape[0]):
        _drop_leaf(links, codes, rows[i], work)


@subkernel
def _drop_leaf(links: Links, codes: Codes, row: int, work: LinkWorkspace) -> None:
    """Remove a leaf. Leaves that linked to it link to its neighbours instead.

    They are looked for among its neighbours and theirs, which is where nearly all of them are. A link that is missed
    leads to a row without a leaf, or later to another leaf, and costs one wasted distance.
    """
    degree = max(0, links.degree[row])
    neighbours = work.neighbours[:degree]
    copy(links.to[row, :degree], neighbours)
    links.degree[row] = 0
    for i in range(degree):
        _bridge(links, codes, neighbours[i], row, neighbours, work)
        for j in range(links.degree[neighbours[i]]):
            _bridge(links, codes, links.to[neighbours[i], j], row, neighbours, work)


@subkernel
def _bridge(links: Links, codes: Codes, row: int, gone: int, others: Ints, work: LinkWorkspace) -> None:
    """If `row` links to `gone`, add the neighbours of `gone` to its candidates instead, and thin."""
    degree = links.degree[row]
    if codes.leaf_norm[row] == np.inf:
        return
    at = NONE
    for i in range(degree):
        if links.to[row, i] == gone:
            at = i
            break
    if at == NONE:
        return
    links.to[row, at] = links.to[row, degree - 1]
    links.degree[row] = degree = degree - 1
    candidates, n = work.candidates, degree
    copy(links.to[row, :n], candidates)
    for i in range(others.shape[0]):
        fresh = others[i] != row and others[i] != gone and codes.leaf_norm[others[i]] != np.inf
        for j in range(n):
            fresh = fresh and candidates[j] != others[i]
        if fresh:
            candidates[n] = others[i]
            n += 1
    _relink(links, codes, row, n, work)
