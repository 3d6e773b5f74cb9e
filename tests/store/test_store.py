"""The store: log, replay, snapshots and what is forgotten."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from gossamer import VectorIndex
from gossamer.array_types import Floats
from gossamer.errors import ClosedError, CorruptError
from gossamer.store import Change, DocumentRow, PassageRow, Settings, Store, log, rows
from gossamer.store.database import Database

SETTINGS = Settings.new("callable:test", "none", 200, 30)
DIM = 6


def vectors(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)


class Writer:
    """A store and its tree, changed by hand; a document has one passage of the same number."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tree = store.load()

    def write(self, change: Change) -> log.Step:
        step = self.store.prepare(change)
        self.store.commit(step, change.settings)
        self.tree = log.apply(step, self.tree)
        return step

    def add(self, n: int, *, removed: tuple[int, ...] = ()) -> log.Step:
        with self.store.reading() as db:
            document, passage = rows.next_number(db, "documents"), rows.next_number(db, "passages")
        return self.write(
            Change(
                "add",
                removed=removed,
                documents=[DocumentRow(document + at, f"d{document + at}", f"text {at}", "{}") for at in range(n)],
                passages=[PassageRow(passage + at, document + at, 0, 4) for at in range(n)],
                vectors=vectors(n, seed=document),
            )
        )

    def same_as(self, other: VectorIndex | None) -> bool:
        assert self.tree is not None
        assert other is not None
        mine, theirs = self.tree.to_bundle(), other.to_bundle()
        return mine.params == theirs.params and all(
            np.array_equal(mine.arrays[name], theirs.arrays[name], equal_nan=True) for name in mine.arrays
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.gsm"


def test_replaying_the_log_gives_the_same_tree_bit_for_bit(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    for _ in range(5):
        writer.add(7)
    writer.add(3, removed=(1, 2, 9))
    writer.write(Change("delete", removed=[4, 5]))
    writer.write(Change("refit"))
    writer.add(2)
    writer.store.close()
    again = Store.open(path, "w")
    assert writer.same_as(again.load())
    assert again.seq == 9
    again.close()


def test_a_snapshot_and_the_log_after_it_give_the_same_tree(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.add(20)
    writer.store.snapshot(writer.tree)
    writer.add(5, removed=(3,))
    writer.store.close()
    again = Store.open(path, "r")
    assert again.snapshots() == [1]
    assert writer.same_as(again.load())
    again.close()


def test_old_snapshots_go_and_with_them_what_only_they_needed(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.add(20)
    for gone in range(1, 6):
        writer.write(Change("delete", removed=[gone]))
        writer.store.snapshot(writer.tree)
    assert writer.store.snapshots() == [6, 5]
    assert writer.store.settings.forgotten == 5
    with writer.store.reading() as db:
        assert db.execute("SELECT min(seq), max(seq) FROM operations").fetchone() == (6, 6)
        assert db.execute("SELECT passage FROM passages WHERE gone IS NOT NULL").fetchall() == [(5,)]
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (16,)
    writer.store.close()
    again = Store.open(path, "r")
    assert writer.same_as(again.load())
    again.close()


def test_an_index_that_only_grows_keeps_its_whole_log(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    for _ in range(4):
        writer.add(5)
        writer.store.snapshot(writer.tree)
    assert writer.store.settings.forgotten == 0
    writer.store.close()


def test_when_a_snapshot_is_due(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.store.store._SNAPSHOT_AFTER", 30)
    writer = Writer(Store.create(path, SETTINGS))
    assert not writer.store.snapshot_due(writer.tree, closing=True), "nothing happened yet"
    writer.add(5)
    assert not writer.store.snapshot_due(writer.tree)
    assert writer.store.snapshot_due(writer.tree, closing=True)
    writer.add(20)
    assert writer.store.snapshot_due(writer.tree)
    writer.store.snapshot(writer.tree)
    assert not writer.store.snapshot_due(writer.tree, closing=True)
    writer.store.close()
    again = Store.open(path, "w")
    again.load()
    assert not again.snapshot_due(writer.tree, closing=True), "opening alone is no reason"
    again.close()


def test_a_change_is_seen_whole_or_not_at_all(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.add(3)
    bad = Change("add", documents=[DocumentRow(9, "d1", "an id that is taken", "{}")])
    with pytest.raises(CorruptError, match="UNIQUE"):
        writer.store.prepare(bad)
    step = writer.store.prepare(Change("delete", removed=[1, 2]))
    with writer.store.reading() as db:
        assert rows.count_documents(db) == 3, "not committed, not seen"
    writer.store.rollback()
    with writer.store.reading() as db:
        assert log.last_seq(db) < step.seq
    assert writer.add(1).seq == 2
    writer.store.close()


def test_a_log_with_a_hole_is_refused(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    for _ in range(4):
        writer.add(2)
    writer.store.close()
    for damage in (
        "DELETE FROM operations WHERE seq = 2",
        "DELETE FROM operations WHERE seq = 4",
        "UPDATE operations SET kind = 'delete' WHERE seq = 2",
        "UPDATE operations SET born = 1 WHERE seq = 2",
        "DELETE FROM passages WHERE born = 3 AND passage % 2",
        "UPDATE passages SET gone = 3 WHERE passage = 1",
        "UPDATE vectors SET vector = zeroblob(24) WHERE passage = 5",
        "DELETE FROM vectors WHERE passage = 5",
    ):
        sound = (path / "documents.sqlite").read_bytes()
        db = sqlite3.connect(path / "documents.sqlite")
        with db:
            db.execute(damage)
        db.close()
        with pytest.raises(CorruptError):
            Store.open(path, "r").load()
        (path / "documents.sqlite").write_bytes(sound)


def test_commits_are_synchronous(path: Path) -> None:
    """What survives a power cut cannot be tried here; that SQLite is told to see to it can."""
    writer = Writer(Store.create(path, SETTINGS))
    writing = writer.store.database.begin()
    assert writing.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writing.execute("PRAGMA synchronous").fetchone() == (2,)
    writer.store.rollback()
    writer.store.close()


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
