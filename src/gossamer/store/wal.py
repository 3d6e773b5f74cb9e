"""SQLite's write-ahead log, read from outside: which pages it holds, and whether it was cut.

A log is a header and frames, a page each ("The SQLite File Format", section 4). Every frame carries a checksum over all
frames before it, so SQLite takes the first frame that does not fit for the end of the log, and says nothing. A frame
that belongs to the log and ends a transaction, but lies behind that end, shows that the log was damaged.

Only the log may be opened here: closing the database, or the index of the log beside it, would drop the locks that
SQLite holds on them in this process ("How to corrupt", section 2.2).
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.errors import DiskError

_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = 0x377F0682
"""The last bit says whether checksums are over big-endian words."""
_WORD: Final = 2**32


@dataclass(frozen=True)
class Wal:
    """What a log holds up to its last whole transaction."""

    sums: dict[int, int]
    """The CRC-32 of every page in it, as of the last transaction."""
    cut: bool
    """Whether there is more that belonged to it, but is not reached any more."""


def read_wal(file: Path) -> Wal:
    """The content of a log; an empty one where there is no log."""
    try:
        raw = np.fromfile(file, np.uint8) if file.exists() else np.zeros(0, np.uint8)
    except OSError as error:
        raise DiskError(f"{file} could not be read: {error.strerror or error}") from error
    if len(raw) < _HEADER:
        return Wal({}, cut=False)
    magic, _, page_size, _, salt1, salt2, *check = struct.unpack(">8I", raw[:_HEADER].tobytes())
    order = ">u4" if magic & 1 else "<u4"
    state = _after(np.array([0, 0]), raw[None, : _HEADER - 8].copy(), order)[0]
    if magic & ~1 != _MAGIC or not 512 <= page_size <= 65536 or state.tolist() != check:
        return Wal({}, cut=False)
    frames = raw[_HEADER : _HEADER + (len(raw) - _HEADER) // (_FRAME + page_size) * (_FRAME + page_size)]
    frames = frames.reshape(-1, _FRAME + page_size)
    heads = frames[:, :_FRAME].copy().view(">u4")
    ours = (heads[:, 2] == salt1) & (heads[:, 3] == salt2)
    belonging = len(ours) if ours.all() else int(np.argmin(ours))
    heads, frames = heads[:belonging], frames[:belonging]
    covered = np.concatenate([frames[:, :8], frames[:, _FRAME:]], axis=1)
    fits = (_after(state, covered, order) == heads[:, 4:6]).all(axis=1) if belonging else np.zeros(0, bool)
    valid = belonging if fits.all() else int(np.argmin(fits))
    commits = np.flatnonzero(heads[:, 1])
    last = int(commits[commits < valid].max(initial=-1)) + 1
    newest = {int(page): at for at, page in enumerate(heads[:last, 0].tolist())}
    sums = {page: zlib.crc32(frames[at, _FRAME:].tobytes()) for page, at in newest.items()}
    return Wal(sums, cut=bool((commits >= valid).any()))


def _after(state: npt.NDArray[np.int64], rows: npt.NDArray[np.uint8], order: str) -> npt.NDArray[np.int64]:
    """SQLite's checksum after each row of bytes, one row after the other.

    For a pair of words (a, b) it is s ← s + t + a, then t ← t + s + b: a linear map M = [[1, 1], [1, 2]] of (s, t) and
    the words, modulo 2³². So a row of n pairs adds up as Mⁿ·(s, t) + Σ Mⁿ⁻¹⁻ⁱ·(aᵢ, aᵢ + bᵢ).
    """
    words = rows.view(order).astype(np.uint32)
    a, b = words[:, 0::2], words[:, 1::2]
    powers = _powers(a.shape[1] + 1)
    weights = powers[-2::-1].astype(np.uint32)  # Mⁿ⁻¹ … M⁰
    added = [
        (a * weights[:, row, 0] + (a + b) * weights[:, row, 1]).sum(axis=1, dtype=np.uint32).tolist() for row in (0, 1)
    ]
    (m00, m01), (m10, m11) = powers[-1].tolist()
    s, t = (int(value) for value in state)
    found = []
    for x, y in zip(*added, strict=True):
        s, t = (m00 * s + m01 * t + x) % _WORD, (m10 * s + m11 * t + y) % _WORD
        found.append((s, t))
    return np.array(found, np.int64).reshape(-1, 2)


def _powers(count: int) -> npt.NDArray[np.uint64]:
    """M⁰, M¹, M² … modulo 2³²: their entries are Fibonacci numbers."""
    fibonacci = [1, 0]
    while len(fibonacci) < 2 * count + 1:
        fibonacci.append((fibonacci[-1] + fibonacci[-2]) % _WORD)
    f = np.array(fibonacci, np.uint64)  # f[1] is 0, f[2] is 1
    at = 2 * np.arange(count)
    return np.stack([np.stack([f[at], f[at + 1]], 1), np.stack([f[at + 1], f[at + 2]], 1)], 1)


class FrameCount:
    """How many frames a log has, counted on from the last time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._generation = b""
        self._frames = 0

    def now(self) -> int:
        """The number of frames in the present generation of the log."""
        try:
            with self._file.open("rb", buffering=0) as file:
                header = file.read(_HEADER)
                if len(header) < _HEADER:
                    return 0
                step = _FRAME + struct.unpack(">I", header[8:12])[0]
                if header[16:24] != self._generation:
                    self._generation, self._frames = header[16:24], 0
                while True:
                    head = os.pread(file.fileno(), 16, _HEADER + self._frames * step)
                    if head[8:] != self._generation:
                        return self._frames
                    self._frames += 1
        except OSError:
            return 0
