"""The tree and the log: replay and snapshots give the tree that was in memory, and old history is dropped."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from gossamer import VectorIndex
from gossamer.array_types import DocumentNumber, Floats, PassageNumber
from gossamer.errors import CorruptError
from gossamer.index.replay import LoggedTree, apply
from gossamer.store import Change, DocumentRow, PassageRow, Policy, Settings, Step, Store, rows  # fmt: skip

SETTINGS = Settings.new("callable:test", "none", 200, 30)
DIM = 6


def vectors(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)


class Writer:
    """A store and its tree, changed by hand; a document has one passage of the same number."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tree = opened(store)

    def write(self, change: Change) -> Step:
        step = self.store.prepare(change)
        self.store.commit(step, change.settings)
        self.tree.committed(step)
        self.tree.vectors = apply(step, self.tree.vectors, self.store)
        return step

    def add(self, n: int, *, removed: tuple[int, ...] = ()) -> Step:
        with self.store.reading() as db:
            document, passage = rows.next_number(db, "documents"), rows.next_number(db, "passages")
        numbers = [DocumentNumber(document + at) for at in range(n)]
        return self.write(
            Change(
                "add",
                removed=deleting(*removed).removed,
                documents=[DocumentRow(number, f"d{number}", "some text", "{}") for number in numbers],
                passages=[PassageRow(PassageNumber(passage + at), numbers[at], 0, 4) for at in range(n)],
                vectors=vectors(n, seed=document),
            )
        )

    def same_as(self, other: VectorIndex | None) -> bool:
        assert self.tree.vectors is not None
        assert other is not None
        mine, theirs = self.tree.vectors.to_bundle(), other.to_bundle()
        return mine.params == theirs.params and all(
            np.array_equal(mine.arrays[name], theirs.arrays[name], equal_nan=True) for name in mine.arrays
        )


def deleting(*documents: int) -> Change:
    return Change("delete", removed=[DocumentNumber(number) for number in documents])


def opened(store: Store) -> LoggedTree:
    tree = LoggedTree(store)
    tree.load()
    return tree


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.gsm"


def test_replaying_the_log_gives_the_same_tree_bit_for_bit(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    for _ in range(5):
        writer.add(7)
    writer.add(3, removed=(1, 2, 9))
    writer.write(deleting(4, 5))
    writer.write(Change("refit"))
    writer.add(2)
    writer.store.close()
    again = Store.open(path, "w")
    tree = opened(again)
    assert writer.same_as(tree.vectors)
    assert tree.seq == 9
    again.close()


def test_a_snapshot_and_the_log_after_it_give_the_same_tree(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.add(20)
    writer.tree.snapshot()
    writer.add(5, removed=(3,))
    writer.store.close()
    again = Store.open(path, "r")
    assert again.snapshots() == [1]
    assert writer.same_as(opened(again).vectors)
    again.close()


def test_old_snapshots_go_and_with_them_what_only_they_needed(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.add(20)
    for gone in range(1, 6):
        writer.write(deleting(gone))
        writer.tree.snapshot()
    assert writer.store.snapshots() == [6, 5]
    assert writer.store.settings.forgotten == 5
    with writer.store.reading() as db:
        assert db.execute("SELECT min(seq), max(seq) FROM operations").fetchone() == (6, 6)
        assert db.execute("SELECT passage FROM passages WHERE gone IS NOT NULL").fetchall() == [(5,)]
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (16,)
    writer.store.close()
    again = Store.open(path, "r")
    assert writer.same_as(opened(again).vectors)
    again.close()


def test_an_index_that_only_grows_keeps_its_whole_log(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    for _ in range(4):
        writer.add(5)
        writer.tree.snapshot()
    assert writer.store.settings.forgotten == 0
    writer.store.close()


def test_in_memory_nothing_is_saved_and_no_history_is_kept() -> None:
    writer = Writer(Store.in_memory(SETTINGS))
    writer.add(5)
    writer.write(deleting(1))
    writer.tree.snapshot()
    assert writer.store.snapshots() == []
    assert writer.store.settings.forgotten == 2
    assert writer.tree.vectors is not None
    assert len(writer.tree.vectors) == 4
    writer.store.close()


def test_a_damaged_snapshot_is_removed_by_the_next_one(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.add(5)
    writer.tree.snapshot()
    writer.write(deleting(1, 2, 3, 4, 5))
    writer.store.close()
    (path / "snapshot-1" / "manifest.json").write_text("{")
    again = Writer(Store.open(path, "w"))
    again.write(Change("refit"))
    assert again.tree.vectors is None
    again.tree.snapshot()  # there is no tree to save
    assert again.store.snapshots() == [1]
    again.add(3)
    again.tree.snapshot()
    assert again.store.snapshots() == [4]
    again.store.close()


def test_when_a_snapshot_is_due(path: Path) -> None:
    writer = Writer(Store.create(path, SETTINGS))
    writer.store.policy = Policy(snapshot_after=30)
    assert not writer.tree.snapshot_due(closing=True), "nothing happened yet"
    writer.add(5)
    assert not writer.tree.snapshot_due()
    assert writer.tree.snapshot_due(closing=True)
    writer.add(20)
    assert writer.tree.snapshot_due()
    writer.tree.snapshot()
    assert not writer.tree.snapshot_due(closing=True)
    writer.store.close()
    again = Store.open(path, "w")
    assert not opened(again).snapshot_due(closing=True), "opening alone is no reason"
    again.close()


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
            opened(Store.open(path, "r"))
        (path / "documents.sqlite").write_bytes(sound)
