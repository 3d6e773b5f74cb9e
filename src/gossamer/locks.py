"""A lock that many readers share and one writer has alone, and one that writers take in turn.

Neither can be taken again by the thread that has it: that would wait for itself for ever, so it raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock, get_ident

from gossamer import deadline
from gossamer.errors import StateError


class Turn:
    """One thread at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner = 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for the others, and hold them off."""
        if self._owner == get_ident():
            raise _inside()
        with self._lock:
            self._owner = get_ident()
            try:
                yield
            finally:
                self._owner = 0


class ReadWriteLock:
    """Readers run side by side; a writer waits for them, runs alone, and goes before new readers.

    Not reentrant: a thread that reads must not ask to write before it is done.
    """

    def __init__(self) -> None:
        self._changed = Condition(Lock())
        self._readers = 0
        self._writer = 0  # the thread that writes
        self._waiting_writers = 0
        self._reading = _Reading(self)

    def reading(self) -> _Reading:
        """Hold off writers."""
        return self._reading

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold off everyone else."""
        self._check_outside()
        with self._changed:
            self._waiting_writers += 1
            try:
                while self._writer or self._readers:
                    self._changed.wait(deadline.left())
                    deadline.check()
            except (
                BaseException
            ):  # Ctrl-C or a deadline while waiting: those who waited for this one to be first must hear of it
                self._changed.notify_all()
                raise
            finally:
                self._waiting_writers -= 1
            self._writer = get_ident()
        try:
            yield
        finally:
            with self._changed:
                self._writer = 0
                self._changed.notify_all()

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
        with lock._changed:
            while lock._writer or lock._waiting_writers:
                lock._changed.wait(deadline.left())
                deadline.check()
            lock._readers += 1

    def __exit__(self, *error: object) -> None:
        lock = self._lock
        with lock._changed:
            lock._readers -= 1
            if lock._waiting_writers and not lock._readers:
                lock._changed.notify_all()


def _inside() -> StateError:
    return StateError(
        "the index is being changed by the call this one is made from (a progress callback, say): "
        "search it or change it once that call is done"
    )
