"""For whoever watches over the server."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST

from gossamer.server import schemas
from gossamer.server.answers import Answer
from gossamer.server.problems import busy
from gossamer.server.service import TheService, needs

public = APIRouter(tags=["health"])
watched = APIRouter(tags=["health"], dependencies=[Depends(needs("read"))])


@public.get("/healthz", response_model=schemas.Health)
async def healthz() -> Response:
    """Whether the process is alive."""
    return Answer({"status": "alive"})


@public.get("/readyz", response_model=schemas.Health)
async def readyz(service: TheService) -> Response:
    """Whether it takes requests: every index answers, and it is not stopping."""
    if service.workers.draining:
        raise busy("the server is stopping")
    await service.readiness.check()
    return Answer({"status": "ready"})


@watched.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "In Prometheus's text format.", "content": {"text/plain": {}}}},
)
async def metrics(service: TheService) -> Response:
    """Requests, latencies, documents, concepts, and how much was written since the tree was saved."""
    return Response(await service.workers.read(service.metrics.text), media_type=CONTENT_TYPE_LATEST)
