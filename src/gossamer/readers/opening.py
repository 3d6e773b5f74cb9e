"""Opening text files: compressed or not, with a byte order mark or not, and with bytes that are no UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gossamer.readers.record import Account
from gossamer.readers.walk import STDIN, Source

logger = logging.getLogger(__name__)

_LOOK = 8192
"""Bytes at the beginning of a file that tell whether it is text."""

_PIECE = 1 << 20
"""Characters read at a time of a file that is read whole."""

LONGEST_LINE = 2**26
"""Characters in a line; a few compressed kilobytes can unpack to gigabytes without end."""


class NotTextError(Exception):
    """The file is binary; `read` decides what that means."""


class TooLargeError(Exception):
    """A file, or a line of it, holds more than can be read at once: what is too large, and the cure."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


class TextFile:
    """An open file as text. Bytes that are no UTF-8 are replaced, and reported once."""

    def __init__(self, stream: io.TextIOWrapper, place: str) -> None:
        self._stream = stream
        self._place = place
        self._reported = False

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(iter(partial(self._stream.readline, LONGEST_LINE + 1), ""), 1):
            if len(line) > LONGEST_LINE:
                what = f"line {number} has more than {LONGEST_LINE:,} characters, and the file is not read any further"
                raise TooLargeError(what, "Break it into several")
            yield self._mend(line)

    def read(self, most: int, cure: str = "Split it into several") -> str:
        """All of it, if that is at most so many characters."""
        pieces, left = [], most
        while piece := self._stream.read(_PIECE):
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise TooLargeError(f"more than {most:,} characters, which would be read as a whole", cure)
        return self._mend("".join(pieces))

    def _mend(self, text: str) -> str:
        """Undecodable bytes come as lone surrogates, which cannot be encoded: that is how they are noticed."""
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            if not self._reported:
                self._reported = True
                logger.warning("%s is not all UTF-8: what cannot be read is replaced by \ufffd", self._place)
            return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return text


@contextmanager
def open_text(source: Source, account: Account, newline: str | None = None) -> Iterator[TextFile]:
    """`source` as text, its progress told to `account`. Raises NotTextError for a binary file."""
    with _raw(source) as raw:
        counted = _Counted(raw)
        account.position = counted.tell_count
        stream: Any = io.BufferedReader(counted, 1 << 16)
        if source.path.suffix.lower() == ".gz":
            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), 1 << 16)
        encoding = _encoding(stream.peek(_LOOK)[:_LOOK])
        errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
        with io.TextIOWrapper(stream, encoding, errors, newline) as text:
            yield TextFile(text, source.place)


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        raise NotTextError
    return "utf-8-sig"


@contextmanager
def _raw(source: Source) -> Iterator[Any]:
    if source.path == STDIN:
        yield sys.stdin.buffer  # not ours to close
    else:
        with open(source.path, "rb", buffering=0, opener=None if source.named else _regular) as raw:
            yield raw


def _regular(path: str, flags: int) -> int:
    """Open a file found in a folder, without waiting for ever should it have become a pipe since."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("no longer a regular file")
    return handle


class _Counted(io.RawIOBase):
    """Counts the bytes that pass, also where a position cannot be asked for: pipes, standard input."""

    def __init__(self, raw: Any) -> None:
        # Buffered streams have readinto1, which returns what is there and does not wait for more.
        self._read: Callable[[Any], int] = getattr(raw, "readinto1", raw.readinto)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._read(buffer)
        self._count += count
        return count

    def tell_count(self) -> int:
        """Bytes read so far."""
        return self._count
