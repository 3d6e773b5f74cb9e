"""Which shard a document belongs to, and which shards a query has to ask.

A router is the upper part of a tree over a sample of the corpus: its leaves are a few hundred concepts, each with the
mean and the variances of its members, and each given to a shard. A document lies on the shard of the concept whose
mean is nearest to it. Concepts that the tree puts side by side go to one shard, as far as shards stay of one size.

A query asks the shards in whose concepts its nearest documents can be. Under the Gaussian of a concept of n members
the squared distance of a member has the mean m and the variance s²,

    m = |x − μ|² + Σ_d σ²_d        s² = 2·Σ_d σ⁴_d + 4·(Σ_d σ²_d / D)·|x − μ|²

so the nearest of them is expected near e = m − √(2·ln n)·s. A shard is as good as its best concept, and all shards are
asked whose e is above the least by no more than a slack. How much slack finds what share of the ten nearest documents
is measured on documents that were kept out of the sample when the tree was made (`fit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from gossamer.array_types import Doubles, Floats, Longs
from gossamer.files.bundle import Bundle
from gossamer.vector_index import VectorIndex

CONCEPTS: Final = 192
"""Concepts of the router for each shard, at most. (76,000 questions of QQP on 4 shards: 0.98 of the nearest are found
on 0.40 of the shards with 192 concepts for each, on 0.43 with 64.)"""

_MOST: Final = 16_384
"""Concepts, at most."""

_MEMBERS: Final = 16
"""Members of a concept in the sample, on average, at least."""

_HELD_OUT: Final = 10
"""One in so many documents of the sample is kept out of the tree, to measure the curve with; `_MOST_HELD` at most."""
_MOST_HELD: Final = 1_000

_NEAREST: Final = 10

RECALLS: Final = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
"""Shares of the ten nearest documents for which the slack is measured; between two of them it is interpolated."""

RECALL: Final = 0.98
"""The share that a search aims for unless it is told otherwise."""

RECALL_WITH_WORDS: Final = 0.95
"""The same for a search with words. The documents that words lift are found on whatever shard they are."""


@dataclass(frozen=True)
class Router:
    """The concepts of a router.

    means       of the members of each concept, (concepts, dimensions)
    variances   of the same shape
    counts      members in the sample
    linkage     how the tree merges concepts into larger ones, as a linkage matrix of SciPy
    """

    means: Floats
    variances: Floats
    counts: Longs
    linkage: Doubles

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def grown(cls, X: Floats, shards: int) -> Router:
        """The router for a sample of projected vectors."""
        concepts = max(1, min(shards, len(X) // 2), min(CONCEPTS * shards, _MOST, len(X) // _MEMBERS))
        tree = VectorIndex(X.shape[1], whitener=None, links=False)
        tree.add(X)
        cut = tree.cut(concepts)
        means, variances = np.empty((2, len(cut), X.shape[1]), np.float32)
        for at, members in enumerate(cut.members):
            rows = X[np.array(members, np.int64)]
            means[at], variances[at] = rows.mean(axis=0, dtype=np.float64), rows.var(axis=0, dtype=np.float64)
        counts = np.array([len(members) for members in cut.members], np.int64)
        return cls(means, variances, counts, np.asarray(cut.linkage, np.float64).reshape(-1, 4))

    def concepts_of(self, X: Floats) -> Longs:
        """The concept whose mean is nearest, for each row."""
        found = np.empty(len(X), np.int64)
        lengths = np.einsum("ij,ij->i", self.means, self.means)
        for start in range(0, len(X), 4096):
            rows = X[start : start + 4096]
            found[start : start + 4096] = np.argmin(lengths - 2.0 * (rows @ self.means.T), axis=1)
        return found

    def estimates(self, X: Floats, members: Longs) -> Doubles:
        """For each row and concept the squared distance e at which the nearest member is expected.

        `members`: of each concept, now. One without members is infinitely far.
        """
        spread, fourth, lengths = self._sums
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)[:, None] + lengths - 2.0 * (X @ self.means.T)
        squares = np.maximum(squares, 0.0)
        deviation = np.sqrt(2.0 * fourth + 4.0 * spread / X.shape[1] * squares)
        z = np.sqrt(2.0 * np.log(np.maximum(members, 1)))
        found: Doubles = np.where(members > 0, squares + spread - z * deviation, np.inf)
        return found

    @cached_property
    def _sums(self) -> tuple[Doubles, Doubles, Doubles]:
        """Of each concept Σσ², Σσ⁴ and |μ|²."""
        fourth = np.square(self.variances, dtype=np.float64).sum(axis=1)
        lengths = np.einsum("ij,ij->i", self.means, self.means, dtype=np.float64)
        return self.variances.sum(axis=1, dtype=np.float64), fourth, lengths

    def order(self) -> list[int]:
        """The concepts in an order in which those that the tree merges stand side by side."""
        parts = [[concept] for concept in range(len(self))]
        for left, right, _, _ in self.linkage:
            parts.append(parts[int(left)] + parts[int(right)])
        return parts[-1]

    def spread_over(self, shards: int, sizes: Sequence[int] | Longs) -> list[int]:
        """A shard for each concept: neighbours in the tree together, and the largest shard as small as that allows."""
        order, weight = self.order(), np.asarray(sizes, np.float64)
        low, high = float(weight.max(initial=1.0)), float(weight.sum()) + 1.0
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (low, middle) if _runs(order, weight, middle)[-1] < shards else (middle, high)
        runs = _runs(order, weight, high)
        found = [0] * len(self)
        for concept, run in zip(order, runs, strict=True):
            found[concept] = run
        return found

    def to_bundle(self) -> Bundle:
        """The router as arrays."""
        names = ("means", "variances", "counts", "linkage")
        return Bundle({}, {name: getattr(self, name) for name in names})

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Router:
        """The router that `to_bundle` described."""
        counts = bundle.array("counts", np.int64, None)
        means = bundle.numbers("means", np.float32, len(counts), None)
        variances = bundle.numbers("variances", np.float32, *means.shape, least=0.0)
        linkage = bundle.numbers("linkage", np.float64, len(counts) - 1, 4, least=0.0)
        return cls(np.ascontiguousarray(means), np.ascontiguousarray(variances), counts, linkage)


def _runs(order: Sequence[int], weight: Doubles, most: float) -> list[int]:
    """The run that each concept is in, in this order, where no run weighs more than `most`."""
    found, run, filled = [], 0, 0.0
    for concept in order:
        if filled and filled + weight[concept] > most:
            run, filled = run + 1, 0.0
        filled += float(weight[concept])
        found.append(run)
    return found


def least_by_shard(estimates: Doubles, holders: Sequence[tuple[int, ...]], shards: int) -> Doubles:
    """For each row and shard the least estimate of the concepts that have documents there."""
    found = np.full((len(estimates), shards), np.inf)
    pairs = sorted((shard, concept) for concept, held_by in enumerate(holders) for shard in held_by)
    owners, concepts = np.array(pairs, np.int64).reshape(-1, 2).T
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    found[:, owners[first]] = np.minimum.reduceat(estimates[:, concepts], first, axis=1)
    return found


def fit(X: Floats, shards: int) -> tuple[Router, list[int], list[tuple[float, float]]]:
    """A router for a sample, the shard of each of its concepts, and how much slack finds which share of the nearest."""
    held = max(1, min(_MOST_HELD, len(X) // _HELD_OUT))
    out = np.zeros(len(X), bool)
    out[np.linspace(0, len(X) - 1, held).astype(np.int64)] = len(X) >= 10 * _MEMBERS
    router = Router.grown(X[~out], shards)
    concepts = router.concepts_of(X)
    members = np.bincount(concepts, minlength=len(router))
    assignment = router.spread_over(shards, members)
    rows = np.flatnonzero(out)
    return router, assignment, _curve(router, X, rows, concepts, np.array(assignment), members)


def _curve(
    router: Router, X: Floats, rows: Longs, concepts: Longs, assignment: Longs, members: Longs
) -> list[tuple[float, float]]:
    """The slack for each of `RECALLS`, by the nearest documents of some rows; infinite where there are too few rows."""
    if len(rows) < 10 or len(X) <= _NEAREST:
        return [(recall, float("inf")) for recall in RECALLS]
    shards = int(assignment.max()) + 1
    holders = [(int(shard),) for shard in assignment]
    least = least_by_shard(router.estimates(X[rows], members), holders, shards)
    lengths, needed = np.einsum("ij,ij->i", X, X), []
    for at, row in enumerate(rows.tolist()):
        distances = lengths - 2.0 * (X @ X[row])
        distances[row] = np.inf
        near = np.argpartition(distances, _NEAREST)[:_NEAREST]
        needed.append(least[at, assignment[concepts[near]]] - least[at].min())
    slacks = np.sort(np.concatenate(needed))
    places = np.minimum(np.ceil(np.array(RECALLS) * len(slacks)).astype(np.int64), len(slacks)) - 1
    return [(recall, float(slacks[place])) for recall, place in zip(RECALLS, places.tolist(), strict=True)]


def slack_for(curve: Sequence[tuple[float, float]], recall: float) -> float:
    """The slack that finds this share of the nearest; infinite beyond what was measured."""
    if recall > curve[-1][0]:
        return float("inf")
    slacks = [slack for _, slack in curve]
    if np.isinf(slacks).any():
        return float("inf")
    return float(np.interp(recall, [share for share, _ in curve], slacks))
