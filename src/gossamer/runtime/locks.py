"""A lock that many readers share and one writer has alone, and one that writers take in turn.

Neither can be taken again by the thread that has it: that would wait for itself for ever, so it raises. Ctrl-C may
come between any two calls, also at the first instruction of an `__exit__`, which is then not run. So readers are known
by their threads: what such a thread left behind goes when it reads or writes again. Writing holds Ctrl-C back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Condition, Lock, RLock, get_ident
from typing import Any, Final

from gossamer.errors import StateError
from gossamer.runtime import deadline
from gossamer.runtime.interrupts import Interruptible, uninterrupted

_SLICE: Final = 0.1
"""Seconds for which a wait may hold Ctrl-C back."""


class Turn:
    """One thread at a time."""

    def __init__(self) -> None:
        self._lock = RLock()

    def alone(self) -> AbstractContextManager[Any]:
        """Wait for the others, no longer than until the deadline, and hold them off.

        What is entered is the interpreter's own lock, so that Ctrl-C cannot come between taking it and the block.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise _inside()
        while (left := deadline.left()) is not None and not self._was_free(min(left, _SLICE)):
            deadline.check()
        return self._lock

    def _was_free(self, seconds: float) -> bool:
        """Whether the lock could be had within so many seconds, for which Ctrl-C is held back."""
        with uninterrupted():
            if self._lock.acquire(timeout=seconds):
                self._lock.release()
                return True
        return False


class ReadWriteLock:
    """Readers run side by side; a writer waits for them, runs alone, and goes before new readers.

    Not reentrant: a thread that reads must not ask to write before it is done.
    """

    def __init__(self) -> None:
        self._changed = Condition(Lock())
        self._readers: set[int] = set()  # the threads that read
        self._writer = 0  # the thread that writes
        self._waiting_writers = 0
        self._reading = _Reading(self)

    def reading(self) -> _Reading:
        """Hold off writers."""
        return self._reading

    @contextmanager
    def writing(self) -> Iterator[Interruptible]:
        """Hold off everyone else, and Ctrl-C with them, except within what is yielded: see `uninterrupted`."""
        self._check_outside()
        with uninterrupted() as interruptible:
            try:
                with self._changed:
                    self._wait_to_write()
                    self._writer = get_ident()
                yield interruptible
            finally:
                with self._changed:
                    if self._writer == get_ident():
                        self._writer = 0
                        self._changed.notify_all()

    def _wait_to_write(self) -> None:
        waiting = False
        try:
            self._readers.discard(get_ident())  # left behind by Ctrl-C: a thread that reads does not ask to write
            while self._writer or self._readers:
                if not waiting:
                    self._waiting_writers, waiting = self._waiting_writers + 1, True
                self._changed.wait(deadline.left())
                deadline.check()
        finally:
            if waiting:
                self._waiting_writers -= 1
            self._changed.notify_all()  # where it gave up, those who waited for this one to be first must hear of it

    def _check_outside(self) -> None:
        if self._writer == get_ident():
            raise _inside()


class _Reading:
    """A context manager without state of its own, so that one serves all readers: every search enters it."""

    def __init__(self, lock: ReadWriteLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        lock = self._lock
        lock._check_outside()
        try:
            with lock._changed:
                while lock._writer or lock._waiting_writers:
                    lock._readers.discard(get_ident())  # or it and the writer would wait for each other
                    lock._changed.notify_all()
                    lock._changed.wait(deadline.left())
                    deadline.check()
                lock._readers.add(get_ident())
        except BaseException:  # Ctrl-C or a deadline on the way: nobody will call __exit__
            self._leave()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            self._leave()
        except BaseException:  # Ctrl-C on the way
            self._leave()
            raise

    def _leave(self) -> None:
        with self._lock._changed:
            self._lock._readers.discard(get_ident())
            if self._lock._waiting_writers and not self._lock._readers:
                self._lock._changed.notify_all()


def _inside() -> StateError:
    return StateError(
        "the index is being changed by the call this one is made from (a progress callback, say): "
        "search it or change it once that call is done"
    )
