"""Comparing all pairs of codes: none of the nearest is missed, on any processor."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from gossamer.array_types import Bytes
from gossamer.neighbours.all_pairs import nearest_of_all, nearest_of_some
from gossamer.runtime.simd import ABREAST, FOUR, TILE, distances
from oracles.neighbours import nearest_distances, squared_distances


def coded(n: int, dim: int, seed: int) -> Bytes:
    """Codes of n points, some of them near each other."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(-90, 90, (max(1, n // 9), dim))
    return (centres[rng.integers(0, len(centres), n)] + rng.integers(-30, 30, (n, dim))).astype(np.int8)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 900), st.integers(1, 70), st.sampled_from([1, 2, 16, 40, 128]), st.integers(0, 1000))
def test_the_nearest_of_all_are_found(n: int, dim: int, width: int, seed: int) -> None:
    codes = coded(n, dim, seed)
    shares: list[float] = []
    found, near = nearest_of_all(codes, width, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert np.array_equal(near, nearest_distances(codes, width))
    there = min(width, n - 1)
    assert (found[:, there:] == -1).all()
    for at, others in enumerate(found[:, :there].tolist()):
        assert len(set(others)) == there, "none is listed twice"
        assert at not in others
        assert np.array_equal(squared_distances(codes[at : at + 1], codes[others])[0], near[at, :there])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 300), st.integers(1, 60), st.integers(1, 70), st.integers(0, 1000))
def test_the_nearest_of_some_is_found(n: int, some: int, dim: int, seed: int) -> None:
    codes, others = coded(n, dim, seed), coded(some, dim, seed + 1)
    exact = squared_distances(codes, others)
    best = nearest_of_some(codes, others)
    assert best.tolist() == exact.argmin(axis=1).tolist()


def test_of_many_at_one_distance_the_same_are_kept_each_time() -> None:
    """The result depends on nothing but the codes: here all others are equally far from each."""
    codes = (127 * np.eye(600)).astype(np.int8)
    found, _ = nearest_of_all(codes, 4)
    again, _ = nearest_of_all(codes, 4)
    assert np.array_equal(found, again)
    assert (np.sort(found, axis=1) == found).all()


def few_distances() -> None:
    """The kernel against NumPy, whatever instructions it is made of."""
    rng = np.random.default_rng(0)
    mine = rng.integers(0, 256, (TILE, 52)).astype(np.uint8)
    theirs = rng.integers(-127, 128, (ABREAST, 52)).astype(np.int8)
    abreast = np.ascontiguousarray(theirs.reshape(ABREAST, -1, FOUR).transpose(1, 0, 2)).reshape(-1)
    norms, other_norms = (rng.integers(0, 9999, n).astype(np.float32) for n in (TILE, ABREAST))
    exact = norms[:, None] + other_norms - 2.0 * (mine.astype(int) @ theirs.astype(int).T)
    limits = np.quantile(exact, 0.3, axis=1).astype(np.float32)
    other_limits = np.quantile(exact, 0.2, axis=0).astype(np.float32)
    out, near = np.empty((TILE, ABREAST), np.float32), np.empty(TILE, np.int32)
    compiled = njit(lambda a, b, c, d, e, f, g, h: distances(a, b, c, d, e, f, g, h))
    compiled(mine, abreast, norms, limits, other_norms, other_limits, out, near)
    assert np.array_equal(out, exact)
    within = (exact < limits[:, None]) | (exact < other_limits)
    assert np.array_equal(near, (within << np.arange(ABREAST)).sum(axis=1))


@pytest.mark.parametrize("processor", ["", "generic"])
def test_distances_are_exact_on_any_processor(processor: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if processor:
        environment |= {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    code = f"from {__name__} import few_distances; few_distances()"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
