"""Read what a damaged documents.sqlite still contains, row by row."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer.array_types import DocumentNumber, Floats, PassageNumber
from gossamer.checks import as_vectors
from gossamer.errors import GossamerError
from gossamer.files.bundle import Bundle
from gossamer.results import LostDocument
from gossamer.store import rows, schema
from gossamer.store.rows import DocumentRow, PassageRow
from gossamer.store.schema import Settings
from gossamer.store.wal import all_frames

_ROWS_A_PAGE: Final = 1_000
"""An upper bound on the rows of any table that fit into one page."""


@dataclass
class Salvage:
    """What could be read of one index.

    settings            None where they cannot be read
    passages            by document; each with its vector, or None where the vector is damaged
    lost                what could not be read, with the reason
    last_operation      the newest operation in the log
    last_document       the highest number that a document had
    """

    settings: Settings | None = None
    encoder_state: Bundle | None = None
    space: Bundle | None = None
    documents: list[DocumentRow] = field(default_factory=list)
    passages: dict[DocumentNumber, list[tuple[PassageRow, Floats | None]]] = field(default_factory=dict)
    lost: list[LostDocument] = field(default_factory=list)
    last_operation: int = 0
    last_document: int = 0


def salvage(file: Path) -> Salvage:
    """Read every row of a database that can be read and has the right checksum."""
    found = Salvage()
    db = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        found.settings = _settings(db)
        with suppress(GossamerError, sqlite3.Error, ValueError):
            found.encoder_state = rows.read_encoder_state(db)
        damaged = _read_documents(db, found)
        _read_passages(db, found)
        _note_lost(db, found, damaged)
        with suppress(GossamerError, sqlite3.Error):
            found.last_operation = rows.next_number(db, "operations") - 1
        _read_space(db, found)
        found.last_document = min(_largest(db, "documents", "document"), _most_rows(db))
        _agree_on_length(found)
    finally:
        db.close()
    return found


def restore_header(file: Path, page_size: int | None) -> None:
    """Overwrite the first bytes of a copied database with those that every index has."""
    with file.open("r+b") as handle:
        handle.write(b"SQLite format 3\0")
        if page_size is not None:
            handle.write((1 if page_size == 65536 else page_size).to_bytes(2, "big"))


def apply_frames(file: Path, wal: Path) -> None:
    """Write every page of a damaged write-ahead log into a copy of its database, and remove the log.

    The checksums of the rows show which of these pages are damaged.
    """
    with file.open("r+b") as handle:
        for page, content in all_frames(wal):
            handle.seek((page - 1) * len(content))
            handle.write(content)
    wal.unlink()


def _agree_on_length(found: Salvage) -> None:
    """Set the dimension of the index to the length that most vectors have; drop vectors of another length."""
    lengths = Counter(len(vector) for own in found.passages.values() for _, vector in own if vector is not None)
    if not lengths:
        return
    dim = lengths.most_common(1)[0][0]
    for document, own in found.passages.items():
        fitting = [(row, vector if vector is not None and len(vector) == dim else None) for row, vector in own]
        found.passages[document] = fitting
    if found.settings is not None:
        found.settings = replace(found.settings, dim=dim)


def _settings(db: sqlite3.Connection) -> Settings | None:
    """The settings, also where their checksum is wrong but all values are valid; None where they cannot be read."""
    try:
        return schema.read_settings(db)
    except (GossamerError, sqlite3.Error, ValueError, KeyError, TypeError):
        pass
    try:
        return schema.parse_settings(db.execute("SELECT value FROM settings WHERE name = 'index'").fetchone()[0])
    except (sqlite3.Error, ValueError, TypeError):
        return None


def _read_space(db: sqlite3.Connection, found: Salvage) -> None:
    """The space of an index of the preset "given". Where it is lost, the index gets a whitener of its own."""
    if found.settings is None or found.settings.preset != schema.GIVEN:
        return
    try:
        found.space = schema.read_space(db)
    except (GossamerError, sqlite3.Error):
        found.settings = replace(found.settings, preset="default")
        found.lost.append(LostDocument("the whitener", "it could not be read, and is fitted to the documents now"))


def _read_documents(db: sqlite3.Connection, found: Salvage) -> dict[int, tuple[str, str]]:
    """Read the documents; returns the numbers of those that could not be, each with a name and the reason."""
    seen: set[str] = set()
    unreadable: list[int] = []
    damaged: dict[int, tuple[str, str]] = {}
    for number, row in _each(db, "documents", "document", "document, id, text, metadata, crc", unreadable):
        try:
            document = rows.checked_document(row)
            json.loads(document.metadata)
            if not document.id or not document.text.strip() or document.id in seen:
                raise ValueError
        except (GossamerError, ValueError, AttributeError, TypeError, RecursionError):
            name = row[1] if isinstance(row[1], str) else ""
            damaged[number] = name, "its text, id or metadata was altered on disk"
            continue
        seen.add(document.id)
        found.documents.append(document)
    return {**dict.fromkeys(unreadable, ("", "the page it is on cannot be read")), **damaged}


def _note_lost(db: sqlite3.Connection, found: Salvage, damaged: dict[int, tuple[str, str]]) -> None:
    """List the documents that are known to have been there and were not read.

    A page that is overwritten may read as one with fewer rows, or with rows that never were. Which documents there were
    is told by SQLite's index over ids and by the passages, which have pages of their own.
    """
    names, all_read = _ids(db)
    there = set(names) | set(found.passages)
    wanted = there | {number for number, (name, _) in damaged.items() if name or not all_read}
    for number in sorted(wanted - {row.document for row in found.documents}):
        name, why = damaged.get(number, ("", "the page it was on was altered on disk"))
        found.lost.append(LostDocument(names.get(DocumentNumber(number)) or name or f"document number {number}", why))


def _ids(db: sqlite3.Connection) -> tuple[dict[DocumentNumber, str], bool]:
    """The ids of documents by number, read from SQLite's index over ids, and whether all of it could be read."""
    found: dict[DocumentNumber, str] = {}
    try:
        found.update(db.execute("SELECT document, id FROM documents ORDER BY id"))
    except sqlite3.Error:
        return found, False
    return found, True


def _read_passages(db: sqlite3.Connection, found: Salvage) -> None:
    vectors: dict[PassageNumber, Floats] = {}
    for number, (_, blob, crc) in _each(db, "vectors", "passage", "passage, vector, crc", []):
        if isinstance(blob, bytes) and rows.vector_crc(number, blob) == crc and len(blob) % 4 == 0:
            with suppress(GossamerError):
                vectors[PassageNumber(number)] = as_vectors(np.frombuffer(blob, np.float32))[0]
    passages: dict[DocumentNumber, list[tuple[PassageRow, Floats | None]]] = defaultdict(list)
    for _, row in _each(db, "passages", "passage", "passage, document, start, stop, born, crc, gone", []):
        *place, gone = row
        if gone is None:
            with suppress(GossamerError, TypeError):
                passage = rows.checked_passage(place)
                passages[passage.document].append((passage, vectors.get(passage.passage)))
    found.passages = dict(passages)


def _each(
    db: sqlite3.Connection, table: str, key: str, columns: str, unreadable: list[int]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of a table in order. After a page that cannot be read, the rest is looked up one by one."""
    last = 0
    try:
        for row in db.execute(f"SELECT {columns} FROM {table} ORDER BY {key}"):
            last = row[0]
            yield last, row
        return
    except sqlite3.Error:
        pass
    for number in range(last + 1, min(_largest(db, table, key), last + _most_rows(db)) + 1):
        try:
            row = db.execute(f"SELECT {columns} FROM {table} WHERE {key} = ?", (number,)).fetchone()
        except sqlite3.Error:
            unreadable.append(number)
            continue
        if row is not None:
            yield number, row


def _most_rows(db: sqlite3.Connection) -> int:
    """An upper bound on the rows of a table in a database of this size."""
    with suppress(sqlite3.Error, TypeError):
        return _ROWS_A_PAGE * int(db.execute("PRAGMA page_count").fetchone()[0])
    return 0


def _largest(db: sqlite3.Connection, table: str, key: str) -> int:
    """The largest number in a table, by every source that can be read."""
    found = [0]
    for query in (
        f"SELECT max({key}) FROM {table}",
        f"SELECT seq FROM sqlite_sequence WHERE name = '{'passages' if table == 'vectors' else table}'",
        f"SELECT max({key}) FROM passages",
    ):
        with suppress(sqlite3.Error):
            found += [value for (value,) in db.execute(query) if isinstance(value, int)]
    return max(found)
