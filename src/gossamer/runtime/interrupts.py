"""Delay Ctrl-C until a change is complete."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeAlias

Interruptible: TypeAlias = Callable[[], AbstractContextManager[None]]


@contextmanager
def uninterrupted() -> Iterator[Interruptible]:
    """Delay Ctrl-C until the end of the block, so that a change is made completely or not at all.

    Yields a context manager, `interruptible`: inside ``with interruptible():`` Ctrl-C works again, for a part of the
    block that may take long and can be stopped. Python delivers signals to the main thread only; in other threads this
    does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield nullcontext  # not the main thread, or the signal is ignored or handled outside Python
        return
    came: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    signal.signal(signal.SIGINT, hold)
    try:
        yield lambda: _interruptible(before, hold)
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[-1])


@contextmanager
def _interruptible(handler: Any, hold: Any) -> Iterator[None]:
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, hold)
