"""Embeddings to whiten, and statistics of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def embeddings(n: int = 600, dim: int = 24, seed: int = 0, offset: float = 0.0) -> Array:
    """Correlated vectors: a spectrum that falls by a factor of about 100, turned into general position."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    spread = 0.1 * np.geomspace(1, 0.1, dim)
    X: Array = ((rng.normal(size=(n, dim)) * spread) @ turn + offset).astype(np.float32)
    return X


def covariance(Y: Array) -> Array:
    return np.cov(Y.astype(np.float64).T, ddof=0).reshape(Y.shape[1], -1)


def squared_distances(Y: Array) -> Array:
    Y = Y.astype(np.float64)
    squares: Array = np.square(Y[:, None] - Y[None]).sum(axis=-1)
    return squares


def mixed_sources(n: int = 2000, dim: int = 5) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    sources = rng.laplace(size=(n, dim))
    return sources, (sources @ rng.normal(size=(dim, dim))).astype(np.float32)
