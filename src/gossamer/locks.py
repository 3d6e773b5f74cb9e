"""A lock that many readers share and one writer has alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock


class ReadWriteLock:
    """Readers run side by side; a writer waits for them, runs alone, and goes before new readers.

    Not reentrant: a thread that reads must not ask to write before it is done.
    """

    def __init__(self) -> None:
        self._changed = Condition(Lock())
        self._readers = 0
        self._writing = False
        self._waiting_writers = 0
        self._reading = _Reading(self)

    def reading(self) -> _Reading:
        """Hold off writers."""
        return self._reading

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold off everyone else."""
        with self._changed:
            self._waiting_writers += 1
            try:
                while self._writing or self._readers:
                    self._changed.wait()
            finally:
                self._waiting_writers -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()


class _Reading:
    """A context manager without state of its own, so that one serves all readers: every search enters it."""

    def __init__(self, lock: ReadWriteLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        lock = self._lock
        with lock._changed:
            while lock._writing or lock._waiting_writers:
                lock._changed.wait()
            lock._readers += 1

    def __exit__(self, *error: object) -> None:
        lock = self._lock
        with lock._changed:
            lock._readers -= 1
            if not lock._readers:
                lock._changed.notify_all()
