"""Points, masses and affinities → points moved to where attraction and repulsion balance (t-SNE).

The force on point i with place y (van der Maaten and Hinton 2008; all over the mass of i):

    Fᵢ = Σⱼ aᵢⱼ (yⱼ − yᵢ) / (1 + dᵢⱼ²)  +  M/Z · Σⱼ mⱼ (yᵢ − yⱼ) / (1 + dᵢⱼ²)²,     Z = Σᵢⱼ mᵢ mⱼ / (1 + dᵢⱼ²)

with a affinities, m masses, M their sum and d distances in the plane. Attraction is a sum over a few neighbours.
Repulsion is one over all pairs: masses are distributed to a grid, the grid is convolved with the two kernels by fast
Fourier transforms, and forces are interpolated from it (Linderman et al. 2019). A step follows force and momentum, and
there is no randomness.

`tests/oracles/plane.py` has the same by sums over all pairs.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import fft

from gossamer.array_types import Floats
from gossamer.plane.affinities import Affinities
from gossamer.runtime import deadline
from gossamer.runtime.jit import kernel, subkernel

_CELL: Final = 0.8
"""Width of a grid cell. (0.5 takes twice the time and keeps no more neighbours; from 1 on, near copies lie closer.)"""

_MOST_CELLS: Final = 448
"""Cells along a side of the grid at most; where the points need more, cells are wider."""

_RATE: Final = 0.33
_MOMENTUM: Final = 0.8
_LONGEST_STEP: Final = 5.0

_Complex: TypeAlias = npt.NDArray[np.complex64]


class Field(NamedTuple):
    """A grid over the plane, with the sums of repulsion at its corners. Row and column count x and y."""

    left: float
    bottom: float
    cell: float
    potential: Floats
    """Σⱼ mⱼ / (1 + d²)."""
    x: Floats
    """Σⱼ mⱼ Δx / (1 + d²)²."""
    y: Floats


def relax(points: Floats, masses: Floats, affinities: Affinities, steps: int) -> Floats:
    """The points after so many steps."""
    places: Floats = np.ascontiguousarray(points, np.float32).copy()
    velocity = np.zeros_like(places)
    for _ in range(steps):
        deadline.check()
        step(places, velocity, masses, affinities, field_of(places, masses))
    return places


def field_of(points: Floats, masses: Floats) -> Field:
    """The repulsion of all points, on a grid that covers them."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max())
    cell = max(_CELL, extent / (_MOST_CELLS - 3))
    side = min(_MOST_CELLS, -(-(int(extent / cell) + 3) // 32) * 32)
    left, bottom = float(low[0]) - 0.5 * cell, float(low[1]) - 0.5 * cell
    length, kernels = _kernels(side, cell)
    spectrum = fft.rfft2(distributed(points, masses, left, bottom, cell, side), (length, length))
    found = (fft.irfft2(spectrum * each, (length, length))[:side, :side] for each in kernels)
    return Field(left, bottom, cell, *(np.ascontiguousarray(each, np.float32) for each in found))


@lru_cache(maxsize=4)
def _kernels(side: int, cell: float) -> tuple[int, tuple[_Complex, ...]]:
    """The length of a side with zeros around it, and the transforms of 1/(1+d²), Δx/(1+d²)² and Δy/(1+d²)²."""
    length: int = fft.next_fast_len(2 * side, real=True)
    offset = fft.fftfreq(length, 1.0 / length).astype(np.float64) * cell
    x, y = offset[:, None], offset[None, :]
    near = 1.0 / (1.0 + x * x + y * y)
    made: list[Any] = [fft.rfft2(each.astype(np.float32)) for each in (near, x * near**2, y * near**2)]
    return length, tuple(made)


@subkernel
def _corner(u: float, side: int) -> int:
    """The corner of the grid below a coordinate; one of the grid for any number, also NaN."""
    return max(0, min(side - 2, int(u)))


@kernel
def distributed(points: Floats, masses: Floats, left: float, bottom: float, cell: float, side: int) -> Floats:
    """Masses on a grid: each is divided among the four corners around it, the more the nearer."""
    grid = np.zeros((side, side), np.float32)
    for i in range(points.shape[0]):
        u, v = (points[i, 0] - left) / cell, (points[i, 1] - bottom) / cell
        a, b = _corner(u, side), _corner(v, side)
        u, v = u - a, v - b
        grid[a, b] += masses[i] * (1 - u) * (1 - v)
        grid[a + 1, b] += masses[i] * u * (1 - v)
        grid[a, b + 1] += masses[i] * (1 - u) * v
        grid[a + 1, b + 1] += masses[i] * u * v
    return grid


@kernel
def step(places: Floats, velocity: Floats, masses: Floats, affinities: Affinities, field: Field) -> None:
    """Move all points by one step; the forces on all are computed first."""
    n = places.shape[0]
    force = np.empty((n, 2), np.float32)
    total, z = 0.0, 0.0
    for i in range(n):
        u, v = (places[i, 0] - field.left) / field.cell, (places[i, 1] - field.bottom) / field.cell
        a, b = _corner(u, field.x.shape[0]), _corner(v, field.x.shape[0])
        u, v = u - a, v - b
        p, q, r, s = (1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v
        near = field.potential
        z += masses[i] * (p * near[a, b] + q * near[a + 1, b] + r * near[a, b + 1] + s * near[a + 1, b + 1])
        total += masses[i]
        force[i, 0] = p * field.x[a, b] + q * field.x[a + 1, b] + r * field.x[a, b + 1] + s * field.x[a + 1, b + 1]
        force[i, 1] = p * field.y[a, b] + q * field.y[a + 1, b] + r * field.y[a, b + 1] + s * field.y[a + 1, b + 1]
    repulsion = total / max(z, 1e-12)
    for i in range(n):
        x, y = 0.0, 0.0
        for k in range(affinities.starts[i], affinities.starts[i + 1]):
            j = affinities.others[k]
            dx, dy = places[j, 0] - places[i, 0], places[j, 1] - places[i, 1]
            pull = affinities.weights[k] / (1.0 + dx * dx + dy * dy)
            x += pull * dx
            y += pull * dy
        force[i, 0] = x + repulsion * force[i, 0]
        force[i, 1] = y + repulsion * force[i, 1]
    for i in range(n):
        for d in range(2):
            moved = _MOMENTUM * velocity[i, d] + _RATE * force[i, d]
            velocity[i, d] = min(_LONGEST_STEP, max(-_LONGEST_STEP, moved))
            places[i, d] += velocity[i, d]
