"""Locks between threads: `ReadWriteLock` for many readers or one writer, `Turn` for one writer after another.

A thread that holds one and asks for it again would wait for itself, so that raises StateError. Ctrl-C may come between
any two instructions, also at the first of an `__exit__`, which is then not run. So the read lock stores which threads
read: what a thread left behind is removed when it reads or writes again. Writing delays Ctrl-C.
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
"""The longest wait, in seconds, during which Ctrl-C is delayed."""


_WRITES: Final = 5
"""Writers that go one after the other while readers wait. (Adding one by one beside four searching threads waits 0.2 ms
for them with 5, 0.3 ms with 3; without a limit hardly at all, but then searches wait up to 0.5 s.)"""


class Turn:
    """A lock for one thread at a time."""

    def __init__(self) -> None:
        self._lock = RLock()

    def alone(self) -> AbstractContextManager[Any]:
        """Wait for other threads, until the deadline at most, and return a lock for a ``with`` block.

        It is the interpreter's own lock, so that Ctrl-C cannot come between acquiring it and entering the block.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise _inside()
        while (left := deadline.left()) is not None and not self._was_free(min(left, _SLICE)):
            deadline.check()
        return self._lock

    def _was_free(self, seconds: float) -> bool:
        """Whether the lock became free within so many seconds; Ctrl-C is delayed meanwhile."""
        with uninterrupted():
            if self._lock.acquire(timeout=seconds):
                self._lock.release()
                return True
        return False


class ReadWriteLock:
    """Many readers or one writer. A waiting writer goes before new readers, and readers that wait go before every fifth
    writer: neither waits for more than a few turns of the others.

    Not reentrant: a thread that reads must not write before it has finished reading.
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._changed = Condition(self._mutex)  # entering the lock itself is quicker
        self._readers: set[int] = set()  # the threads that read,
        self._waiting: set[int] = set()  # that wait to read,
        self._admitted: set[int] = set()  # and those of them that go before the next writer
        self._writer = 0  # the thread that writes
        self._waiting_writers = 0
        self._writes = 0  # since readers that waited were admitted
        self._reading = _Reading(self)

    def reading(self) -> _Reading:
        """A context manager in which no other thread writes."""
        return self._reading

    @contextmanager
    def writing(self) -> Iterator[Interruptible]:
        """Run the block while no other thread reads or writes, with Ctrl-C delayed; yields as `uninterrupted` does."""
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
                        self._writer, self._writes = 0, self._writes + 1
                        if self._writes >= _WRITES:
                            self._writes, self._admitted = 0, self._waiting.copy()
                        self._changed.notify_all()

    def _wait_to_write(self) -> None:
        waiting = False
        try:
            for left_behind in (self._readers, self._waiting, self._admitted):  # by Ctrl-C: this thread does not read
                left_behind.discard(get_ident())
            while self._writer or self._readers or self._admitted:
                if not waiting:
                    self._waiting_writers, waiting = self._waiting_writers + 1, True
                self._changed.wait(deadline.left())
                deadline.check()
        finally:
            if waiting:
                self._waiting_writers -= 1
            self._changed.notify_all()  # if it gave up, the readers that waited for it must go on

    def _check_outside(self) -> None:
        if self._writer == get_ident():
            raise _inside()


class _Reading:
    """The context manager of readers. It has no state, so that every search can use the same one."""

    def __init__(self, lock: ReadWriteLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        lock = self._lock
        lock._check_outside()
        thread = get_ident()
        try:
            with lock._mutex:
                while lock._writer or (lock._waiting_writers and thread not in lock._admitted):
                    lock._readers.discard(thread)  # else it and the writer would wait for each other
                    lock._waiting.add(thread)
                    lock._changed.notify_all()
                    lock._changed.wait(deadline.left())
                    deadline.check()
                lock._waiting.discard(thread)
                lock._admitted.discard(thread)
                lock._readers.add(thread)
        except BaseException:  # Ctrl-C or a deadline: __exit__ will not be called
            self._leave()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            self._leave()
        except BaseException:  # Ctrl-C
            self._leave()
            raise

    def _leave(self) -> None:
        lock, thread = self._lock, get_ident()
        with lock._mutex:
            lock._readers.discard(thread)
            lock._waiting.discard(thread)
            lock._admitted.discard(thread)
            if lock._waiting_writers and not lock._readers:
                lock._changed.notify_all()


def _inside() -> StateError:
    return StateError(
        "the index is being changed by the call this one is made from (a progress callback, say): "
        "search it or change it once that call is done"
    )
