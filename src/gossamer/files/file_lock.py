"""Locks on files: `LockFile`, for the one writer of an index, names its holder; `exclusive` waits for its turn.

The lock is that of the operating system on the open file, so that a crash frees it. The text in the file only names the
holder: if there is text but no lock, the holder crashed. A child process inherits open files and would keep the lock
after its parent has ended, so it closes its copies at once.

The package filelock is not used: it neither names the holder nor lets go of the lock in a forked child.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakSet

from gossamer.errors import DiskError, LockedError
from gossamer.runtime.interrupts import uninterrupted

_log = logging.getLogger("gossamer.lockfile")

_held: WeakSet[LockFile] = WeakSet()
"""The locks this process holds."""


@contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Hold a lock on `file`, waiting for the thread or process that has it. On a disk without locks, do not lock."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with suppress(OSError):  # some network disks cannot lock
            _lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


class LockFile:
    """A lock held from `acquire` to `release`, or until the process ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock, or raise `LockedError` with the name of the holder."""
        with uninterrupted():
            self._acquire()

    def _acquire(self) -> None:
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise DiskError(
                f"{self._file} cannot be written ({error.strerror}): "
                'to look without writing, open the index for reading (mode="r")'
            ) from error
        try:
            if not _lock(handle, wait=False) or not _is_same(handle, self._file):
                raise LockedError(
                    f"{self._file.parent} is being written by {_described(_read(handle))}: wait until it is closed, "
                    'or open it for reading (mode="r")'
                )
            self._write_holder(handle)
        except BaseException as error:
            os.close(handle)
            if isinstance(error, DiskError) or not isinstance(error, OSError):
                raise
            raise DiskError(f"{self._file} could not be locked ({error.strerror or error})") from error
        self._handle = handle
        _held.add(self)

    def release(self) -> None:
        """Free the lock; the file stays, empty."""
        with uninterrupted():
            if self._handle is not None:
                with suppress(OSError):  # the lock is freed even if the file cannot be written
                    os.ftruncate(self._handle, 0)
            self._close()

    def _close(self) -> None:
        """Close the file. In a child process, the parent keeps the lock."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(OSError):
                os.close(handle)

    def __del__(self) -> None:
        """Free the lock of an index that was not closed."""
        self._close()

    def _write_holder(self, handle: int) -> None:
        if left := _read(handle):
            _log.warning("took over the lock of %s, left behind by %s", self._file.parent, _described(left))
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(_holder()).encode(), 0)
        except OSError as error:  # a full disk: the lock holds all the same
            _log.warning("could not write into %s who holds it: %s", self._file, error.strerror)


def _is_same(handle: int, file: Path) -> bool:
    """Whether an open file is still the one of that name: a repair may have replaced the folder."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(file))
    except FileNotFoundError:
        return False


def _holder() -> dict[str, str | int]:
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


def _described(content: bytes) -> str:
    """The holder in words, whatever the file contains."""
    try:
        who = json.loads(content)
        return f"process {who['pid']} on {who['host']} ({who['program']}, user {who['user']}) since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(handle: int, *, wait: bool) -> bool:
        """Lock an open file; False if another has the lock and `wait` is false."""
        os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond the text, which others must be able to read
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not wait:
                    return False
                time.sleep(0.1)

else:
    import fcntl

    def _lock(handle: int, *, wait: bool) -> bool:
        """Lock an open file; False if another has the lock and `wait` is false."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _close_in_child() -> None:
        for lock in list(_held):
            lock._close()
        _held.clear()

    os.register_at_fork(after_in_child=_close_in_child)
