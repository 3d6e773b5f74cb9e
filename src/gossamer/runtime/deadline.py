"""Deadlines for reads.

    with within(2.0):
        hits = index.search("a question", where=conditions)  # TooSlowError after about two seconds

A deadline applies to the thread that set it. Long loops call `check`; `store.database` and `runtime.locks` stop waiting
for SQLite or a lock. Compiled kernels and encoders are not stopped. Changes ignore deadlines.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from gossamer.errors import ParameterError, TooSlowError

_end: ContextVar[float | None] = ContextVar("gossamer_deadline", default=None)
"""The time of the deadline, as `time.monotonic` counts it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give all reads of this thread in the block so many seconds together. An earlier deadline around it stays.

    Infinity sets no deadline.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
        raise ParameterError(f"a deadline must be a number of seconds, got {seconds!r}: pass one as in within(2.0)")
    end, outer = time.monotonic() + seconds, _end.get()
    end = end if outer is None else min(end, outer)
    token = _end.set(None if math.isinf(end) and end > 0 else end)
    try:
        check()
        yield
    finally:
        _end.reset(token)


@contextmanager
def suspended() -> Iterator[None]:
    """Ignore the deadline of this thread in the block: other threads wait for its result too."""
    token = _end.set(None)
    try:
        yield
    finally:
        _end.reset(token)


def check() -> None:
    """Raise `TooSlowError` if the deadline of this thread has passed. Without a deadline this takes 0.1 µs."""
    if passed():
        raise too_slow()


def too_slow() -> TooSlowError:
    """The error to raise after a deadline."""
    return TooSlowError("the read took longer than its deadline, and nothing was changed: ask for less, or wait longer")


def passed() -> bool:
    """Whether a deadline is set and has passed."""
    end = _end.get()
    return end is not None and time.monotonic() >= end


def left() -> float | None:
    """Seconds until the deadline, at least 0 and at most the longest timeout of a lock; None without a deadline."""
    end = _end.get()
    return None if end is None else min(max(0.0, end - time.monotonic()), threading.TIMEOUT_MAX)


class _Lock(Protocol):
    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...
    def release(self) -> None: ...


@contextmanager
def holding(lock: _Lock) -> Iterator[None]:
    """``with lock``, but wait for it until the deadline at most."""
    while not lock.acquire(timeout=-1 if (seconds := left()) is None else seconds):
        check()
    try:
        yield
    finally:
        lock.release()
