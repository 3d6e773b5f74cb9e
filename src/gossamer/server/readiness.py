"""Whether every index answers: one look, shared by all who ask within a second.

Anyone may ask, without a key, so that asking often must not cost more than asking once.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from gossamer.server.catalog import Catalog
from gossamer.server.workers import Workers

_FRESH: Final = 1.0
"""Seconds for which a look is good."""


class Readiness:
    """The last look at all indexes. For the event loop."""

    def __init__(self, catalog: Catalog, workers: Workers) -> None:
        self._catalog = catalog
        self._workers = workers
        self._begun = 0.0
        self._look: asyncio.Task[Exception | None] | None = None

    async def check(self) -> None:
        """Raise what an index raised when it was last looked at."""
        look = self._look
        if look is None or (look.done() and time.monotonic() - self._begun >= _FRESH):
            self._begun = time.monotonic()
            look = self._look = asyncio.create_task(self._error())
        error = await asyncio.shield(look)  # others wait for it too
        if error is not None:
            raise error.with_traceback(None)  # it would grow with everyone it is raised for

    async def _error(self) -> Exception | None:
        try:
            await self._workers.look(lambda: [len(served.index) for served in self._catalog])
        except Exception as error:
            return error
        return None
