"""Locks on files: `LockFile` for who writes to an index, `Presence` for all who have it open to write.
`Claim` is for work that one of several processes does.

`LockFile` is held for one operation and names its holder, so that others can tell whom they wait for. `Presence` is
held from opening to closing, by any number at a time; who replaces a whole folder needs it alone. `exclusive` is a
plain lock.

The locks are those of the operating system on open files, so that a crash frees them. The text in a lock file only
names the holder: if there is text but no lock, the holder crashed. A child process inherits open files and would keep
the lock after its parent has ended, so it closes its copies at once.

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
from functools import cache
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from gossamer.errors import DiskError, LockedError
from gossamer.runtime import deadline
from gossamer.runtime.interrupts import uninterrupted

_log = logging.getLogger("gossamer.lockfile")

_TOLD_AFTER: Final = 2.0
"""Seconds after which whoever waits is told for whom."""

_POLLS: Final = (0.0005, 0.02)
"""Seconds between two attempts to take a lock: at first, and at most. The system has no lock with a timeout."""

_held: WeakSet[_Lock] = WeakSet()
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


class Claim:
    """A lock on a file that is there only while it is locked. Raises OSError where files cannot be made or locked."""

    def __init__(self, file: str, handle: int) -> None:
        self._file, self.handle = file, handle

    @classmethod
    def on(cls, file: str, *, wait: bool) -> Claim | None:
        """Lock `file`. While another holds the lock, wait, or without `wait` return None."""
        while True:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                locked = _lock(handle, wait=wait)
                if locked and _is_same(handle, Path(file)):
                    return cls(file, handle)
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # of a file that its holder has removed
            if not locked:
                return None

    def release(self) -> None:
        """Remove the file and free the lock, of which a forked child may have a copy."""
        with suppress(OSError):  # on Windows, while others wait for it
            os.unlink(self._file)
        _unlock(self.handle)
        os.close(self.handle)


class _Lock:
    """Open files with a lock on each, by path."""

    def __init__(self) -> None:
        self._handles: dict[Path, int] = {}

    def _free(self, file: Path) -> None:
        """Close a file, which frees its lock. In a child process, the parent keeps the lock."""
        handle = self._handles.pop(file, None)
        if handle is not None:
            with suppress(OSError):
                os.close(handle)

    def _free_all(self) -> None:
        for file in list(self._handles):
            self._free(file)

    def __del__(self) -> None:
        """Free the lock of an index that was not closed."""
        self._free_all()


class LockFile(_Lock):
    """A lock held from `acquire` to `release`, or until the process ends.

    Who waits for it holds a second file meanwhile, the queue, which everybody has to pass. So one that has just
    released the lock does not take it again while another one waits: two that write in a loop take turns.
    """

    def __init__(self, file: Path, doing: str = "writing to") -> None:
        """`doing` says in messages what the holder does to the folder of the file."""
        super().__init__()
        self._file = file
        self._queue = file.with_suffix(".queue")
        self._doing = doing

    def acquire(self, timeout: float = 0.0) -> None:
        """Take the lock; where it is held, wait up to `timeout` seconds, then raise `LockedError` with its holder."""
        self.release()
        start, told = time.monotonic(), False
        try:
            for file in (self._queue, self._file):
                pause = _POLLS[0]
                while not self._take(file):
                    deadline.check()
                    waited = time.monotonic() - start
                    if waited >= timeout:
                        raise self._locked(waited)
                    if waited >= _TOLD_AFTER and not told:
                        _log.warning("waiting for %s", self._described())
                        told = True
                    time.sleep(max(0.0, min(pause, timeout - waited)))
                    pause = min(2 * pause, _POLLS[1])
            self._write_holder()
        except BaseException:
            self.release()
            raise
        finally:
            self._free(self._queue)

    def acquire_if_free(self) -> bool:
        """Take the lock if nobody has it."""
        self.release()
        if not self._take(self._file):
            return False
        self._write_holder()
        return True

    def release(self) -> None:
        """Free the lock; the file stays, empty."""
        with uninterrupted():
            if self._file in self._handles:
                with suppress(OSError):  # the lock is freed even if the file cannot be written
                    os.ftruncate(self._handles[self._file], 0)
            self._free_all()

    def _take(self, file: Path) -> bool:
        with uninterrupted():
            try:
                handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise DiskError(
                    f"{file} cannot be written ({error.strerror}): "
                    'to look without writing, open the index for reading (mode="r")'
                ) from error
            try:
                taken = _lock(handle, wait=False) and _is_same(handle, file)
            except OSError as error:
                os.close(handle)
                raise DiskError(f"{file} could not be locked ({error.strerror or error})") from error
            if not taken:
                os.close(handle)
                return False
            self._handles[file] = handle
            _held.add(self)
            return True

    def _write_holder(self) -> None:
        handle = self._handles[self._file]
        try:
            if left := _read(handle):
                _log.warning("took over the lock of %s, left behind by %s", self._file.parent, _named(left))
                os.ftruncate(handle, 0)
            holder = {**_holder(os.getpid()), "since": datetime.now(UTC).isoformat(timespec="milliseconds")}
            os.pwrite(handle, json.dumps(holder).encode(), 0)
        except OSError as error:  # a full disk: the lock holds all the same
            _log.warning("could not write into %s who holds it: %s", self._file, error.strerror)

    def _locked(self, waited: float) -> LockedError:
        after = f" and is not done after a wait of {waited:.0f} s" if waited >= 1 else ""
        return LockedError(
            f"{self._described(comma='')}{after}: try again later, wait longer (timeout=), or open it for reading "
            '(mode="r")'
        )

    def _described(self, comma: str = ", which") -> str:
        """The holder, what it does, and for how long it has done so, whatever the file contains."""
        try:
            content = self._file.read_bytes()
        except OSError:
            content = b""
        seconds = _seconds(content)
        since = "" if seconds is None else f" for {seconds:.0f} s"
        return f"{_named(content)}{comma} has been {self._doing} {self._file.parent}{since}"


class Presence(_Lock):
    """A lock on a folder: shared by all who have it open to write, or held alone by who replaces it.

    It is a lock on the folder itself. Where there are none (Windows, some network disks) nobody is kept away: there a
    folder whose files are open cannot be renamed, and a handle whose folder was replaced says so.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def enter(self, timeout: float) -> None:
        """Share the folder; wait for one that holds it alone up to `timeout` seconds."""
        end = time.monotonic() + timeout
        while not self._take(alone=False):
            if time.monotonic() >= end:
                raise LockedError(f"{self._folder} is being repaired or restored: open it when that is done")
            deadline.check()
            time.sleep(_POLLS[1])

    def enter_alone(self) -> None:
        """Hold the folder alone, or raise `LockedError`."""
        if not self._take(alone=True):
            raise LockedError(
                f"{self._folder} is open for writing elsewhere, by a server, a notebook or another command: close it "
                "there first, this needs the index for itself"
            )

    def leave(self) -> None:
        """Let go of the folder."""
        with uninterrupted():
            self._free_all()

    def _take(self, *, alone: bool) -> bool:
        with uninterrupted():
            self._free_all()
            try:
                handle = os.open(self._folder, os.O_RDONLY)
            except OSError:
                return True
            try:
                taken = _lock(handle, wait=False, shared=not alone) and _is_same(handle, self._folder)
            except OSError:
                taken = True
            if taken:
                self._handles[self._folder] = handle
                _held.add(self)
            else:
                os.close(handle)
            return taken


def _is_same(handle: int, file: Path) -> bool:
    """Whether an open file is still the one of that name: a repair may have replaced the folder."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(file))
    except FileNotFoundError:
        return False


@cache
def _holder(pid: int) -> dict[str, Any]:
    """This process, by its id: another one after a fork."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = str(os.getuid()) if hasattr(os, "getuid") else "?"
    program = Path(sys.argv[0]).name if sys.argv else ""
    return {"pid": pid, "host": socket.gethostname(), "user": user, "program": program}


def _read(handle: int) -> bytes:
    return os.pread(handle, 4096, 0)


def _named(content: bytes) -> str:
    """The holder in words, whatever the file contains."""
    try:
        who = json.loads(content)
        return f"process {who['pid']} on {who['host']} ({who['program']}, user {who['user']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _seconds(content: bytes) -> float | None:
    """How long the holder has had the lock; None where the file does not say."""
    try:
        since = datetime.fromisoformat(json.loads(content)["since"])
        return max(0.0, (datetime.now(UTC) - since).total_seconds())
    except (ValueError, KeyError, TypeError):
        return None


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _lock(handle: int, *, wait: bool, shared: bool = False) -> bool:
        """Lock an open file; False if another has it and `wait` is false. A folder cannot be opened here."""
        os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond the text, which others must be able to read
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not wait:
                    return False
                time.sleep(0.1)

    def _unlock(handle: int) -> None:
        """Closing the file frees the lock."""

else:
    import fcntl

    def _lock(handle: int, *, wait: bool, shared: bool = False) -> bool:
        """Lock an open file; False if another has the lock and `wait` is false."""
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)

    def _close_in_child() -> None:
        for lock in list(_held):
            lock._free_all()
        _held.clear()

    os.register_at_fork(after_in_child=_close_in_child)
