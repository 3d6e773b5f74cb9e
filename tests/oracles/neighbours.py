"""Quantisation and nearest neighbours from their definitions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def quantised(X: npt.NDArray[np.float32], centre: npt.NDArray[np.float32], step: float) -> npt.NDArray[np.int8]:
    """round((x − centre)/step), cut off at ±127; differences in float32, quotients in float64."""
    steps = np.rint((X - centre).astype(np.float64) * (1.0 / step))
    return np.clip(steps, -127, 127).astype(np.int8)


def squared_distances(A: npt.NDArray[np.int8], B: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    differences = A.astype(np.int64)[:, None] - B.astype(np.int64)[None]
    return np.asarray(np.square(differences).sum(axis=2), np.float64)


def nearest_distances(codes: npt.NDArray[np.int8], width: int) -> npt.NDArray[np.float64]:
    """The squared distances to the `width` nearest others of each code, rising; infinite where there are fewer."""
    exact = squared_distances(codes, codes)
    np.fill_diagonal(exact, np.inf)
    padded = np.pad(exact, ((0, 0), (0, width)), constant_values=np.inf)
    return np.asarray(np.sort(padded, axis=1)[:, :width])
