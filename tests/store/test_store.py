"""The store: a change is one transaction, readers cannot write, connections are used again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gossamer.array_types import DocumentNumber
from gossamer.errors import ClosedError, CorruptError
from gossamer.store import Change, DocumentRow, Settings, Store, log, rows
from gossamer.store.database import Database

SETTINGS = Settings.new("callable:test", "none", 200, 30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.gsm"


def row(number: int, id: str) -> DocumentRow:
    return DocumentRow(DocumentNumber(number), id, "text", "{}")


def documents(*numbers: int) -> Change:
    return Change("add", documents=[row(number, f"d{number}") for number in numbers])


def test_a_change_is_seen_whole_or_not_at_all(path: Path) -> None:
    store = Store.create(path, SETTINGS)
    store.commit(store.prepare(documents(1, 2, 3)), None)
    with pytest.raises(CorruptError, match="UNIQUE"):
        store.prepare(Change("add", documents=[row(9, "d1")]))
    step = store.prepare(Change("delete", removed=[DocumentNumber(1), DocumentNumber(2)]))
    with store.reading() as db:
        assert rows.count_documents(db) == 3, "not committed, not seen"
    store.rollback()
    with store.reading() as db:
        assert log.last_seq(db) < step.seq
    again = store.prepare(documents(4))
    store.commit(again, None)
    assert again.seq == 2
    store.close()


def test_commits_are_synchronous(path: Path) -> None:
    """What survives a power cut cannot be tried here; that SQLite is told to see to it can."""
    store = Store.create(path, SETTINGS)
    writing = store.database.begin()
    assert writing.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writing.execute("PRAGMA synchronous").fetchone() == (2,)
    store.rollback()
    store.close()


def test_a_reader_cannot_write(path: Path) -> None:
    Store.create(path, SETTINGS).close()
    reader = Store.open(path, "r")
    assert not reader.writable
    with reader.reading() as db, pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM documents")
    reader.close()
    with pytest.raises(ClosedError), reader.reading():
        pass


def test_connections_are_used_again(path: Path) -> None:
    store = Store.create(path, SETTINGS)
    database: Database = store.database
    with database.reading() as first, database.reading() as second:
        assert first is not second
    for _ in range(5):
        with database.reading() as db:
            assert db in (first, second)
    store.close()
