"""The records that reading returns, and the counts of what was read and what was left out."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from gossamer.checks import id_problem, metadata_problem, text_problem
from gossamer.errors import InputError
from gossamer.readers.walk import Source

logger = logging.getLogger(__name__)

OnError: TypeAlias = Literal["auto", "raise", "skip"]

_as_json = json.JSONEncoder(ensure_ascii=False).encode

_WARNINGS = 20
"""Problems logged as warnings; further ones are logged at level DEBUG, so that a bad file does not fill the screen."""


@dataclass(frozen=True)
class Record:
    """One document. `metadata` contains only what JSON can represent; `source` is the file it is from."""

    id: str
    text: str
    metadata: dict[str, Any]
    source: str
    of_file: frozenset[str] = frozenset()
    """Fields of the metadata that tell of the file, not of the document: path and modified."""

    @property
    def own_metadata(self) -> dict[str, Any]:
        """The metadata that do not depend on the file."""
        return {name: value for name, value in self.metadata.items() if name not in self.of_file}

    def with_file(self, fields: Mapping[str, Any]) -> Self:
        """The same with these fields about the file, where it has none of the name itself."""
        added = {name: value for name, value in fields.items() if name not in self.metadata}
        return replace(self, metadata={**self.metadata, **added}, of_file=frozenset(added))


class FieldChoice(NamedTuple):
    """Which fields of a row became the text, as in "title + body", and which the id; None if "<file>:<line>" did."""

    text: str
    id: str | None


@dataclass
class Account:
    """Counts, updated by the readers of the formats. The meaning of each is in `Reading`."""

    on_error: OnError = "auto"
    named: bool = True
    """Whether the file being read was named itself, not found in a folder."""
    records: int = 0
    empty: int = 0
    empty_files: dict[str, None] = field(default_factory=dict)
    """Files with documents without text, in order."""
    broken: int = 0
    binary: int = 0
    links: int = 0
    twins: int = 0
    unread: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Files found in folders that were left out on purpose: (suffix, reason) → how many."""
    charset: str | None = None
    """The encoding of files that are not UTF-8, if the user named it."""
    charsets: dict[str, dict[str, None]] = field(default_factory=dict)
    """Encodings that were assumed, and the files of each, in order."""
    text_fields: set[str] = field(default_factory=set)
    """Fields that the user chose for the text, and some row has."""
    fields: Counter[FieldChoice] = field(default_factory=Counter)
    """How many rows had which fields for text and id."""
    bytes_total: int | None = 0
    finished: int = 0
    """Bytes of the files that were read to the end."""
    position: Callable[[], int] = field(default=int, repr=False)
    """Returns the bytes read of the open file."""

    def without_text(self, source: Source) -> None:
        """Count a document without text."""
        self.empty += 1
        self.empty_files[source.place] = None

    def assume(self, charset: str, source: Source) -> None:
        """Tell that a file which does not say so is read in this encoding; "utf-8" if that is damaged."""
        self.charsets.setdefault(charset, {})[source.place] = None

    def leave_out(self, source: Source, reason: str) -> None:
        """Count a file found in a folder that holds no documents; of one that was named, it is a problem."""
        if source.named:
            self.problem(source.place, reason, "Name another file")
        else:
            self.unread[source.whole_suffix, reason] += 1

    def problem(self, place: str, what: str, cure: str) -> None:
        """Raise InputError, or count and log the problem, as `on_error` says."""
        if self.on_error == "raise" or (self.on_error == "auto" and self.named):
            raise InputError(f"{place}: {what}. {cure}, or skip such input with on_error='skip' (--on-error skip)")
        self.broken += 1
        level = logging.WARNING if self.broken <= _WARNINGS else logging.DEBUG
        logger.log(level, "skipped %s: %s", place, what)

    def takes(self, record: Record, place: str) -> bool:
        """Whether the record is within the limits of an index; if not, report it as a problem."""
        metadata = _as_json(record.metadata) if record.metadata else "{}"
        found = id_problem(record.id) or text_problem(record.text) or metadata_problem(metadata)
        if found is not None:
            self.problem(place, f"the document {found.what}", found.cure.capitalize())
        return found is None


class Reading(Iterator[Record]):
    """The records of all files, one after the other, with counts for a progress bar and a summary."""

    def __init__(self, records: Iterator[Record], account: Account) -> None:
        self._records = records
        self._account = account

    def __next__(self) -> Record:
        record = next(self._records)
        self._account.records += 1
        return record

    @property
    def records(self) -> int:
        """Records returned so far."""
        return self._account.records

    @property
    def skipped(self) -> int:
        """Everything left out: `empty` + `broken` + `binary` + `links`."""
        return self.empty + self.broken + self.binary + self.links

    @property
    def empty(self) -> int:
        """Documents without text."""
        return self._account.empty

    @property
    def empty_files(self) -> list[str]:
        """The files that these are in; lines without text are not told."""
        return list(self._account.empty_files)

    @property
    def twins(self) -> int:
        """Symbolic links in folders to files that are read anyway; each file is read once."""
        return self._account.twins

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
        """Symbolic links out of their folder, which are not read without follow_links=True."""
        return self._account.links

    @property
    def unread(self) -> dict[tuple[str, str], int]:
        """Files in folders that were left out on purpose, by suffix and reason, most frequent first."""
        return dict(self._account.unread.most_common())

    @property
    def fields(self) -> dict[FieldChoice, int]:
        """Which fields of rows became text and id, with the number of rows so far, most frequent first."""
        return dict(self._account.fields.most_common())

    @property
    def charsets(self) -> dict[str, list[str]]:
        """Encodings that were assumed, with their files; "utf-8" of those in which bytes are replaced by U+FFFD."""
        return {charset: list(files) for charset, files in self._account.charsets.items()}

    @property
    def bytes_total(self) -> int | None:
        """Bytes on disk of all files; None if standard input is among them."""
        return self._account.bytes_total

    @property
    def bytes_done(self) -> int:
        """Bytes on disk read so far."""
        return self._account.finished + self._account.position()
