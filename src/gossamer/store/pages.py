"""Checksums over the pages of documents.sqlite, which SQLite itself does not keep.

    documents.sums    a header, then a CRC-32 for each page of documents.sqlite

The header holds the number of the newest operation that was acknowledged. With it an index can tell that committed
operations are missing, as when SQLite's write-ahead log was damaged: SQLite takes a damaged log for one that ends
there.

SQLite copies pages from its log into the file when the log is checkpointed, which only `Store` asks for, and the sums
of these pages are written before the log can begin anew. So a page that is not in the log has the content its sum is
of, unless it was damaged, or another program wrote to the file. `Store` then makes a thorough check, which decides.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gossamer.errors import DiskError

_MAGIC: Final = b"gossamer sums 1\n"
_HEADER: Final = struct.Struct("<16s32sIQ")
"""Magic, identity of the index, page size, newest operation; a CRC-32 of these follows."""
_HEADER_SIZE: Final = 64
_WAL_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_CHUNK: Final = 256
"""Pages read at once."""


class Acknowledged(NamedTuple):
    """What the header says."""

    identity: str
    page_size: int
    seq: int


class PageSums:
    """The file of checksums beside one database."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._wal = database.with_name(database.name + "-wal")
        self.file = database.with_name("documents.sums")

    def acknowledged(self) -> Acknowledged | None:
        """The header; None where there is none that can be read."""
        try:
            with self.file.open("rb") as file:
                raw = file.read(_HEADER_SIZE)
        except OSError:
            return None
        head = raw[: _HEADER.size]
        if len(raw) < _HEADER_SIZE or raw[_HEADER.size : _HEADER.size + 4] != _crc_bytes(head):
            return None
        magic, identity, page_size, seq = _HEADER.unpack(head)
        return Acknowledged(identity.decode("ascii", "replace"), page_size, seq) if magic == _MAGIC else None

    def acknowledge(self, identity: str, seq: int) -> None:
        """Note that operation `seq` was committed. Not synced: after a power cut an older number does no harm."""
        known = self.acknowledged()
        if known is not None and known.identity == identity:
            self._write({0: _header(known._replace(seq=seq))}, sync=False)

    def rebuild(self, identity: str, seq: int) -> None:
        """Write the sums of all pages anew: for an index that has none, or after a thorough check."""
        page_size = _page_size(self._database)
        sums = _sums(self._database, page_size, None)
        content = _header(Acknowledged(identity, page_size, seq)) + sums.tobytes()
        draft = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise DiskError(f"{self.file} could not be written: {error.strerror or error}") from error

    def update(self, pages: list[int]) -> None:
        """Write the sums of some pages anew, after SQLite copied them from its log; durable on return."""
        known = self.acknowledged()
        if known is None or not pages:
            return
        sums = _sums(self._database, known.page_size, pages)
        entries = {_HEADER_SIZE + 4 * (page - 1): value.tobytes() for page, value in zip(pages, sums, strict=True)}
        self._write(entries, sync=True)

    def damaged(self) -> list[int]:
        """The pages that are not what their sums are of, and are not in SQLite's log either; none without sums."""
        known = self.acknowledged()
        if known is None or known.page_size != _page_size(self._database):
            return []
        bad = self._mismatches(known.page_size, None)
        if bad:  # a writer may be checkpointing: look again at what is not in its log, which is written before
            logged = set(wal_pages(self._wal).pages)
            bad = self._mismatches(known.page_size, [page for page in bad if page not in logged])
        return bad

    def _mismatches(self, page_size: int, pages: list[int] | None) -> list[int]:
        try:
            stored = np.fromfile(self.file, "<u4", offset=_HEADER_SIZE)
        except OSError as error:
            raise DiskError(f"{self.file} could not be read: {error.strerror or error}") from error
        found = _sums(self._database, page_size, pages)
        numbers = np.arange(1, len(found) + 1) if pages is None else np.array(pages, np.int64)
        known = np.zeros(max(int(numbers.max(initial=0)), len(stored)), "<u4")
        known[: len(stored)] = stored
        short = set(range(len(found) + 1, len(stored) + 1)) if pages is None else set()  # the file ends too soon
        return sorted({*numbers[known[numbers - 1] != found].tolist(), *short})

    def _write(self, entries: dict[int, bytes], *, sync: bool) -> None:
        try:
            handle = os.open(self.file, os.O_WRONLY)
            try:
                for offset, content in entries.items():
                    os.pwrite(handle, content, offset)
                if sync:
                    os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise DiskError(f"{self.file} could not be written: {error.strerror or error}") from error


class Wal(NamedTuple):
    """What a write-ahead log holds, by the headers of its frames; their checksums are SQLite's business."""

    pages: list[int]
    last_commit: int
    """The number of the last frame that ends a transaction, counted from 1; 0 without any."""


def wal_pages(wal: Path) -> Wal:
    """The pages in the current generation of SQLite's write-ahead log; none where there is no log."""
    pages: set[int] = set()
    last_commit = 0
    try:
        with wal.open("rb") as file:
            header = file.read(_WAL_HEADER)
            if len(header) < _WAL_HEADER:
                return Wal([], 0)
            page_size, salts = struct.unpack(">I", header[8:12])[0], header[16:24]
            if not 512 <= page_size <= 65536:
                return Wal([], 0)
            frame = 0
            while len(head := file.read(_FRAME_HEADER)) == _FRAME_HEADER and head[8:16] == salts:
                frame += 1
                page, committed = struct.unpack(">II", head[:8])
                pages.add(page)
                last_commit = frame if committed else last_commit
                file.seek(page_size, os.SEEK_CUR)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise DiskError(f"{wal} could not be read: {error.strerror or error}") from error
    return Wal(sorted(pages), last_commit)


def _page_size(database: Path) -> int:
    """From the header of the file: a power of two, where 1 stands for 65,536."""
    try:
        with database.open("rb") as file:
            raw = file.read(18)
    except OSError as error:
        raise DiskError(f"{database} could not be read: {error.strerror or error}") from error
    size = int.from_bytes(raw[16:18], "big") if len(raw) == 18 else 0
    return 65536 if size == 1 else size


def _sums(database: Path, page_size: int, pages: list[int] | None) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """The CRC-32 of every page of a file, or of some; 0 for a page that is not there."""
    try:
        with database.open("rb", buffering=0) as file:
            if pages is None:
                found: list[int] = []
                while chunk := file.read(_CHUNK * page_size):
                    view = memoryview(chunk)
                    found += [zlib.crc32(view[at : at + page_size]) for at in range(0, len(chunk), page_size)]
            else:
                found = [zlib.crc32(os.pread(file.fileno(), page_size, (page - 1) * page_size)) for page in pages]
    except OSError as error:
        raise DiskError(f"{database} could not be read: {error.strerror or error}") from error
    return np.array(found, "<u4")


def _header(known: Acknowledged) -> bytes:
    head = _HEADER.pack(_MAGIC, known.identity.encode("ascii", "replace"), known.page_size, known.seq)
    return (head + _crc_bytes(head)).ljust(_HEADER_SIZE, b"\0")


def _crc_bytes(head: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(head))
