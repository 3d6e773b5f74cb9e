"""On which shard each document is, and the changes that are under way: a log of intents in SQLite.

A change that adds a document, moves it to another shard or deletes it is written down as an intent before any shard is
touched. When all shards have made their parts durable, placements take effect and intents go, in one transaction. What
a crash left is read off the shards (`Keeper.recover`): where the new shard holds the document, it was added, and the
old one deletes its copy; where it does not, it was not. So a document is on its old shard or on its new one, never on
both, and no acknowledged one is lost. An intent to delete is carried out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import numpy as np

from gossamer.array_types import Longs

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, concept INTEGER NOT NULL, shard INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS documents_on ON documents (concept, shard);
-- source: the shard it is on, or NULL; target: where it goes, or NULL where it is deleted.
CREATE TABLE IF NOT EXISTS intents (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, concept INTEGER NOT NULL, source INTEGER, target INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO numbers VALUES ('operation', 0), ('document', 0);
"""

_AT_ONCE = 500


class Intent(NamedTuple):
    """A document that is being added, moved or deleted."""

    id: str
    number: int
    concept: int
    source: int | None
    target: int | None


class Place(NamedTuple):
    """Where a document is."""

    number: int
    concept: int
    shard: int


class Placement:
    """The database of placements. Its methods may be called from many threads."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._lock = RLock()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # -- reading -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM documents").fetchone()[0])

    @property
    def operation(self) -> int:
        """The number of the newest operation."""
        with self._lock:
            return int(self._db.execute("SELECT value FROM numbers WHERE name = 'operation'").fetchone()[0])

    def places(self, ids: Sequence[str]) -> dict[str, Place]:
        """Where those of some documents are that are there."""
        found: dict[str, Place] = {}
        with self._lock:
            for start in range(0, len(ids), _AT_ONCE):
                some = ids[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._db.execute(f"SELECT id, number, concept, shard FROM documents WHERE id IN ({marks})", some)
                found |= {id: Place(*place) for id, *place in rows}
        return found

    def counts(self, concepts: int, shards: int) -> Longs:
        """Documents by concept and shard."""
        found = np.zeros((concepts, shards), np.int64)
        with self._lock:
            for concept, shard, count in self._db.execute(
                "SELECT concept, shard, count(*) FROM documents GROUP BY 1, 2"
            ):
                found[concept, shard] = count
        return found

    def some_of(self, concept: int, shard: int, most: int) -> list[str]:
        """The ids of at most so many documents of a concept on a shard."""
        with self._lock:
            rows = self._db.execute(
                "SELECT id FROM documents WHERE concept = ? AND shard = ? LIMIT ?", (concept, shard, most)
            )
            return [row[0] for row in rows]

    def intents(self) -> list[Intent]:
        """What is under way, or was when the last keeper ended."""
        with self._lock:
            return [Intent(*row) for row in self._db.execute("SELECT id, number, concept, source, target FROM intents")]

    # -- changing ----------------------------------------------------------------------------------

    def new_ids(self, count: int) -> list[str]:
        """Ids that no document has: the next numbers."""
        found: list[str] = []
        with self._transaction() as db:
            while len(found) < count:
                (last,) = db.execute("SELECT value FROM numbers WHERE name = 'document'").fetchone()
                wanted = [str(number) for number in range(last + 1, last + 1 + count - len(found))]
                db.execute("UPDATE numbers SET value = ? WHERE name = 'document'", (last + len(wanted),))
                taken = self.places(wanted)
                found += [id for id in wanted if id not in taken]
        return found

    def begin(self, targets: Iterable[tuple[str, int, int]]) -> list[Intent]:
        """Write down that documents (id, concept, shard) are being added or moved; durable on return.

        Those that stay on their shard need no intent: there a shard replaces them in one step.
        """
        with self._transaction() as db:
            listed = list(targets)
            known = self.places([id for id, _, _ in listed])
            (last,) = db.execute("SELECT value FROM numbers WHERE name = 'operation'").fetchone()
            found = []
            for at, (id, concept, shard) in enumerate(listed):
                place = known.get(id)
                number = (last + 1) * (1 << 32) + at if place is None else place.number
                found.append(Intent(id, number, concept, None if place is None else place.shard, shard))
            moved = [each for each in found if each.source != each.target]
            db.executemany("INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?)", moved)
        return found

    def begin_deletion(self, ids: Sequence[str]) -> list[Intent]:
        """Write down that documents are being deleted; durable on return."""
        known = self.places(ids)
        found = [Intent(id, place.number, place.concept, place.shard, None) for id, place in known.items()]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?)", found)
        return found

    def settle(self, intents: Sequence[Intent]) -> None:
        """Documents are on their targets, or deleted. Intents stay while the old shard still has a copy."""
        with self._transaction() as db:
            placed = [(each.id, each.number, each.concept, each.target) for each in intents if each.target is not None]
            db.executemany("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", placed)
            gone = [(each.id,) for each in intents if each.target is None]
            db.executemany("DELETE FROM documents WHERE id = ?", gone)
            done = [(each.id,) for each in intents if each.target is None or each.source in (None, each.target)]
            db.executemany("DELETE FROM intents WHERE id = ?", done)
            db.execute("UPDATE numbers SET value = value + 1 WHERE name = 'operation'")

    def forget(self, intents: Sequence[Intent]) -> None:
        """Intents that are carried out, or were never begun by a shard."""
        with self._transaction() as db:
            db.executemany("DELETE FROM intents WHERE id = ?", [(each.id,) for each in intents])

    def copy_to(self, path: Path) -> int:
        """Copy the database into a file; returns the operation it is of."""
        with self._lock:
            target = sqlite3.connect(path)
            try:
                self._db.backup(target)
            finally:
                target.close()
            return self.operation
