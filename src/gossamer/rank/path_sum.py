"""Query → documents by exact scores of all: path-sum (paper section 3.4.2) and path gain (ours).

First everything is scored in float32 by matrix products. The log density of a node is affine in [x², x]:

    log p(x|c) = [x², x] · [−1/2σ², μ/σ²] − ½(D·log 2π + Σ log σ² + Σ μ²/σ²)

so one product gives those of all nodes, one pass down the tree their sums over paths, and each query keeps its best
few. Then those few are scored again in double precision from the tree. The answer is exact: where the best of what was
left out could belong to it by the rounding error of the first step, the query is taken again with more candidates.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs
from gossamer.neighbours.ordering import heap_replace_top
from gossamer.rank.exact import Scoring, rank_listed
from gossamer.runtime.jit import kernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.scoring import EVERYTHING, Ranked, empty_ranking, fill, log_p, path_score
from gossamer.tree.structure import parents_first

_LEAVES: Final = 8192
_QUERIES: Final = 256
"""A block of scores is at most as many leaves × queries: 8 MB."""

_FLOATS: Final = 1 << 24
"""Sums over ancestors (internal nodes × queries) are at most as many numbers: 64 MB."""

_FEW: Final = 4
"""Up to so many queries a loop of our own multiplies: BLAS would wake its threads for less than a millisecond of work.
"""

_SPARE: Final = 16
"""Candidates that are scored again besides the k best."""

_SURE: Final = 4.0
"""Rounding errors of n terms are taken to stay below 4·√n·u of their size (Higham and Mary 2019)."""


_PATH_GAIN: Final = Scoring(False, 0.0)


class Extent(NamedTuple):
    """How large the numbers of a tree are, for the rounding error of sums of them."""

    changes: int  # Meta.CHANGES of the tree
    longest: float  # the largest distance of a leaf from the origin
    largest_h: float  # of an internal node; 0 where ancestors were never asked for
    depth: int  # internal nodes on the longest path; likewise


class _Ancestors(NamedTuple):
    """What path sums need of the internal nodes: the nodes, parents first, and by row their part of the product."""

    order: Ints
    weights: Floats
    constants: Doubles
    lengths: Ints  # nodes from the root to here

    def for_rows(self, rows: int, dim: int) -> _Ancestors:
        """The same with room for `rows`."""
        old = len(self.constants)
        if old >= rows and self.weights.shape[1]:
            return self
        room = max(rows, old * 3 // 2)
        weights, constants = np.zeros((room, 2 * dim), np.float32), np.zeros(room)
        if old:
            weights[:old], constants[:old] = self.weights, self.constants
        return _Ancestors(self.order, weights, constants, np.zeros(room, np.int32))


class _Terms(NamedTuple):
    """What turns dot products of leaves and queries into float32 scores."""

    half: float  # 1/2a, the factor on the squared length of a leaf
    own: Doubles  # by query: −½(D·log 2πa + ‖x‖²/a), the part of a leaf's density that is the same for all leaves
    sums: Floats  # by internal row and query: Σ log p from the root down to there; no rows where ancestors do not count
    lengths: Ints  # by internal row: nodes from the root to there


class Candidates(NamedTuple):
    """By query, a heap of the best leaves so far, the worst on top."""

    scores: Floats
    leaves: Ints


class _Pending(NamedTuple):
    """Queries that have no exact answer yet, how far their float32 scores may be off, and which are answered then."""

    queries: Longs
    error: Doubles
    sure: npt.NDArray[np.bool_]


class PathSum:
    """The exhaustive ranker of one tree.

    For internal nodes it keeps float32 weights between searches, and reads only the rows that changed since the last.
    Searches may run side by side. `spare` candidates and the rounding margin `sure` guard the exactness of answers.
    """

    def __init__(self, *, spare: int = _SPARE, sure: float = _SURE) -> None:
        self._spare, self._sure = spare, sure
        self._above = _Ancestors(
            np.zeros(0, np.int32), np.zeros((0, 0), np.float32), np.zeros(0), np.zeros(0, np.int32)
        )
        self._seen = 0  # Meta.CHANGES when the weights were read
        self._extent = Extent(NONE, 0.0, 0.0, 0)
        self._refreshing = Lock()

    def fresh(self) -> PathSum:
        """A ranker of another tree, of the same kind."""
        return PathSum()

    def search(self, t: TreeArrays, Q: Floats, k: int, scoring: Scoring = _PATH_GAIN) -> Ranked:
        """Rank all documents for each row of Q."""
        ranked = empty_ranking(len(Q), k)
        if t.meta[Meta.ROOT] == NONE:
            return ranked
        ranked.visited[:] = t.meta[Meta.LEAVES]
        if not scoring.by_leaf_alone:
            self.refresh(t)
            ranked.visited[:] = t.meta[Meta.NODES]
        if not self._fits_float32(t, Q, scoring):
            alive = np.flatnonzero(t.leaf[: t.meta[Meta.NEXT_DOCUMENT]] != NONE)
            return rank_listed(t, Q, alive, k, scoring)
        at_once = self._at_once(t, scoring)
        for start in range(0, len(Q), at_once):
            self.search_block(t, Q[start : start + at_once], scoring, ranked.rows(start, start + at_once))
        return ranked

    def _at_once(self, t: TreeArrays, scoring: Scoring) -> int:
        """Queries of a block."""
        return _QUERIES if scoring.by_leaf_alone else max(8, min(_QUERIES, _FLOATS // (len(self._above.order) + 1)))

    def refresh(self, t: TreeArrays) -> None:
        """Read the internal nodes that changed since the last search that needed them."""
        with self._refreshing:
            if self._seen == t.meta[Meta.CHANGES]:
                return
            above = self._above.for_rows(int(t.meta[Meta.INNER_ROWS]), t.mean.shape[1])
            above = above._replace(order=inner_nodes(t))
            _weigh(t, above, self._seen)
            self._above, self._seen = above, int(t.meta[Meta.CHANGES])
            self._extent = self._measured(t)

    def extent(self, t: TreeArrays) -> Extent:
        """How large the numbers of the tree are. A look at each leaf, after a change."""
        with self._refreshing:
            if self._extent.changes != t.meta[Meta.CHANGES]:
                self._extent = self._measured(t)
            return self._extent

    def _measured(self, t: TreeArrays) -> Extent:
        norms = t.norm[: t.meta[Meta.LEAF_ROWS]]
        longest = math.sqrt(float(norms.max(where=np.isfinite(norms), initial=0.0)))
        order = self._above.order
        if not len(order) or self._seen != t.meta[Meta.CHANGES]:
            return Extent(int(t.meta[Meta.CHANGES]), longest, 0.0, 0)
        depth = int(self._above.lengths[t.row[order[-1]]])  # the last of the nodes level by level
        return Extent(int(t.meta[Meta.CHANGES]), longest, float(np.abs(t.h[order]).max()), depth)

    def search_block(self, t: TreeArrays, Q: Floats, scoring: Scoring, out: Ranked) -> None:
        """Rank for a block of queries, with more and more candidates until every answer is sure."""
        wanted = out.documents.shape[1] + self._spare
        queries = np.arange(len(Q))
        while len(queries):
            wanted = min(wanted, int(t.meta[Meta.LEAVES]))
            found = self._screen(t, Q[queries], wanted, scoring)
            error = self._rounding_error(t, Q[queries], scoring)
            pending = _Pending(queries, error, np.zeros(len(queries), np.bool_))
            _in_parts(t, Q, pending, found, scoring, out)
            if wanted == t.meta[Meta.LEAVES]:
                return
            queries = queries[~pending.sure]
            wanted *= 8

    def _screen(self, t: TreeArrays, Q: Floats, wanted: int, scoring: Scoring) -> Candidates:
        """The best leaves for each query by float32 scores, in no order."""
        acuity = float(t.limits[Limit.ACUITY])
        best = Candidates(np.full((len(Q), wanted), -np.inf, np.float32), np.full((len(Q), wanted), NONE, np.int32))
        scaled = Q / np.float32(acuity)
        own = -0.5 * (
            Q.shape[1] * math.log(2 * math.pi * acuity) + np.einsum("qd,qd->q", Q, Q, dtype=np.float64) / acuity
        )
        sums = np.zeros((0, len(Q)), np.float32) if scoring.by_leaf_alone else self._sums(t, Q)
        terms = _Terms(0.5 / acuity, own, sums, self._above.lengths)
        weight = Scoring(scoring.mean, 1.0 if scoring.mean else scoring.context)
        rows = int(t.meta[Meta.LEAF_ROWS])
        for start in range(0, rows, _LEAVES):
            block = _products(t.vectors[start : min(rows, start + _LEAVES)], scaled)

            def work(first: int, last: int, start: int = start, block: Floats = block) -> None:
                _select(t, start, block, terms, weight, first, last, best)

            in_threads(work, len(Q))
        return best

    def _sums(self, t: TreeArrays, Q: Floats) -> Floats:
        """Σ log p from the root down to each internal node: (internal rows, queries)."""
        sums: Floats = _products(self._above.weights, np.concatenate([Q * Q, Q], axis=1))
        sums += self._above.constants[:, None].astype(np.float32)
        _add_down(t, self._above.order, sums)
        return sums

    def _fits_float32(self, t: TreeArrays, Q: Floats, scoring: Scoring) -> bool:
        """Whether no intermediate number of the first step can leave float32's range, at either end."""
        acuity = float(t.limits[Limit.ACUITY])
        largest = float(self._rounding_error(t, Q, scoring).max(initial=0.0)) * 1e8
        return 1e-30 < acuity < 1e30 and largest < 1e36

    def _rounding_error(self, t: TreeArrays, Q: Floats, scoring: Scoring) -> Doubles:
        """How far a float32 score may be off: sure·√n·u times the size of the terms that were added up."""
        acuity, extent = float(t.limits[Limit.ACUITY]), self.extent(t)
        lengths = np.sqrt(np.einsum("qd,qd->q", Q, Q, dtype=np.float64))
        # A density is −½ of (x − μ)²/σ² ≤ (‖x‖ + ‖μ‖)²/a plus logarithms that are smaller by far.
        size = 0.5 * (lengths + extent.longest) ** 2 / acuity + abs(0.5 * Q.shape[1] * math.log(2 * math.pi * acuity))
        if not scoring.by_leaf_alone:
            nodes = 1 + extent.depth * (1.0 if scoring.mean else abs(scoring.context))
            size = 2 * (size + 0.5 * extent.largest_h) * nodes
            size /= 2 if scoring.mean else 1
        unit = float(np.finfo(np.float32).eps) / 2
        return np.asarray(self._sure * math.sqrt(2 * Q.shape[1]) * unit * size)


def inner_nodes(t: TreeArrays) -> Ints:
    """The internal nodes, level by level."""
    nodes = parents_first(t, t.meta[Meta.ROOT])
    return nodes[t.n_children[nodes] > 0]


def _in_parts(t: TreeArrays, Q: Floats, pending: _Pending, found: Candidates, scoring: Scoring, out: Ranked) -> None:
    """`_score_again` on all cores."""

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        some = _Pending(pending.queries[part], pending.error[part], pending.sure[part])
        _score_again(t, Q, some, Candidates(found.scores[part], found.leaves[part]), scoring, out)

    in_threads(work, len(pending.queries))


def _products(rows: Floats, Q: Floats) -> Floats:
    """rows · Qᵀ."""
    if len(Q) > _FEW:
        product: Floats = rows @ Q.T
        return product
    out = np.empty((len(rows), len(Q)), np.float32)
    _dots(rows, Q, out)
    return out


@kernel
def _dots(rows: Floats, Q: Floats, out: Floats) -> None:
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(Q.shape[0]):
            x = Q[j]
            total = np.float32(0.0)
            for d in range(x.shape[0]):
                total += row[d] * x[d]
            out[i, j] = total


@kernel
def _weigh(t: TreeArrays, above: _Ancestors, seen: int) -> None:
    """Write the weights of rows that changed: [−1/2σ², μ/σ²], and −½(D·log 2πa + h + Σ μ²/σ²) beside them."""
    acuity = t.limits[Limit.ACUITY]
    dim = t.mean.shape[1]
    for i in range(above.order.shape[0]):
        node = above.order[i]
        row, parent = t.row[node], t.parent[node]
        above.lengths[row] = 1 if parent == NONE else above.lengths[t.row[parent]] + 1
        if t.changed[row] <= seen:
            continue
        share = 1.0 / t.size[node]
        mean, m2, weights = t.mean[row], t.m2[row], above.weights[row]
        squares = 0.0
        for d in range(dim):
            inverse = 1.0 / (m2[d] * share + acuity)
            scaled = mean[d] * inverse
            weights[d] = -0.5 * inverse
            weights[dim + d] = scaled
            squares += mean[d] * scaled
        above.constants[row] = -0.5 * (dim * math.log(2.0 * math.pi * acuity) + t.h[node] + squares)


@kernel
def _add_down(t: TreeArrays, order: Ints, sums: Floats) -> None:
    """Turn densities into sums over the path, parents first."""
    for i in range(1, order.shape[0]):
        own = sums[t.row[order[i]]]
        above = sums[t.row[t.parent[order[i]]]]
        for j in range(own.shape[0]):
            own[j] += above[j]


@kernel
def _select(
    t: TreeArrays, start: int, block: Floats, terms: _Terms, scoring: Scoring, first: int, last: int, best: Candidates
) -> None:
    """Offer each leaf of a block of products (leaves from row `start` × queries) to the queries first ... last."""
    mean, context = scoring.mean, np.float32(scoring.context)
    scores, leaves, sums = best.scores, best.leaves, terms.sums
    queries = last - first
    line = np.empty(queries, np.float32)
    floor = np.empty(queries, np.float32)
    constant = np.empty(queries, np.float32)
    for j in range(queries):
        floor[j] = scores[first + j, 0]
        constant[j] = terms.own[first + j]
    for i in range(block.shape[0]):
        row = start + i
        if t.norm[row] == np.inf:
            continue
        leaf = t.owner[row]
        offset = np.float32(t.norm[row] * terms.half)
        values = block[i, first:last]
        parent = t.parent[leaf]
        if sums.shape[0] == 0 or parent == NONE:
            for j in range(queries):
                line[j] = values[j] - offset + constant[j]
        else:
            share = np.float32(1.0 / (terms.lengths[t.row[parent]] + 1)) if mean else np.float32(1.0)
            ancestors = sums[t.row[parent], first:last]
            for j in range(queries):
                line[j] = share * (values[j] - offset + constant[j] + context * ancestors[j])
        better = 0
        for j in range(queries):
            better += line[j] > floor[j]
        if better == 0:
            continue
        for j in range(queries):
            if line[j] > floor[j]:
                heap_replace_top(scores[first + j], leaves[first + j], scores.shape[1], line[j], leaf)
                floor[j] = scores[first + j, 0]


@kernel
def _score_again(t: TreeArrays, Q: Floats, pending: _Pending, found: Candidates, scoring: Scoring, out: Ranked) -> None:
    """Score the candidates exactly and write the best; `sure` where none that was left out can belong to them."""
    scores, leaves = found
    m, k = scores.shape[1], out.documents.shape[1]
    by_leaf_alone = not scoring.mean and scoring.context == 0.0
    exact = np.empty(m)
    known, stamps = np.empty(t.mean.shape[0]), np.zeros(t.mean.shape[0])
    for i in range(pending.queries.shape[0]):
        q = pending.queries[i]
        documents, worst, n = 0, 0, 0
        root = log_p(t, t.meta[Meta.ROOT], Q[q]) if by_leaf_alone else 0.0
        for j in range(m):
            leaf = leaves[i, j]
            if leaf == NONE:
                continue  # fewer scored above −∞ than there is room for: some scored NaN
            leaves[i, n], scores[i, n] = leaf, scores[i, j]
            if by_leaf_alone:  # no walk up to the root
                exact[n] = log_p(t, leaf, Q[q]) - root
            else:
                exact[n] = path_score(t, leaf, Q[q], scoring.mean, scoring.context, known, stamps, i + 1.0)
            documents += t.size[leaf]
            if scores[i, n] < scores[i, worst]:
                worst = n
            n += 1
        # Everything left out scored at most as the worst candidate did. The two scales differ by a constant of
        # the query, which that candidate shows; it and they may each be off by the error.
        bound = exact[worst] + 2.0 * pending.error[i]
        fill(t, leaves[i, :n], exact[:n], EVERYTHING, out.documents[q], out.scores[q])
        pending.sure[i] = n == m and documents >= k and out.scores[q, k - 1] > bound
