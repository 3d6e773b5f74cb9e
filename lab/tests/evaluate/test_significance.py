"""Permutation test and bootstrap on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InputError
from gossamer_lab.evaluate.significance import bootstrap_interval, difference, permutation_p


def test_small_cases_are_exact() -> None:
    assert permutation_p(np.array([1.0, 1.0, 1.0])) == pytest.approx(2 / 8)
    assert permutation_p(np.array([1.0, 1.0, 1.0, 0.0, 0.0])) == pytest.approx(2 / 8)
    assert permutation_p(np.array([1.0, -1.0])) == 1.0
    assert permutation_p(np.array([3.0, 1.0, -1.0])) == pytest.approx(
        6 / 8
    )  # ±5, ±3 twice, ±1: six of eight sums reach 3


def test_nothing_differs() -> None:
    same = difference(np.ones(50), np.ones(50))
    assert (same.mean, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_drawn_by_group_as_query_by_query() -> None:
    rng = np.random.default_rng(3)
    apart = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0], size=60)
    signs = rng.choice([-1.0, 1.0], size=(40_000, 60))
    plain = float((np.abs(signs @ apart) >= abs(apart.sum()) * (1 - 1e-12)).mean())
    assert permutation_p(apart, draws=40_000) == pytest.approx(plain, abs=0.01)
    means = rng.choice(apart, size=(40_000, 60)).mean(axis=1)
    assert bootstrap_interval(apart, draws=40_000) == pytest.approx(np.percentile(means, [2.5, 97.5]), abs=0.02)


def test_a_bootstrap_interval_is_that_of_the_mean() -> None:
    apart = np.random.default_rng(0).normal(0.5, 2.0, size=400)
    low, high = bootstrap_interval(apart)
    error = apart.std() / 20
    assert low == pytest.approx(apart.mean() - 1.96 * error, abs=0.1 * error + 0.01)
    assert high == pytest.approx(apart.mean() + 1.96 * error, abs=0.1 * error + 0.01)


def test_chance_is_rarely_significant_and_a_real_difference_is() -> None:
    rng = np.random.default_rng(1)
    by_chance = [permutation_p(rng.normal(size=40), draws=400, seed=i) < 0.05 for i in range(300)]
    assert 0.01 < np.mean(by_chance) < 0.10
    assert permutation_p(rng.normal(1.0, 1.0, size=40)) < 0.001


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=40))
def test_symmetry(values: list[float]) -> None:
    ours, theirs = np.array(values), np.zeros(len(values))
    one, other = difference(ours, theirs, draws=200), difference(theirs, ours, draws=200)
    assert one.mean == pytest.approx(-other.mean)
    assert one.p == other.p
    assert 0 < one.p <= 1
    assert one.low <= one.mean <= one.high or len(set(values)) > 1


def test_lengths_must_agree() -> None:
    with pytest.raises(InputError, match="equal length"):
        difference(np.ones(3), np.ones(4))
