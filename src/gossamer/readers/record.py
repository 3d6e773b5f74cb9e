"""What reading gives: records, and a running account of what was read and what was left out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from gossamer.errors import InputError

logger = logging.getLogger(__name__)

OnError: TypeAlias = Literal["raise", "skip"]

_TOLD = 20
"""Problems that are logged as warnings; a file that is wrong throughout should not fill the screen."""


@dataclass(frozen=True)
class Record:
    """One document, ready to be indexed. `metadata` holds what JSON can hold; `source` is the file it is from."""

    id: str
    text: str
    metadata: dict[str, Any]
    source: str


@dataclass
class Account:
    """What has happened so far. The format modules write it; everyone may read it."""

    on_error: OnError = "raise"
    records: int = 0
    empty: int = 0
    """Documents without text."""
    broken: int = 0
    """Lines, rows or whole files that could not be read, where on_error="skip"."""
    binary: int = 0
    """Files in a folder that turned out to be no text."""
    bytes_total: int | None = 0
    """Size on disk of everything to be read; None where standard input is part of it."""
    finished: int = 0
    position: Callable[[], int] = field(default=int, repr=False)
    """How far the file that is open now has been read."""

    def problem(self, place: str, what: str, cure: str) -> None:
        """Something cannot be read: raise, or count it and go on, as the user chose."""
        if self.on_error == "raise":
            raise InputError(f"{place}: {what}. {cure}, or skip such input with on_error='skip'")
        self.broken += 1
        level = logging.WARNING if self.broken <= _TOLD else logging.DEBUG
        logger.log(level, "skipped %s: %s", place, what)


class Reading(Iterator[Record]):
    """The records of all files, one after the other, with counters for a progress bar and a summary."""

    def __init__(self, records: Iterator[Record], account: Account) -> None:
        self._records = records
        self._account = account

    def __next__(self) -> Record:
        record = next(self._records)
        self._account.records += 1
        return record

    @property
    def records(self) -> int:
        """Records handed out."""
        return self._account.records

    @property
    def skipped(self) -> int:
        """All that was left out: `empty` + `broken` + `binary`."""
        return self.empty + self.broken + self.binary

    @property
    def empty(self) -> int:
        """Documents without text."""
        return self._account.empty

    @property
    def broken(self) -> int:
        """Lines, rows or whole files that could not be read, with on_error="skip"."""
        return self._account.broken

    @property
    def binary(self) -> int:
        """Files found in folders that are not text."""
        return self._account.binary

    @property
    def bytes_total(self) -> int | None:
        """Bytes on disk to be read in all; None where standard input is among them."""
        return self._account.bytes_total

    @property
    def bytes_done(self) -> int:
        """Bytes on disk read so far (of compressed files: compressed)."""
        return self._account.finished + self._account.position()
