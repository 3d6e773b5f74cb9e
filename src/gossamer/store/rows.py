"""Documents and passages as rows: read with their checksums compared, written with them."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.errors import CorruptError

_Row = TypeVar("_Row")

CURE = "restore it from a copy, or run gossamer repair"
"""What to do where documents.sqlite is damaged."""

_LISTED = "(SELECT value FROM json_each(?))"
"""A list of any length as one parameter."""


@dataclass(frozen=True)
class DocumentRow:
    """One document; `metadata` is JSON text."""

    document: int
    id: str
    text: str
    metadata: str

    @property
    def crc(self) -> int:
        """Over all that people see of it."""
        return _crc(self.document, self.id, self.text, self.metadata)

    def read_metadata(self) -> dict[str, Any]:
        """The metadata as a dict; where they are nested too deeply for Python, the upper levels."""
        try:
            found: dict[str, Any] = json.loads(self.metadata)
        except RecursionError:  # added with more room on the stack, or by another Python
            found = json.loads(_upper_levels(self.metadata))
        return found


@dataclass(frozen=True)
class PassageRow:
    """The part `text[start:stop]` of a document."""

    passage: int
    document: int
    start: int
    stop: int

    def crc(self, born: int) -> int:
        """Over the place and the operation that brought it."""
        return _crc(self.passage, self.document, self.start, self.stop, born)


# -- documents -------------------------------------------------------------------------------------


def count_documents(db: sqlite3.Connection) -> int:
    """How many there are."""
    return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])


def documents_by_number(db: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, DocumentRow]:
    """The documents of these numbers, all of which must be there."""
    wanted = list(numbers)
    rows = db.execute(f"{_DOCUMENTS} WHERE document IN {_LISTED}", (_listed(wanted),))
    return _all_of(wanted, {row.document: row for row in map(checked_document, rows)}, "document")


def documents_by_id(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, DocumentRow]:
    """The documents of these ids that are there."""
    rows = db.execute(f"{_DOCUMENTS} WHERE id IN {_LISTED}", (_listed(ids),))
    return {row.id: row for row in map(checked_document, rows)}


def all_documents(db: sqlite3.Connection) -> Iterator[DocumentRow]:
    """Every document, in order of arrival."""
    return map(checked_document, db.execute(f"{_DOCUMENTS} ORDER BY document"))


def numbers_where(db: sqlite3.Connection, condition: str, parameters: Sequence[Any]) -> list[int]:
    """The documents that satisfy an SQL condition over `metadata`, in order of arrival."""
    return [row[0] for row in db.execute(f"SELECT document FROM documents WHERE {condition} ORDER BY 1", parameters)]


def insert_documents(db: sqlite3.Connection, rows: Sequence[DocumentRow]) -> None:
    """Add documents and their words."""
    db.executemany(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
        ((row.document, row.id, row.text, row.metadata, row.crc) for row in rows),
    )
    db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", ((row.document, row.text) for row in rows))


def update_metadata(db: sqlite3.Connection, rows: Sequence[DocumentRow]) -> None:
    """Give documents new metadata; their texts stay."""
    db.executemany(
        "UPDATE documents SET metadata = ?, crc = ? WHERE document = ?",
        ((row.metadata, row.crc, row.document) for row in rows),
    )


def remove_documents(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Take documents and their words out. FTS5 has to be told the words that go."""
    listed = _listed(numbers)
    db.execute(
        "INSERT INTO words (words, rowid, text) "
        f"SELECT 'delete', document, text FROM documents WHERE document IN {_LISTED}",
        (listed,),
    )
    db.execute(f"DELETE FROM documents WHERE document IN {_LISTED}", (listed,))


# -- passages and their vectors --------------------------------------------------------------------


def passages_by_number(db: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, PassageRow]:
    """The passages of these numbers, all of which must be there."""
    wanted = list(numbers)
    rows = db.execute(f"{_PASSAGES} AND passage IN {_LISTED}", (_listed(wanted),))
    return _all_of(wanted, {row.passage: row for row in map(checked_passage, rows)}, "passage")


def owners(db: sqlite3.Connection) -> dict[int, int]:
    """The document of every passage. These lean lookups skip checksums: they are compared when a hit is shown."""
    return dict(db.execute("SELECT passage, document FROM passages WHERE gone IS NULL ORDER BY passage"))


def owners_of(db: sqlite3.Connection, passages: Iterable[int]) -> dict[int, int]:
    """The documents of some passages, all of which must be there."""
    wanted = list(passages)
    query = f"SELECT passage, document FROM passages WHERE gone IS NULL AND passage IN {_LISTED}"
    return _all_of(wanted, dict(db.execute(query, (_listed(wanted),))), "passage")


def owned_by(db: sqlite3.Connection, documents: Iterable[int]) -> dict[int, int]:
    """The passages of some documents, each with its document."""
    query = f"SELECT passage, document FROM passages WHERE gone IS NULL AND document IN {_LISTED}"
    return dict(db.execute(query, (_listed(documents),)))


def ids_of_passages(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Every passage with the id of its document, in order."""
    query = "SELECT passage, id FROM passages JOIN documents USING (document) WHERE gone IS NULL ORDER BY passage"
    return iter(db.execute(query))


def passage_texts(db: sqlite3.Connection, passages: Iterable[int], most: int) -> dict[int, tuple[str, str]]:
    """For each passage the id of its document and its first `most` characters; lean, as the lookups above."""
    query = (
        "SELECT passage, id, substr(text, start + 1, min(stop - start, ?)), document, start, stop "
        f"FROM passages JOIN documents USING (document) WHERE gone IS NULL AND passage IN {_LISTED}"
    )
    found: dict[int, tuple[str, str]] = {}
    for passage, id, text, document, start, stop in db.execute(query, (most, _listed(passages))):
        if len(text) < min(stop - start, most):  # SQLite's substr ends at a NUL
            (whole,) = db.execute("SELECT text FROM documents WHERE document = ?", (document,)).fetchone()
            text = whole[start : min(stop, start + most)]
        found[passage] = id, text
    return found


def all_passages(db: sqlite3.Connection) -> list[PassageRow]:
    """Every passage, in order."""
    return [checked_passage(row) for row in db.execute(f"{_PASSAGES} ORDER BY passage")]


def insert_passages(db: sqlite3.Connection, rows: Sequence[PassageRow], vectors: Floats, born: int) -> None:
    """Add passages with their vectors, brought by operation `born`."""
    db.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?, ?, NULL, ?)",
        ((row.passage, row.document, row.start, row.stop, born, row.crc(born)) for row in rows),
    )
    blobs = ((row.passage, vector.tobytes()) for row, vector in zip(rows, vectors, strict=True))
    db.executemany("INSERT INTO vectors VALUES (?, ?, ?)", ((at, blob, vector_crc(at, blob)) for at, blob in blobs))


def retire_passages(db: sqlite3.Connection, documents: Sequence[int] | None, gone: int) -> list[int]:
    """Mark the passages of some documents, or of all, as taken by operation `gone`; returns them in order."""
    which = "gone IS NULL" if documents is None else f"gone IS NULL AND document IN {_LISTED}"
    parameters = () if documents is None else (_listed(documents),)
    numbers = [row[0] for row in db.execute(f"SELECT passage FROM passages WHERE {which} ORDER BY 1", parameters)]
    db.execute(f"UPDATE passages SET gone = ? WHERE passage IN {_LISTED}", (gone, _listed(numbers)))
    return numbers


def vectors_where(
    db: sqlite3.Connection, condition: str, parameters: Sequence[Any]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The vectors of the passages that satisfy a condition, in order, with the passages' numbers."""
    rows = db.execute(
        "SELECT passage, document, start, stop, born, p.crc, vector, v.crc "
        f"FROM passages AS p LEFT JOIN vectors AS v USING (passage) WHERE {condition} ORDER BY passage",
        parameters,
    )
    numbers: list[int] = []
    blobs: list[bytes] = []
    for *place, blob, crc in rows:
        number = checked_passage(place).passage
        if not isinstance(blob, bytes) or vector_crc(number, blob) != crc:
            raise CorruptError(f"the vector of passage {number} was altered: {CURE}")
        numbers.append(number)
        blobs.append(blob)
    if len({len(blob) for blob in blobs}) > 1:
        raise CorruptError(f"vectors of one operation differ in length: {CURE}")
    matrix = np.frombuffer(b"".join(blobs), np.float32).reshape(len(blobs), -1 if blobs else 0)
    return np.array(numbers, np.int64), matrix


def vectors_of(db: sqlite3.Connection, passages: Iterable[int]) -> tuple[npt.NDArray[np.int64], Floats]:
    """The vectors of some passages, in ascending order, with the passages' numbers."""
    return vectors_where(db, f"gone IS NULL AND passage IN {_LISTED}", (_listed(passages),))


def next_number(db: sqlite3.Connection, table: str) -> int:
    """The number the next row of `table` gets; one that was used is not given out again."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    if row is not None and not isinstance(row[0], int):
        raise CorruptError(f"the numbering of {table} was altered: {CURE}")
    return row[0] + 1 if row else 1


_DOCUMENTS = "SELECT document, id, text, metadata, crc FROM documents"
_PASSAGES = "SELECT passage, document, start, stop, born, crc FROM passages WHERE gone IS NULL"


def checked_document(row: Sequence[Any]) -> DocumentRow:
    """A row of `documents` with its checksum compared."""
    *values, crc = row
    if _crc(*values) != crc:
        raise CorruptError(f"document {values[1]!r} was altered on disk: {CURE}")
    return DocumentRow(*values)


def checked_passage(row: Sequence[Any]) -> PassageRow:
    """A row of `passages` with its checksum compared."""
    *values, crc = row
    if _crc(*values) != crc:
        raise CorruptError(f"passage {values[0]!r} was altered on disk: {CURE}")
    return PassageRow(*values[:4])


def _all_of(wanted: Sequence[int], found: dict[int, _Row], what: str) -> dict[int, _Row]:
    """`found`, unless some of what is in the tree is not in the database."""
    if len(found) < len(wanted) and (missing := set(wanted) - set(found)):
        raise CorruptError(f"{what} {min(missing)} is missing from documents.sqlite: {CURE}")
    return found


def _upper_levels(text: str) -> str:
    """JSON text with "…" in the place of every object and list below 200 others."""
    kept, level = [], 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[^"\[\]{}]+', text, re.DOTALL):
        token = match[0]
        if token in ("[", "{"):
            level += 1
            if level == 201:
                kept.append('"…"')
        if level <= 200:
            kept.append(token)
        if token in ("]", "}"):
            level -= 1
    return "".join(kept)


def _listed(values: Iterable[int] | Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _crc(*values: object) -> int:
    """SQLite keeps no checksums of its own: a byte that flipped in a text would go unnoticed."""
    return zlib.crc32(repr(values).encode())


def vector_crc(passage: int, blob: bytes) -> int:
    """The checksum of a vector, which also says whose it is."""
    return zlib.crc32(blob, passage & 0xFFFFFFFF)
