"""Store: one index on disk or in memory. It records changes, keeps snapshots, and checks files when it is opened.

documents.sqlite holds everything that cannot be derived. Where it is damaged, opening raises an error that names the
cure. The tree is derived from it by `gossamer.index.replay`.

Several processes may have one index open to write. Whatever changes a file of the folder is done in a `turn`: under a
lock that is held for one operation. What is derived, and may be of an older state, is saved in `turn_at`.
"""

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias
from uuid import uuid4

from gossamer.errors import CorruptError, DiskError, GossamerError, IndexExistsError, NotAnIndexError, StateError
from gossamer.files.bundle import Bundle
from gossamer.files.file_lock import LockFile, Presence
from gossamer.runtime.interrupts import uninterrupted
from gossamer.store import log, rows, schema
from gossamer.store.database import Database, is_open_here, opening_lock, translated
from gossamer.store.inspection import Files, check_is_index, check_rows, inspect
from gossamer.store.layout import Layout, disk_errors, remove_folder, sync_folder
from gossamer.store.pages import PageSums
from gossamer.store.schema import Settings
from gossamer.store.snapshots import (
    Snapshot,
    is_snapshot_of,
    reading_snapshot,
    remove_drafts,
    remove_old,
    write_snapshot,
)
from gossamer.store.wal import FrameCount, read_wal

Mode: TypeAlias = Literal["w", "r"]

_log = logging.getLogger("gossamer.store")

_RESTART_AFTER = 4
"""Multiple of `Policy.checkpoint_after` from which a checkpoint waits for readers, so that the log can restart."""

_READER_WAIT = 0.1
"""Seconds that such a checkpoint waits for readers; a read takes milliseconds."""

_VACUUM_WAIT = 5.0
"""Seconds that emptying the log after a vacuum waits for readers."""

_CLOSING_WAIT = 1.0
"""Seconds that closing waits for another writer. Without its turn it leaves the write-ahead log as it is."""

TIMEOUT = 60.0
"""Seconds that a change waits for other writers, unless it is told otherwise."""


@dataclass(frozen=True)
class Policy:
    """When the tree is saved, and when SQLite's write-ahead log is copied into the database.

    snapshot_after      passages added or removed since the last snapshot before the next one is taken ...
    snapshot_share      ... or this share of the index, if that is more
    closing_share       share of the index that changed before closing it takes a snapshot
    checkpoint_after    frames (pages) of the write-ahead log before a checkpoint
    """

    snapshot_after: int = 2_000
    snapshot_share: float = 0.5
    closing_share: float = 0.01
    checkpoint_after: int = 1_000


class Store:
    """Documents, log and snapshots of one index, on disk or in memory."""

    def __init__(self, layout: Layout | None, database: Database, presence: Presence | None, timeout: float) -> None:
        """`presence` is held until the store is closed; without one it is for reading alone, or in memory."""
        self.layout = layout
        self.database = database
        self.policy = Policy()
        self._presence = presence
        self._timeout = timeout
        self._closed = True  # until it is open, there is nothing to close
        self._sums = None if layout is None else PageSums(layout.documents)
        self._frames = None if layout is None else FrameCount(layout.wal)
        self._checkpointed = 0  # frames of the write-ahead log at the last checkpoint
        acknowledged = None if self._sums is None else self._sums.acknowledged()  # first: a writer may go on meanwhile
        with database.reading() as db:
            schema.check_version(db, self.where)
            self.settings = schema.read_settings(db)
            last = log.last_seq(db)
        if acknowledged is not None and acknowledged.identity == self.settings.identity and acknowledged.seq > last:
            raise self.lost_operations(last, acknowledged.seq)
        self._closed = False

    # -- opening and closing -----------------------------------------------------------------------

    @classmethod
    def in_memory(cls, settings: Settings) -> Self:
        """An empty store in memory."""
        database = Database(None, writable=True)
        schema.create(database.begin(), settings)
        database.commit()
        return cls(None, database, None, 0.0)

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], settings: Settings, timeout: float = TIMEOUT, *, space: Bundle | None = None
    ) -> Self:
        """A store in a new folder, open for writing. The folder is made under another name, then renamed.

        `space`: of an index of the preset "given", see `schema.write_space`.
        """
        layout = Layout(Path(path).absolute())
        if layout.folder.exists() and (not layout.folder.is_dir() or any(layout.folder.iterdir())):
            if layout.documents.exists():
                cure = f"open it with Index.open({str(path)!r}), or choose another path"
                raise IndexExistsError(f"there is an index at {layout.folder} already: {cure}")
            raise NotAnIndexError(f"{layout.folder} exists and is not an index: choose another path")
        draft = Layout(layout.folder.with_name(f".{layout.folder.name}.{uuid4().hex[:12]}"))
        try:
            with disk_errors(f"{layout.folder} could not be made"), uninterrupted():
                draft.folder.mkdir(parents=True)
                _create_database(draft, settings, space)
                os.rename(draft.folder, layout.folder)
                sync_folder(layout.folder.parent)
        except BaseException:
            remove_folder(draft.folder)
            raise
        return cls.open(layout.folder, "w", timeout)

    @classmethod
    def open(cls, path: str | os.PathLike[str], mode: Mode, timeout: float = TIMEOUT, *, alone: bool = False) -> Self:
        """The store in a folder, for writing or for reading alone.

        `timeout`: seconds that a change waits for other writers. `alone`: raise where there are any that could write.
        """
        layout = Layout(Path(path).absolute())
        check_is_index(layout)
        if mode == "r":
            return cls._open(layout, None, timeout, mend=False)
        presence, lock = Presence(layout.folder), LockFile(layout.lock)
        try:
            if alone:
                presence.enter_alone()
            else:
                presence.enter(timeout)
            mend = lock.acquire_if_free()  # else another process has it open, and has looked at it
            if mend:
                remove_drafts(layout)
            return cls._open(layout, presence, timeout, mend=mend)
        except BaseException:
            presence.leave()
            raise
        finally:
            lock.release()

    @classmethod
    def _open(cls, layout: Layout, presence: Presence | None, timeout: float, *, mend: bool) -> Self:
        """Compare the files with their checksums, then open them; where they differ, check the content.

        Where there is a write-ahead log, all of this is done first with a connection that cannot write: closing one
        that can would copy the log into the database and delete it, and with it what a repair could still read.
        `mend`: write checksums that are missing; the caller holds the lock.
        """
        with opening_lock:
            files = inspect(layout)
            if presence is None or files == "altered" or layout.has_wal():
                reader = cls._checked(layout, None, timeout, files)
                if presence is None:
                    return reader
                reader.database.close()
                files = "without checksums" if files == "altered" else files
            store = cls._checked(layout, presence, timeout, files)
            try:
                if mend and files != "intact":
                    store._rebuild_sums()
                return store
            except BaseException:
                store.database.close()
                raise

    @classmethod
    def _checked(cls, layout: Layout, presence: Presence | None, timeout: float, files: Files) -> Self:
        database = Database(layout.documents, writable=presence is not None)
        try:
            store = cls(layout, database, presence, timeout)
            if files == "altered":
                _log.warning("%s is damaged, or another program wrote to it: checking all of it", store.where)
                with store.reading() as db:  # passes where another program wrote to it, or only the sums are damaged
                    store.check_content(db)
            return store
        except BaseException:
            database.close()
            raise

    def _rebuild_sums(self) -> None:
        """Write the checksums of all pages. The database is closed for it and opened again."""
        assert self.layout is not None
        assert self._sums is not None
        with self.reading() as db:
            last = log.last_seq(db)
        if not self.database.checkpoint("TRUNCATE"):
            return  # a reader needs the write-ahead log: the next opening tries again
        self.database.close()
        if not is_open_here(self.layout.documents):  # the caller holds `opening_lock`
            try:
                self._sums.rebuild(self.settings.identity, last)
            except DiskError as error:
                _log.warning("the checksums of %s could not be written: %s", self.where, error)
        self.database = Database(self.layout.documents, writable=True)

    def __del__(self) -> None:
        """Close a store that its user did not close."""
        with suppress(Exception):
            if not self._closed:
                self.close()

    def close(self) -> None:
        """Checkpoint and close the files. In a child process that was forked this does nothing."""
        if not self.database.is_of_this_process():
            return
        with uninterrupted():
            self._closed = True
            try:
                if self._presence is None:
                    self.database.close()
                else:
                    self._close_for_writing()
            finally:
                if self._presence is not None:
                    self._presence.leave()

    def _close_for_writing(self) -> None:
        """Empty the write-ahead log and close the database, both in a turn.

        Where another process has the turn, the log is left to it: SQLite, which would copy it, knows no checksums.
        """
        try:
            with self.turn(_CLOSING_WAIT):
                with suppress(GossamerError, MemoryError):  # what stays in the write-ahead log is durable there
                    self._empty_log()
                self.database.close()
        except GossamerError as error:
            _log.info("the log of %s stays as it is: %s", self.where, error)
        finally:
            self.database.close(keep_log=True)

    @property
    def where(self) -> str:
        """The name of the index in messages."""
        return "the index in memory" if self.layout is None else str(self.layout.folder)

    @property
    def writable(self) -> bool:
        """Whether changes can be made: it was opened for that, or is in memory."""
        return self._presence is not None or self.layout is None

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection to read with."""
        return self.database.reading()

    def read_settings(self, db: sqlite3.Connection) -> Settings:
        """Read the settings again, which another process may have changed."""
        self.settings = schema.read_settings(db)
        return self.settings

    # -- taking turns ------------------------------------------------------------------------------

    @contextmanager
    def turn(self, timeout: float | None = None) -> Iterator[None]:
        """Keep other writers away until the block ends; `LockedError` where they are not done in time."""
        if self.layout is None:
            yield
            return
        lock = LockFile(self.layout.lock)
        try:
            lock.acquire(self._timeout if timeout is None else timeout)
            self.check_is_current()
            yield
        finally:
            lock.release()

    @contextmanager
    def turn_at(self, operation: int) -> Iterator[bool]:
        """A turn to save what was made of the tree at an operation, if it can be had without waiting.

        Yields False where another one is writing, or has written since: then what it deleted must not be saved again.
        """
        if self.layout is None or not self.writable:
            yield False
            return
        lock = LockFile(self.layout.lock)
        try:
            taken = lock.acquire_if_free() and self.database.is_current()
            if taken:
                with self.reading() as db:
                    taken = log.last_seq(db) == operation
            yield taken
        finally:
            lock.release()

    def check_is_current(self) -> None:
        """Raise where the database is not the one that was opened."""
        if not self.database.is_current():
            raise StateError(f"{self.where} was replaced, by a repair or a restored copy: open it again")

    # -- changing ----------------------------------------------------------------------------------

    def prepare(self, change: log.Change) -> log.Step:
        """Write a change into a transaction that stays open; `commit` or `rollback` must follow."""
        try:
            db = self.database.begin()
            with translated(self.where):
                return log.record(db, change)
        except BaseException:
            self.rollback()
            raise

    def commit(self, step: log.Step, settings: Settings | None) -> None:
        """Make the prepared change durable. `settings` are those it changed; None where it changed none."""
        try:
            self.database.commit()
        except GossamerError as error:
            self.database.rollback()
            self._overwrite_failed_commit(error)
            raise
        if settings is not None:
            self.settings = settings
        if self._sums is not None:
            with suppress(Exception):  # the change is durable without it
                self._sums.acknowledge(self.settings.identity, step.seq)

    def _overwrite_failed_commit(self, error: GossamerError) -> None:
        """Make sure that a commit that failed does not reappear.

        Where the disk failed to sync, the whole change may be in the write-ahead log, and opening the index again would
        find it there. The next transaction overwrites it there, so one is made that changes nothing.
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

    def rollback(self) -> None:
        """Undo a prepared change; does nothing where there is none."""
        self.database.rollback()

    def number_from(self, document: int) -> None:
        """Give the next document without an id a number above `document`."""
        try:
            with translated(self.where):
                query = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'documents'"
                self.database.begin().execute(query, (document,))
            self.database.commit()
        finally:
            self.rollback()

    def checkpoint_if_due(self) -> None:
        """Copy the write-ahead log into the database once it is long. Where that fails, a later call tries again."""
        if self._frames is None or not self.writable:
            return
        frames = self._frames.now()
        if frames < self._checkpointed:  # the log restarted
            self._checkpointed = 0
        if frames - self._checkpointed >= self.policy.checkpoint_after:
            try:
                self._checkpoint(restart=frames >= _RESTART_AFTER * self.policy.checkpoint_after)
            except (GossamerError, MemoryError) as error:
                _log.warning("the log of %s could not be copied into it, and is kept: %s", self.where, error)

    def _checkpoint(self, *, restart: bool = False) -> None:
        """Copy the write-ahead log into the database, and write the checksums of the pages that were copied.

        SQLite can overwrite the log from its start (`restart`) only while no reader uses it, so with readers at every
        moment it would grow for ever. A restart waits for those that are reading; new ones read the database alone.
        """
        assert self.layout is not None
        assert self._sums is not None
        assert self._frames is not None
        logged = read_wal(self.layout.wal).sums
        if logged:
            self._sums.update(logged)  # first: the sum of a page that is in the log is not compared
            self.database.checkpoint("RESTART" if restart else "PASSIVE", wait=_READER_WAIT if restart else 0.0)
            self._checkpointed = self._frames.now()

    def _empty_log(self, wait: float = 0.0) -> bool:
        """Copy all of the write-ahead log into the database and empty it; False where a reader still needs it."""
        assert self._sums is not None
        self._checkpoint()
        done = self.database.checkpoint("TRUNCATE", wait=wait)
        if done:
            self._sums.truncate(self.database.pages()[0])
            self._checkpointed = 0
        return done

    def vacuum(self) -> bool:
        """Write the database anew, without what was deleted; returns whether nothing of the old one is on disk.

        A reader in another process may still need the old state: then that stays in the files until it has ended.
        """
        self.database.vacuum()
        return self.layout is None or self._empty_log(_VACUUM_WAIT)

    # -- snapshots ---------------------------------------------------------------------------------

    def snapshots(self) -> list[int]:
        """The operations after which the tree was saved, newest first."""
        return [] if self.layout is None else self.layout.snapshots()

    def has_snapshot(self, seq: int) -> bool:
        """Whether there is a snapshot of this index, and not of another one, after operation `seq`."""
        return self.layout is not None and is_snapshot_of(self.layout, seq, self.settings.identity)

    def reading_snapshot(self, seq: int) -> AbstractContextManager[Snapshot]:
        """Tree and words as they were saved after operation `seq`: sound if no error comes out of the block."""
        assert self.layout is not None
        return reading_snapshot(self.layout, seq, self.settings.identity)

    def write_snapshot(self, seq: int, content: Snapshot, damaged: Iterable[int]) -> None:
        """Save tree and words of operation `seq`, and remove snapshots that were found damaged."""
        assert self.layout is not None
        write_snapshot(self.layout, seq, self.settings.identity, content)
        for other in damaged:
            if other != seq:  # that one was just written again
                remove_folder(self.layout.snapshot(other))

    def remove_old_snapshots(self, seq: int) -> int:
        """Remove all but the newest snapshots up to operation `seq`; returns the operation a replay may start from."""
        assert self.layout is not None
        return remove_old(self.layout, self.settings.identity, seq) or self.settings.forgotten

    def remove_snapshots(self, but: int | None) -> None:
        """Remove all snapshots except the one of operation `but`; None for all."""
        if self.layout is not None:
            self.layout.remove([self.layout.snapshot(seq) for seq in self.layout.snapshots() if seq != but])

    def remove_derived(self) -> None:
        """Remove what was made of the texts and can be made again, but not snapshots."""
        if self.layout is not None:
            files = [self.layout.labels, self.layout.labels_draft, self.layout.plane, *self.layout.encoded_texts()]
            self.layout.remove(files)

    def drop_history(self, seq: int) -> None:
        """Delete what only a replay from before operation `seq` would need."""
        if seq <= self.settings.forgotten:
            return
        with uninterrupted():
            try:
                with translated(self.where):
                    settings = log.drop_history(self.database.begin(), seq, self.settings)
                self.database.commit()
                self.settings = settings
            finally:
                self.rollback()

    # -- checking ----------------------------------------------------------------------------------

    def bytes(self) -> dict[str, int]:
        """The size on disk of each part; nothing in memory."""
        return {} if self.layout is None else self.layout.bytes()

    def free_bytes(self) -> int:
        """Bytes of the database that deletions left, and that `vacuum` gives back."""
        _, free, size = self.database.pages()
        return free * size

    def lost_operations(self, last: int, expected: int) -> CorruptError:
        """The error for a log that ends at operation `last` although `expected` was acknowledged."""
        return CorruptError(
            f"documents.sqlite of {self.where} ends at operation {last}, but operation {expected} was acknowledged: "
            "what came after is lost, as when SQLite's log beside it was damaged or an older copy was put in its "
            "place. Restore it from a copy, or go on with what is there after gossamer repair"
        )

    def check_content(self, db: sqlite3.Connection) -> None:
        """Raise `CorruptError` unless pages, rows and log of the database are sound."""
        verdict = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise CorruptError(f"documents.sqlite of {self.where} is damaged ({rows.CURE}): {verdict}")
        check_rows(db, schema.read_settings(db))


def _create_database(layout: Layout, settings: Settings, space: Bundle | None) -> None:
    with closing(Database(layout.documents, writable=True, create=True)) as database:
        schema.create(database.begin(), settings, space)
        database.commit()
        database.checkpoint("TRUNCATE")
    PageSums(layout.documents).rebuild(settings.identity, 0)
