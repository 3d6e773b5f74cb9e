"""Grids that outliers do not spoil, and codes that equal the formula."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.array_types import Bytes, Floats
from gossamer.neighbours.quantise import Grid, choose_grid, choose_robust_grid, encode, encode_rows, to_steps
from gossamer.runtime.jit import kernel
from oracles.neighbours import quantised

Matrix = npt.NDArray[np.float32]
Choose = Callable[[Matrix], Grid]


@kernel
def _encode(x: Floats, centre: Floats, step: float, out: Bytes) -> tuple[float, float]:
    return encode(x, centre, step, out)


def vectors(n: int, dim: int, seed: int, scale: float = 1.0) -> Matrix:
    rng = np.random.default_rng(seed)
    return (scale * (rng.normal(size=(n, dim)) + rng.normal(size=dim))).astype(np.float32)


@pytest.mark.parametrize("choose", [choose_grid, choose_robust_grid])
@given(
    n=st.integers(1, 60), dim=st.integers(1, 20), seed=st.integers(0, 999), scale=st.sampled_from([1e-20, 1.0, 1e15])
)
def test_codes_are_those_of_the_formula(choose: Choose, n: int, dim: int, seed: int, scale: float) -> None:
    X = vectors(n, dim, seed, scale)
    grid = choose(X)
    expected, out = quantised(X, grid.centre, grid.step), np.empty(dim, np.int8)
    for x, code in zip(X, expected, strict=True):
        norm, extent = _encode(x, grid.centre, grid.step, out)
        assert np.array_equal(out, code)
        assert norm == pytest.approx(float(np.square(code.astype(float)).sum()) * grid.step**2)
        assert extent >= np.abs(code.astype(int)).max()
    assert np.abs(X - (grid.centre + expected * np.float32(grid.step))).max() <= 1.01 * max(
        grid.step / 2, np.abs(X - grid.centre).max() - 127 * grid.step
    )


@given(n=st.integers(1, 60), dim=st.integers(1, 20), seed=st.integers(0, 999))
def test_rows_in_steps_have_the_same_codes(n: int, dim: int, seed: int) -> None:
    """Up to one unit: steps are rounded to float32 first."""
    X = vectors(n, dim, seed)
    grid = choose_robust_grid(X)
    expected, codes = quantised(X, grid.centre, grid.step), np.empty(X.shape, np.int8)
    to_steps(X, grid)
    encode_rows(X, codes)
    assert np.abs(codes.astype(int) - expected).max() <= 1
    assert np.array_equal(codes, np.clip(np.rint(X), -127, 127))


@pytest.mark.parametrize("choose", [choose_grid, choose_robust_grid])
def test_a_grid_spans_all_vectors_but_a_far_outlier(choose: Choose) -> None:
    X = vectors(3000, 8, seed=0)
    plain = choose(X)
    assert np.abs(X - plain.centre).max() <= 127.01 * plain.step
    X[7] *= 100
    grid = choose(X)
    spanned = np.abs(X - grid.centre).max(axis=1) <= 127.01 * grid.step
    assert not spanned[7]
    assert spanned.mean() >= 0.999
    assert grid.step < 2 * plain.step


def test_equal_vectors_have_a_grid() -> None:
    X = np.full((5, 3), 2.5, np.float32)
    for choose in (choose_grid, choose_robust_grid):
        grid = choose(X)
        assert 0.0 < grid.step < 1e-29
        assert np.array_equal(grid.centre, X[0])
