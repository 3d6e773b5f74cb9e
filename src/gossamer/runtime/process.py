"""The process that opened something: after a fork, a child must not use the threads, locks and files of its parent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from gossamer.errors import ForkedError

_idle = Condition()
_at_work = 0


@contextmanager
def no_fork() -> Iterator[None]:
    """Let a fork wait until the end of the block.

    OpenBLAS stops its threads before a fork; a product that another thread computes at that moment never ends.
    """
    global _at_work
    with _idle:
        _at_work += 1
    try:
        yield
    finally:
        with _idle:
            _at_work -= 1
            _idle.notify_all()


def _wait_until_idle() -> None:
    _idle.acquire()
    while _at_work:
        _idle.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_until_idle, after_in_parent=_idle.release, after_in_child=_idle.release)


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
