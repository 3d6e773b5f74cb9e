"""Threads that do the work: reads run side by side, the writes of each index one after the other.

Searches have threads of their own, as many as there are cores and at least two: they are short, and their Python parts
take turns anyway. All other reads may take long and share other threads, so that a few of them hold up no search.

A read has a deadline, counted from its request: one that waited too long does not begin, one that runs too long stops
itself (`runtime.deadline`); both are answered with 504. The answer to a write must be true, so a write that has begun
is waited for; one that still waits in line after the time limit is taken out and refused with nothing done. Work that
would wait behind too many others is refused at once, with 503.
"""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final, TypeVar

from gossamer.errors import ReadOnlyError
from gossamer.runtime.deadline import within
from gossamer.server.catalog import Served
from gossamer.server.problems import Refusal, busy

_STOPPING: Final = "the server is stopping, and nothing was changed: try again in a moment"

_T = TypeVar("_T")


class _Pool:
    """A fixed number of threads with a bounded queue."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._size = threads
        self._held = 0
        self._lock = Lock()

    def submit(self, work: Callable[[], _T], waiting: int) -> Future[_T]:
        """Queue `work`; refuse it with `busy` if `waiting` others are in the queue."""
        with self._lock:
            if self._held >= self._size + waiting:
                raise busy(f"{waiting} requests of this kind are waiting already, and nothing was done: try again")
            self._held += 1
        try:
            job = self._threads.submit(work)
        except RuntimeError:  # shut down meanwhile
            self._leave()
            raise busy(_STOPPING) from None
        job.add_done_callback(self._leave)
        return job

    def close(self) -> None:
        """Wait for what runs, and drop what waits."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _leave(self, _: object = None) -> None:
        with self._lock:
            self._held -= 1


class Workers:
    """The threads of a server. Its methods are for the event loop."""

    def __init__(self, seconds: float, waiting: int) -> None:
        self._seconds = seconds
        self._waiting = waiting
        cores = os.cpu_count() or 1
        self._searches = _Pool(min(8, max(2, cores)), "gossamer-search")
        self._reads = _Pool(min(8, cores + 2), "gossamer-read")
        self._checks = _Pool(1, "gossamer-check")
        self._layouts = _Pool(1, "gossamer-layout")
        self._writes: dict[str, _Pool] = {}
        self.draining = False
        """Set when the server is stopping: new writes are refused."""

    async def search(self, work: Callable[[], _T]) -> _T:
        """Run a search, which is short."""
        return await self._read(self._searches, work)

    async def read(self, work: Callable[[], _T]) -> _T:
        """Run a read that may take long."""
        return await self._read(self._reads, work)

    async def lay_out(self, work: Callable[[], _T]) -> _T:
        """Run what may take many seconds, one at a time. It goes on after the time limit, so that a retry finds it."""
        job = self._layouts.submit(work, self._waiting)
        return await self._in_time(job)

    async def check(self, work: Callable[[], _T]) -> _T:
        """Run a check of readiness, which waits for no other read."""
        return await self._read(self._checks, work)

    async def _read(self, pool: _Pool, work: Callable[[], _T]) -> _T:
        end = time.monotonic() + self._seconds

        def in_time() -> _T:
            with within(end - time.monotonic()):
                return work()

        return await self._in_time(pool.submit(in_time, self._waiting))

    async def _in_time(self, job: Future[_T]) -> _T:
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(job)
        except TimeoutError:  # of the line above, or raised by the work itself
            raise Refusal(
                504, f"this took more than {self._seconds:g} seconds: ask for less, or try again later", "too-slow"
            ) from None

    async def write(self, served: Served, work: Callable[[], _T]) -> _T:
        """Run a write; when this returns, the change is durable."""
        if not served.writable:
            raise ReadOnlyError(f"{served.name} is served for reading")
        if self.draining:
            raise busy(_STOPPING)
        if served.name not in self._writes:
            self._writes[served.name] = _Pool(1, "gossamer-write")
        job = self._writes[served.name].submit(work, self._waiting)
        answer = asyncio.wrap_future(job)
        try:
            return await asyncio.wait_for(asyncio.shield(answer), self._seconds)
        except TimeoutError:
            if job.cancel():
                raise busy(
                    f"after {self._seconds:g} seconds other writes were still first; nothing was changed"
                ) from None
            return await answer
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if job.cancelled() and task is not None and not task.cancelling():  # dropped from the queue by `close`
                raise busy(_STOPPING) from None
            job.cancel()
            raise

    def close(self) -> None:
        """Wait for all work that has begun, and drop what waits."""
        for pool in (self._searches, self._reads, self._checks, self._layouts, *self._writes.values()):
            pool.close()
