"""Names for the kinds of arrays and numbers that the engine works on, and how an array is allocated for kernels."""

import math
from typing import Any, Final, NewType, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.int8]
Bools: TypeAlias = npt.NDArray[np.bool_]
Shorts: TypeAlias = npt.NDArray[np.int16]
Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

DocumentNumber = NewType("DocumentNumber", int)
"""A document of a text index. Numbers rise with the order of arrival and are never used again."""

PassageNumber = NewType("PassageNumber", int)
"""A passage of a document; in a text index it is the id of a vector."""

NONE: Final = -1
"""In arrays of numbers: no node, no document, no row."""

CACHE_LINE: Final = 64
"""Bytes in a cache line."""


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike, fill: float = 0) -> npt.NDArray[Any]:
    """A new array full of `fill` that starts at a cache line, so that rows of whole cache lines span no other line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)  # the system's empty pages: nothing is written yet
    start = -room.ctypes.data % CACHE_LINE
    array = room[start : start + size].view(dtype).reshape(shape)
    if fill:
        array[:] = fill
    return array
