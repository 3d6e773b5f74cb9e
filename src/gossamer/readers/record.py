"""What reading gives: records, and a running account of what was read and what was left out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from gossamer.document_limits import id_problem, metadata_problem, text_problem
from gossamer.errors import InputError

logger = logging.getLogger(__name__)

OnError: TypeAlias = Literal["raise", "skip"]

_as_json = json.JSONEncoder(ensure_ascii=False).encode

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
    links: int = 0
    """Symbolic links in a folder that lead out of it."""
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

    def takes(self, record: Record, place: str) -> bool:
        """Whether an index can hold a record; if not, that is a problem of the input."""
        metadata = _as_json(record.metadata) if record.metadata else "{}"
        found = id_problem(record.id) or text_problem(record.text) or metadata_problem(metadata)
        if found is not None:
            self.problem(place, f"the document {found.what}", found.cure.capitalize())
        return found is None


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
        """All that was left out: `empty` + `broken` + `binary` + `links`."""
        return self.empty + self.broken + self.binary + self.links

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
    def links(self) -> int:
        """Symbolic links found in folders that lead out of them, without follow_links=True."""
        return self._account.links

    @property
    def bytes_total(self) -> int | None:
        """Bytes on disk to be read in all; None where standard input is among them."""
        return self._account.bytes_total

    @property
    def bytes_done(self) -> int:
        """Bytes on disk read so far (of compressed files: compressed)."""
        return self._account.finished + self._account.position()
