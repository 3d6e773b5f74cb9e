"""Checksums of the pages of documents.sqlite, which SQLite itself does not keep.

    documents.sums    a header, then a CRC-32 for each page of documents.sqlite

The header contains the number of the newest acknowledged operation. It shows when committed operations are missing, as
after SQLite's write-ahead log was damaged or removed.

A checkpoint copies pages from the write-ahead log into the database. Only `Store` starts one, under the write lock, and
it writes the sums of these pages before the log can be overwritten. So a page that is not in the log matches its sum,
unless it was damaged or another program wrote to the file; `Store` then checks the content of the database.

This module opens the database only while this process has no connection to it: closing a file drops all locks that
the process holds on it, SQLite's included.
"""

import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.runtime.threads import in_threads
from gossamer.store.layout import disk_errors
from gossamer.store.wal import Wal

_MAGIC: Final = b"gossamer sums 1\n"
_HEADER: Final = struct.Struct("<16s32sIQ")
"""Magic, identity of the index, page size, newest acknowledged operation; a CRC-32 of these follows."""
_HEADER_SIZE: Final = 64
_CHUNK: Final = 256
"""Pages read at a time."""


class Acknowledged(NamedTuple):
    """The header: identity of the index, page size of its database, newest acknowledged operation."""

    identity: str
    page_size: int
    seq: int


class PageSums:
    """The checksum file of one database."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self.file = database.with_name("documents.sums")

    def acknowledged(self) -> Acknowledged | None:
        """The header; None where the file is missing or its header damaged."""
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
        """Record that operation `seq` was committed. Not synced: an older number after a power cut does no harm."""
        known = self.acknowledged()
        if known is not None and known.identity == identity:
            self._write({0: _header(known._replace(seq=seq))}, sync=False)

    def update(self, sums: Mapping[int, int]) -> None:
        """Overwrite the sums of the pages that a checkpoint is about to copy; durable on return."""
        if sums and self.acknowledged() is not None:
            entries = {_HEADER_SIZE + 4 * (page - 1): struct.pack("<I", value) for page, value in sums.items()}
            self._write(entries, sync=True)

    def truncate(self, pages: int) -> None:
        """Forget the sums of pages that a database, which has become shorter, has no longer."""
        size = _HEADER_SIZE + 4 * pages
        with disk_errors(f"{self.file} could not be written"):
            if self.file.exists() and self.file.stat().st_size > size:
                os.truncate(self.file, size)

    def rebuild(self, identity: str, seq: int) -> None:
        """Write the sums of all pages of a database that is closed and has no write-ahead log."""
        page_size = _page_size(self._database)
        content = _header(Acknowledged(identity, page_size, seq)) + _sums(self._database, page_size).tobytes()
        draft = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        with disk_errors(f"{self.file} could not be written"):
            try:
                with draft.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, self.file)
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def damaged(self, wal: Wal) -> list[int]:
        """The pages of a closed database that differ from their sums and are not in the write-ahead log."""
        known = self.acknowledged()
        if known is None:
            return []
        if known.page_size != _page_size(self._database):
            return [1]
        with disk_errors(f"{self.file} could not be read"):
            stored = np.fromfile(self.file, "<u4", offset=_HEADER_SIZE)
        found = _sums(self._database, known.page_size)
        both = min(len(stored), len(found))
        different = (np.flatnonzero(stored[:both] != found[:both]) + 1).tolist()
        unpaired = range(both + 1, max(len(stored), len(found)) + 1)  # a page without a sum, or a sum without a page
        locks = 2**30 // known.page_size + 1  # SQLite takes its locks at this page, and never writes it
        return [page for page in [*different, *unpaired] if page not in wal.sums and page != locks]

    def _write(self, entries: Mapping[int, bytes], *, sync: bool) -> None:
        with disk_errors(f"{self.file} could not be written"):
            handle = os.open(self.file, os.O_WRONLY)
            try:
                for offset, content in entries.items():
                    os.pwrite(handle, content, offset)
                if sync:
                    os.fsync(handle)
            finally:
                os.close(handle)


def _page_size(database: Path) -> int:
    """The page size in the header of a database: a power of two, where 1 stands for 65,536."""
    with disk_errors(f"{database} could not be read"), database.open("rb") as file:
        raw = file.read(18)
    size = int.from_bytes(raw[16:18], "big") if len(raw) == 18 else 0
    return 65536 if size == 1 else size


def _sums(database: Path, page_size: int) -> npt.NDArray[np.uint32]:
    """The CRC-32 of every page of a file, computed on all cores."""
    size = max(page_size, 512)
    with disk_errors(f"{database} could not be read"), database.open("rb", buffering=0) as file:
        sums = np.zeros(-(-os.fstat(file.fileno()).st_size // size), "<u4")

        def compute(first: int, stop: int) -> None:
            for start in range(first, stop, _CHUNK):
                pages = memoryview(os.pread(file.fileno(), size * min(_CHUNK, stop - start), size * start))
                found = [zlib.crc32(pages[at : at + size]) for at in range(0, len(pages), size)]
                sums[start : start + len(found)] = found

        in_threads(compute, len(sums))
    return sums


def _header(known: Acknowledged) -> bytes:
    head = _HEADER.pack(_MAGIC, known.identity.encode("ascii", "replace"), known.page_size, known.seq)
    return (head + _crc_bytes(head)).ljust(_HEADER_SIZE, b"\0")


def _crc_bytes(head: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(head))
