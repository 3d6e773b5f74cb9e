"""What every route has at hand, and what it asks of a request before it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Request

from gossamer.server.catalog import Catalog, Served
from gossamer.server.hitlist import HitList
from gossamer.server.keys import Key, Scope
from gossamer.server.limits import Limits
from gossamer.server.metrics import Metrics
from gossamer.server.problems import Refusal
from gossamer.server.readiness import Readiness
from gossamer.server.workers import Workers


@dataclass(frozen=True)
class Service:
    """The parts of a running server."""

    catalog: Catalog
    limits: Limits
    workers: Workers
    metrics: Metrics
    readiness: Readiness
    hit_list: HitList = field(default_factory=HitList)


async def _service(request: Request) -> Service:
    return cast("Service", request.app.state.service)


async def _served(request: Request) -> Served:
    """The index that the address names, or the first one. Async, for else it would take a thread to look it up."""
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
    """A dependency that lets those pass whose key is good for `scope`."""

    async def check(key: TheKey) -> None:
        if not key.allows(scope):
            raise Refusal(403, f"this needs a key with the scope {scope}, and yours has {key.scope}", "access")

    return check  # type: ignore[return-value]
