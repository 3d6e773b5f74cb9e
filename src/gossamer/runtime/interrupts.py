"""Ctrl-C at a safe moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeAlias

Interruptible: TypeAlias = Callable[[], AbstractContextManager[None]]


@contextmanager
def uninterrupted() -> Iterator[Interruptible]:
    """Hold Ctrl-C back until the block is done: a change is made as a whole or has not begun.

    Within the block, `with interruptible():` of what is yielded lets Ctrl-C through again, for a part that may
    take long and can be stopped. Only the main thread is ever interrupted, and only there can the signal be held back;
    elsewhere this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield nullcontext  # not the main thread; or ignored, or handled outside Python: nothing would be raised here
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
