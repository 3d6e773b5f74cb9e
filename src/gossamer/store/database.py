"""Connections to documents.sqlite, and SQLite's errors in our words.

A writer has one connection to write with. Reading takes a connection of its own from a pool, in any thread; where an
index was opened for reading alone, it sees a single state of the database for as long as it is borrowed. An index in
memory has a single connection for everything.

A connection must not be used, nor even closed, in a child process that was forked from the one that opened it (SQLite's
"How to corrupt", section 2.6), so a child raises `ForkedError` and leaves what it inherited alone.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Final, Literal
from weakref import WeakSet

from gossamer.errors import (
    ClosedError,
    CorruptError,
    DiskError,
    ForkedError,
    GossamerError,
    LockedError,
    OutOfMemoryError,
    enough_memory,
)
from gossamer.runtime import deadline

_WAIT: Final = 30.0
"""Seconds to wait for another process that is just finishing the log."""

_STEPS: Final = 10_000
"""Of SQLite's machine between two looks at the deadline: about a millisecond, and each look takes the GIL."""


opening: Final = RLock()
"""Held while files of a database are looked at from outside, and while one is opened."""


class _Connection(sqlite3.Connection):
    """SQLite's, which can be referred to weakly: one that is lost on Ctrl-C is closed by the garbage collector."""


class Database:
    """The connections of one index."""

    def __init__(self, file: Path | None, *, writable: bool, create: bool = False) -> None:
        """Open `file`, or a database in memory where there is none."""
        self._file = file
        self.inode: tuple[int, int] | None = None
        self._process = os.getpid()
        self._writable = writable
        self._reads = "ro"
        self._idle: list[sqlite3.Connection] = []
        self._all: WeakSet[sqlite3.Connection] = WeakSet()
        self._pool = Lock()
        self._alone = RLock()
        self._closed = False
        with opening:
            _open.add(self)
        try:
            with translated(self.where):
                self._begin(create)
        except BaseException:
            self._closed = True
            for db in set(self._all):
                db.close()
            raise

    def _begin(self, create: bool) -> None:
        if self._file is None or self._writable:
            self._main = self._connect("rwc" if create else "rw")
        if self._file is not None and self._file.exists():
            self.inode = _inode(self._file)
        if self._file is not None and self._writable:
            self._main.execute("PRAGMA journal_mode = WAL")
            self._main.execute("PRAGMA synchronous = FULL")  # a commit that returned survives a power cut
            self._main.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone does not reach the disk
            self._main.execute("PRAGMA wal_autocheckpoint = 0")  # see `pages`
        elif self._file is not None:
            self._idle.append(self._first_reader())

    @property
    def where(self) -> str:
        """What messages call it."""
        return str(self._file or "the index in memory")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, of one's own while it lasts."""
        with translated(self.where):
            if self._file is None:
                with deadline.holding(self._alone):
                    self._check_open()
                    with _ending_in_time(self._main):
                        yield self._main
                return
            db = self._borrow()
            try:
                with _ending_in_time(db):
                    if not self._writable:  # another process may commit meanwhile
                        db.execute("BEGIN")
                    yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._idle.append(db)

    def is_of_this_process(self) -> bool:
        """False in a child that was forked from the process that opened it."""
        return self._process == os.getpid()

    def is_current(self) -> bool:
        """Whether the file is still the one that was opened."""
        try:
            return self._file is None or self.inode == _inode(self._file)
        except OSError:
            return False

    def begin(self) -> sqlite3.Connection:
        """Start a change; `commit` or `rollback` ends it. One thread at a time, which the index sees to."""
        with translated(self.where):
            self._check_open()
            self.rollback()  # of a change that was interrupted before it could be undone
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

    def checkpoint(self, mode: Literal["PASSIVE", "RESTART", "TRUNCATE"] = "PASSIVE", *, wait: float = 0.0) -> bool:
        """Copy what the log holds into the file, as far as no reader needs it to stay; whether that was all.

        RESTART waits up to so many seconds for readers to end what they have begun, so that the log begins anew with
        the next change; TRUNCATE also makes the log empty.
        """
        with translated(self.where):
            self._check_open()
            self._main.execute(f"PRAGMA busy_timeout = {int(1000 * wait)}")
            try:
                busy, frames, copied = self._main.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                self._main.execute(f"PRAGMA busy_timeout = {int(1000 * _WAIT)}")
            return not busy and frames == copied

    def copy_to(self, file: Path | None) -> sqlite3.Connection:
        """A copy of one state of the database: in a new file, or in a temporary one that ends with its connection."""
        with translated(self.where), self.reading() as db:
            copy = sqlite3.connect("" if file is None else str(file), isolation_level=None)
            try:
                db.backup(copy)
            except BaseException:
                copy.close()
                raise
            return copy

    def close(self) -> None:
        """Close every connection; the last one on a file puts its log away."""
        if self._process != os.getpid():
            return
        with self._alone, self._pool:
            self._closed = True
            main = [self._main] if self._file is None or self._writable else []
            for db in [*(set(self._all) - set(main)), *main]:  # the writing one last: only it may tidy up
                with suppress(sqlite3.Error):
                    db.close()
            self._idle.clear()

    def _borrow(self) -> sqlite3.Connection:
        with self._pool:
            self._check_open()
            return self._idle.pop() if self._idle else self._connect(self._reads)

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise forked(self._process)
        if self._closed:
            raise ClosedError("this index was closed: open it again with Index.open")

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = "file::memory:" if self._file is None else f"{self._file.absolute().as_uri()}?mode={mode}"
        db = sqlite3.connect(
            uri, uri=True, timeout=_WAIT, check_same_thread=False, isolation_level=None, factory=_Connection
        )
        self._all.add(db)
        return db

    def _first_reader(self) -> sqlite3.Connection:
        """A connection that was tried: where no files can be made beside the database, it must do without them."""
        assert self._file is not None
        db = self._connect(self._reads)
        try:
            _look(db)
            return db
        except sqlite3.OperationalError as error:
            db.close()
            wal = self._file.with_name(self._file.name + "-wal")
            if wal.exists() and wal.stat().st_size:
                raise DiskError(
                    f"{self._file.parent} cannot be read here ({error}): it was not closed, and what was committed "
                    "last can only be read where files may be written: open it once for writing, or copy the folder"
                ) from error
            # Nobody can be writing where files cannot be made, and no log is waiting: the file alone is the truth.
            self._reads = "ro&immutable=1"
            db = self._connect(self._reads)
            _look(db)
            return db


def forked(opened_in: int) -> ForkedError:
    """The error of a handle that is used in a child process."""
    return ForkedError(
        f"this index was opened in process {opened_in} and is used in its child {os.getpid()}: "
        "after a fork, open it again in the child with Index.open"
    )


def is_open_here(file: Path) -> bool:
    """Whether this process has a connection to a database: then it must not be opened otherwise, see `pages`.

    To rely on the answer, hold `opening` until the file is no longer needed.
    """
    if not file.exists():
        return False
    with opening:
        mine = [database for database in _open if not database._closed and database._process == os.getpid()]
    return _inode(file) in (database.inode for database in mine)


def _inode(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_dev, about.st_ino


_open: WeakSet[Database] = WeakSet()
"""The databases of this process."""


def _abandon_in_child() -> None:
    """Keep inherited connections from ever being closed, also when the interpreter ends: closing would do harm."""
    import ctypes

    opening._at_fork_reinit()  # type: ignore[attr-defined]  # another thread may have held it at the fork
    for database in list(_open):
        for db in list(database._all):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)


def _look(db: sqlite3.Connection) -> None:
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
        with enough_memory(f"to work with {where}"):
            yield
    except sqlite3.Error as error:
        raise _as_ours(error, where) from error


def _as_ours(error: sqlite3.Error, where: str) -> GossamerError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return LockedError(f"{where} is held by another process ({error}): try again when it is done")
    if name == "SQLITE_INTERRUPT":
        return deadline.too_slow()
    if name.startswith("SQLITE_FULL"):
        return DiskError(f"the disk of {where} is full: nothing was changed; make room and try again")
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
        return DiskError(f"{where} could not be read or written ({error}): nothing was changed")
    if name.startswith("SQLITE_NOMEM"):
        return OutOfMemoryError(f"there is too little memory to work with {where}: nothing was changed")
    if isinstance(error, sqlite3.ProgrammingError):
        return ClosedError(f"this index was closed ({error}): open it again with Index.open")
    return CorruptError(f"{where} cannot be understood ({error}): restore it from a copy, or run gossamer repair")
