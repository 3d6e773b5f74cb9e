"""The process that opened something: after a fork, a child must not use the threads, locks and files of its parent."""

import os
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, RLock, Timer

from gossamer.errors import ForkedError

_mutex = RLock()
_idle = Condition(_mutex)  # entering the lock itself cannot be interrupted half-way
_at_work = 0
_forks_waiting = 0
_interrupted = False

_TURN = 0.1
"""Seconds for which a block that begins lets a waiting fork go first. No longer: work under way may need the block."""


@contextmanager
def no_fork() -> Iterator[None]:
    """Let a fork wait until the end of the block.

    OpenBLAS stops its threads before a fork; a product that another thread computes at that moment never ends. LLVM
    aborts at the end of a child that was forked while another thread compiled.
    """
    global _at_work
    with _mutex:
        if _forks_waiting:
            _idle.wait(_TURN)
        _at_work += 1
    try:
        yield
    finally:
        with _mutex:
            _at_work -= 1
            _idle.notify_all()


def _wait_until_idle() -> None:
    """Wait, through Ctrl-C, too: what a function raises before a fork is printed, and then the fork is made."""
    global _forks_waiting, _interrupted
    _mutex.acquire()
    _forks_waiting += 1
    while _at_work:
        try:
            _idle.wait()
        except KeyboardInterrupt:
            _interrupted = True
    _forks_waiting -= 1


def _go_on() -> None:
    global _interrupted
    _idle.notify_all()
    _mutex.release()
    if _interrupted:
        _interrupted = False
        Timer(_TURN, interrupt_main).start()  # an exception here would only be printed


def _go_on_in_child() -> None:
    """Nothing is at work, and nobody waits: a child has one thread."""
    global _at_work, _forks_waiting, _interrupted
    _at_work, _forks_waiting, _interrupted = 0, 0, False
    _mutex.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_until_idle, after_in_parent=_go_on, after_in_child=_go_on_in_child)


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
