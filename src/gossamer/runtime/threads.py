"""Run a batch on all cores: threads over kernels that release the GIL. End threads before the interpreter does."""

import atexit
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from threading import local
from typing import Any, Final
from weakref import WeakMethod

_SMALLEST: Final = 4
"""The fewest items that are worth a thread."""


_this_thread = local()

_stops: set[WeakMethod[Callable[[], Any]]] = set()


def cores() -> int:
    """The cores this process may use; in a container there are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of a process: they do not survive a fork."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="gossamer")


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Let `in_threads` do all work of the block in the calling thread, so that searches need not wait for threads."""
    _this_thread.alone = True
    try:
        yield
    finally:
        _this_thread.alone = False


def in_threads(work: Callable[[int, int], None], items: int, *, threads: int | None = None) -> None:
    """Call `work(start, stop)` on parts that cover range(items); in this thread if there are few items."""
    parts = items // _SMALLEST
    if parts > 1:
        parts = min(threads or cores(), parts)
    if parts <= 1 or getattr(_this_thread, "alone", False):
        work(0, items)
        return
    bounds = [items * part // parts for part in range(parts + 1)]
    jobs: list[Future[None]] = []
    try:
        jobs.extend(_pool(os.getpid()).submit(work, *bounds[part : part + 2]) for part in range(parts))
    except RuntimeError:  # the interpreter is ending, and takes no more work: this is a function of atexit
        wait(jobs)
        work(0, items)
        return
    try:
        for job in jobs:
            job.result()
    except BaseException:  # after Ctrl-C the caller may change the arrays that other threads still read
        for job in jobs:
            job.cancel()
        wait(jobs)
        raise


def stop_at_exit(stop: Callable[[], Any]) -> None:
    """Call the method `stop`, which ends a thread and waits for it, when the program ends, if its object still exists.

    A daemon thread that is in C++ code when the interpreter ends, as one that encodes texts is, aborts the process.
    """
    _stops.add(WeakMethod(stop, _stops.discard))


@atexit.register
def _stop_all() -> None:
    for reference in list(_stops):
        stop = reference()
        if stop is not None:
            with suppress(Exception):
                stop()
