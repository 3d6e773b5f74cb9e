"""Where the work is done: reads side by side in threads, the writes of an index one after the other.

Searches have threads of their own, as many as there are cores, and two at least: they are short, and what is Python in
them takes turns anyway, so that more threads would only change places more often. All other reads may be long, and
share other threads: a few of those hold up no search.

A read has a deadline, counted from when it was asked for: one that waited too long does not begin, one that runs too
long ends by itself (`runtime.deadline`), and both are answered with 504. A write is different, because its answer
must be true: while it waits in line it can still be taken out, and is then refused with nothing done; once it has begun
it is waited for. What would wait behind too many others is refused at once, with 503.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TypeVar

from gossamer.errors import ReadOnlyError
from gossamer.runtime.deadline import within
from gossamer.server.catalog import Served
from gossamer.server.pool import STOPPING, Pool
from gossamer.server.problems import Refusal, busy

_T = TypeVar("_T")


class Workers:
    """The threads of a server."""

    def __init__(self, seconds: float, waiting: int) -> None:
        self._seconds = seconds
        self._waiting = waiting
        cores = os.cpu_count() or 1
        self._searchers = Pool(min(8, max(2, cores)), "gossamer-searcher")
        self._readers = Pool(min(8, cores + 2), "gossamer-reader")
        self._lookout = Pool(1, "gossamer-lookout")
        self.draining = False

    async def search(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, which is quick."""
        return await self._done(self._searchers, work)

    async def read(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, which may take a while."""
        return await self._done(self._readers, work)

    async def look(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, which waits for no other read."""
        return await self._done(self._lookout, work)

    async def _done(self, pool: Pool, work: Callable[[], _T]) -> _T:
        end = time.monotonic() + self._seconds

        def in_time() -> _T:
            with within(end - time.monotonic()):
                return work()

        job = pool.submit(in_time, self._waiting)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(job)
        except TimeoutError:  # of this clock, or the work's own
            raise Refusal(
                504, f"this took more than {self._seconds:g} seconds: ask for less, or try again later", "too-slow"
            ) from None

    async def write(self, served: Served, work: Callable[[], _T]) -> _T:
        """What `work` returns; when it does, the change is durable."""
        if not served.writable:
            raise ReadOnlyError(f"{served.name} is served for reading")
        if self.draining:
            raise busy(STOPPING)
        job = served.writer.submit(work, self._waiting)
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
            if job.cancelled() and task is not None and not task.cancelling():  # taken out of the line by `close`
                raise busy(STOPPING) from None
            job.cancel()
            raise

    def close(self) -> None:
        """Let running reads end."""
        for pool in (self._searchers, self._readers, self._lookout):
            pool.close()
