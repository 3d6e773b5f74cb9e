"""Where the work is done: reads side by side in threads, the writes of an index one after the other.

Searches have threads of their own, as many as there are cores, and two at least: they are short, and what is Python in
them takes turns anyway, so that more threads would only change places more often. All other reads may be long, and
share other threads: a few of those hold up no search.

A read that takes too long is answered with 504. A write is different, because its answer must be true: while it waits
in line it can still be taken out, and is then refused with nothing done; once it has begun it is waited for.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gossamer.errors import ReadOnlyError
from gossamer.server.catalog import Served
from gossamer.server.problems import Refusal, busy

_T = TypeVar("_T")

_STOPPING = "the server is stopping, and nothing was changed: try again in a moment"


class Workers:
    """The threads of a server."""

    def __init__(self, seconds: float, readers: int | None = None, searchers: int | None = None) -> None:
        self._seconds = seconds
        cores = os.cpu_count() or 1
        self._searchers = ThreadPoolExecutor(searchers or min(8, max(2, cores)), "gossamer-searcher")
        self._readers = ThreadPoolExecutor(readers or min(8, cores + 2), "gossamer-reader")
        self.draining = False

    async def search(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, which is quick."""
        return await self._done(self._searchers, work)

    async def read(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, which may take a while."""
        return await self._done(self._readers, work)

    async def _done(self, threads: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                return await loop.run_in_executor(threads, work)
        except TimeoutError:
            raise Refusal(
                504, f"this took more than {self._seconds:g} seconds: ask for less, or try again later", "too-slow"
            ) from None

    async def write(self, served: Served, work: Callable[[], _T]) -> _T:
        """What `work` returns; when it does, the change is durable."""
        if not served.writable:
            raise ReadOnlyError(f"{served.name} is served for reading")
        if self.draining:
            raise busy(_STOPPING)
        try:
            job = served.writer.submit(work)
        except RuntimeError:  # shut down meanwhile
            raise busy(_STOPPING) from None
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
                raise busy(_STOPPING) from None
            job.cancel()
            raise

    def close(self) -> None:
        """Let running reads end."""
        for threads in (self._searchers, self._readers):
            threads.shutdown(wait=True, cancel_futures=True)
