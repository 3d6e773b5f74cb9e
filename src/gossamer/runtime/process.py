"""The process that opened something: after a fork, a child must not use the threads, locks and files of its parent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from gossamer.errors import ForkedError

_idle = Condition()
_at_work = 0
_forks_waiting = 0

_TURN = 0.1
"""Seconds for which a block that begins lets a waiting fork go first. No longer: work under way may need the block."""


@contextmanager
def no_fork() -> Iterator[None]:
    """Let a fork wait until the end of the block.

    OpenBLAS stops its threads before a fork; a product that another thread computes at that moment never ends. LLVM
    aborts at the end of a child that was forked while another thread compiled.
    """
    global _at_work
    with _idle:
        if _forks_waiting:
            _idle.wait(_TURN)
        _at_work += 1
    try:
        yield
    finally:
        with _idle:
            _at_work -= 1
            _idle.notify_all()


def _wait_until_idle() -> None:
    global _forks_waiting
    _idle.acquire()
    _forks_waiting += 1
    while _at_work:
        _idle.wait()
    _forks_waiting -= 1


def _go_on() -> None:
    _idle.notify_all()
    _idle.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_until_idle, after_in_parent=_go_on, after_in_child=_go_on)


class OpenedIn:
    """The process in which an object was created."""

    def __init__(self) -> None:
        self.id = os.getpid()

    def is_current(self) -> bool:
        """False in a child that was forked since."""
        return self.id == os.getpid()

    def check(self) -> None:
        """Raise ForkedError in a child that was forked since."""
        if not self.is_current():
            raise ForkedError(
                f"this index was opened in process {self.id} and is used in its child {os.getpid()}: "
                "after a fork, open it again in the child with Index.open"
            )
