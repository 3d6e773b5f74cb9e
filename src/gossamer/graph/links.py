"""Links between leaves: the last step of a search walks along them instead of down the tree again.

Each leaf keeps links to near leaves, shortest first, thinned so that no two point the same way, and the leaves it
links to link back while they have room. A walk along such links from any good start ends at the nearest
leaves (relative neighbourhood graphs: Toussaint 1980; thinning as in HNSW, Malkov and Yashunin 2016).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Floats, Ints, aligned
from gossamer.graph.codes import Codes, code_distance
from gossamer.neighbours.heap import copy
from gossamer.runtime.jit import kernel, subkernel

Lengths: TypeAlias = npt.NDArray[np.uint8]

LONGEST: Final = 255
"""The length of all links of so many units or more."""

OWN: Final = 16
"""Links a new leaf makes."""

COMING: Final = -1
"""The degree of a leaf that has no links yet, but is about to be linked: others may link to it."""

MOST: Final = 32
"""Links a leaf has at most, those back included: two cache lines."""


class Links(NamedTuple):
    """By leaf row: its links (leaf rows), shortest first, how long they are, and how many."""

    to: Ints
    length: Lengths  # in units, rounded down
    degree: Ints
    unit: Doubles  # one number


def empty_links(codes: Codes) -> Links:
    """No links yet, with a unit that suits the leaves there are."""
    farthest = float(np.max(codes.leaf_norm, where=np.isfinite(codes.leaf_norm), initial=0.0))
    unit = np.array([max(2.0 * math.sqrt(farthest), 1e-30) / LONGEST])
    return Links(np.zeros((0, MOST), np.int32), np.zeros((0, MOST), np.uint8), np.zeros(0, np.int32), unit)


def links_for(links: Links, rows: int) -> Links:
    """`links` with room for as many rows."""
    old = len(links.degree)
    if old >= rows:
        return links
    room = max(rows, old * 3 // 2)
    to, length = aligned((room, MOST), np.int32, NONE), aligned((room, MOST), np.uint8)
    degree = np.zeros(room, np.int32)
    to[:old], length[:old], degree[:old] = links.to, links.length, links.degree
    return Links(to, length, degree, links.unit)


def measured_links(to: Ints, degree: Ints, codes: Codes) -> Links:
    """Links of which nothing else is known, in order and with their lengths."""
    links = empty_links(codes)._replace(to=to.copy(), length=np.zeros(to.shape, np.uint8), degree=degree)
    _measure(links, codes, new_desk())
    return links


class Desk(NamedTuple):
    """Where links are weighed: used again from leaf to leaf, so that no kernel allocates."""

    neighbours: Ints
    candidates: Ints
    distances: Floats


def new_desk() -> Desk:
    """Room for the links of one leaf and of another."""
    ints = np.int32
    return Desk(np.zeros(MOST, ints), np.zeros(2 * MOST, ints), np.zeros(2 * MOST, np.float32))


@subkernel
def thin(codes: Codes, rows: Ints, distances: Floats, most: int, out: Ints) -> int:
    """Of candidates in order of distance, keep each that is nearer to the leaf than to any kept before it.

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
def sort_by_distance(rows: Ints, distances: Floats) -> None:
    """Nearest first; they are few."""
    for i in range(1, rows.shape[0]):
        row, distance = rows[i], distances[i]
        at = i
        while at > 0 and distances[at - 1] > distance:
            rows[at], distances[at] = rows[at - 1], distances[at - 1]
            at -= 1
        rows[at], distances[at] = row, distance


@subkernel
def _length(links: Links, distance: float) -> int:
    """The length to keep of a link, by the squared distance that it spans."""
    if distance == np.inf:  # there is nothing at its end any more
        return LONGEST
    # Limited before it is made whole: what is too large for an integer, or NaN, would become anything.
    return int(min(np.float64(LONGEST), math.sqrt(max(0.0, distance)) / links.unit[0]))


@kernel
def _measure(links: Links, codes: Codes, desk: Desk) -> None:
    """Put all links in order, and measure them."""
    for row in range(links.degree.shape[0]):
        degree = max(0, links.degree[row])
        rows, distances = links.to[row, :degree], desk.distances[:degree]
        for i in range(degree):
            distances[i] = code_distance(codes, row, rows[i])
        sort_by_distance(rows, distances)
        for i in range(degree):
            links.length[row, i] = _length(links, distances[i])


@subkernel
def add_link(links: Links, codes: Codes, row: int, other: int, desk: Desk) -> None:
    """Let `row` link to `other`; where it has no room, all its links are thinned to make some."""
    degree = links.degree[row]
    for i in range(degree):
        if links.to[row, i] == other:
            return
    if degree < MOST:
        length = _length(links, code_distance(codes, row, other))
        at = degree
        while at > 0 and links.length[row, at - 1] > length:
            links.to[row, at], links.length[row, at] = links.to[row, at - 1], links.length[row, at - 1]
            at -= 1
        links.to[row, at], links.length[row, at] = other, length
        links.degree[row] = degree + 1
        return
    copy(links.to[row], desk.candidates)
    desk.candidates[MOST] = other
    _relink(links, codes, row, MOST + 1, desk)


@subkernel
def _relink(links: Links, codes: Codes, row: int, n: int, desk: Desk) -> None:
    """Choose the links of a leaf anew from the first n candidates on the desk, in any order.

    As `thin` does, but those whose nearest is this leaf are kept: an outlier may be linked from nowhere else.
    """
    candidates, distances = desk.candidates[:n], desk.distances[:n]
    for i in range(n):
        distances[i] = code_distance(codes, row, candidates[i])
    sort_by_distance(candidates, distances)
    out, kept = links.to[row], 0
    for i in range(n):
        other = candidates[i]
        depends = links.degree[other] > 0 and links.to[other, 0] == row
        near = distances[i] != np.inf and kept < (MOST - 1 if depends else MOST - MOST // 4)
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
def drop_leaves(links: Links, codes: Codes, rows: Ints, desk: Desk) -> None:
    """Leaves go, one after the other; their codes must be marked as gone already."""
    for i in range(rows.shape[0]):
        _drop_leaf(links, codes, rows[i], desk)


@subkernel
def _drop_leaf(links: Links, codes: Codes, row: int, desk: Desk) -> None:
    """A leaf goes: those that linked to it link to its neighbours instead.

    Who links here is found among the neighbours and theirs, which is where nearly all of them are; a link
    missed leads to a row without a leaf, or later to another leaf, and costs one wasted distance.
    """
    degree = max(0, links.degree[row])
    neighbours = desk.neighbours[:degree]
    copy(links.to[row, :degree], neighbours)
    links.degree[row] = 0
    for i in range(degree):
        _bridge(links, codes, neighbours[i], row, neighbours, desk)
        for j in range(links.degree[neighbours[i]]):
            _bridge(links, codes, links.to[neighbours[i], j], row, neighbours, desk)


@subkernel
def _bridge(links: Links, codes: Codes, row: int, gone: int, others: Ints, desk: Desk) -> None:
    """If `row` links to `gone`, put the neighbours of `gone` in its place and thin."""
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
    candidates, n = desk.candidates, degree
    copy(links.to[row, :n], candidates)
    for i in range(others.shape[0]):
        fresh = others[i] != row and others[i] != gone and codes.leaf_norm[others[i]] != np.inf
        for j in range(n):
            fresh = fresh and candidates[j] != others[i]
        if fresh:
            candidates[n] = others[i]
            n += 1
    _relink(links, codes, row, n, desk)
