"""Connections to documents.sqlite, and SQLite's errors translated into `GossamerError`.

A writer has one connection to write with. Every read borrows a connection from a pool, in any thread, which sees one
state of the database until it is given back, whatever others commit meanwhile. An index in memory has a single
connection for everything.

A connection must not be used, nor even closed, in a child process that was forked from the one that opened it (SQLite's
"How to corrupt", section 2.6). A child raises `ForkedError` and never closes the connections it inherited.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Final, Literal
from weakref import WeakSet

from gossamer.errors import ClosedError, CorruptError, DiskError, GossamerError, LockedError, too_little_memory
from gossamer.runtime import deadline
from gossamer.runtime.process import OpenedIn

_PAGE: Final = 8192
"""Bytes of a page. Five vectors of 384 dimensions fit into one, and only two into SQLite's usual 4,096: 76,000 of them
take 125 MB instead of 157."""

_WAIT: Final = 30.0
"""Seconds to wait for another process that is recovering or closing the database."""

_STEPS: Final = 10_000
"""Instructions of SQLite between two checks of the deadline: about a millisecond. Each check takes the GIL."""

opening_lock: Final = RLock()
"""Held while a database is opened, and while its files are read without SQLite."""


class _Connection(sqlite3.Connection):
    """A connection that can be held in a `WeakSet`, so that one lost on Ctrl-C is closed by the garbage collector."""


def _prepare_for_writing(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA page_size = {_PAGE}")  # of a new file; others keep theirs
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # a commit that returned survives a power cut
    db.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone does not reach the disk
    db.execute("PRAGMA wal_autocheckpoint = 0")  # `Store` decides when, see `pages`


class Database:
    """The connections of one index."""

    def __init__(self, file: Path | None, *, writable: bool, create: bool = False) -> None:
        """Open `file`; None opens a database in memory."""
        self._file = file
        self.inode: tuple[int, int] | None = None
        self._process = OpenedIn()
        self._writable = writable
        self._reads = "ro"
        self._idle: list[sqlite3.Connection] = []
        self._all: WeakSet[sqlite3.Connection] = WeakSet()
        self._pool = Lock()
        self._exclusive = RLock()
        self._closed = False
        with opening_lock:
            _databases.add(self)
        try:
            with translated(self.where):
                self._connect_first(create)
        except BaseException:
            self._closed = True
            for db in set(self._all):
                db.close()
            raise

    def _connect_first(self, create: bool) -> None:
        if self._file is None or self._writable:
            self._main = self._connect("rwc" if create else "rw")
        if self._file is not None and self._file.exists():
            self.inode = _inode(self._file)
        if self._file is not None and self._writable:
            _prepare_for_writing(self._main)
        elif self._file is not None:
            self._idle.append(self._first_reader())

    @property
    def where(self) -> str:
        """The name of the database in messages."""
        return str(self._file or "the index in memory")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, which nobody else uses until the block ends."""
        with translated(self.where):
            if self._file is None:
                with deadline.holding(self._exclusive):
                    self._check_open()
                    with _within_deadline(self._main):
                        yield self._main
                return
            db = self._borrow()
            try:
                with _within_deadline(db):
                    db.execute("BEGIN")
                    yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._idle.append(db)

    def is_of_this_process(self) -> bool:
        """Whether this process opened it; False in a child that was forked since."""
        return self._process.is_current()

    def is_current(self) -> bool:
        """Whether the file is still the one that was opened."""
        try:
            return self._file is None or self.inode == _inode(self._file)
        except OSError:
            return False

    def begin(self) -> sqlite3.Connection:
        """Start a transaction; `commit` or `rollback` ends it. The caller makes sure that only one thread writes."""
        with translated(self.where):
            self._check_open()
            self.rollback()  # a transaction that was interrupted before it could be rolled back
            try:
                self._main.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY_SNAPSHOT:
                    raise
                self._replace_main()
                self._main.execute("BEGIN IMMEDIATE")
            return self._main

    def _replace_main(self) -> None:
        """Write by a new connection.

        A query that Ctrl-C interrupted, and that its traceback holds, keeps the old one at an earlier state.
        """
        before, self._main = self._main, self._connect("rw")
        _prepare_for_writing(self._main)
        before.close()

    def commit(self) -> None:
        """Commit the transaction: it is durable on return."""
        with translated(self.where):
            self._main.execute("COMMIT")

    def rollback(self) -> None:
        """Roll the transaction back, if there is one and SQLite has not done so itself."""
        with suppress(sqlite3.Error):
            if self._main.in_transaction:
                self._main.execute("ROLLBACK")

    def checkpoint(self, mode: Literal["PASSIVE", "RESTART", "TRUNCATE"] = "PASSIVE", *, wait: float = 0.0) -> bool:
        """Copy the write-ahead log into the database, as far as readers allow; returns whether all was copied.

        RESTART waits up to `wait` seconds for readers to finish, so that the next transaction overwrites the log from
        its start. TRUNCATE also empties it.
        """
        with translated(self.where):
            self._check_open()
            self._main.execute(f"PRAGMA busy_timeout = {int(1000 * wait)}")
            try:
                busy, frames, copied = self._main.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                self._main.execute(f"PRAGMA busy_timeout = {int(1000 * _WAIT)}")
            return not busy and frames == copied

    def vacuum(self) -> None:
        """Write the database anew, without pages that are free and without anything that was deleted."""
        with translated(self.where):
            self._check_open()
            self._main.execute("VACUUM")

    def pages(self) -> tuple[int, int, int]:
        """How many pages there are, how many of them are free, and the bytes of one."""
        with self.reading() as db:
            names = ("page_count", "freelist_count", "page_size")
            count, free, size = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
            return count, free, size

    def copy_to(self, file: Path) -> sqlite3.Connection:
        """A copy of one state of the database, in a new file."""
        with translated(self.where), self.reading() as db:
            copy = sqlite3.connect(str(file), isolation_level=None)
            try:
                db.backup(copy)
            except BaseException:
                copy.close()
                raise
            return copy

    def close(self, *, keep_log: bool = False) -> None:
        """Close every connection. Closing the last one to a file checkpoints and deletes the write-ahead log.

        `keep_log`: it stays. SQLite checkpoints when a connection that can write is the last one, so it goes first.
        """
        if not self._process.is_current():
            return
        with self._exclusive, self._pool:
            if self._closed:
                return
            self._closed = True
            if keep_log and self._file is not None:
                with suppress(sqlite3.Error):
                    _probe(self._connect(self._reads))
            main = [self._main] if self._file is None or self._writable else []
            others = list(set(self._all) - set(main))
            for db in [*main, *others] if keep_log else [*others, *main]:
                with suppress(sqlite3.Error):
                    db.close()
            self._idle.clear()

    def _borrow(self) -> sqlite3.Connection:
        with self._pool:
            self._check_open()
            return self._idle.pop() if self._idle else self._connect(self._reads)

    def _check_open(self) -> None:
        self._process.check()
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
        """A reading connection that was tried. In a folder that cannot be written it opens the file as immutable."""
        assert self._file is not None
        db = self._connect(self._reads)
        try:
            _probe(db)
            return db
        except sqlite3.OperationalError as error:
            db.close()
            wal = self._file.with_name(self._file.name + "-wal")
            if wal.exists() and wal.stat().st_size:
                raise DiskError(
                    f"{self._file.parent} cannot be read here ({error}): it was not closed, and what was committed "
                    "last can only be read where files may be written: open it once for writing, or copy the folder"
                ) from error
            # Nobody can be writing where files cannot be made, and there is no write-ahead log: the file is complete.
            self._reads = "ro&immutable=1"
            db = self._connect(self._reads)
            _probe(db)
            return db


def is_open_here(file: Path) -> bool:
    """Whether this process has a connection to a database. Then it must not open the file itself, see `pages`.

    The answer holds for as long as the caller holds `opening_lock`.
    """
    if not file.exists():
        return False
    with opening_lock:
        mine = [database for database in _databases if not database._closed and database.is_of_this_process()]
    return _inode(file) in (database.inode for database in mine)


def _inode(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_dev, about.st_ino


_databases: WeakSet[Database] = WeakSet()
"""The databases that this process has open, and those it inherited in a fork."""


def _abandon_in_child() -> None:
    """Add a reference to inherited connections, so that nothing closes them, not even the end of the interpreter."""
    import ctypes

    opening_lock._at_fork_reinit()  # type: ignore[attr-defined]  # another thread may have held it at the fork
    for database in list(_databases):
        for db in list(database._all):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)


def _probe(db: sqlite3.Connection) -> None:
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _within_deadline(db: sqlite3.Connection) -> AbstractContextManager[None]:
    """Make SQLite stop when the deadline of this thread passes."""
    return nullcontext() if deadline.left() is None else _stopped_in_time(db)


@contextmanager
def _stopped_in_time(db: sqlite3.Connection) -> Iterator[None]:
    deadline.check()
    db.set_progress_handler(deadline.passed, _STEPS)
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # closed meanwhile
            db.set_progress_handler(None, 0)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise SQLite's errors as `GossamerError`, each with its cure."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translation(error, where) from error
    except MemoryError as error:
        if isinstance(error, GossamerError):
            raise
        raise too_little_memory(f"to work with {where}") from error


def _translation(error: sqlite3.Error, where: str) -> GossamerError:
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
        return too_little_memory(f"to work with {where}")
    if isinstance(error, sqlite3.ProgrammingError):
        return ClosedError(f"this index was closed ({error}): open it again with Index.open")
    return CorruptError(f"{where} cannot be understood ({error}): restore it from a copy, or run gossamer repair")
