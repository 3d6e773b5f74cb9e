"""Path-sum (paper section 3.4.2) and path gain (ours): every document scored, exactly.

Two steps. First everything is scored in float32 as matrix products: log p for all nodes is the product
of [x², x] with [−1/2σ², μ/σ²], the path sums are one pass down the tree, and each query keeps its best
few. Then those few are scored again in double precision straight from the tree. The result is exact:
unless the best of what was left out is further behind than the rounding error of the first step could
explain, the query is taken again with more candidates.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs
from gossamer.neighbours.heap import sink
from gossamer.rank.exact import rank_listed
from gossamer.runtime.jit import kernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.density import path_score
from gossamer.tree.selection import EVERYTHING, Ranked, fill, nothing
from gossamer.tree.structure import parents_first

Aggregate = Literal["sum", "mean"]

_LEAVES: Final = 8192
_QUERIES: Final = 256
_FLOATS: Final = 1 << 24
"""A block of scores is at most 8,192 leaves × 256 queries (8 MB); sums over ancestors take at most 64 MB."""

_FEW: Final = 4
_SLACK: Final = 16
_SURE: Final = 4.0
"""Rounding errors of n terms are taken to stay below 4·√n·u of their size (Higham and Mary 2019)."""


class Ancestors(NamedTuple):
    """What path sums need of the internal nodes: the nodes, parents first, and by row their share of the product."""

    order: Ints
    weights: Floats
    constants: Doubles
    lengths: Ints  # nodes from the root to here

    def for_rows(self, rows: int, dim: int) -> Ancestors:
        """The same with room for `rows`."""
        old = len(self.constants)
        if old >= rows and self.weights.shape[1]:
            return self
        room = max(rows, old * 3 // 2)
        weights, constants = np.zeros((room, 2 * dim), np.float32), np.zeros(room)
        if old:
            weights[:old], constants[:old] = self.weights, self.constants
        return Ancestors(self.order, weights, constants, np.zeros(room, np.int32))


class PathSum:
    """The exhaustive ranker of one tree, with what it keeps between searches.

    Leaves need nothing but their vectors. For the ancestors it keeps float32 weights, one row an internal
    node, and reads anew only the rows that changed since the last search. Safe for concurrent searches.
    """

    def __init__(self) -> None:
        self._above = Ancestors(np.zeros(0, np.int32), np.zeros((0, 0), np.float32), np.zeros(0), np.zeros(0, np.int32))
        self._seen = 0
        self._refreshing = Lock()

    def search(self, t: TreeArrays, Q: Floats, k: int, aggregate: Aggregate = "sum", context: float = 0.0) -> Ranked:
        """Rank all documents for each row of Q: by `blend` of the densities along their paths."""
        ranked = nothing(len(Q), k)
        if t.meta[Meta.ROOT] == NONE:
            return ranked
        at_once = _QUERIES
        ranked.visited[:] = t.meta[Meta.LEAVES]
        if aggregate == "mean" or context != 0.0:
            with self._refreshing:
                self._refresh(t)
            at_once = max(8, min(_QUERIES, _FLOATS // (len(self._above.order) + 1)))
            ranked.visited[:] = t.meta[Meta.NODES]
        if not self._fits_float32(t, Q, aggregate, context):
            alive = np.flatnonzero(t.leaf[: t.meta[Meta.NEXT_DOCUMENT]] != NONE)
            return rank_listed(t, Q, alive, k, mean=aggregate == "mean", context=context)
        for start in range(0, len(Q), at_once):
            stop = start + at_once
            self._search_some(t, Q[start:stop], k, aggregate, context, ranked.rows(start, stop))
        return ranked

    def _search_some(
        self, t: TreeArrays, Q: Floats, k: int, aggregate: Aggregate, context: float, ranked: Ranked
    ) -> None:
        candidates = k + _SLACK
        waiting = np.arange(len(Q))
        while len(waiting):
            candidates = min(candidates, int(t.meta[Meta.LEAVES]))
            scores, leaves = self._screen(t, Q[waiting], candidates, aggregate, context)
            error = self._rounding_error(t, Q[waiting], aggregate, context)
            sure = np.zeros(len(waiting), np.bool_)

            def work(
                start: int, stop: int, waiting: Longs = waiting, scores: Floats = scores, leaves: Ints = leaves,
                error: Doubles = error, sure: npt.NDArray[np.bool_] = sure,
            ) -> None:  # fmt: skip
                _score_again(
                    t, Q, waiting[start:stop], scores[start:stop], leaves[start:stop], error[start:stop],
                    sure[start:stop], aggregate == "mean", context, ranked.documents, ranked.scores,
                )  # fmt: skip

            in_threads(work, len(waiting))
            if candidates == t.meta[Meta.LEAVES]:
                return
            waiting = waiting[~sure]
            candidates *= 8

    def _screen(
        self, t: TreeArrays, Q: Floats, candidates: int, aggregate: Aggregate, context: float
    ) -> tuple[Floats, Ints]:
        """The best candidates of each query by float32 scores, in no order: (scores, leaves)."""
        acuity = float(t.limits[Limit.ACUITY])
        scores = np.full((len(Q), candidates), -np.inf, np.float32)
        leaves = np.full((len(Q), candidates), NONE, np.int32)
        scaled = Q / np.float32(acuity)
        # −½(D·log 2πa + ‖x‖²/a): the part of a leaf's density that depends on the query alone.
        own = -0.5 * (
            Q.shape[1] * math.log(2 * math.pi * acuity) + np.einsum("qd,qd->q", Q, Q, dtype=np.float64) / acuity
        )
        mean = aggregate == "mean"
        sums = self._sums(t, Q) if mean or context != 0.0 else np.zeros((0, len(Q)), np.float32)
        weight = 1.0 if mean else context
        rows = int(t.meta[Meta.LEAF_ROWS])
        for start in range(0, rows, _LEAVES):
            stop = min(rows, start + _LEAVES)
            block = _products(t.vectors[start:stop], scaled)

            def work(first: int, last: int, start: int = start, block: Floats = block) -> None:
                _select(
                    t, start, block, 0.5 / acuity, own, sums, self._above.lengths, mean, weight, first, last,
                    scores, leaves,
                )  # fmt: skip

            in_threads(work, len(Q))
        return scores, leaves

    def _sums(self, t: TreeArrays, Q: Floats) -> Floats:
        """Σ log p from the root down to each internal node: (internal rows, queries)."""
        sums: Floats = _products(self._above.weights, np.concatenate([Q * Q, Q], axis=1))
        sums += self._above.constants[:, None].astype(np.float32)
        _add_down(t, self._above.order, sums)
        return sums

    def _refresh(self, t: TreeArrays) -> None:
        if self._seen == t.meta[Meta.CHANGES]:
            return
        nodes = parents_first(t, t.meta[Meta.ROOT])
        above = self._above.for_rows(int(t.meta[Meta.INNER_ROWS]), t.mean.shape[1])
        above = above._replace(order=nodes[t.n_children[nodes] > 0])
        _weigh(t, above, self._seen)
        self._above, self._seen = above, int(t.meta[Meta.CHANGES])

    def _fits_float32(self, t: TreeArrays, Q: Floats, aggregate: Aggregate, context: float) -> bool:
        """Whether no intermediate number of the first step can leave float32's range, at either end."""
        acuity = float(t.limits[Limit.ACUITY])
        largest = float(self._rounding_error(t, Q, aggregate, context).max(initial=0.0)) * 1e8
        return 1e-30 < acuity < 1e30 and largest < 1e36

    def _rounding_error(self, t: TreeArrays, Q: Floats, aggregate: Aggregate, context: float) -> Doubles:
        """How far a float32 score may be off: `_SURE`·√n·u times the size of the terms that were added up."""
        acuity = float(t.limits[Limit.ACUITY])
        norms = t.norm[: t.meta[Meta.LEAF_ROWS]]
        longest = math.sqrt(float(norms[np.isfinite(norms)].max()))
        lengths = np.sqrt(np.einsum("qd,qd->q", Q, Q, dtype=np.float64))
        # A density is −½ of (x − μ)²/σ² ≤ (‖x‖ + ‖μ‖)²/a plus logarithms that are smaller by far.
        size = 0.5 * (lengths + longest) ** 2 / acuity + abs(0.5 * Q.shape[1] * math.log(2 * math.pi * acuity))
        if aggregate == "mean" or context != 0.0:
            largest_h = float(np.abs(t.h[self._above.order]).max(initial=0.0))
            depth = math.log2(len(self._above.order) + 2) * 2
            size = 2 * (size + 0.5 * largest_h) * (1 + depth * (1.0 if aggregate == "mean" else abs(context)))
            size /= 2 if aggregate == "mean" else 1
        unit = float(np.finfo(np.float32).eps) / 2
        return np.asarray(_SURE * math.sqrt(2 * Q.shape[1]) * unit * size)


def _products(rows: Floats, Q: Floats) -> Floats:
    """rows · Qᵀ. For a few queries our own loop: BLAS would wake its threads for less than a millisecond of work."""
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
def _weigh(t: TreeArrays, above: Ancestors, seen: int) -> None:
    """Weights of the rows that changed: [−1/2σ², μ/σ²], and −½(D·log 2πa + h + Σ μ²/σ²) beside them."""
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
    t: TreeArrays, start: int, block: Floats, half: float, own: Doubles, sums: Floats, lengths: Ints, mean: bool,
    context: float, first: int, last: int, scores: Floats, leaves: Ints,
) -> None:  # fmt: skip
    """Offer each leaf of a block (leaves × queries) to the heaps of the queries first ... last."""
    queries = last - first
    line = np.empty(queries, np.float32)
    floor = np.empty(queries, np.float32)
    constant = np.empty(queries, np.float32)
    for j in range(queries):
        floor[j] = scores[first + j, 0]
        constant[j] = own[first + j]
    context32 = np.float32(context)
    for i in range(block.shape[0]):
        row = start + i
        if t.norm[row] == np.inf:
            continue
        leaf = t.owner[row]
        offset = np.float32(t.norm[row] * half)
        values = block[i, first:last]
        parent = t.parent[leaf]
        if sums.shape[0] == 0 or parent == NONE:
            for j in range(queries):
                line[j] = values[j] - offset + constant[j]
        else:
            share = np.float32(1.0 / (lengths[t.row[parent]] + 1)) if mean else np.float32(1.0)
            ancestors = sums[t.row[parent], first:last]
            for j in range(queries):
                line[j] = share * (values[j] - offset + constant[j] + context32 * ancestors[j])
        better = 0
        for j in range(queries):
            better += line[j] > floor[j]
        if better == 0:
            continue
        for j in range(queries):
            if line[j] > floor[j]:
                sink(scores[first + j], leaves[first + j], scores.shape[1], line[j], leaf)  # in place of the worst
                floor[j] = scores[first + j, 0]


@kernel
def _score_again(
    t: TreeArrays, Q: Floats, waiting: Longs, scores: Floats, leaves: Ints, error: Doubles, sure: npt.NDArray[np.bool_],
    mean: bool, context: float, documents_out: Longs, scores_out: Doubles,
) -> None:  # fmt: skip
    """Score the candidates exactly and write the best; `sure` where none that was left out can belong to them."""
    m, k = scores.shape[1], documents_out.shape[1]
    exact = np.empty(m)
    known, stamps = np.empty(t.mean.shape[0]), np.zeros(t.mean.shape[0])
    for i in range(waiting.shape[0]):
        q = waiting[i]
        documents, worst, n = 0, 0, 0
        for j in range(m):
            leaf = leaves[i, j]
            if leaf == NONE:
                continue  # fewer scored above −∞ than there is room for: some scored NaN
            leaves[i, n], scores[i, n] = leaf, scores[i, j]
            exact[n] = path_score(t, leaf, Q[q], mean, context, known, stamps, i + 1.0)
            documents += t.size[leaf]
            if scores[i, n] < scores[i, worst]:
                worst = n
            n += 1
        # Everything left out scored at most as the worst candidate did. The two scales differ by a constant of
        # the query, which that candidate shows; it and they may each be off by the error.
        bound = exact[worst] + 2.0 * error[i]
        fill(t, leaves[i, :n], exact[:n], EVERYTHING, documents_out[q], scores_out[q])
        sure[i] = n == m and documents >= k and scores_out[q, k - 1] > bound
