"""Data that trees find hard: clustered, duplicated, constant, symmetric, far apart, tiny and huge."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from gossamer import CobwebTree

Matrix = npt.NDArray[np.float32]

KINDS = ("clusters", "grid", "constant", "far", "blob", "line")


@st.composite
def matrices(draw: st.DrawFn, max_rows: int = 32, max_dim: int = 6) -> Matrix:
    """A small matrix of one of the kinds, at a scale of its own. Row order is part of the draw."""
    kind = draw(st.sampled_from(KINDS))
    rows = draw(st.integers(1, max_rows))
    dim = draw(st.integers(1, max_dim))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "grid":  # duplicates, and ties by symmetry
        X = rng.integers(-1, 2, size=(rows, dim)).astype(float)
    elif kind == "constant":
        X = np.full((rows, dim), rng.normal()) + (rng.random(dim) < 0.3) * rng.normal(size=(rows, dim))
    elif kind == "line":
        X = np.arange(rows)[:, None] * np.ones(dim)
    else:
        centres = rng.normal(size=(4, dim)) * {"clusters": 4.0, "far": 1000.0, "blob": 0.0}[kind]
        X = centres[rng.integers(0, 4, rows)] + rng.normal(size=(rows, dim))
        X = X[rng.integers(0, rows, rows)]  # some rows twice
    return np.ascontiguousarray(X, np.float32)


acuities = st.sampled_from([0.01, 1 / (2 * np.pi * np.e), 0.5, 1.0, 5.0, 30.0])
scales = st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6])


def tree_of(X: Matrix, acuity: float) -> CobwebTree:
    """The tree with the rows of X inserted in turn."""
    tree = CobwebTree(X.shape[1], acuity)
    tree.insert_many(X)
    return tree
