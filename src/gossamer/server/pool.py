"""Threads with a bounded queue: work that would wait behind too much other work is refused at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from gossamer.server.problems import busy

STOPPING = "the server is stopping, and nothing was changed: try again in a moment"

_T = TypeVar("_T")


class Pool:
    """A fixed number of threads."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._size = threads
        self._held = 0
        self._lock = Lock()

    def submit(self, work: Callable[[], _T], waiting: int) -> Future[_T]:
        """Begin `work`, or let it wait where no more than `waiting` others do; `busy` where they do."""
        with self._lock:
            if self._held >= self._size + waiting:
                raise busy(f"{waiting} requests of this kind are waiting already, and nothing was done: try again")
            self._held += 1
        try:
            job = self._threads.submit(work)
        except RuntimeError:  # shut down meanwhile
            self._leave()
            raise busy(STOPPING) from None
        job.add_done_callback(self._leave)
        return job

    def close(self) -> None:
        """Let what runs end, and drop what waits. Closing twice does nothing."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _leave(self, _: object = None) -> None:
        with self._lock:
            self._held -= 1
