"""Scores of leaves and the documents of the best, exact in double precision: the last step of every search.

    log p(x|c) = −½ Σ_d [log 2πσ²_d + (x_d − μ_d)²/σ²_d],    σ² = M2/n + a

These kernels are here and not in `rank`, because the walk along links (`graph`) scores what it finds.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs
from gossamer.neighbours.ordering import insertion_sort, sorted_insert
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Limit, TreeArrays

Flags: TypeAlias = npt.NDArray[np.uint8]

EVERYTHING: Final = np.zeros(0, np.uint8)
"""Flags that allow every document."""


# -- densities and scores ------------------------------------------------------------------------------


@subkernel
def log_p(t: TreeArrays, node: int, x: Floats) -> float:
    """log p(x|c) of any node."""
    row = t.row[node]
    if t.n_children[node] == 0:
        return leaf_log_p(t, row, x)
    acuity = t.limits[Limit.ACUITY]
    squares = _scaled_distance(t.mean[row], t.m2[row], 1.0 / t.size[node], acuity, x)
    return -0.5 * (x.shape[0] * math.log(2.0 * math.pi * acuity) + t.h[node] + squares)


@kernel
def log_ps(t: TreeArrays, x: Floats, nodes: Ints) -> Doubles:
    """log p(x|c) of several nodes."""
    found = np.empty(nodes.shape[0])
    for i in range(nodes.shape[0]):
        found[i] = log_p(t, nodes[i], x)
    return found


@subkernel
def leaf_log_p(t: TreeArrays, row: int, x: Floats) -> float:
    """log p(x|c) of the leaf with this row of `vectors`, where σ² = a."""
    acuity = t.limits[Limit.ACUITY]
    squares = squared_distance(t.vectors[row], x) / acuity
    return -0.5 * (x.shape[0] * math.log(2.0 * math.pi * acuity) + squares)


@subkernel
def squared_distance(y: Floats | Doubles, x: Floats | Doubles) -> float:
    """Σ (x − y)², in double precision."""
    total = 0.0
    for d in range(x.shape[0]):
        delta = np.float64(x[d]) - y[d]
        total += delta * delta
    return total


@subkernel
def _scaled_distance(mean: Doubles, m2: Doubles, share: float, acuity: float, x: Floats) -> float:
    total = 0.0
    for d in range(x.shape[0]):
        delta = x[d] - mean[d]
        total += delta * delta / (m2[d] * share + acuity)
    return total


@subkernel
def blend(leaf: float, ancestors: float, root: float, length: int, mean: bool, context: float) -> float:
    """The score of a document from the log densities of the `length` nodes of its path.

    With `mean`, their mean, as in the authors' program. Otherwise, with α = `context`,

        (1 − α)·(leaf − root) + α·(leaf + Σ ancestors)

    from the pure path gain (α = 0) to the paper's sum (α = 1).
    """
    if mean:
        return (leaf + ancestors) / length
    if length == 1:
        root = leaf
    return leaf + context * ancestors - (1.0 - context) * root


@subkernel
def path_score(
    t: TreeArrays, leaf: int, x: Floats, mean: bool, context: float, known: Doubles, stamps: Doubles, stamp: float
) -> float:
    """The exact score of a leaf.

    `known` caches the densities of internal nodes by row, those with `stamps` equal to `stamp`: one stamp a query.
    """
    ancestors, length, root = 0.0, 1, 0.0
    node = t.parent[leaf]
    whole_path = mean or context != 0.0
    while node != NONE:
        above = t.parent[node]
        if whole_path or above == NONE:
            row = t.row[node]
            if stamps[row] != stamp:
                stamps[row] = stamp
                known[row] = log_p(t, node, x)
            root = known[row]
            ancestors += root
            length += 1
        node = above
    return blend(log_p(t, leaf, x), ancestors if whole_path else 0.0, root, length, mean, context)


# -- documents -----------------------------------------------------------------------------------------


class Ranked(NamedTuple):
    """The answers to some queries, a row each: documents, best first, with scores; NONE and NaN past the end."""

    documents: Longs
    scores: Doubles
    visited: Longs  # nodes scored for each query

    def rows(self, start: int, stop: int) -> Ranked:
        """A view of the answers to some of the queries."""
        return Ranked(self.documents[start:stop], self.scores[start:stop], self.visited[start:stop])


def empty_ranking(queries: int, k: int) -> Ranked:
    """A ranking without documents, to be filled in."""
    return Ranked(np.full((queries, k), NONE, np.int64), np.full((queries, k), np.nan), np.zeros(queries, np.int64))


@subkernel
def fill(
    t: TreeArrays, leaves: Ints, scores: Doubles, allowed: Flags, documents_out: Longs, scores_out: Doubles
) -> None:
    """Write the documents of scored leaves, best first; equal scores in order of arrival.

    `allowed` has a flag for each document, or none at all if every document is allowed. Sorts and negates its input.
    """
    for i in range(scores.shape[0]):
        scores[i] = -scores[i]
    insertion_sort(scores, leaves)  # nearly in order already: they were found by estimates of the score
    k = documents_out.shape[0]
    filled, at = 0, 0
    while filled < k and at < leaves.shape[0]:
        first = filled
        score = scores[at]
        # Leaves of the same score are written together, to put their documents in order. The first is written whatever
        # its score is: NaN equals nothing, not even itself, and the loop would never end.
        end = at + 1
        while end < leaves.shape[0] and scores[end] == score:
            end += 1
        while at < end:
            document = t.first_document[leaves[at]]
            while document != NONE:
                if allowed.shape[0] == 0 or allowed[document]:
                    filled = insert_document(documents_out, first, filled, document)
                document = t.next_document[document]
            at += 1
        for i in range(first, filled):
            scores_out[i] = -score


@subkernel
def insert_document(documents: Longs, first: int, filled: int, document: int) -> int:
    """Insert a number in order into documents[first:filled]; returns the new end. A full array drops its highest."""
    some = documents[first:]
    sorted_insert(some, some, filled - first, document, document)
    return min(filled + 1, documents.shape[0])
