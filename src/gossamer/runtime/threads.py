"""Batches over all cores: threads over kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Final

_SMALLEST: Final = 4
"""Fewer items than this are not worth a thread."""


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="gossamer")


def in_threads(work: Callable[[int, int], None], items: int, *, threads: int | None = None) -> None:
    """Call `work(start, stop)` on parts that cover range(items); in this thread if they are few."""
    parts = items // _SMALLEST
    if parts > 1:  # else there is no need to ask the system how many cores there are
        parts = min(threads or cores(), parts)
    if parts <= 1:
        work(0, items)
        return
    bounds = [items * part // parts for part in range(parts + 1)]
    # The pool belongs to this process: threads do not survive a fork.
    jobs = [_pool(os.getpid()).submit(work, *bounds[part : part + 2]) for part in range(parts)]
    try:
        for job in jobs:
            job.result()
    except BaseException:  # Ctrl-C, say: whoever hears of it may change the arrays that the others still read
        for job in jobs:
            job.cancel()
        wait(jobs)
        raise
