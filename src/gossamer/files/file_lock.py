"""One writer at a time: a lock file that says who holds it.

The lock itself is the operating system's, on the open file, so a crash frees it. What is written in the file
only says who it was: text that is still there when the lock is free was left behind by a crash. A child process
inherits open files and would keep the lock alive after its parent has gone, so it closes its copies at once.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakSet

from gossamer.errors import DiskError, LockedError
from gossamer.runtime.interrupts import uninterrupted

_log = logging.getLogger("gossamer.lockfile")

_held: WeakSet[LockFile] = WeakSet()
"""The locks this process holds."""


class LockFile:
    """Held from `acquire` to `release`, or until the process ends in whatever way."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise `LockedError` naming the holder."""
        with uninterrupted():
            self._acquire()

    def _acquire(self) -> None:
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise DiskError(
                f"{self._file} cannot be written ({error.strerror}): "
                'to look without writing, open the index with mode="r"'
            ) from error
        try:
            if not _try_lock(handle) or not _is_same(handle, self._file):
                raise LockedError(
                    f"{self._file.parent} is being written by {_told(_read(handle))}: wait until it is closed, "
                    'or open it for reading with mode="r"'
                )
            self._take(handle)
        except BaseException as error:
            os.close(handle)
            if isinstance(error, DiskError) or not isinstance(error, OSError):
                raise
            raise DiskError(f"{self._file} could not be locked ({error.strerror or error})") from error
        self._handle = handle
        _held.add(self)

    def release(self) -> None:
        """Give the lock back; the file stays, empty."""
        with uninterrupted():
            if self._handle is not None:
                with suppress(OSError):  # an unwritable file must not keep the lock
                    os.ftruncate(self._handle, 0)
            self._close()

    def _close(self) -> None:
        """Close the file and leave the lock to whoever else has it open: the parent, in a child process."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(OSError):
                os.close(handle)

    def __del__(self) -> None:
        """Free the lock of an index that nobody closed."""
        self._close()

    def _take(self, handle: int) -> None:
        if left := _read(handle):
            _log.warning("took over the lock of %s, left behind by %s", self._file.parent, _told(left))
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(_myself()).encode(), 0)
        except OSError as error:  # a full disk: the lock holds all the same
            _log.warning("could not write into %s who holds it: %s", self._file, error.strerror)


def _is_same(handle: int, file: Path) -> bool:
    """Whether an open file is still the one of that name: a repair may have put another folder in its place."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(file))
    except FileNotFoundError:
        return False


def _myself() -> dict[str, str | int]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = str(os.getuid()) if hasattr(os, "getuid") else "?"
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "user": user,
        "program": Path(sys.argv[0]).name if sys.argv else "",
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _read(handle: int) -> bytes:
    return os.pread(handle, 4096, 0)


def _told(content: bytes) -> str:
    """The holder in words; whatever is in the file, this says something."""
    try:
        who = json.loads(content)
        return f"process {who['pid']} on {who['host']} ({who['program']}, user {who['user']}) since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond the text, which others want to read
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go_in_child() -> None:
        for lock in list(_held):
            lock._close()
        _held.clear()

    os.register_at_fork(after_in_child=_let_go_in_child)
