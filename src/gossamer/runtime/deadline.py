"""How long a read may take: set by whoever asks, looked at by whatever may take long.

    with within(2.0):
        hits = index.search("a question", where=conditions)  # TooSlowError after about two seconds

A deadline holds for the thread that set it. Loops call `check`; `store.database` and `runtime.locks` end what waits for
SQLite or a lock. Compiled kernels and encoders run to their end. Changes are made without a deadline.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from gossamer.errors import ParameterError, TooSlowError

_end: ContextVar[float | None] = ContextVar("gossamer_deadline", default=None)
"""On the clock of `time.monotonic`."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let reads of this thread take so many seconds in all; a deadline that is set already and earlier stays.

    Infinity sets none.
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
    """Let this thread finish what others wait for too, whatever its deadline."""
    token = _end.set(None)
    try:
        yield
    finally:
        _end.reset(token)


def check() -> None:
    """Raise `TooSlowError` if the deadline of this thread has passed; without one this takes 0.1 µs."""
    if passed():
        raise too_slow()


def too_slow() -> TooSlowError:
    """The error, for those who learn of it in another way."""
    return TooSlowError("the read took longer than its deadline, and nothing was changed: ask for less, or wait longer")


def passed() -> bool:
    """Whether there is a deadline, and it has passed."""
    end = _end.get()
    return end is not None and time.monotonic() >= end


def left() -> float | None:
    """Seconds until the deadline, at least 0 and at most what a lock can wait; None where there is none."""
    end = _end.get()
    return None if end is None else min(max(0.0, end - time.monotonic()), threading.TIMEOUT_MAX)


class _Lock(Protocol):
    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool: ...
    def release(self) -> None: ...


@contextmanager
def holding(lock: _Lock) -> Iterator[None]:
    """``with lock``, but waiting for it no longer than until the deadline."""
    while not lock.acquire(timeout=-1 if (seconds := left()) is None else seconds):
        check()
    try:
        yield
    finally:
        lock.release()
