"""The rows of documents.sqlite: documents, passages, vectors, encoder state.

Each is written with a checksum that is compared on reading: SQLite keeps none, and would not notice a flipped bit.
"""

import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from gossamer.array_types import DocumentNumber, Floats, Longs, PassageNumber
from gossamer.checks import as_vectors
from gossamer.errors import CorruptError, InputError
from gossamer.files import tensors
from gossamer.files.bundle import Bundle

_Number = TypeVar("_Number", DocumentNumber, PassageNumber)
_Row = TypeVar("_Row")

CURE = "restore it from a copy, or run gossamer repair"
"""What to do where documents.sqlite is damaged."""

_LISTED = "(SELECT value FROM json_each(?))"
"""A list of any length as one SQL parameter."""

_FEW = 100
"""Values that are SQL parameters of their own; SQLite has a limit, in old versions 999."""

_DOCUMENTS = "SELECT document, id, text, metadata, crc FROM documents"
_PASSAGES = "SELECT passage, document, start, stop, born, crc FROM passages WHERE gone IS NULL"

CUT = 0
"""In place of a document's number in the table `updates`: up to this operation, updates are not listed any more."""

_MOST_LEVELS = 200
"""Levels of nested JSON that are kept where metadata is nested too deeply for Python's parser."""


class DocumentRow(NamedTuple):
    """One document; `metadata` is JSON text."""

    document: DocumentNumber
    id: str
    text: str
    metadata: str

    @property
    def crc(self) -> int:
        """The checksum over all columns."""
        return row_crc(self.document, self.id, self.text, self.metadata)

    def read_metadata(self) -> dict[str, Any]:
        """The metadata as a dict; the upper levels of it where it is nested too deeply for Python's parser."""
        return _parsed(self.metadata)


class PassageRow(NamedTuple):
    """The part `text[start:stop]` of a document."""

    passage: PassageNumber
    document: DocumentNumber
    start: int
    stop: int

    def crc(self, added_by: int) -> int:
        """The checksum over all columns and the operation that added the passage."""
        return row_crc(self.passage, self.document, self.start, self.stop, added_by)


# -- documents -------------------------------------------------------------------------------------


def count_documents(db: sqlite3.Connection) -> int:
    """The number of documents."""
    return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])


def documents_by_number(db: sqlite3.Connection, numbers: Iterable[DocumentNumber]) -> dict[DocumentNumber, DocumentRow]:
    """The documents with these numbers; `CorruptError` where one is missing."""
    wanted = list(numbers)
    rows = db.execute(f"{_DOCUMENTS} WHERE document IN {_LISTED}", (_listed(wanted),))
    return _complete(wanted, {row.document: row for row in map(checked_document, rows)}, "document")


def documents_there(db: sqlite3.Connection, numbers: Iterable[DocumentNumber]) -> dict[DocumentNumber, DocumentRow]:
    """Those of the documents with these numbers that exist, in order of arrival."""
    rows = db.execute(f"{_DOCUMENTS} WHERE document IN {_LISTED} ORDER BY document", (_listed(numbers),))
    return {row.document: row for row in map(checked_document, rows)}


def documents_by_id(db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, DocumentRow]:
    """Those of the documents with these ids that exist."""
    rows = db.execute(f"{_DOCUMENTS} WHERE id IN {_LISTED}", (_listed(ids),))
    return {row.id: row for row in map(checked_document, rows)}


def id_holding(db: sqlite3.Connection, part: str) -> str | None:
    """The shortest id that a text is a part of: what was meant, perhaps."""
    row = db.execute("SELECT id FROM documents WHERE instr(id, ?) ORDER BY length(id), id LIMIT 1", (part,)).fetchone()
    return None if row is None else str(row[0])


def all_documents(db: sqlite3.Connection) -> Iterator[DocumentRow]:
    """Every document, in order of arrival."""
    return map(checked_document, db.execute(f"{_DOCUMENTS} ORDER BY document"))


def metadata_between(db: sqlite3.Connection, first: int, last: int) -> dict[DocumentNumber, dict[str, Any]]:
    """The metadata of the documents with numbers from `first` to `last`; checksums are not compared."""
    found = dict(db.execute("SELECT document, metadata FROM documents WHERE document BETWEEN ? AND ?", (first, last)))
    return _with_metadata(found)


def metadata_of(db: sqlite3.Connection, numbers: Iterable[DocumentNumber]) -> dict[DocumentNumber, dict[str, Any]]:
    """The metadata of those of some documents that exist; checksums are not compared."""
    query = f"SELECT document, metadata FROM documents WHERE document IN {_LISTED}"
    return _with_metadata(dict(db.execute(query, (_listed(numbers),))))


def insert_documents(db: sqlite3.Connection, rows: Sequence[DocumentRow]) -> None:
    """Add documents."""
    db.executemany(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
        ((row.document, row.id, row.text, row.metadata, row.crc) for row in rows),
    )


def update_metadata(db: sqlite3.Connection, rows: Sequence[DocumentRow], seq: int) -> None:
    """Replace the metadata of documents, as a part of operation `seq`; their texts stay."""
    db.executemany(
        "UPDATE documents SET metadata = ?, crc = ? WHERE document = ?",
        ((row.metadata, row.crc, row.document) for row in rows),
    )
    db.executemany("INSERT OR REPLACE INTO updates VALUES (?, ?)", ((seq, row.document) for row in rows))


def updated_since(db: sqlite3.Connection, seq: int) -> list[DocumentNumber] | None:
    """The documents that got other metadata after operation `seq`; None where that is not known any more."""
    changed = changed_since(db, seq)
    return None if changed is None else sorted(changed[1])


def remove_documents(db: sqlite3.Connection, numbers: Sequence[DocumentNumber]) -> None:
    """Remove documents."""
    db.execute(f"DELETE FROM documents WHERE document IN {_LISTED}", (_listed(numbers),))


def changed_since(db: sqlite3.Connection, seq: int) -> tuple[set[DocumentNumber], set[DocumentNumber]] | None:
    """The documents that came or went after operation `seq`, and those whose metadata was replaced.

    None where the log does not tell: before format version 3, or where it was cut after that.
    """
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'updates'").fetchone() is None:
        return None
    if db.execute("SELECT 1 FROM updates WHERE seq > ? AND document = ?", (seq, CUT)).fetchone() is not None:
        return None
    came_or_went = "SELECT document FROM passages WHERE born > ?1 UNION SELECT document FROM passages WHERE gone > ?1"
    moved = db.execute(came_or_went, (seq,))
    updated = db.execute("SELECT document FROM updates WHERE seq > ?", (seq,))
    return {row[0] for row in moved}, {row[0] for row in updated}


def count_values(
    db: sqlite3.Connection, numbers: Iterable[DocumentNumber], longest: int
) -> Iterator[tuple[str, str, int]]:
    """How often each value of each metadata field is in some documents: field, value as JSON, and count.

    Elements of a list count each; objects, null, and texts longer than `longest` characters do not.
    """
    value = "CASE {0}.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE json_quote({0}.atom) END"
    plain = "{0}.type IN ('text', 'integer', 'real', 'true', 'false') AND length({0}.atom) <= ?2"
    query = (
        "WITH field AS (SELECT f.key, f.type, f.value, f.atom FROM documents, json_each(metadata) AS f "
        "WHERE document IN (SELECT value FROM json_each(?1))) "
        f"SELECT key, {value.format('field')}, count(*) FROM field WHERE {plain.format('field')} GROUP BY 1, 2 "
        f"UNION ALL SELECT field.key, {value.format('e')}, count(*) FROM field, json_each(field.value) AS e "
        f"WHERE field.type = 'array' AND {plain.format('e')} GROUP BY 1, 2"
    )
    return iter(db.execute(query, (_listed(numbers), longest)))


# -- passages and their vectors --------------------------------------------------------------------


class ReadPassage(NamedTuple):
    """The part `text[start:stop]` of a document."""

    start: int
    stop: int
    document: DocumentRow


def read_passages(db: sqlite3.Connection, numbers: Iterable[PassageNumber]) -> dict[PassageNumber, ReadPassage]:
    """The passages with these numbers and their documents, by one statement; `CorruptError` where one is missing."""
    wanted = list(numbers)
    marks, values = _some(wanted)
    query = (
        "SELECT passage, document, start, stop, born, p.crc, document, id, text, metadata, d.crc FROM passages AS p "
        f"JOIN documents AS d USING (document) WHERE gone IS NULL AND passage IN {marks}"
    )
    found: dict[PassageNumber, ReadPassage] = {}
    for row in db.execute(query, values):
        _check_passage(row[:6])
        found[row[0]] = ReadPassage(row[2], row[3], checked_document(row[6:]))
    return _complete(wanted, found, "passage")


def owners(db: sqlite3.Connection, first: int) -> tuple[Longs, Longs]:
    """All passages from number `first` on, in ascending order, and the document of each.

    Checksums are not compared; that is done when a hit is shown. One list a column takes a third of the time of a row
    for each passage.
    """
    query = "SELECT json_group_array(passage), json_group_array(document) FROM passages WHERE gone IS NULL"
    found = db.execute(f"{query} AND passage >= ?", (first,)).fetchone()
    try:
        passages, documents = (np.array(json.loads(column), np.int64) for column in found)
    except (TypeError, ValueError, OverflowError) as error:
        raise CorruptError(f"the passages from {first} on were altered: {CURE}") from error
    order = np.argsort(passages, kind="stable")
    return passages[order], documents[order]


def passages_of(db: sqlite3.Connection, documents: Iterable[DocumentNumber]) -> list[PassageNumber]:
    """The numbers of all passages of some documents, ascending."""
    query = f"SELECT passage FROM passages WHERE gone IS NULL AND document IN {_LISTED} ORDER BY passage"
    return [row[0] for row in db.execute(query, (_listed(documents),))]


def ids_of_documents(db: sqlite3.Connection) -> dict[DocumentNumber, str]:
    """The id of every document, in order of arrival."""
    return dict(db.execute("SELECT document, id FROM documents ORDER BY document"))


def ids_of_passages(db: sqlite3.Connection) -> Iterator[tuple[PassageNumber, str]]:
    """Every passage with the id of its document, in order."""
    query = "SELECT passage, id FROM passages JOIN documents USING (document) WHERE gone IS NULL ORDER BY passage"
    return iter(db.execute(query))


def passage_texts(
    db: sqlite3.Connection, passages: Iterable[PassageNumber], most: int
) -> dict[PassageNumber, tuple[str, str]]:
    """For each passage the id of its document and its first `most` characters; checksums are not compared."""
    marks, values = _some(list(passages))
    query = (
        "SELECT passage, id, substr(text, start + 1, min(stop - start, ?)), document, start, stop "
        f"FROM passages JOIN documents USING (document) WHERE gone IS NULL AND passage IN {marks}"
    )
    found: dict[PassageNumber, tuple[str, str]] = {}
    for passage, id, text, document, start, stop in db.execute(query, (most, *values)):
        if len(text) < min(stop - start, most):  # SQLite's substr ends at a NUL
            (whole,) = db.execute("SELECT text FROM documents WHERE document = ?", (document,)).fetchone()
            text = whole[start : min(stop, start + most)]
        found[passage] = id, text
    return found


def all_passages(db: sqlite3.Connection) -> list[PassageRow]:
    """Every passage, in order."""
    return [checked_passage(row) for row in db.execute(f"{_PASSAGES} ORDER BY passage")]


def insert_passages(db: sqlite3.Connection, rows: Sequence[PassageRow], vectors: Floats, seq: int) -> None:
    """Add passages with their vectors, as a part of operation `seq`."""
    db.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?, ?, NULL, ?)",
        ((row.passage, row.document, row.start, row.stop, seq, row.crc(seq)) for row in rows),
    )
    blobs = ((row.passage, vector.tobytes()) for row, vector in zip(rows, vectors, strict=True))
    db.executemany("INSERT INTO vectors VALUES (?, ?, ?)", ((at, blob, vector_crc(at, blob)) for at, blob in blobs))


def mark_removed(db: sqlite3.Connection, documents: Sequence[DocumentNumber] | None, seq: int) -> list[PassageNumber]:
    """Mark the passages of some documents, or of all, as removed by operation `seq`; returns them in order."""
    which = "gone IS NULL" if documents is None else f"gone IS NULL AND document IN {_LISTED}"
    parameters = () if documents is None else (_listed(documents),)
    numbers = [row[0] for row in db.execute(f"SELECT passage FROM passages WHERE {which} ORDER BY 1", parameters)]
    db.execute(f"UPDATE passages SET gone = ? WHERE passage IN {_LISTED}", (seq, _listed(numbers)))
    return numbers


def vectors_where(
    db: sqlite3.Connection, condition: str, parameters: Sequence[Any]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The numbers and vectors of the passages that satisfy an SQL condition, in order.

    The vectors are checked like those a caller gives, since a checksum says nothing of who wrote the file.
    """
    rows = db.execute(
        "SELECT passage, document, start, stop, born, p.crc, vector, v.crc "
        f"FROM passages AS p LEFT JOIN vectors AS v USING (passage) WHERE {condition} ORDER BY passage",
        parameters,
    )
    numbers: list[PassageNumber] = []
    blobs: list[bytes] = []
    for *place, blob, crc in rows:
        number = checked_passage(place).passage
        if not isinstance(blob, bytes) or vector_crc(number, blob) != crc:
            raise CorruptError(f"the vector of passage {number} was altered: {CURE}")
        numbers.append(number)
        blobs.append(blob)
    if len({len(blob) for blob in blobs}) > 1:
        raise CorruptError(f"vectors of one operation differ in length: {CURE}")
    try:
        matrix = np.frombuffer(b"".join(blobs), np.float32).reshape(len(blobs), -1 if blobs else 0)
        vectors = as_vectors(matrix, matrix.shape[1]) if blobs else matrix
    except (InputError, ValueError) as error:
        raise CorruptError(f"passages {numbers[0]} to {numbers[-1]} have no valid vectors ({error}): {CURE}") from error
    return np.array(numbers, np.int64), vectors


def vectors_of(db: sqlite3.Connection, passages: Iterable[PassageNumber]) -> tuple[npt.NDArray[np.int64], Floats]:
    """The numbers and vectors of some passages, in ascending order."""
    return vectors_where(db, f"gone IS NULL AND passage IN {_LISTED}", (_listed(passages),))


def vectors_in_order(db: sqlite3.Connection, passages: Sequence[PassageNumber]) -> Floats:
    """The vectors of some passages, a row each; also of passages that were removed, while the log may be replayed."""
    numbers, vectors = vectors_where(db, f"passage IN {_LISTED}", (_listed(passages),))
    places = np.searchsorted(numbers, np.array(passages, np.int64))
    return vectors[places]


def mean_vectors(db: sqlite3.Connection, documents: Sequence[DocumentNumber]) -> Floats:
    """The mean of the vectors of each document's passages, a row for each document."""
    query = f"SELECT passage, document FROM passages WHERE gone IS NULL AND document IN {_LISTED}"
    owner = dict(db.execute(query, (_listed(documents),)))
    passages, vectors = vectors_of(db, owner)
    known, places = np.unique([owner[passage] for passage in passages.tolist()], return_inverse=True)
    sums = np.zeros((len(known), vectors.shape[1]))
    np.add.at(sums, places, vectors)
    means: Floats = (sums / np.bincount(places, minlength=len(known))[:, None]).astype(np.float32)
    return means[np.searchsorted(known, np.array(documents, np.int64))]


def next_number(db: sqlite3.Connection, table: str) -> int:
    """The number that the next row of `table` gets; numbers of removed rows are not reused."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    if row is not None and not isinstance(row[0], int):
        raise CorruptError(f"the numbering of {table} was altered: {CURE}")
    return row[0] + 1 if row else 1


# -- encoder state ---------------------------------------------------------------------------------


def write_encoder_state(db: sqlite3.Connection, state: Bundle) -> None:
    """Store what an encoder learnt from the corpus, in the same transaction as the vectors it made."""
    params, arrays = json.dumps(state.params), b"".join(tensors.pieces(state.arrays))
    db.execute("INSERT OR REPLACE INTO encoder VALUES (1, ?, ?, ?)", (params, arrays, _state_crc(params, arrays)))


def read_encoder_state(db: sqlite3.Connection) -> Bundle | None:
    """What the encoder learnt from the corpus; None where it does not learn or has not yet."""
    row = db.execute("SELECT params, arrays, crc FROM encoder").fetchone()
    if row is None:
        return None
    params, arrays, crc = row
    altered = CorruptError("what the encoder learnt was altered on disk: restore documents.sqlite from a copy")
    if not isinstance(params, str) or not isinstance(arrays, bytes) or _state_crc(params, arrays) != crc:
        raise altered
    try:
        return Bundle(json.loads(params), tensors.read(bytearray(arrays)))
    except (ValueError, RecursionError) as error:
        raise altered from error


# -- checksums -------------------------------------------------------------------------------------


def checked_document(row: Sequence[Any]) -> DocumentRow:
    """A row of `documents`; `CorruptError` where its checksum differs."""
    if is_altered(row[:4], row[4]):
        raise CorruptError(f"document {row[1]!r} was altered on disk: {CURE}")
    return DocumentRow(*row[:4])


def checked_passage(row: Sequence[Any]) -> PassageRow:
    """A row of `passages`; `CorruptError` where its checksum differs."""
    _check_passage(row)
    return PassageRow(*row[:4])


def _check_passage(row: Sequence[Any]) -> None:
    if is_altered(row[:5], row[5]):
        raise CorruptError(f"passage {row[0]!r} was altered on disk: {CURE}")


def vector_crc(passage: int, blob: bytes) -> int:
    """The checksum over a vector and the number of its passage."""
    return zlib.crc32(blob, passage & 0xFFFFFFFF)


def row_crc(*values: object) -> int:
    """The checksum over the columns of a row."""
    return zlib.crc32("\x1f".join(map(str, values)).encode())


def is_altered(values: Sequence[object], crc: object) -> bool:
    """Whether the columns of a row are not what they were when its checksum was made.

    Up to format version 3 that was over their `repr`, which for characters that are new in Unicode depends on the
    version of Python.
    """
    return row_crc(*values) != crc and zlib.crc32(repr(tuple(values)).encode()) != crc


def _state_crc(params: str, arrays: bytes) -> int:
    return zlib.crc32(arrays, zlib.crc32(params.encode()))


def _complete(wanted: Sequence[_Number], found: dict[_Number, _Row], what: str) -> dict[_Number, _Row]:
    """`found`, or `CorruptError` where a number that the tree knows is not in the database."""
    if len(found) < len(wanted) and (missing := set(wanted) - set(found)):
        raise CorruptError(f"{what} {min(missing)} is missing from documents.sqlite: {CURE}")
    return found


def read_metadata(found: Sequence[DocumentRow]) -> list[dict[str, Any]]:
    """The metadata of documents."""
    return _all_parsed([row.metadata for row in found])


def _all_parsed(texts: Sequence[str]) -> list[Any]:
    """JSON texts, read all together: to read each by itself takes longer by a quarter, and twice as long where there
    are few."""
    try:
        values: list[Any] = json.loads(f"[{','.join(texts)}]")
        if len(values) == len(texts):
            return values
    except (TypeError, ValueError, RecursionError):
        pass
    return [_parsed(text) for text in texts]


def _with_metadata(found: dict[DocumentNumber, str]) -> dict[DocumentNumber, dict[str, Any]]:
    """The same with JSON text read."""
    try:
        values = _all_parsed(list(found.values()))
    except (TypeError, ValueError, RecursionError) as error:
        raise CorruptError(f"the metadata of documents {min(found)} to {max(found)} was altered: {CURE}") from error
    if not all(type(value) is dict for value in values):
        raise CorruptError(f"the metadata of documents {min(found)} to {max(found)} was altered: {CURE}")
    return dict(zip(found, values, strict=True))


def _parsed(text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except RecursionError:  # added with more room on the stack, or by another Python
        found = json.loads(_upper_levels(text))
    return found


def _upper_levels(text: str) -> str:
    """JSON text in which "…" replaces every object and list below `_MOST_LEVELS` levels."""
    kept, level = [], 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[^"\[\]{}]+', text, re.DOTALL):
        token = match[0]
        if token in ("[", "{"):
            level += 1
            if level == _MOST_LEVELS + 1:
                kept.append('"…"')
        if level <= _MOST_LEVELS:
            kept.append(token)
        if token in ("]", "}"):
            level -= 1
    return "".join(kept)


def _some(values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """SQL for a list of values, and its parameters: a mark for each is faster than a list, which has any length."""
    if len(values) > _FEW:
        return _LISTED, (_listed(values),)
    return f"({','.join('?' * len(values))})", values


def _listed(values: Iterable[int] | Iterable[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)
