"""Read SQLite's write-ahead log without SQLite: which pages it contains, and whether it was damaged.

The log is a header and frames of one page each ("The SQLite File Format", section 4). The checksum of a frame covers
all frames before it, so SQLite takes the first frame whose checksum is wrong for the end of the log, without an error.
A frame behind that point which has the log's salts and ends a transaction shows that the log was damaged.

Only the log is opened here: closing the database or its -shm file would drop the locks that SQLite holds on them in
this process ("How to corrupt", section 2.2).
"""

import io
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.store.layout import disk_errors

_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = 0x377F0682
"""The last bit is set where checksums are over big-endian words."""
_WORD: Final = 2**32
_CHUNK: Final = 256
"""Frames read at a time."""


@dataclass(frozen=True)
class Wal:
    """The content of a log up to its last complete transaction.

    sums        the CRC-32 of each page it contains, in its newest version
    truncated   whether transactions follow that SQLite does not reach, because a frame before them is damaged
    """

    sums: dict[int, int]
    truncated: bool


def read_wal(file: Path) -> Wal:
    """The content of a log; empty where there is none."""
    sums: dict[int, int] = {}
    pending: dict[int, int] = {}  # of a transaction whose last frame was not read yet
    valid = True
    with disk_errors(f"{file} could not be read"), _opened(file) as (handle, header):
        if header is None:
            return Wal({}, truncated=False)
        state = header.state
        for frames in _frames(handle, header):
            heads = frames[:, :_FRAME].copy().view(">u4")
            covered = np.concatenate([frames[:, :8], frames[:, _FRAME:]], axis=1)
            states = _after(state, covered, header.order)
            fits = (states == heads[:, 4:6]).all(axis=1)
            state = states[-1]
            for at, (page, committed) in enumerate(heads[:, :2].tolist()):
                valid = valid and bool(fits[at])
                if not valid and committed:
                    return Wal(sums, truncated=True)
                if valid:
                    pending[page] = zlib.crc32(frames[at, _FRAME:].tobytes())
                    if committed:
                        sums.update(pending)
                        pending.clear()
    return Wal(sums, truncated=False)


def all_frames(file: Path) -> Iterator[tuple[int, bytes]]:
    """The pages in a log up to its last transaction, in order, whether or not their checksums are right."""
    with _opened(file) as (handle, header):
        if header is None:
            return
        commits = np.concatenate([np.zeros(0, bool), *(f[:, 4:8].any(axis=1) for f in _frames(handle, header))])
        last = int(np.flatnonzero(commits).max(initial=-1)) + 1
        handle.seek(_HEADER)
        for frames in _frames(handle, header):
            for frame in frames[: max(0, last)]:
                yield int.from_bytes(frame[:4].tobytes(), "big"), frame[_FRAME:].tobytes()
            last -= len(frames)


class _Header(NamedTuple):
    page_size: int
    salts: bytes
    order: str
    state: npt.NDArray[np.int64]
    """The checksum of the header, from which that of the first frame is computed."""


@contextmanager
def _opened(file: Path) -> Iterator[tuple[BinaryIO, _Header | None]]:
    """A log and its header; the header is None where SQLite would not read the log."""
    if not file.exists():
        yield io.BytesIO(), None
        return
    with file.open("rb") as handle:
        raw = np.frombuffer(handle.read(_HEADER), np.uint8)
        yield handle, _header(raw) if len(raw) == _HEADER else None


def _header(raw: npt.NDArray[np.uint8]) -> _Header | None:
    magic, _, page_size, *_, check1, check2 = struct.unpack(">8I", raw.tobytes())
    order = ">u4" if magic & 1 else "<u4"
    state = _after(np.array([0, 0]), raw[None, : _HEADER - 8].copy(), order)[0]
    if magic & ~1 != _MAGIC or not 512 <= page_size <= 65536 or state.tolist() != [check1, check2]:
        return None
    return _Header(page_size, raw[16:24].tobytes(), order, state)


def _frames(handle: BinaryIO, header: _Header) -> Iterator[npt.NDArray[np.uint8]]:
    """The frames with the salts of the header, up to `_CHUNK` at a time; frames left from before a restart end them."""
    length = _FRAME + header.page_size
    while True:
        raw = np.frombuffer(handle.read(_CHUNK * length), np.uint8)
        frames = raw[: len(raw) // length * length].reshape(-1, length)
        salts = np.frombuffer(header.salts, np.uint8)
        ours = (frames[:, 8:16] == salts).all(axis=1)
        count = len(ours) if ours.all() else int(np.argmin(ours))
        if count:
            yield frames[:count]
        if count < _CHUNK:
            return


def _after(state: npt.NDArray[np.int64], rows: npt.NDArray[np.uint8], order: str) -> npt.NDArray[np.int64]:
    """SQLite's running checksum after each row of bytes.

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
    """Counts the frames of a log, starting from the count of the last call."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._salts = b""
        self._frames = 0

    def now(self) -> int:
        """The number of frames since the log last restarted."""
        try:
            with self._file.open("rb", buffering=0) as file:
                header = file.read(_HEADER)
                if len(header) < _HEADER:
                    return 0
                step = _FRAME + struct.unpack(">I", header[8:12])[0]
                if header[16:24] != self._salts:
                    self._salts, self._frames = header[16:24], 0
                while True:
                    head = os.pread(file.fileno(), 16, _HEADER + self._frames * step)
                    if head[8:] != self._salts:
                        return self._frames
                    self._frames += 1
        except OSError:
            return 0
