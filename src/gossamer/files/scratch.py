"""Large arrays that need not stay in memory: each is the content of a temporary file without a name.

The system can move such an array out of memory as it moves out any file that is mapped. Small arrays, and all where no
file can be made, are in memory.
"""

import mmap
import os
import tempfile
from collections.abc import Callable
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles

_LARGE: Final = 1 << 28
"""Bytes from which on an array that changes is in a file: what is smaller is not worth one."""
_LARGE_COPY: Final = 1 << 26
"""Bytes from which on a copy that is hardly ever read is in a file."""
_WRITTEN_AT_ONCE: Final = 4096
_ON_DISK: Final = "/var/tmp"
"""Where large files go, unless TMPDIR is set: on some systems the usual folder for temporary files is in memory."""


class _Content(mmap.mmap):
    """Content of a temporary file: shared with the file, so that it is there again after it left memory."""


def zeros(rows: int, columns: int) -> Doubles:
    """Zeros, to be changed."""
    size = 8 * rows * columns
    content = None if size < _LARGE else _content(size, lambda file: None)
    if content is None:
        return np.zeros((rows, columns))
    return np.frombuffer(content, np.float64).reshape(rows, columns)


def copied(array: npt.NDArray[np.floating], dtype: npt.DTypeLike) -> npt.NDArray[np.floating]:
    """A copy of a matrix with another type of number, to be read only."""

    def write(file: IO[bytes]) -> None:
        for first in range(0, len(array), _WRITTEN_AT_ONCE):
            file.write(np.ascontiguousarray(array[first : first + _WRITTEN_AT_ONCE], dtype).data)
        file.flush()

    size = np.dtype(dtype).itemsize * array.size
    content = None if size < _LARGE_COPY else _content(size, write)
    return array.astype(dtype) if content is None else np.frombuffer(content, dtype).reshape(array.shape)


def release(*arrays: npt.NDArray[np.floating]) -> None:
    """Take arrays that are in files out of this process's memory, until they are read or changed again."""
    for array in arrays:
        owner: object = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        owner = owner.obj if isinstance(owner, memoryview) else owner
        if isinstance(owner, _Content) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)


def _content(size: int, write: Callable[[IO[bytes]], None]) -> _Content | None:
    """A mapped file of `size` bytes with what `write` writes to it; None where there is no room for it."""
    folder = None if "TMPDIR" in os.environ or not os.access(_ON_DISK, os.W_OK) else _ON_DISK
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a full disk is told here, not by a signal later
            else:
                file.truncate(size)
            write(file)
            return _Content(file.fileno(), size)
    except OSError:
        return None
