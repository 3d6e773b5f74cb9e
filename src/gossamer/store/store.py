"""Store: the folder as a whole. It records changes, takes snapshots, and finds back to the newest state."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self, TypeAlias

from gossamer.errors import CorruptError, DiskError, GossamerError, NotAnIndexError
from gossamer.lockfile import LockFile
from gossamer.store import log, rows, schema
from gossamer.store.database import Database, translated
from gossamer.store.layout import Layout, sync_folder
from gossamer.store.schema import Settings
from gossamer.store.snapshots import is_ours, read_snapshot, remove_drafts, remove_old, write_snapshot
from gossamer.vectors import VectorIndex

Mode: TypeAlias = Literal["w", "r"]

_log = logging.getLogger("gossamer.store")

_SNAPSHOT_AFTER = 2_000
"""Work (passages, roughly) that is left to the log before a snapshot is taken, or half the index if that is more."""

_ATTEMPTS = 5
"""How often a reader looks again when a writer removes the snapshot it was about to read."""


class Store:
    """Documents, log and snapshots of one index, on disk or in memory."""

    def __init__(self, layout: Layout | None, database: Database, lock: LockFile | None) -> None:
        self.layout = layout
        self.database = database
        self._lock = lock
        self._pending = 0  # work in the log since the last snapshot
        self._settled = True  # whether the last snapshot holds what guides searches
        self._damaged: list[int] = []  # snapshots that could not be read
        self.seq = 0  # the operation the tree stands at
        self.regrown = False  # whether the tree is no longer the one of the log, which the writer then writes down
        with database.reading() as db:
            schema.check_version(db, self.where)
            self.settings = schema.read_settings(db)

    # -- beginning and end -------------------------------------------------------------------------

    @classmethod
    def in_memory(cls, settings: Settings) -> Self:
        """A store that ends with the process."""
        database = Database(None, writable=True)
        schema.create(database.begin(), settings)
        database.commit()
        return cls(None, database, None)

    @classmethod
    def create(cls, path: str | os.PathLike[str], settings: Settings) -> Self:
        """A new folder, made beside and renamed in; held for writing."""
        layout = Layout(Path(path))
        if layout.folder.exists() and (not layout.folder.is_dir() or any(layout.folder.iterdir())):
            raise NotAnIndexError(
                f"{layout.folder} exists: open it with Index.open if it is an index, or choose another path"
            )
        draft = Layout(layout.folder.with_name(f".{layout.folder.name}.{os.getpid()}"))
        lock = LockFile(draft.lock)
        try:
            draft.folder.mkdir(parents=True)
            lock.acquire()
            _create_database(draft, settings)
            os.rename(draft.folder, layout.folder)
            sync_folder(layout.folder.absolute().parent)
            return cls._start(layout, lock)
        except BaseException as error:
            lock.release()
            shutil.rmtree(draft.folder, ignore_errors=True)
            if isinstance(error, OSError) and not isinstance(error, DiskError):
                raise DiskError(f"{layout.folder} could not be made: {error.strerror or error}") from error
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], mode: Mode) -> Self:
        """The store in a folder, for writing or for reading alone."""
        layout = Layout(Path(path))
        _check_is_index(layout)
        if mode == "r":
            return cls._start(layout, None)
        lock = LockFile(layout.lock)
        lock.acquire()
        try:
            remove_drafts(layout)
            return cls._start(layout, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _start(cls, layout: Layout, lock: LockFile | None) -> Self:
        database = Database(layout.documents, writable=lock is not None)
        try:
            return cls(layout, database, lock)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Let go of the files and the lock."""
        self.database.close()
        if self._lock is not None:
            self._lock.release()

    @property
    def where(self) -> str:
        """What messages call it."""
        return "the index in memory" if self.layout is None else str(self.layout.folder)

    @property
    def writable(self) -> bool:
        """Whether changes can be made: the lock is held, or there is no disk."""
        return self._lock is not None or self.layout is None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with."""
        with self.database.reading() as db:
            yield db

    # -- changing ----------------------------------------------------------------------------------

    def prepare(self, change: log.Change) -> log.Step:
        """Write a change without making it durable or visible; `commit` or `rollback` must follow."""
        db = self.database.begin()
        try:
            with translated(self.where):
                return log.record(db, change)
        except BaseException:
            self.rollback()
            raise

    def commit(self, step: log.Step, settings: Settings | None) -> None:
        """Make the prepared change durable."""
        self.database.commit()
        self.seq = step.seq
        self._pending += step.work
        if settings is not None:
            self.settings = settings

    def holds(self, step: log.Step) -> bool:
        """Whether a step is in the log, whatever happened on the way."""
        with self.reading() as db:
            return log.last_seq(db) >= step.seq

    def rollback(self) -> None:
        """Undo a prepared change; nothing happens where there is none."""
        self.database.rollback()

    # -- finding back ------------------------------------------------------------------------------

    def load(self) -> VectorIndex | None:
        """The tree as of the newest operation: the newest usable snapshot, and the log after it."""
        for _ in range(_ATTEMPTS):
            with self.reading() as db:
                self.settings = schema.read_settings(db)
                last = log.last_seq(db)
                seen = self.layout.snapshots() if self.layout else []
                ahead = self._ahead(seen, last)
                if ahead is None:
                    self._pending = 0
                    vectors = self._newest_snapshot(seen, last)
                    if vectors is not None:
                        return self._replay(db, vectors)
                    if self.writable or (self.layout and self.layout.snapshots() == seen):
                        return self._grow(db, last)
            if self.writable:
                break
            self.database.refresh()  # a writer went on while we were opening
        raise CorruptError(
            f"documents.sqlite of {self.where} ends at operation {last}, but a snapshot was taken at {ahead}: "
            "operations are lost. Restore it from a copy, or remove the snapshot to go on with what is there"
        )

    def catch_up(self, vectors: VectorIndex | None) -> VectorIndex | None:
        """A reader's tree brought to the newest operation."""
        self.database.refresh()
        with self.reading() as db:
            self.settings = schema.read_settings(db)
            if self.settings.forgotten <= self.seq:
                return self._replay(db, vectors)
        return self.load()

    def _ahead(self, snapshots: list[int], last: int) -> int | None:
        """A snapshot of ours that is newer than the newest operation; None as it should be."""
        for seq in snapshots:
            if seq > last and self.layout is not None and is_ours(self.layout, seq, self.settings.identity):
                return seq
        return None

    def _newest_snapshot(self, snapshots: list[int], last: int) -> VectorIndex | None:
        """The newest usable one, with `seq` set to its operation."""
        for seq in snapshots:
            if self.layout is None or not self.settings.forgotten <= seq <= last:
                continue
            try:
                vectors = read_snapshot(self.layout, seq, self.settings.identity)
            except GossamerError as error:
                _log.warning("snapshot %d of %s cannot be used, trying an older state: %s", seq, self.where, error)
                if isinstance(error, CorruptError | NotAnIndexError):
                    self._damaged.append(seq)
                continue
            self.seq, self._settled = seq, vectors.settled
            return vectors
        return None

    def _grow(self, db: sqlite3.Connection, last: int) -> VectorIndex | None:
        """The tree without a snapshot: by the log since it last began anew or, failing that, from the documents."""
        start = max(0, log.last_refit(db) - 1)
        if start >= self.settings.forgotten:
            if last:
                _log.info("growing the tree of %s by the log from operation %d on", self.where, start + 1)
            self.seq = start
            return self._replay(db, None)
        _log.warning("no snapshot of %s can be used: growing its tree again from all documents", self.where)
        self.seq, self.regrown = last, True
        return log.apply(log.read_step(db, last, "refit"), None)

    def _replay(self, db: sqlite3.Connection, vectors: VectorIndex | None) -> VectorIndex | None:
        for step in log.steps_after(db, self.seq):
            vectors = log.apply(step, vectors)
            self.seq = step.seq
            self._pending += step.work
        return vectors

    # -- snapshots ---------------------------------------------------------------------------------

    def snapshot_due(self, vectors: VectorIndex | None, *, closing: bool = False) -> bool:
        """Whether replaying the log, or settling the tree again, has become dearer than a snapshot."""
        size = 0 if vectors is None else len(vectors)
        if closing and size and not self._settled:
            return True
        return self._pending > (size // 100 if closing else max(_SNAPSHOT_AFTER, size // 2))

    def snapshot(self, vectors: VectorIndex | None) -> None:
        """Save the tree, remove old snapshots, and drop vectors that no replay will ask for again.

        Nothing depends on it: where it fails, the log says the same, and the next one tries again.
        """
        try:
            if self.layout is None:
                self._forget(self.seq)
            elif vectors is not None:
                settled = vectors.settled  # before: a search may settle it while this is written
                write_snapshot(self.layout, self.seq, self.settings.identity, vectors)
                self._settled = settled
                self._remove_damaged()
                oldest = remove_old(self.layout)
                if oldest is not None:
                    self._forget(oldest)
        except DiskError as error:
            _log.warning("no snapshot of %s could be taken, the log is kept instead: %s", self.where, error)
        self._pending = 0

    def _remove_damaged(self) -> None:
        assert self.layout is not None
        for seq in self._damaged:
            if seq != self.seq:  # that one was just written anew
                shutil.rmtree(self.layout.snapshot(seq), ignore_errors=True)
        self._damaged.clear()

    def _forget(self, seq: int) -> None:
        db = self.database.begin()
        try:
            settings = log.forget(db, seq, self.settings)
            self.database.commit()
            self.settings = settings
        except BaseException:
            self.rollback()
            raise

    # -- looking -----------------------------------------------------------------------------------

    def snapshots(self) -> list[int]:
        """The operations after which the tree was saved, newest first."""
        return [] if self.layout is None else self.layout.snapshots()

    def bytes(self) -> int:
        """Taken on disk."""
        return 0 if self.layout is None else self.layout.bytes()

    def check(self, vectors: VectorIndex | None) -> None:
        """Raise `CorruptError` unless every row is as it was written and the tree holds exactly the passages."""
        with self.reading() as db:
            verdict = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise CorruptError(f"documents.sqlite of {self.where} is damaged: {verdict}")
            _check_rows(db, vectors)
        if self.writable:  # FTS5 checks itself by a statement that counts as a write
            db = self.database.begin()
            try:
                with translated(self.where):
                    db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
            finally:
                self.rollback()


def _check_rows(db: sqlite3.Connection, vectors: VectorIndex | None) -> None:
    documents = {row.document for row in rows.all_documents(db)}
    numbers, _ = rows.vectors_where(db, "gone IS NULL", ())
    owners = {row.document for row in rows.all_passages(db)}
    if owners != documents:
        raise CorruptError(f"{len(documents)} documents, but passages of {len(owners)}: restore from a copy")
    held = 0 if vectors is None else len(vectors)
    if held != len(numbers) or any(number not in vectors for number in numbers.tolist()):  # type: ignore[operator]
        raise CorruptError(f"the tree holds {held} passages, the database {len(numbers)}, or others: open it again")


def _create_database(layout: Layout, settings: Settings) -> None:
    database = Database(layout.documents, writable=True, create=True)
    try:
        schema.create(database.begin(), settings)
        database.commit()
    finally:
        database.close()


def _check_is_index(layout: Layout) -> None:
    if not layout.folder.is_dir():
        raise NotAnIndexError(f"there is no index at {layout.folder}: make one with Index.create")
    if layout.documents.is_file():
        return
    if layout.snapshots() or layout.lock.exists():
        raise CorruptError(f"{layout.documents} is missing: restore it from a copy, the rest cannot do without it")
    raise NotAnIndexError(f"{layout.folder} is not an index: it has no {layout.documents.name}")
