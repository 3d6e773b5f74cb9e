"""Open text files: compressed or not, and whatever their encoding."""

import gzip
import io
import os
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gossamer.readers.charsets import assumed, by_zero_bytes, marked
from gossamer.readers.record import Account
from gossamer.readers.walk import STDIN, Source

_HEAD = 8192
"""Bytes at the beginning of a file from which it is told whether it is text."""

_BLOCK = 1 << 20
"""Characters read at a time of a file that is read whole."""

LONGEST_LINE = 2**26
"""The most characters of a line: a few compressed kilobytes can unpack to gigabytes."""


class NotTextError(Exception):
    """The file is binary."""


class UnreadableError(Exception):
    """A file or a line that cannot be read: the problem, and the cure."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


class TooLargeError(UnreadableError):
    """It is too large to be read at once."""


class CharsetError(UnreadableError):
    """Its encoding is not known."""


class TextFile:
    """An open text file, read as UTF-8. Where that fails, an encoding is assumed for the whole file."""

    def __init__(self, stream: io.TextIOWrapper, source: Source, account: Account, head: bytes) -> None:
        self._stream = stream
        self._source = source
        self._account = account
        self._head = head
        self._charset: str | None = None
        """What was assumed."""

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
        """`text` with undecodable bytes read in another encoding. They were decoded to lone surrogates."""
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            content = text.encode("utf-8", "surrogateescape")
            if self._charset is None:
                self._charset = self._account.charset or self._assumed(content)
                self._account.assume(self._charset, self._source)
            return content.decode(self._charset, "replace")
        return text

    def _assumed(self, content: bytes) -> str:
        charset = assumed(self._head + content)
        if charset is None:
            raise CharsetError("neither UTF-8 nor western text: --charset names its encoding", "Save it as UTF-8")
        return charset


@contextmanager
def open_text(
    source: Source,
    account: Account,
    newline: str | None = None,
    declared: Callable[[bytes], str | None] = lambda head: None,
) -> Iterator[TextFile]:
    """Open `source` as text and count its bytes in `account`. Raises NotTextError for a binary file.

    `declared` tells the encoding that the beginning of a file declares, for formats that can.
    """
    with open_bytes(source, account) as stream:
        head = stream.peek(_HEAD)[:_HEAD]
        charset = marked(head)
        if charset is None and b"\0" in head:
            charset = by_zero_bytes(head)
            if charset is None:
                raise NotTextError
            account.assume(charset, source)
        charset = charset or declared(head) or "utf-8"
        errors = "surrogateescape" if charset in ("utf-8", "utf-8-sig") else "replace"
        with io.TextIOWrapper(stream, charset, errors, newline) as text:
            yield TextFile(text, source, account, head)


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
