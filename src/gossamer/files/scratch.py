"""Large arrays of zeros that need not fit in memory."""

import mmap
import tempfile
from typing import Final

import numpy as np

from gossamer.array_types import Doubles

_LARGE: Final = 1 << 28
"""Bytes from which on an array is in a file: what is smaller is not worth one."""


def zeros(rows: int, columns: int) -> Doubles:
    """Zeros: a large array is the content of a temporary file without a name, to which the system can move what it has
    no memory for. In memory where no file can be made."""
    size = 8 * rows * columns
    if size >= _LARGE:
        try:
            with tempfile.TemporaryFile() as file:
                file.truncate(size)
                return np.frombuffer(mmap.mmap(file.fileno(), size), np.float64).reshape(rows, columns)
        except OSError:
            pass
    return np.zeros((rows, columns))
