"""Query → near leaves → documents: the kernels of guided search.

1. Start. With links: score the entry concepts and enter by the leaves of the nearest. Without links: search best-first
   from the root. The key of a node estimates its best leaf. Under the node's Gaussian the squared distance from x to a
   member has mean m = ‖x−μ‖² + Σσ² and variance s² = 2Σσ⁴ + 4(Σσ²/D)·‖x−μ‖², and the best of n is near m − z·s, with
   z ≈ √(2 ln n) (the expected smallest of n normal values).
2. Walk. Follow the links of the nearest leaf not followed yet, while it is at most `slack` times as far as the k-th
   best: an easy query ends soon, one with many leaves at about the same distance goes on. (At equal recall a sixth to a
   half fewer nodes than keeping a fixed number of leaves. Ending after so many steps without gain, or by the distance
   between the first and the k-th, was worse than that.)
3. Score the best leaves exactly, and write their documents.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import CACHE_LINE, NONE, Floats, Ints
from gossamer.graph.codes import Codes, Scale, encode_query, query_distance
from gossamer.graph.entry_points import EntryPoints
from gossamer.graph.links import LONGEST, MAX_LINKS, Links
from gossamer.graph.workspace import Workspace
from gossamer.neighbours.ordering import heap_pop, heap_push, sorted_insert
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import integer_dot, prefetch
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import Flags, Ranked, fill, leaf_log_p, log_p, path_score

ENTRIES: Final = 3
"""Entry concepts (the parts of the large ones, see `entry_points`) from whose leaves a walk starts."""

_LEAST_K: Final = 10
"""A walk ends by the distance of the k-th best for k of at least this: of fewer, the last may happen to be so near that
nothing else is looked at."""

_COSINE: Final = 0.5
"""The largest cosine of the angle between a link and the direction of the query that is expected (60°, an equilateral
triangle): in many dimensions hardly any link points straighter at a query. A link that is then too long to end near
enough is not followed; at equal recall a sixth to a fifth fewer nodes are scored. (0.6 saves a third of that; 0.45 as
much, and 0.4 less, because it needs more slack.)"""

_VARIANCE: Final = 0.9
"""Factor on Σσ² in the estimate of a node's best leaf; chosen together with `codes._DEVIATIONS`, which see."""

_ROUNDING: Final = 2.5
"""How far two squared distances d may differ by rounding alone, in units of √d·step. The code of a coordinate is off by
step/√12, so a squared distance by √(d/3)·step, the difference of two by √2 times that; this is three times as much."""


class GraphArrays(NamedTuple):
    """What a walk reads besides the tree."""

    codes: Codes
    links: Links  # of no rows in an index without links
    entry_points: EntryPoints


class Search(NamedTuple):
    """How many leaves to look for, by which scores, and how far."""

    k: int
    context: float  # of scores; 0 where they have the order of distances
    slack: float  # links are followed up to this factor beyond the k-th best distance
    most_nodes: int  # about as many are scored by codes
    width: int  # leaves that are kept
    rescored: int  # leaves that are scored exactly, at most


class Filter(NamedTuple):
    """Flags of what is allowed, by leaf row and by document; both empty where everything is."""

    leaves: Flags
    documents: Flags


@kernel
def search_rows(
    t: TreeArrays, g: GraphArrays, Q: Floats, search: Search, allowed: Filter, w: Workspace, out: Ranked
) -> None:
    """Write the k best documents for each row of Q; NONE and NaN past the end.

    Each named tuple costs a caller half a microsecond: with one more, for Q, k and context, a search took 3 % longer.
    """
    k, context, slack, most, width, rescored = search
    leaves, exact = np.empty(rescored, np.int32), np.empty(rescored)
    filtered = allowed.leaves.shape[0] > 0
    rows, near = (w.allowed_rows, w.allowed_near) if filtered else (w.rows, w.near)
    flat, dim = t.vectors.reshape(-1), t.vectors.shape[1]
    linked = g.links.degree.shape[0] > 0
    entries, order = np.empty((Q.shape[0], ENTRIES), np.int32), np.arange(Q.shape[0], dtype=np.int32)
    if linked:
        for i in range(Q.shape[0]):
            scale = encode_query(Q[i], g.codes, w.query)  # and again below, rather than kept for all
            out.visited[i] = nearest_parts(g.entry_points, scale, most, w, entries[i])
        _sort_by_entry(entries, np.zeros(g.entry_points.leaves.shape[0] + 2, np.int32), order)
    for q in order:
        x = Q[q]
        scale = start(g.codes, x, w)
        if linked:
            scored = out.visited[q] + enter_by_parts(g, entries[q], scale, width, allowed.leaves, w)
            rest = Search(max(k, _LEAST_K), context, slack, most - scored, width, rescored)
            scored += follow_links(g, scale, rest, allowed.leaves, w)
        else:
            scored = descend(t, g.codes, scale, search, allowed.leaves, w)
        n = min(rescored, w.counts[1] if filtered else w.counts[0])
        if context == 0.0:  # then scores have the order of distances
            n = _candidates(near, n, k, g.codes.step)
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
        out.documents[q] = NONE
        out.scores[q] = np.nan
        fill(t, leaves[:n], exact[:n], allowed.documents, out.documents[q], out.scores[q])
        out.visited[q] = scored + 1  # the root's density is part of every score


# -- 1. start ------------------------------------------------------------------------------------------


@subkernel
def start(codes: Codes, x: Floats, w: Workspace) -> Scale:
    """Begin a query: no leaf is marked or kept."""
    w.stamp[0] += 1
    w.mark[0] = 1 + w.stamp[0] % 255
    if w.mark[0] == 1:  # every value was used: marks set so far mean nothing from here on
        w.marks[:] = 0
    w.counts[0], w.counts[1] = 0, 0
    return encode_query(x, codes, w.query)


@subkernel
def nearest_parts(entry_points: EntryPoints, scale: Scale, most: int, w: Workspace, out: Ints) -> int:
    """Write the nearest parts of the nearest entry concept, NONE where there are fewer.

    Scores at most half of `most` nodes; returns how many.
    """
    concepts = max(1, min(entry_points.concepts.shape[0], most // 4))
    concept, nearest = 0, np.inf
    for i in range(concepts):
        distance = entry_points.concept_norms[i] - scale.factor * integer_dot(w.query, entry_points.concepts[i])
        if distance < nearest:
            concept, nearest = i, distance
    first = entry_points.first[concept]
    last = min(entry_points.first[concept + 1], first + max(1, most // 4))
    near, n = w.keys[: out.shape[0]], 0
    out[:] = NONE
    for i in range(first, last):
        distance = entry_points.part_norms[i] - scale.factor * integer_dot(w.query, entry_points.parts[i])
        if sorted_insert(near, out, n, distance, i) != NONE:
            n = min(n + 1, near.shape[0])
    return concepts + last - first


@subkernel
def _sort_by_entry(entries: Ints, starts: Ints, order: Ints) -> None:
    """Counting sort of queries by the first part they enter by: some of what one reads is then in the cache from the
    one before it. (A thousand queries among 76,000 documents: a twentieth less time.)

    `starts` has a zero for each part, and two more: queries that enter by none come first.
    """
    for q in range(order.shape[0]):
        starts[entries[q, 0] + 2] += 1
    for i in range(1, starts.shape[0]):
        starts[i] += starts[i - 1]
    for q in range(order.shape[0]):
        order[starts[entries[q, 0] + 1]] = q
        starts[entries[q, 0] + 1] += 1


@subkernel
def enter_by_parts(g: GraphArrays, parts: Ints, scale: Scale, width: int, allowed: Flags, w: Workspace) -> int:
    """Enter by the leaves of some parts; returns nodes scored."""
    n = 0
    while n < parts.shape[0] and parts[n] != NONE:
        enter(g.codes, g.entry_points.leaves[parts[n]], scale, width, allowed, w)
        n += 1
    return n


@subkernel
def enter(codes: Codes, row: int, scale: Scale, width: int, allowed: Flags, w: Workspace) -> None:
    """Keep a leaf as one to start from, if it is there and not kept yet."""
    if w.marks[row] != w.mark[0] and codes.leaf_norm[row] != np.inf:
        _keep_leaf(query_distance(codes, row, w.query, scale), row, width, allowed, w)


@subkernel
def _keep_leaf(distance: float, row: int, width: int, allowed: Flags, w: Workspace) -> None:
    """Mark a leaf, and insert it into the lists of the nearest and, if it is allowed, of the nearest allowed."""
    w.marks[row] = w.mark[0]
    near, rows = w.allowed_near[:width], w.allowed_rows[:width]
    if allowed.shape[0] > 0 and allowed[row] and sorted_insert(near, rows, w.counts[1], distance, row) != NONE:
        w.counts[1] = min(w.counts[1] + 1, width)
    if sorted_insert(w.near[:width], w.rows[:width], w.counts[0], distance, row) != NONE:
        w.counts[0] = min(w.counts[0] + 1, width)


@subkernel
def descend(t: TreeArrays, codes: Codes, scale: Scale, search: Search, allowed: Flags, w: Workspace) -> int:
    """Search best-first by estimates until `most_nodes` were scored and a leaf was found; returns nodes scored."""
    node = t.meta[Meta.ROOT]
    if t.n_children[node] == 0:
        enter(codes, t.row[node], scale, search.width, allowed, w)
        return 1
    scored, waiting = 0, 0
    while True:
        if scored >= search.most_nodes:
            waiting = 0  # there is no leaf yet: go straight down to one
        child = t.first_child[node]
        while child != NONE:
            row = t.row[child]
            if t.n_children[child] == 0:
                _keep_leaf(query_distance(codes, row, w.query, scale), row, search.width, allowed, w)
            else:
                estimate = _estimate(codes, row, integer_dot(w.query, codes.inner[row]), scale, t.vectors.shape[1])
                waiting = heap_push(w.keys, w.nodes, waiting, estimate, child)
            scored += 1
            child = t.next_sibling[child]
        if waiting == 0 or (scored >= search.most_nodes and w.counts[0] > 0):
            return scored
        node = w.nodes[0]
        waiting = heap_pop(w.keys, w.nodes, waiting)


@subkernel
def _estimate(codes: Codes, row: int, product: float, scale: Scale, dim: int) -> float:
    """The squared distance at which the best leaf below an internal node is expected: m − z·s (see the module)."""
    apart = max(0.0, scale.norm + codes.inner_norm[row] - scale.factor * product)
    variance = codes.quartic[row] + 4.0 * (1.0 / dim) * codes.variance[row] * apart
    return apart + _VARIANCE * codes.variance[row] - codes.deviations[row] * math.sqrt(variance)


# -- 2. walk -------------------------------------------------------------------------------------------


@subkernel
def follow_links(g: GraphArrays, scale: Scale, search: Search, allowed: Flags, w: Workspace) -> int:
    """Walk along links from the leaves kept so far; returns nodes scored.

    Follows the links of the nearest leaf not followed yet, until that is beyond `slack` times the distance of the k-th
    best (of those allowed), or all of the best `width` were followed. Links too long to lead near enough are left out.

    The innermost loop of a search: everything it touches is a local name, because each access to a tuple of arrays, and
    each slice, costs as much as a distance.
    """
    k, _, slack, most, width, _ = search
    query, factor, norm = w.query, scale.factor, scale.norm
    codes, norms, step = g.codes.leaf, g.codes.leaf_norm, g.codes.step
    links, lengths, degrees, unit = g.links
    near, rows = w.near[:width], w.rows[:width]
    allowed_near, allowed_rows = w.allowed_near[:width], w.allowed_rows[:width]
    marks, mark, unseen = w.marks, w.mark[0], w.unseen
    kept, n_allowed = w.counts[0], w.counts[1]
    filtered = allowed.shape[0] > 0
    flat, code_width = codes.reshape(-1), codes.shape[1]
    flat_links, flat_lengths = links.reshape(-1), lengths.reshape(-1)
    answers = allowed_near if filtered else near
    scored, at = 0, 0
    best = _kth_best(answers, n_allowed if filtered else kept, k, step)
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
        longest = _longest_link(away, limit, unit)
        n = 0
        for i in range(degrees[row]):
            if lengths[row, i] > longest:
                break
            other = links[row, i]
            if marks[other] != mark:
                marks[other] = mark
                unseen[n] = other
                n += 1
                for line in range(0, code_width, CACHE_LINE):
                    prefetch(flat, other * code_width + line)
        for i in range(n):
            other = unseen[i]
            distance = norm + norms[other] - factor * integer_dot(query, codes[other])
            if distance > limit or distance == np.inf:
                continue
            place = sorted_insert(near, rows, kept, distance, other)
            if place != NONE:
                kept = min(kept + 1, width)
                at = min(at, place)
                if place <= at:  # its links come next
                    prefetch(degrees, other)
                    prefetch(flat_lengths, other * MAX_LINKS)
                    for line in range(0, MAX_LINKS, CACHE_LINE // 4):
                        prefetch(flat_links, other * MAX_LINKS + line)
            if (
                filtered
                and allowed[other]
                and sorted_insert(allowed_near, allowed_rows, n_allowed, distance, other) != NONE
            ):
                n_allowed = min(n_allowed + 1, width)
        scored += n
        best = _kth_best(answers, n_allowed if filtered else kept, k, step)
        limit = max(1.0, slack) * best
        while kept > k and near[kept - 1] > limit:  # will not be followed, nor be an answer; a short list is a fast one
            kept -= 1
    w.counts[0], w.counts[1] = kept, n_allowed
    return scored


@subkernel
def _longest_link(away: float, limit: float, unit: float) -> int:
    """The length, in units, up to which a link of a leaf at squared distance `away` is worth following.

    A link of length l at an angle of cosine c to the query leads to the squared distance away + l² − 2·c·l·√away, which
    must not exceed `limit`.
    """
    if limit == np.inf:
        return LONGEST
    ahead = _COSINE * math.sqrt(max(0.0, away))
    # Clipped before conversion: NaN, or what is too large for an integer, would be converted to anything.
    return int(min(np.float64(LONGEST), (ahead + math.sqrt(max(0.0, ahead * ahead + limit - away))) / unit))


@subkernel
def _with_rounding(distance: float, step: float) -> float:
    """The squared distance below which a leaf may truly be as near as this one; never 0."""
    return distance + _ROUNDING * step * (math.sqrt(max(distance, 0.0)) + step)


@subkernel
def _kth_best(answers: Floats, n: int, k: int, step: float) -> float:
    """The squared distance up to which a leaf may be one of the k best of those scored."""
    return np.inf if n < k else _with_rounding(answers[k - 1], step)


# -- 3. score ------------------------------------------------------------------------------------------


@subkernel
def _candidates(answers: Floats, n: int, k: int, step: float) -> int:
    """How many of the n nearest may be among the k best: those beyond the k-th by no more than rounding."""
    if n <= k:
        return n
    last = _with_rounding(answers[k - 1], step)
    i = k
    while i < n and answers[i] <= last:
        i += 1
    return i
