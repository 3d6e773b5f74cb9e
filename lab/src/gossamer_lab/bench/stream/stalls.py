"""Stalls of the machine: processes that only sleep, one on each core, measure how long they were not run.

A wait that is measured beside contains such a stall whenever it meets one. Each process runs this file as a script, so
that it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import Final, Self

_NAP: Final = 0.001
"""Seconds that a process sleeps."""


class Stalls:
    """Watches all cores that this process may use, within a ``with`` block."""

    def __enter__(self) -> Self:
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
        self._watchers = [
            subprocess.Popen([sys.executable, __file__, str(core)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for core in cores
        ]
        self.longest()
        return self

    def __exit__(self, *_: object) -> None:
        for watcher in self._watchers:
            watcher.communicate()  # closes its standard input, which ends it

    def longest(self) -> float:
        """Seconds of the longest stall since the last call."""
        found = 0.0
        for watcher in self._watchers:
            assert watcher.stdin is not None
            assert watcher.stdout is not None
            watcher.stdin.write(b"\n")
            watcher.stdin.flush()
            found = max(found, float(watcher.stdout.readline()))
        return found


def watch(core: int) -> None:
    """Sleep on one core, before all other processes if that is allowed, and print the longest delay when asked."""
    with suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    longest, last = 0.0, time.perf_counter()
    while True:
        time.sleep(_NAP)
        now = time.perf_counter()
        longest, last = max(longest, now - last - _NAP), now
        if select.select([sys.stdin], [], [], 0.0)[0]:
            if not os.read(sys.stdin.fileno(), 1):
                return
            os.write(sys.stdout.fileno(), f"{longest}\n".encode())
            longest = 0.0


if __name__ == "__main__":
    watch(int(sys.argv[1]))
