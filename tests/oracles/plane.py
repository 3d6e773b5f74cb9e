"""The forces of a layout by sums over all pairs, and neighbours by comparing all, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[Any]

RATE, MOMENTUM = 0.33, 0.8


def forces(places: Matrix, masses: Matrix, affinities: Matrix) -> Matrix:
    """Attraction to others by affinity, repulsion from all by mass: see `gossamer.plane.forces`."""
    away = places[:, None, :] - places[None, :, :]
    near = 1.0 / (1.0 + (away**2).sum(axis=2))
    z = float(masses @ near @ masses)
    attraction = -((affinities * near)[:, :, None] * away).sum(axis=1)
    repulsion = ((masses[None, :] * near**2)[:, :, None] * away).sum(axis=1)
    found: Matrix = attraction + masses.sum() / z * repulsion
    return found


def relaxed(places: Matrix, masses: Matrix, affinities: Matrix, steps: int) -> Matrix:
    """Places after some steps along force and momentum."""
    velocity = np.zeros_like(places)
    for _ in range(steps):
        velocity = MOMENTUM * velocity + RATE * forces(places, masses, affinities)
        places = places + velocity
    return places


def nearest(X: Matrix, width: int) -> list[list[int]]:
    """The nearest other rows of each row."""
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    found: list[list[int]] = np.argsort(distances, axis=1, kind="stable")[:, :width].tolist()
    return found
