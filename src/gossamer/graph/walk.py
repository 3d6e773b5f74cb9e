"""The kernels of guided search: into the tree, along links between leaves, then exact scores.

1. With links: the concepts of the frontier, and the doors of the nearest.
   Without: best-first from the root. The key of a node estimates its best leaf: under the node's Gaussian the
   squared distance from x to a member has mean m = ‖x−μ‖² + Σσ² and variance s² = 2Σσ⁴ + 4(Σσ²/D)·‖x−μ‖²,
   and the best of n is near m − z·s, with z ≈ √(2 ln n) (see `codes`).
2. From the leaves found, along links, for as long as the nearest leaf not followed yet is at most `slack` times as far
   as the k-th best: an easy query ends soon, a hard one, with much at like distance, is given more. (At equal recall
   a sixth to a half fewer nodes than keeping a fixed number of leaves; a stop after so many steps without gain, or by
   the distance between first and k-th, was worse than that.)
3. The best of those, scored exactly.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import CACHE_LINE, NONE, Doubles, Floats, Ints, Longs, Shorts
from gossamer.graph.codes import Codes, encode_query
from gossamer.graph.entry_points import Frontier
from gossamer.graph.links import LONGEST, MOST, Links
from gossamer.neighbours.heap import pop, push
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import integer_dot, prefetch
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.density import leaf_log_p, log_p, path_score
from gossamer.tree.selection import Flags, fill

_DOUBT: Final = 2.5
"""The code of a coordinate is off by step/√12, so a squared distance d by √(d/3)·step, and the difference of two by √2
times that. Three times as much, in units of √d·step, may lie between two leaves by rounding alone."""

_COSINE: Final = 0.5
"""Links are not expected to lead to a query straighter than this, the angle of an equilateral triangle: in many
dimensions hardly any does. So one that is too long to end near enough is left alone; at equal recall a sixth to a fifth
fewer nodes are scored. (0.6 saves a third of that; 0.45 as much, and 0.4 less, because it needs more slack.)"""

_SPREAD: Final = 0.9
"""The share of Σσ² in the estimate of a node's best leaf."""

_ANCHOR: Final = 10
"""Of fewer answers than this the last may happen to be so near that nothing else is looked at."""

DOORS: Final = 3
"""Concepts of the frontier through whose doors a walk starts."""


Marks: TypeAlias = npt.NDArray[np.uint8]


class Guides(NamedTuple):
    """What guides a search, besides the tree."""

    codes: Codes
    links: Links  # without rows: none are kept
    frontier: Frontier


class Scratch(NamedTuple):
    """What one search at a time needs besides the index, kept between searches so that none allocates."""

    stamp: Longs  # of the current query: one number, counted up
    mark: Marks  # the same in one byte, never 0
    marks: Marks  # by leaf row: the mark of the last query that scored it; small, so that it stays in the cache
    keys: Floats  # heap of internal nodes, nearest estimate on top
    nodes: Ints
    near: Floats  # the best leaves so far, in order
    rows: Ints  # theirs; ~row once its links were followed
    found: Floats  # the best allowed leaves so far, where a filter is on
    found_rows: Ints
    query: Shorts
    known: Doubles  # densities of internal nodes for the current query
    known_stamps: Doubles
    counts: Longs  # how many of the best, how many of the best allowed
    fresh: Ints  # links of the leaf at hand that were not seen yet


def new_scratch(leaf_rows: int, inner_rows: int, width: int, code_width: int) -> Scratch:
    """Scratch for trees of so many rows and searches that keep up to `width` leaves."""
    return Scratch(
        np.zeros(1, np.int64), np.zeros(1, np.uint8), np.zeros(leaf_rows, np.uint8),
        np.zeros(inner_rows + 1, np.float32), np.zeros(inner_rows + 1, np.int32),
        np.zeros(width, np.float32), np.zeros(width, np.int32), np.zeros(width, np.float32),
        np.zeros(width, np.int32), np.zeros(code_width, np.int16), np.zeros(inner_rows), np.zeros(inner_rows),
        np.zeros(2, np.int64), np.zeros(MOST, np.int32),
    )  # fmt: skip


@subkernel
def keep(near: Floats, rows: Ints, size: int, distance: float, row: int) -> int:
    """Put a leaf into the ordered list of the best, from which the last falls out; returns where, or NONE."""
    at = size
    if size == near.shape[0]:
        at = size - 1
        if not distance < near[at]:
            return NONE
    while at > 0 and near[at - 1] > distance:
        near[at] = near[at - 1]
        rows[at] = rows[at - 1]
        at -= 1
    near[at] = distance
    rows[at] = row
    return at


@subkernel
def _estimate(codes: Codes, row: int, product: float, factor: float, norm: float, per_dim: float) -> float:
    """The squared distance at which the best leaf below an internal node is likely to be."""
    apart = max(0.0, norm + codes.inner_norm[row] - factor * product)
    variance = codes.wobble[row] + 4.0 * per_dim * codes.spread[row] * apart
    return apart + _SPREAD * codes.spread[row] - codes.reach[row] * math.sqrt(variance)


@subkernel
def _offer(w: Scratch, width: int, kept: int, distance: float, row: int, allowed: Flags) -> int:
    """Offer a leaf to the best so far and, if it is allowed, to the best allowed; returns its place, or NONE.

    `w.counts` says how many there are of each.
    """
    if allowed.shape[0] > 0 and allowed[row]:
        found = w.counts[1]
        if keep(w.found[:width], w.found_rows[:width], found, distance, row) != NONE:
            w.counts[1] = min(found + 1, width)
    place = keep(w.near[:width], w.rows[:width], kept, distance, row)
    if place != NONE:
        w.counts[0] = min(kept + 1, width)
    return place


@subkernel
def start(codes: Codes, x: Floats, w: Scratch) -> tuple[float, float]:
    """Begin a new query; returns what turns dot products into distances, as `encode_query` does."""
    w.stamp[0] += 1
    w.mark[0] = 1 + w.stamp[0] % 255
    if w.mark[0] == 1:  # all marks were used: those set so far mean nothing from here on
        w.marks[:] = 0
    w.counts[0], w.counts[1] = 0, 0
    return encode_query(x, codes, w.query)


@subkernel
def _distance(codes: Codes, row: int, factor: float, norm: float, w: Scratch) -> float:
    return norm + codes.leaf_norm[row] - factor * integer_dot(w.query, codes.leaf[row])


@subkernel
def nearest_concepts(frontier: Frontier, factor: float, most: int, w: Scratch, out: Ints) -> int:
    """Scan the frontier, at most half of what may be scored. Writes the nearest parts, and NONE where there are
    fewer; returns how many concepts were scored."""
    wholes = max(1, min(frontier.whole.shape[0], most // 4))
    whole, nearest = 0, np.inf
    for i in range(wholes):
        distance = frontier.whole_norms[i] - factor * integer_dot(w.query, frontier.whole[i])
        if distance < nearest:
            whole, nearest = i, distance
    first = frontier.first[whole]
    last = min(frontier.first[whole + 1], first + max(1, most // 4))
    near, n = w.keys[: out.shape[0]], 0  # the heap, which a walk along links does not need
    out[:] = NONE
    for i in range(first, last):
        distance = frontier.part_norms[i] - factor * integer_dot(w.query, frontier.part[i])
        if keep(near, out, n, distance, i) != NONE:
            n = min(n + 1, near.shape[0])
    return wholes + last - first


@subkernel
def through_doors(g: Guides, concepts: Ints, factor: float, norm: float, width: int, allowed: Flags, w: Scratch) -> int:
    """Enter by the doors of some concepts. Returns nodes scored."""
    n = 0
    while n < concepts.shape[0] and concepts[n] != NONE:
        enter(g.codes, g.frontier.doors[concepts[n]], factor, norm, width, allowed, w)
        n += 1
    return n


@subkernel
def _sort_by_concept(entrances: Ints, starts: Ints, order: Ints) -> None:
    """The numbers of queries in the order of the concepts they enter by first: then some of what one reads is still in
    the cache from the one before it. (A thousand queries among 76,000 documents: a twentieth less time.)

    `starts` has a zero for each concept, and two more: queries that enter by none come first.
    """
    for q in range(order.shape[0]):
        starts[entrances[q, 0] + 2] += 1
    for i in range(1, starts.shape[0]):
        starts[i] += starts[i - 1]
    for q in range(order.shape[0]):
        order[starts[entrances[q, 0] + 1]] = q
        starts[entrances[q, 0] + 1] += 1


@subkernel
def enter(codes: Codes, row: int, factor: float, norm: float, width: int, allowed: Flags, w: Scratch) -> None:
    """Make a leaf one of those a walk starts from, if it is there and not one already."""
    if w.marks[row] != w.mark[0] and codes.leaf_norm[row] != np.inf:
        w.marks[row] = w.mark[0]
        _offer(w, width, w.counts[0], _distance(codes, row, factor, norm, w), row, allowed)


@subkernel
def down_the_tree(
    t: TreeArrays, codes: Codes, dim: int, factor: float, norm: float, most: int, width: int, allowed: Flags, w: Scratch
) -> int:
    """Step 1 without links: open nodes by estimate until about `most` were scored.

    Returns nodes scored.
    """
    node = t.meta[Meta.ROOT]
    if t.n_children[node] == 0:
        enter(codes, t.row[node], factor, norm, width, allowed, w)
        return 1
    per_dim = 1.0 / dim
    scored, waiting = 0, 0
    while True:
        if scored >= most:
            waiting = 0  # there is no leaf yet: straight down to one
        child = t.first_child[node]
        while child != NONE:
            row = t.row[child]
            if t.n_children[child] == 0:
                product = integer_dot(w.query, codes.leaf[row])
                distance = norm + codes.leaf_norm[row] - factor * product
                w.marks[row] = w.mark[0]
                _offer(w, width, w.counts[0], distance, row, allowed)
            else:
                product = integer_dot(w.query, codes.inner[row])
                waiting = push(w.keys, w.nodes, waiting, _estimate(codes, row, product, factor, norm, per_dim), child)
            scored += 1
            child = t.next_sibling[child]
        if waiting == 0 or (scored >= most and w.counts[0] > 0):
            return scored
        node = w.nodes[0]
        waiting = pop(w.keys, w.nodes, waiting)


@subkernel
def along_links(
    g: Guides, factor: float, norm: float, k: int, slack: float, most: int, width: int, allowed: Flags, w: Scratch
) -> int:
    """Step 2: follow the links of the nearest leaf not followed yet, until that is beyond `slack` times the distance of
    the k-th best (of those allowed), or all of the best `width` were followed. Links that are too long to lead near
    enough are left. Returns nodes scored.

    The innermost loop of a search: everything it touches is a local name, because each reach into a tuple of
    arrays or each slice costs as much as a distance.
    """
    codes, norms, query = g.codes.leaf, g.codes.leaf_norm, w.query
    links, lengths, degrees, unit = g.links.to, g.links.length, g.links.degree, g.links.unit[0]
    near, rows, found, found_rows = w.near[:width], w.rows[:width], w.found[:width], w.found_rows[:width]
    marks, mark, fresh = w.marks, w.mark[0], w.fresh
    kept, n_found = w.counts[0], w.counts[1]
    filtered = allowed.shape[0] > 0
    flat, code_width = codes.reshape(-1), codes.shape[1]
    flat_links, flat_lengths = links.reshape(-1), lengths.reshape(-1)
    answers = found if filtered else near
    scored, at = 0, 0
    step = g.codes.step[0]
    best = _limit(answers, n_found if filtered else kept, k, step)
    while at < kept and scored < most:
        row, away = rows[at], near[at]
        if row < 0:
            at += 1
            continue
        if away > slack * best:
            break
        rows[at] = ~row
        at += 1
        limit = max(1.0, slack) * best
        longest = _longest(away, limit, unit)
        n = 0
        for i in range(degrees[row]):
            if lengths[row, i] > longest:
                break
            other = links[row, i]
            if marks[other] != mark:
                marks[other] = mark
                fresh[n] = other
                n += 1
                for line in range(0, code_width, CACHE_LINE):
                    prefetch(flat, other * code_width + line)
        for i in range(n):
            other = fresh[i]
            distance = norm + norms[other] - factor * integer_dot(query, codes[other])
            if distance > limit or distance == np.inf:
                continue
            place = keep(near, rows, kept, distance, other)
            if place != NONE:
                kept = min(kept + 1, width)
                at = min(at, place)
                if place <= at:  # its links come next
                    prefetch(degrees, other)
                    prefetch(flat_lengths, other * MOST)
                    for line in range(0, MOST, CACHE_LINE // 4):
                        prefetch(flat_links, other * MOST + line)
            if filtered and allowed[other] and keep(found, found_rows, n_found, distance, other) != NONE:
                n_found = min(n_found + 1, width)
        scored += n
        best = _limit(answers, n_found if filtered else kept, k, step)
        limit = max(1.0, slack) * best
        while kept > k and near[kept - 1] > limit:  # neither followed nor answers any more; a short list is a fast one
            kept -= 1
    w.counts[0], w.counts[1] = kept, n_found
    return scored


@subkernel
def _longest(away: float, limit: float, unit: float) -> int:
    """How long a link may be to be worth looking where it leads, from a leaf at squared distance `away`.

    With a link of length l at an angle to the query of cosine c, one gets to away + l² − 2·c·l·√away.
    """
    if limit == np.inf:
        return LONGEST
    ahead = _COSINE * math.sqrt(max(0.0, away))
    # Limited before it is made whole: what is too large for an integer, or NaN, would become anything.
    return int(min(np.float64(LONGEST), (ahead + math.sqrt(max(0.0, ahead * ahead + limit - away))) / unit))


@subkernel
def _beyond(distance: float, step: float) -> float:
    """As far as a leaf of this squared distance may truly be, by codes of this step; never 0."""
    return distance + _DOUBT * step * (math.sqrt(max(distance, 0.0)) + step)


@subkernel
def _limit(answers: Floats, n: int, k: int, step: float) -> float:
    """How far off a leaf may be to be one of the k best of those seen."""
    return np.inf if n < k else _beyond(answers[k - 1], step)


@subkernel
def _in_doubt(answers: Floats, n: int, k: int, step: float) -> int:
    """How many of the n nearest may be among the k best: those beyond the k-th by no more than codes may be off."""
    if n <= k:
        return n
    last = _beyond(answers[k - 1], step)
    i = k
    while i < n and answers[i] <= last:
        i += 1
    return i


@kernel
def search_rows(
    t: TreeArrays, g: Guides, Q: Floats, k: int, slack: float, most: int, width: int, rescored: int, context: float,
    leaf_allowed: Flags, document_allowed: Flags, w: Scratch, documents: Longs, scores: Doubles, visited: Longs,
) -> None:  # fmt: skip
    """Search for the `k` best for each row of Q, scoring about `most` nodes, and up to `rescored` of them exactly.

    `leaf_allowed` by leaf row and `document_allowed` by document are empty where there is no filter.
    """
    leaves = np.empty(rescored, np.int32)
    exact = np.empty(rescored)
    filtered = leaf_allowed.shape[0] > 0
    rows, near = (w.found_rows, w.found) if filtered else (w.rows, w.near)
    flat, dim = t.vectors.reshape(-1), t.vectors.shape[1]
    linked = g.links.degree.shape[0] > 0
    entrances, order = np.empty((Q.shape[0], DOORS), np.int32), np.arange(Q.shape[0], dtype=np.int32)
    if linked:
        for i in range(Q.shape[0]):
            factor, _ = encode_query(Q[i], g.codes, w.query)  # and again below, rather than kept for all
            visited[i] = nearest_concepts(g.frontier, factor, most, w, entrances[i])
        _sort_by_concept(entrances, np.zeros(g.frontier.doors.shape[0] + 2, np.int32), order)
    for q in order:
        x = Q[q]
        factor, norm = start(g.codes, x, w)
        if linked:
            scored = visited[q] + through_doors(g, entrances[q], factor, norm, width, leaf_allowed, w)
            scored += along_links(g, factor, norm, max(k, _ANCHOR), slack, most - scored, width, leaf_allowed, w)
        else:
            scored = down_the_tree(t, g.codes, dim, factor, norm, most, width, leaf_allowed, w)
        n = min(rescored, w.counts[1] if filtered else w.counts[0])
        if context == 0.0:  # then scores have the order of distances
            n = _in_doubt(near, n, k, g.codes.step[0])
        for i in range(n):
            row = rows[i] if rows[i] >= 0 else ~rows[i]
            for line in range(0, dim, CACHE_LINE // 4):
                prefetch(flat, row * dim + line)
            leaves[i] = t.owner[row]
        root = log_p(t, t.meta[Meta.ROOT], x)
        for i in range(n):
            if context == 0.0:
                exact[i] = leaf_log_p(t, rows[i] if rows[i] >= 0 else ~rows[i], x) - root
            else:
                exact[i] = path_score(t, leaves[i], x, False, context, w.known, w.known_stamps, w.stamp[0])
        fill(t, leaves[:n], exact[:n], document_allowed, documents[q], scores[q])
        visited[q] = scored + 1  # the root's density is part of every score
