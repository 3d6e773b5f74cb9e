"""Store: the folder as a whole. It records changes, takes snapshots, and finds back to the newest state.

The truth is in documents.sqlite. Where it is damaged, opening refuses and names the cure. What is derived from it, the
tree above all, is made again where it cannot be read; and where even that fails, the index opens `degraded`: without
concepts, searched exactly.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self, TypeAlias
from uuid import uuid4

from gossamer.errors import CorruptError, DiskError, GossamerError, LockedError, NotAnIndexError, StateError
from gossamer.files.file_lock import LockFile
from gossamer.runtime.interrupts import uninterrupted
from gossamer.store import log, rows, schema
from gossamer.store.database import Database, is_open_here, opening, translated
from gossamer.store.encoder_state import read_learnt
from gossamer.store.layout import Layout, sync_folder
from gossamer.store.pages import PageSums
from gossamer.store.schema import Settings
from gossamer.store.snapshots import is_ours, read_snapshot, remove_drafts, remove_old, write_snapshot
from gossamer.store.wal import FrameCount, read_wal
from gossamer.vector_index.vector_index import VectorIndex

Mode: TypeAlias = Literal["w", "r"]
Files: TypeAlias = Literal["as left", "altered", "without checksums"]

_log = logging.getLogger("gossamer.store")

_SNAPSHOT_AFTER = 2_000
"""Work (passages, roughly) that is left to the log before a snapshot is taken, or half the index if that is more."""

_CHECKPOINT_AFTER = 1_000
"""Frames of SQLite's write-ahead log, a page each, after which they are copied into the database."""

_RESTART_AFTER = 4
"""Times as many frames after which readers are waited for, so that the log can begin anew."""

_PATIENCE = 0.1
"""Seconds to wait for them; a reading takes milliseconds."""

_LOOKS = 3
"""How often files that look wrong are looked at."""

_ATTEMPTS = 5
"""How often a reader looks again when a writer removes the snapshot it was about to read."""


class Store:
    """Documents, log and snapshots of one index, on disk or in memory."""

    def __init__(self, layout: Layout | None, database: Database, lock: LockFile | None) -> None:
        self.layout = layout
        self.database = database
        self._lock = lock
        self._closed = True  # until it is open: one that could not be opened has nothing to put away
        self._failure: Exception | None = None  # why the tree could not be made in the way tried last
        self._sums = None if layout is None else PageSums(layout.documents)
        self._frames = None if layout is None else FrameCount(layout.wal)
        self._checkpointed = 0  # frames of SQLite's log when it was last copied into the database
        self._pending = 0  # work in the log since the last snapshot
        self._settled = True  # whether the last snapshot holds what guides searches
        self._damaged: list[int] = []  # snapshots that could not be read
        self.seq = 0  # the operation the tree stands at
        self.regrown = False  # whether the tree is no longer the one of the log, which the writer then writes down
        self.degraded: str | None = None  # why there is no tree of concepts
        acknowledged = None if self._sums is None else self._sums.acknowledged()  # first: a writer may go on meanwhile
        with database.reading() as db:
            schema.check_version(db, self.where)
            self.settings = schema.read_settings(db)
            last = log.last_seq(db)
        if acknowledged is not None and acknowledged.identity == self.settings.identity and acknowledged.seq > last:
            raise _lost(self.where, last, acknowledged.seq)
        self._closed = False

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
        layout = Layout(Path(path).absolute())
        if layout.folder.exists() and (not layout.folder.is_dir() or any(layout.folder.iterdir())):
            raise NotAnIndexError(
                f"{layout.folder} exists: open it with Index.open if it is an index, or choose another path"
            )
        draft = Layout(layout.folder.with_name(f".{layout.folder.name}.{uuid4().hex[:12]}"))
        lock = LockFile(draft.lock)
        try:
            with uninterrupted():
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
        layout = Layout(Path(path).absolute())
        _check_is_index(layout)
        if mode == "r":
            return cls._start(layout, None)
        lock = LockFile(layout.lock)
        try:
            lock.acquire()
            remove_drafts(layout)
            return cls._start(layout, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _start(cls, layout: Layout, lock: LockFile | None) -> Self:
        """Look the files over, then open them: what is not as it was left is checked thoroughly.

        Where SQLite has left a log, all of this is done with a connection that cannot write first: one that can would
        put the log away when it is closed, and with it what a repair could still read.
        """
        with opening:
            files = _look_over(layout)
            if lock is None or files == "altered" or layout.has_log():
                reader = cls._checked(layout, None, files)
                if lock is None:
                    return reader
                reader.database.close()
                files = "without checksums" if files == "altered" else files
            store = cls._checked(layout, lock, files)
            try:
                if files != "as left":
                    store._write_sums()
                return store
            except BaseException:
                store.database.close()
                raise

    @classmethod
    def _checked(cls, layout: Layout, lock: LockFile | None, files: Files) -> Self:
        database = Database(layout.documents, writable=lock is not None)
        try:
            store = cls(layout, database, lock)
            if files == "altered":
                _log.warning("%s is not as it was left: checking all of it", store.where)
                store.check_content()  # where it is sound, another program wrote to it, or the checksums are damaged
            return store
        except BaseException:
            database.close()
            raise

    def _write_sums(self) -> None:
        """Write the checksums of all pages, for which the database is closed and opened again."""
        assert self.layout is not None
        assert self._sums is not None
        with self.reading() as db:
            last = log.last_seq(db)
        if not self.database.checkpoint("TRUNCATE"):
            return  # a reader needs SQLite's log; next time
        self.database.close()
        if not is_open_here(self.layout.documents):  # the caller holds `opening`
            try:
                self._sums.rebuild(self.settings.identity, last)
            except DiskError as error:
                _log.warning("the checksums of %s could not be written: %s", self.where, error)
        self.database = Database(self.layout.documents, writable=True)

    def __del__(self) -> None:
        """Close what nobody closed."""
        with suppress(Exception):
            if not self._closed:
                self.close()

    def close(self) -> None:
        """Let go of the files and the lock. A child process has nothing to let go of."""
        if not self.database.is_of_this_process():
            return
        with uninterrupted():
            self._closed = True
            try:
                if self.writable and self.layout is not None:
                    self._put_log_away()
            finally:
                self.database.close()
                if self._lock is not None:
                    self._lock.release()

    def _put_log_away(self) -> None:
        """Copy SQLite's log into the database, with the checksums of what was copied, and empty it."""
        with suppress(GossamerError, MemoryError):  # whatever is left in the log is durable there
            self._checkpoint()
            self.database.checkpoint("TRUNCATE")

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
        try:
            db = self.database.begin()
            with translated(self.where):
                return log.record(db, change)
        except BaseException:
            self.rollback()
            raise

    def commit(self, step: log.Step, settings: Settings | None) -> None:
        """Make the prepared change durable."""
        try:
            self.database.commit()
        except GossamerError as error:
            self.database.rollback()
            self._overwrite_failed_commit(error)
            raise
        self.seq = step.seq
        self._pending += step.work
        if settings is not None:
            self.settings = settings
        if self._sums is not None:
            with suppress(Exception):  # it tells of damage later on; this change is safe without
                self._sums.acknowledge(self.settings.identity, step.seq)

    def _overwrite_failed_commit(self, error: GossamerError) -> None:
        """See that a commit that failed never comes back.

        Where the disk failed to sync, all of the change may be in SQLite's log, and opening the index again would
        find it there. The next transaction takes its place, so one is made that changes nothing.
        """
        if getattr(error.__cause__, "sqlite_errorname", "") == "SQLITE_FULL":
            return  # it was not written as a whole
        try:
            with translated(self.where):
                schema.write_settings(self.database.begin(), self.settings)
            self.database.commit()
        except GossamerError as second:
            self.database.rollback()
            raise StateError(
                f"{self.where} could not be written ({error}), and whether the change is on disk is not known: "
                "close it and open it again to see"
            ) from second

    def checkpoint_if_due(self) -> None:
        """Copy SQLite's log into the database where it has grown long; where that fails, it is tried again later."""
        if self._frames is None or not self.writable:
            return
        frames = self._frames.now()
        if frames < self._checkpointed:  # it began anew
            self._checkpointed = 0
        if frames - self._checkpointed >= _CHECKPOINT_AFTER:
            try:
                self._checkpoint(restart=frames >= _RESTART_AFTER * _CHECKPOINT_AFTER)
            except (GossamerError, MemoryError) as error:
                _log.warning("the log of %s could not be copied into it, and is kept: %s", self.where, error)

    def _checkpoint(self, *, restart: bool = False) -> None:
        """Copy what SQLite's log holds into the database, and write the checksums of these pages.

        With readers at every moment, the log could never begin anew; to `restart` it, those that are reading are waited
        for, while others that come read the database alone.
        """
        assert self.layout is not None
        assert self._sums is not None
        assert self._frames is not None
        logged = read_wal(self.layout.wal).sums
        if logged:
            self._sums.update(logged)  # first: while a page is in the log, its sum is not compared
            self.database.checkpoint("RESTART" if restart else "PASSIVE", wait=_PATIENCE if restart else 0.0)
            self._checkpointed = self._frames.now()

    def number_from(self, document: int) -> None:
        """Let the next document without an id have a number above `document`."""
        try:
            with translated(self.where):
                query = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'documents'"
                self.database.begin().execute(query, (document,))
            self.database.commit()
        finally:
            self.rollback()

    def rollback(self) -> None:
        """Undo a prepared change; nothing happens where there is none."""
        self.database.rollback()

    # -- finding back ------------------------------------------------------------------------------

    def load(self) -> VectorIndex | None:
        """The tree as of the newest operation: the newest usable snapshot and the log after it, or made anew."""
        for _ in range(_ATTEMPTS):
            with self.reading() as db:
                self.settings = schema.read_settings(db)
                last = log.last_seq(db)
                seen = self.layout.snapshots() if self.layout else []
                ahead = self._ahead(seen, last)
                if ahead is None:
                    vectors = self._from_snapshots(db, seen, last)
                    if vectors is not None:
                        return vectors
                    if self.writable or (self.layout and self.layout.snapshots() == seen):
                        return self._without_snapshot(db, last)
            if ahead is not None and self.writable:
                break
        if ahead is None:
            raise LockedError(f"{self.where} changed {_ATTEMPTS} times while it was read: try again")
        raise _lost(self.where, last, ahead)

    def catch_up(self, vectors: VectorIndex | None) -> VectorIndex | None:
        """A reader's tree brought to the newest operation."""
        with self.reading() as db:
            self.settings = schema.read_settings(db)
            if 0 <= self.seq >= self.settings.forgotten and self.degraded is None:
                return self._replay(db, vectors)
        return self.load()

    def is_behind(self, db: sqlite3.Connection) -> bool:
        """Whether another process has written since the tree was brought up to date."""
        if self.writable or self.layout is None:
            return False
        if not self.database.is_current():
            raise StateError(f"{self.where} was replaced, by a repair or a restored copy: open it again")
        return log.last_seq(db) != self.seq

    def forget_tree(self) -> None:
        """Have the tree read anew, where bringing it up to date was interrupted half way."""
        self.seq = -1

    def _ahead(self, snapshots: list[int], last: int) -> int | None:
        """A snapshot of ours that is newer than the newest operation; None as it should be."""
        for seq in snapshots:
            if seq > last and self.layout is not None and is_ours(self.layout, seq, self.settings.identity):
                return seq
        return None

    def _from_snapshots(self, db: sqlite3.Connection, snapshots: list[int], last: int) -> VectorIndex | None:
        """The newest snapshot that can be read, with the log after it; None where none can."""
        for seq in snapshots:
            if self.layout is None or not self.settings.forgotten <= seq <= last:
                continue
            try:
                vectors = read_snapshot(self.layout, seq, self.settings.identity)
            except (GossamerError, MemoryError) as error:
                _log.warning("snapshot %d of %s cannot be used, trying an older state: %s", seq, self.where, error)
                if isinstance(error, CorruptError | NotAnIndexError):
                    self._damaged.append(seq)
                continue
            self.seq, self._settled, self._pending = seq, vectors.settled, 0
            with self._contained("replaying the log after a snapshot"):
                return self._replay(db, vectors)
        return None

    def _without_snapshot(self, db: sqlite3.Connection, last: int) -> VectorIndex | None:
        """The tree by the log since it last began anew, or from the documents; or, failing that, none: `degraded`."""
        start = max(0, log.last_refit(db) - 1)
        self.degraded = None
        if start >= self.settings.forgotten:
            if last:
                _log.info("growing the tree of %s by the log from operation %d on", self.where, start + 1)
            self.seq, self._pending = start, 0
            with self._contained("replaying the log"):
                return self._replay(db, None)
        _log.warning("no snapshot of %s can be used: growing its tree again from all documents", self.where)
        self.seq, self.regrown = last, True
        step = log.read_step(db, last, "refit")
        with self._contained("growing the tree from all documents"):
            return log.apply(step, None)
        self.regrown = False
        self.degraded = f"its tree could not be made ({self._failure})"
        _log.error("%s is degraded: %s. Searches look at everything; run gossamer repair", self.where, self.degraded)
        return VectorIndex.flat(step.vectors, step.born.tolist()) if len(step.born) else None

    @contextmanager
    def _contained(self, doing: str) -> Iterator[None]:
        """Go on after a failure to derive the tree; one to read the truth goes through, and so does Ctrl-C."""
        try:
            yield
        except (DiskError, sqlite3.Error):
            raise
        except Exception as error:
            self._failure = error
            _log.warning("%s failed for %s, trying another way: %r", doing, self.where, error)

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
                oldest = remove_old(self.layout, self.settings.identity, self.seq)
                if oldest is not None:
                    self._forget(oldest)
        except (DiskError, MemoryError) as error:
            _log.warning("no snapshot of %s could be taken, the log is kept instead: %s", self.where, error)
        self._pending = 0

    def _remove_damaged(self) -> None:
        assert self.layout is not None
        for seq in self._damaged:
            if seq != self.seq:  # that one was just written anew
                shutil.rmtree(self.layout.snapshot(seq), ignore_errors=True)
        self._damaged.clear()

    def _forget(self, seq: int) -> None:
        with uninterrupted():
            try:
                with translated(self.where):
                    settings = log.forget(self.database.begin(), seq, self.settings)
                self.database.commit()
                self.settings = settings
            finally:
                self.rollback()

    # -- looking -----------------------------------------------------------------------------------

    def snapshots(self) -> list[int]:
        """The operations after which the tree was saved, newest first."""
        return [] if self.layout is None else self.layout.snapshots()

    def bytes(self) -> int:
        """Taken on disk."""
        return 0 if self.layout is None else self.layout.bytes()

    def check(self, vectors: VectorIndex | None) -> None:
        """Raise `CorruptError` unless every row is as it was written and the tree holds exactly the passages."""
        self.check_content()
        with self.reading() as db:
            numbers, _ = rows.vectors_where(db, "gone IS NULL", ())
        held = 0 if vectors is None else len(vectors)
        if held != len(numbers) or any(number not in vectors for number in numbers.tolist()):  # type: ignore[operator]
            raise CorruptError(f"the tree holds {held} passages, the database {len(numbers)}, or others: open it again")

    def check_content(self) -> None:
        """Raise `CorruptError` unless the database is sound: its pages, every row, the log, and the full text.

        The full text checks itself by a statement that counts as a write, which a reader makes on a copy.
        """
        with self.reading() as db:
            verdict = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise CorruptError(f"{_damaged(self.where)}: {verdict}")
            _check_rows(db, schema.read_settings(db))
        check_words = "INSERT INTO words (words, rank) VALUES ('integrity-check', 1)"
        if self.writable:
            try:
                with translated(self.where):
                    self.database.begin().execute(check_words)
            finally:
                self.rollback()
            return
        copy = self.database.copy_to(None)
        try:
            with translated(self.where):
                copy.execute(check_words)
        finally:
            copy.close()


def _look_over(layout: Layout) -> Files:
    """Whether every page of the database is as it was written, and SQLite's log is whole.

    A writer in another process may be copying its log into the database meanwhile, so what looks wrong is looked at
    again: it is wrong only if it stays so.
    """
    if is_open_here(layout.documents):
        return "as left"  # it was looked over when this process opened it first
    sums = PageSums(layout.documents)
    wrong: set[int] | None = None
    for _ in range(_LOOKS):
        wal = read_wal(layout.wal)
        if not sums.file.exists():
            return "altered" if wal.cut else "without checksums"
        if sums.acknowledged() is None:
            return "altered"
        found = {0, *sums.damaged(wal)} if wal.cut else set(sums.damaged(wal))
        wrong = found if wrong is None else wrong & found
        if not wrong:
            return "as left"
    return "altered"


def _lost(where: str, last: int, expected: int) -> CorruptError:
    return CorruptError(
        f"documents.sqlite of {where} ends at operation {last}, but operation {expected} was acknowledged: what came "
        "after is lost, as when SQLite's log beside it was damaged or an older copy was put in its place. Restore it "
        "from a copy, or go on with what is there after gossamer repair"
    )


def _damaged(where: str) -> str:
    return f"documents.sqlite of {where} is damaged (restore it from a copy, or run gossamer repair)"


def _check_rows(db: sqlite3.Connection, settings: Settings) -> None:
    """Every row has the checksum it was written with, and what belongs together is there."""
    documents = {row.document for row in rows.all_documents(db)}
    owners = {row.document for row in rows.all_passages(db)}
    if owners != documents:
        raise CorruptError(f"{len(documents)} documents, but passages of {len(owners)}: run gossamer repair")
    for table, largest in (("documents", max(documents, default=0)), ("passages", _largest(db, "passages", "passage"))):
        if rows.next_number(db, table) <= largest:
            raise CorruptError(f"the numbering of {table} was altered: run gossamer repair")
    rows.vectors_where(db, "gone IS NULL", ())
    read_learnt(db)
    for _ in log.steps_after(db, max(settings.forgotten, log.last_refit(db))):
        pass


def _largest(db: sqlite3.Connection, table: str, column: str) -> int:
    return int(db.execute(f"SELECT ifnull(max({column}), 0) FROM {table}").fetchone()[0])


def _create_database(layout: Layout, settings: Settings) -> None:
    database = Database(layout.documents, writable=True, create=True)
    try:
        schema.create(database.begin(), settings)
        database.commit()
        database.checkpoint("TRUNCATE")
    finally:
        database.close()
    PageSums(layout.documents).rebuild(settings.identity, 0)


def _check_is_index(layout: Layout) -> None:
    if not layout.folder.is_dir():
        raise NotAnIndexError(f"there is no index at {layout.folder}: make one with Index.create")
    if layout.documents.is_file():
        return
    if layout.snapshots() or layout.lock.exists():
        raise CorruptError(f"{layout.documents} is missing: restore it from a copy, the rest cannot do without it")
    raise NotAnIndexError(f"{layout.folder} is not an index: it has no {layout.documents.name}")
