"""Names for the kinds of NumPy arrays that the engine works on, and how one is allocated for fast kernels."""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.int8]
Shorts: TypeAlias = npt.NDArray[np.int16]
Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

NONE: Final = -1
"""Stands for "no node", "no document" and "no row" in arrays of numbers."""

CACHE_LINE: Final = 64
"""Bytes in a cache line."""


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike, fill: float = 0) -> npt.NDArray[Any]:
    """A new array full of `fill` that starts at a cache line, so that rows of whole lines touch no further line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    array = room[start : start + size].view(dtype).reshape(shape)
    array[:] = fill
    return array
