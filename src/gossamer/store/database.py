"""Connections to documents.sqlite, and SQLite's errors in our words.

A writer has one connection to write and as many as there are threads to read. A reader has a single one, inside
a transaction that began when it was opened or refreshed: what it sees does not move under it. An index in
memory has a single one for everything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock

from gossamer import deadline
from gossamer.errors import ClosedError, CorruptError, DiskError, GossamerError, LockedError

_WAIT = 30.0
"""Seconds to wait for another process that is just finishing the log."""

_STEPS = 10_000
"""Of SQLite's machine between two looks at the deadline: about a millisecond, and each look takes the GIL."""


class Database:
    """The connections of one index."""

    def __init__(self, file: Path | None, *, writable: bool, create: bool = False) -> None:
        """Open `file`, or a database in memory where there is none."""
        self._file = file
        self._several = file is not None and writable
        self._idle: list[sqlite3.Connection] = []
        self._all: list[sqlite3.Connection] = []
        self._pool = Lock()
        self._alone = RLock()
        self._closed = False
        with translated(self.where):
            self._main = self._connect("rwc" if create else "rw" if writable else "ro")
            if self._several:
                self._main.execute("PRAGMA journal_mode = WAL")
                self._main.execute("PRAGMA synchronous = FULL")  # a commit that returned survives a power cut
                self._main.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone does not reach the disk
            elif file is not None:
                self._pin()

    @property
    def where(self) -> str:
        """What messages call it."""
        return str(self._file or "the index in memory")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, of one's own while it lasts."""
        with translated(self.where):
            if not self._several:
                with deadline.holding(self._alone):
                    self._check_open()
                    with _ending_in_time(self._main):
                        yield self._main
                return
            db = self._borrow()
            try:
                with _ending_in_time(db):
                    yield db
            finally:
                with self._pool:
                    self._idle.append(db)

    def begin(self) -> sqlite3.Connection:
        """Start a change; `commit` or `rollback` ends it. One thread at a time, which the index sees to."""
        with translated(self.where):
            self._check_open()
            self._main.execute("BEGIN IMMEDIATE")
            return self._main

    def commit(self) -> None:
        """Make the change durable."""
        with translated(self.where):
            self._main.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the change, if SQLite has not done so itself."""
        with suppress(sqlite3.Error):
            if self._main.in_transaction:
                self._main.execute("ROLLBACK")

    def refresh(self) -> None:
        """Let a reader see what was committed since."""
        with self._alone, translated(self.where):
            self._check_open()
            self._main.close()
            self._all.remove(self._main)
            self._main = self._connect("ro")
            self._pin()

    def close(self) -> None:
        """Close every connection; the last one on a file puts its log away."""
        with self._alone, self._pool:
            self._closed = True
            for db in reversed(self._all):  # the writing one last: only it may tidy up
                with suppress(sqlite3.Error):
                    db.close()
            self._all.clear()
            self._idle.clear()

    def _borrow(self) -> sqlite3.Connection:
        with self._pool:
            self._check_open()
            if self._idle:
                return self._idle.pop()
            return self._connect("ro")

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this index was closed: open it again with Index.open")

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = "file::memory:" if self._file is None else f"{self._file.absolute().as_uri()}?mode={mode}"
        db = sqlite3.connect(uri, uri=True, timeout=_WAIT, check_same_thread=False, isolation_level=None)
        self._all.append(db)
        return db

    def _pin(self) -> None:
        """Begin to see one state, which stays until `refresh`."""
        assert self._file is not None
        try:
            _begin_reading(self._main)
        except sqlite3.OperationalError as error:
            wal = self._file.with_name(self._file.name + "-wal")
            if wal.exists() and wal.stat().st_size:
                raise DiskError(
                    f"{self._file.parent} cannot be read here ({error}): it was not closed, and what was committed "
                    "last can only be read where files may be written: open it once for writing, or copy the folder"
                ) from error
            # Nobody can be writing where files cannot be made, and no log is waiting: the file alone is the truth.
            self._all.remove(self._main)
            self._main.close()
            self._main = self._connect("ro&immutable=1")
            _begin_reading(self._main)


def _begin_reading(db: sqlite3.Connection) -> None:
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()


@contextmanager
def _ending_in_time(db: sqlite3.Connection) -> Iterator[None]:
    """Have SQLite give up when the deadline of this thread passes."""
    if deadline.left() is None:
        yield
        return
    deadline.check()
    db.set_progress_handler(deadline.passed, _STEPS)
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # closed meanwhile
            db.set_progress_handler(None, 0)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """SQLite's errors as ours, each with its cure."""
    try:
        yield
    except sqlite3.Error as error:
        raise _as_ours(error, where) from error


def _as_ours(error: sqlite3.Error, where: str) -> GossamerError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LockedError(f"{where} is held by another process ({error}): try again when it is done")
    if name == "SQLITE_INTERRUPT":
        return deadline.too_slow()
    if name.startswith("SQLITE_FULL"):
        return DiskError(f"the disk of {where} is full: nothing was changed; make room and try again")
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
        return DiskError(f"{where} could not be read or written ({error}): nothing was changed")
    if isinstance(error, sqlite3.ProgrammingError):
        return ClosedError(f"this index was closed ({error}): open it again with Index.open")
    return CorruptError(f"{where} cannot be understood ({error}): restore it from a copy or build it again")
