"""Open text files: compressed or not, with or without a byte order mark, and with invalid UTF-8."""

import codecs
import gzip
import io
import logging
import os
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gossamer.readers.record import Account
from gossamer.readers.walk import STDIN, Source

logger = logging.getLogger(__name__)

_HEAD = 8192
"""Bytes at the beginning of a file from which it is told whether it is text."""

_BLOCK = 1 << 20
"""Characters read at a time of a file that is read whole."""

LONGEST_LINE = 2**26
"""The most characters of a line: a few compressed kilobytes can unpack to gigabytes."""


class NotTextError(Exception):
    """The file is binary."""


class TooLargeError(Exception):
    """A file or a line is too large to be read at once: the problem, and the cure."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


class TextFile:
    """An open text file. Invalid UTF-8 is replaced, with one warning."""

    def __init__(self, stream: io.TextIOWrapper, place: str) -> None:
        self._stream = stream
        self._place = place
        self._reported = False

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(iter(partial(self._stream.readline, LONGEST_LINE + 1), ""), 1):
            if len(line) > LONGEST_LINE:
                what = f"line {number} has more than {LONGEST_LINE:,} characters, and the file is not read any further"
                raise TooLargeError(what, "Break it into several")
            yield self._repaired(line)

    def read(self, most: int, cure: str = "Split it into several") -> str:
        """The whole content, which may have at most `most` characters."""
        blocks, left = [], most
        while block := self._stream.read(_BLOCK):
            blocks.append(block)
            left -= len(block)
            if left < 0:
                raise TooLargeError(f"more than {most:,} characters, which would be read as a whole", cure)
        return self._repaired("".join(blocks))

    def _repaired(self, text: str) -> str:
        """`text` with undecodable bytes replaced. They were decoded to lone surrogates, which cannot be encoded."""
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
def open_text(
    source: Source,
    account: Account,
    newline: str | None = None,
    declared: Callable[[bytes], str | None] = lambda head: None,
) -> Iterator[TextFile]:
    """Open `source` as text and count its bytes in `account`. Raises NotTextError for a binary file.

    `declared` tells the encoding that the beginning of a file declares, for formats that can; others are UTF-8.
    """
    with open_bytes(source, account) as stream:
        encoding = _encoding(stream.peek(_HEAD)[:_HEAD], declared)
        errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
        with io.TextIOWrapper(stream, encoding, errors, newline) as text:
            yield TextFile(text, source.place)


@contextmanager
def open_bytes(source: Source, account: Account) -> Iterator[Any]:
    """Open `source`, unpacked if it is compressed, as a buffered stream, and count its bytes on disk in `account`."""
    with _raw(source) as raw:
        counted = _Counted(raw)
        account.position = lambda: counted.count
        stream: Any = io.BufferedReader(counted, 1 << 16)
        if source.path.suffix.lower() == ".gz":
            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), 1 << 16)
        yield stream


@contextmanager
def open_archive(source: Source, account: Account) -> Iterator[zipfile.ZipFile]:
    """Open `source` as a zip archive. Raises OSError if it is none."""
    with _raw(source) as raw:
        account.position = lambda: raw.tell() if not raw.closed else 0
        try:
            archive = zipfile.ZipFile(raw)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise OSError(str(error)) from error
        with archive:
            yield archive


def _encoding(head: bytes, declared: Callable[[bytes], str | None]) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        raise NotTextError
    named = None if head.startswith(codecs.BOM_UTF8) else declared(head)
    return "utf-8-sig" if named in (None, "utf-8") else named


@contextmanager
def _raw(source: Source) -> Iterator[Any]:
    if source.path == STDIN:
        yield sys.stdin.buffer  # not ours to close
    else:
        with open(source.path, "rb", buffering=0, opener=None if source.named else _regular) as raw:
            yield raw


def _regular(path: str, flags: int) -> int:
    """Open a file found in a folder. If it has become a pipe since, raise instead of waiting for ever."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("no longer a regular file")
    return handle


class _Counted(io.RawIOBase):
    """Counts the bytes read, also of pipes and standard input, which have no position."""

    def __init__(self, raw: Any) -> None:
        # readinto1 of buffered streams returns what is available and does not wait for more.
        self._read: Callable[[Any], int] = getattr(raw, "readinto1", raw.readinto)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._read(buffer)
        self.count += count
        return count
