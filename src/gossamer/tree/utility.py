"""The mathematics of a node: entropies and moments, each with its formula.

Entropies are sums of logarithms, taken as the logarithm of a product over blocks of dimensions: one
log for a block instead of one a dimension. Every factor is a variance divided by the acuity, so it is at
least 1 and a product cannot underflow; `block_length` chooses blocks that cannot overflow either.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gossamer.array_types import Doubles, Floats
from gossamer.runtime.jit import subkernel
from gossamer.tree.arrays import Limit

TIE: Final = 1e-10
"""Scores closer than this, as a share of the largest entropy the data allow, count as equal."""

LARGEST_LOG: Final = 650.0
"""A product of a block stays below e^650; float64 ends at e^709."""

CANCELLED: Final = 1e-4
"""A sum of squares that a subtraction shrinks below this share has lost four digits: take it afresh."""


@subkernel
def log_range(limits: Doubles) -> float:
    """Upper bound of log(σ²/a) in any dimension of any node.

    No variance exceeds a quarter of the squared range of the data, so log(1 + (highest − lowest)²/4a). Finite for
    any limits.
    """
    width = limits[Limit.HIGHEST] - limits[Limit.LOWEST]
    if not width > 0.0:
        return 0.0
    return min(LARGEST_LOG, math.log1p(0.25 * width * width / limits[Limit.ACUITY]))


@subkernel
def block_length(limits: Doubles) -> int:
    """How many dimensions a product may span without leaving float64's range."""
    largest = log_range(limits)
    if largest * 4096.0 <= LARGEST_LOG:
        return 4096
    return max(1, int(LARGEST_LOG / largest))


@subkernel
def log_det(m2: Doubles, n: int, acuity: float, block: int) -> float:
    """h(c) = Σ_d log(σ²_d/a), with σ² = M2/n + a."""
    scale = 1.0 / (n * acuity)
    total = 0.0
    for start in range(0, m2.shape[0], block):
        q = m2[start : start + block]
        product = 1.0
        for d in range(q.shape[0]):
            product *= 1.0 + q[d] * scale
        total += math.log(product)
    return total


@subkernel
def log_det_with(mean: Doubles, m2: Doubles, n: int, x: Doubles, acuity: float, block: int) -> float:
    """h(c + x): adding x to n documents makes M2' = M2 + n/(n+1)·(x − μ)², so σ²' = M2'/(n+1) + a."""
    keep = 1.0 / ((n + 1.0) * acuity)
    gain = keep * n / (n + 1.0)
    total = 0.0
    for start in range(0, x.shape[0], block):
        xs = x[start : start + block]
        m = mean[start : start + block]
        q = m2[start : start + block]
        product = 1.0
        for d in range(xs.shape[0]):
            delta = xs[d] - m[d]
            product *= 1.0 + q[d] * keep + delta * delta * gain
        total += math.log(product)
    return total


@subkernel
def log_det_leaf_with(vector: Floats, n: int, x: Doubles, acuity: float, block: int) -> float:
    """h(leaf + x): the same with M2 = 0."""
    gain = n / ((n + 1.0) * (n + 1.0) * acuity)
    total = 0.0
    for start in range(0, x.shape[0], block):
        xs = x[start : start + block]
        v = vector[start : start + block]
        product = 1.0
        for d in range(xs.shape[0]):
            delta = xs[d] - v[d]
            product *= 1.0 + delta * delta * gain
        total += math.log(product)
    return total


@subkernel
def log_det_union(
    mean1: Doubles, m2_1: Doubles, n1: int,
    mean2: Doubles | Floats, m2_2: Doubles, weight2: float, n2: int,
    x: Doubles, acuity: float, block: int,
) -> float:  # fmt: skip
    """h(c₁ ∪ c₂ ∪ x), without making the union.

    M2 = M2₁ + M2₂ + n₁n₂/(n₁+n₂)·(μ₁ − μ₂)² + n/(n+1)·(x − μ)², with n = n₁ + n₂ and μ their common mean.
    `weight2` is 1, or 0 where the second is a leaf, whose M2 is 0 and not stored.
    """
    n = float(n1 + n2)
    share1, share2 = n1 / n, n2 / n
    scale = 1.0 / ((n + 1.0) * acuity)
    apart = scale * n1 * share2
    gain = scale * n / (n + 1.0)
    weight2 *= scale
    total = 0.0
    for start in range(0, x.shape[0], block):
        xs = x[start : start + block]
        a = mean1[start : start + block]
        b = mean2[start : start + block]
        q = m2_1[start : start + block]
        r = m2_2[start : start + block]
        product = 1.0
        for d in range(xs.shape[0]):
            between = a[d] - b[d]
            delta = xs[d] - (share1 * a[d] + share2 * b[d])
            product *= 1.0 + q[d] * scale + r[d] * weight2 + between * between * apart + delta * delta * gain
        total += math.log(product)
    return total


@subkernel
def log_det_leaves(vector1: Floats, n1: int, vector2: Floats, n2: int, x: Doubles, acuity: float, block: int) -> float:
    """h(leaf₁ ∪ leaf₂ ∪ x): `log_det_union` with both M2 = 0."""
    n = float(n1 + n2)
    share1, share2 = n1 / n, n2 / n
    scale = 1.0 / ((n + 1.0) * acuity)
    apart = scale * n1 * share2
    gain = scale * n / (n + 1.0)
    total = 0.0
    for start in range(0, x.shape[0], block):
        xs = x[start : start + block]
        a = vector1[start : start + block]
        b = vector2[start : start + block]
        product = 1.0
        for d in range(xs.shape[0]):
            between = np.float64(a[d]) - b[d]
            delta = xs[d] - (share1 * a[d] + share2 * b[d])
            product *= 1.0 + between * between * apart + delta * delta * gain
        total += math.log(product)
    return total


@subkernel
def add(mean: Doubles, m2: Doubles, n: int, x: Doubles) -> None:
    """Add x to the moments of n documents (Welford): μ' = μ + δ/(n+1), M2' = M2 + δ²·n/(n+1), δ = x − μ."""
    step = 1.0 / (n + 1.0)
    gain = n * step
    for d in range(x.shape[0]):
        delta = x[d] - mean[d]
        mean[d] += delta * step
        m2[d] += delta * delta * gain


@subkernel
def subtract(mean: Doubles, m2: Doubles, n: int, x: Doubles) -> bool:
    """Take x out of the moments of n > 1 documents: the inverse of `add`.

    False where the subtraction cancelled digits that matter: the caller then takes the moments afresh.
    """
    step = 1.0 / (n - 1.0)
    loss = n * step
    cancelled = 0
    for d in range(x.shape[0]):
        delta = x[d] - mean[d]
        before = m2[d]
        after = before - delta * delta * loss
        mean[d] -= delta * step
        m2[d] = after
        cancelled += after < CANCELLED * before
    return cancelled == 0


@subkernel
def pool(mean: Doubles, m2: Doubles, n: int, other_mean: Doubles, other_m2: Doubles, other_n: int) -> None:
    """Pool the moments of two sets: M2 = M2₁ + M2₂ + δ²·n₁n₂/(n₁+n₂), δ = μ₂ − μ₁ (Chan et al. 1979)."""
    share = other_n / (n + other_n)
    gain = n * share
    for d in range(mean.shape[0]):
        delta = other_mean[d] - mean[d]
        mean[d] += delta * share
        m2[d] += other_m2[d] + delta * delta * gain


@subkernel
def pool_leaf(mean: Doubles, m2: Doubles, n: int, vector: Floats, leaf_n: int) -> None:
    """Pool the moments of a set with a leaf, whose M2 is 0."""
    share = leaf_n / (n + leaf_n)
    gain = n * share
    for d in range(mean.shape[0]):
        delta = vector[d] - mean[d]
        mean[d] += delta * share
        m2[d] += delta * delta * gain


@subkernel
def squared_length(x: Floats) -> float:
    """Σ x², in double precision."""
    total = 0.0
    for d in range(x.shape[0]):
        total += np.float64(x[d]) * x[d]
    return total


@subkernel
def content_hash(x: Floats) -> int:
    """A hash of the bytes of x. Speed and the order of refining depend on it: a match is always compared in full."""
    bits = x.view(np.uint32)
    total = np.uint64(0)
    for d in range(bits.shape[0]):
        total += np.uint64(bits[d]) * (np.uint64(2 * d + 1) * np.uint64(0x9E3779B97F4A7C15))
    total ^= total >> np.uint64(29)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(32)
    return np.int64(total & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@subkernel
def same(a: Floats, b: Floats) -> bool:
    """Whether two vectors are equal in every coordinate."""
    for d in range(a.shape[0]):
        if a[d] != b[d]:
            return False
    return True
