"""Where the work is done: reads side by side in threads, the writes of an index one after the other.

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

    def __init__(self, seconds: float, readers: int | None = None) -> None:
        self._seconds = seconds
        # Searches spend much of their time in compiled code and in SQLite, where threads run side by side; more
        # threads than cores would only take turns.
        self._readers = ThreadPoolExecutor(readers or min(8, (os.cpu_count() or 1) + 2), "gossamer-reader")
        self.draining = False

    async def read(self, work: Callable[[], _T]) -> _T:
        """What `work` returns."""
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._readers, work), self._seconds)
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
        self._readers.shutdown(wait=True, cancel_futures=True)
