"""What routes share: the parts of the server, and dependencies that find the index and check the key of a request."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, cast

from fastapi import Depends, Request

from gossamer.server.catalog import Catalog, Served
from gossamer.server.keys import Key, Scope
from gossamer.server.limits import Limits
from gossamer.server.metrics import Metrics
from gossamer.server.planes import Planes
from gossamer.server.problems import Refusal
from gossamer.server.workers import Workers

_FRESH: Final = 1.0
"""Seconds for which the result of a readiness check is used again."""


class Readiness:
    """Whether every index answers. For the event loop.

    Anyone may ask without a key, so all requests within a second share one check.
    """

    def __init__(self, catalog: Catalog, workers: Workers) -> None:
        self._catalog = catalog
        self._workers = workers
        self._begun = 0.0
        self._last: asyncio.Task[Exception | None] | None = None

    async def check(self) -> None:
        """Raise the error that an index raised in the last check."""
        last = self._last
        if last is None or (last.done() and time.monotonic() - self._begun >= _FRESH):
            self._begun = time.monotonic()
            last = self._last = asyncio.create_task(self._error())
        error = await asyncio.shield(last)  # others wait for it too
        if error is not None:
            raise error.with_traceback(None)  # a traceback would grow each time the error is raised

    async def _error(self) -> Exception | None:
        try:
            await self._workers.check(lambda: [len(served.index) for served in self._catalog])
        except Exception as error:
            return error
        return None


@dataclass(frozen=True)
class Service:
    """The parts of a running server."""

    catalog: Catalog
    limits: Limits
    workers: Workers
    metrics: Metrics
    readiness: Readiness
    planes: Planes


async def _service(request: Request) -> Service:
    return cast("Service", request.app.state.service)


async def _served(request: Request) -> Served:
    """The index that the address names, or the first one. Async, since FastAPI runs other functions in a thread."""
    service: Service = request.app.state.service
    found = service.catalog.get(request.path_params.get("name"))
    request.state.index = found.name  # for the log
    return found


async def _key(request: Request) -> Key:
    return cast("Key", request.state.key)


TheService = Annotated[Service, Depends(_service)]
TheIndex = Annotated[Served, Depends(_served)]
TheKey = Annotated[Key, Depends(_key)]


def needs(scope: Scope) -> Callable[[Key], None]:
    """A dependency that refuses keys without `scope`."""

    async def check(key: TheKey) -> None:
        if not key.allows(scope):
            raise Refusal(403, f"this needs a key with the scope {scope}, and yours has {key.scope}", "access")

    return check  # type: ignore[return-value]
