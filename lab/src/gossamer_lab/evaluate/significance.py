"""Whether a difference is more than chance: paired permutation test and bootstrap interval.

Measures take few different values, so equal differences are drawn together: the sum of c random signs is
2·Binomial(c, ½) − c, and n draws with replacement are one multinomial. The distributions are those of drawing query
by query, at a hundredth of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from gossamer.errors import InputError
from gossamer_lab.engine import Doubles

_EXACT_UP_TO = 12
"""Up to this number of differing queries, all assignments of signs (4,096) are tried."""
_DIGITS = 9
"""Decimals to which differences are rounded, so that equal ones are equal."""


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences, with a 95 % interval and the probability of one as large by chance."""

    mean: float
    low: float
    high: float
    p: float


def difference(ours: Doubles, theirs: Doubles, *, draws: int = 10_000, seed: int = 0) -> Difference:
    """The mean of `ours` less `theirs`, paired by query."""
    if ours.shape != theirs.shape or ours.ndim != 1 or not len(ours):
        raise InputError(f"paired values must be two lists of equal length, got {ours.shape} and {theirs.shape}")
    apart = np.round(ours - theirs, _DIGITS)
    low, high = bootstrap_interval(apart, draws=draws, seed=seed)
    return Difference(float(apart.mean()), low, high, permutation_p(apart, draws=draws, seed=seed))


def permutation_p(apart: Doubles, *, draws: int = 10_000, seed: int = 0) -> float:
    """How often random signs of the differences give a mean at least as far from 0 (two-sided)."""
    sizes, counts = np.unique(np.abs(apart[apart != 0]), return_counts=True)
    seen = abs(float(apart.sum())) * (1 - 1e-12)
    if counts.sum() <= _EXACT_UP_TO:
        every = np.array(list(product((-1.0, 1.0), repeat=int(counts.sum()))))
        sums = np.abs(every @ np.repeat(sizes, counts))
        return float((sums >= seen).mean())
    flips = np.random.default_rng(seed).binomial(counts, 0.5, size=(draws, len(counts)))
    sums = np.abs((2.0 * flips - counts) @ sizes)
    return float((1 + (sums >= seen).sum()) / (draws + 1))


def bootstrap_interval(apart: Doubles, *, draws: int = 10_000, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of means over queries drawn with replacement."""
    low, high = np.percentile(means_drawn(apart, draws=draws, seed=seed), [2.5, 97.5])
    return float(low), float(high)


def means_drawn(apart: Doubles, *, draws: int = 10_000, seed: int = 0) -> Doubles:
    """Means over queries drawn with replacement."""
    values, counts = np.unique(np.round(apart, _DIGITS), return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(apart), counts / len(apart), size=draws)
    means: Doubles = drawn @ values / len(apart)
    return means
