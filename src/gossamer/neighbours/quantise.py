"""Vectors → codes of one byte a coordinate, a quarter of float32.

    code = clip(round((x − centre)/step), −127, 127)

A grid (centre and step) should span the vectors, but not a far outlier: its steps would be too coarse for all others.
Two rules choose it. `choose_grid` reads all vectors and cuts off at most one in a thousand: it is for codes that are
kept and searched. `choose_robust_grid` reads a sample and goes by medians: it is for codes that are made once more in
every round of agglomeration, and must not depend on a minority of the vectors.
"""

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import Bytes, Doubles, Floats
from gossamer.runtime.jit import kernel, subkernel

LARGEST_CODE: Final = 127
"""Codes lie between −127 and 127, the symmetric range of a signed byte."""

SMALLEST_STEP: Final = 1e-30
"""The step for vectors that are all equal, so that its inverse stays finite."""

_OUTLYING: Final = 4.0
"""A vector is an outlier if it lies so many times as far from the centre as most: its codes are cut off."""

_MOST: Final = 0.999
"""The share of vectors that `choose_grid` spans in any case."""

_SAMPLE: Final = 4096
"""Vectors by which `choose_robust_grid` goes."""

_FARTHEST: Final = 1e5
"""Coordinates in steps are cut off here: still far beyond all codes, and the squares add up within float32."""

_LARGEST: Final = float(np.finfo(np.float32).max)

_CHUNK: Final = 4096
"""Vectors that are converted at a time: 6 MB of float32 at 384 dimensions, which stay in the cache."""


class Grid(NamedTuple):
    """Where codes are 0, and the distance between two codes that differ by 1 in one coordinate."""

    centre: Floats
    step: float


def choose_grid(vectors: Floats) -> Grid:
    """A grid around the mean that spans all vectors, or where a few lie far beyond the others, those others."""
    centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    extent = np.concatenate(
        [np.abs(part - centre).max(axis=1) for part in np.array_split(vectors, 1 + len(vectors) // (2 * _CHUNK))]
    )
    largest, usual = float(extent.max()), float(np.quantile(extent, _MOST))
    return Grid(centre, max(usual if largest > _OUTLYING * usual > 0.0 else largest, SMALLEST_STEP) / LARGEST_CODE)


def choose_robust_grid(vectors: Floats) -> Grid:
    """A grid around the median of the first vectors that spans all of these up to four times the median extent."""
    sample = vectors[:_SAMPLE]
    centre = np.median(sample, axis=0)
    extent = np.abs(sample - centre).max(axis=1)
    largest, usual = float(extent.max()), _OUTLYING * float(np.median(extent))
    return Grid(centre, max((min(largest, usual) or largest) / LARGEST_CODE, SMALLEST_STEP))


def to_steps(vectors: Floats, grid: Grid) -> None:
    """Replace vectors by their coordinates on a grid, (x − centre)/step, not rounded yet."""
    for first in range(0, len(vectors), _CHUNK):
        part = vectors[first : first + _CHUNK]
        part -= grid.centre
        np.clip(part * np.float64(1.0 / grid.step), -_FARTHEST, _FARTHEST, out=part, casting="same_kind")


def pull_in(vectors: Floats, grid: Grid) -> None:
    """Cut off the coordinates of vectors, in place, where `to_steps` would; all others stay as they are."""
    far = _FARTHEST * grid.step
    least, most = (np.clip(grid.centre + np.float64(side), -_LARGEST, _LARGEST) for side in (-far, far))
    for first in range(0, len(vectors), _CHUNK):
        part = vectors[first : first + _CHUNK]
        np.clip(part, least.astype(np.float32), most.astype(np.float32), out=part)


@subkernel
def encode(x: Floats | Doubles, centre: Floats, step: float, out: Bytes) -> tuple[float, float]:
    """Write the code of x; returns the code's squared length from the centre, and the extent of x in steps.

    The length is that of the code, not of x: distances are then exact for a point near x, and off by little where they
    are small.
    """
    inverse = 1.0 / step
    norm, extent = 0.0, 0.0
    for d in range(x.shape[0]):
        steps = np.rint((x[d] - centre[d]) * inverse)
        extent = max(extent, abs(steps))
        code = min(127.0, max(-127.0, steps))
        norm += code * code
        out[d] = np.int8(code)
    return norm * step * step, extent


@kernel
def encode_rows(vectors: Floats, out: Bytes) -> None:
    """Write the codes of vectors that `to_steps` has converted."""
    origin = np.zeros(vectors.shape[1], np.float32)
    for i in range(vectors.shape[0]):
        encode(vectors[i], origin, 1.0, out[i])
