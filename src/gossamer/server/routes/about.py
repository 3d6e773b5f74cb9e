"""About the server and its indexes: info, the list of indexes, rebuild, health and metrics."""

from fastapi import APIRouter, Depends, Response
from prometheus_client import CONTENT_TYPE_LATEST

from gossamer.server import schemas
from gossamer.server.catalog import Served
from gossamer.server.problems import busy
from gossamer.server.responses import JsonResponse
from gossamer.server.service import TheIndex, TheKey, TheService, needs

of_index = APIRouter(tags=["about"], dependencies=[Depends(needs("read"))])
admin = APIRouter(tags=["about"], dependencies=[Depends(needs("admin"))])
of_server = APIRouter(tags=["about"], dependencies=[Depends(needs("read"))])
metrics = APIRouter(tags=["health"], dependencies=[Depends(needs("read"))])
public = APIRouter(tags=["health"])


@of_index.get("/info", response_model=schemas.InfoAnswer)
async def info(served: TheIndex, service: TheService, key: TheKey) -> Response:
    """What the index holds, how it was made, and what it takes on disk."""
    about = vars(await service.workers.read(served.index.info))
    path = about["path"] if key.allows("admin") else None
    writable = served.writable and key.allows("write")
    return JsonResponse({**about, "path": path, "name": served.name, "writable": writable})


@admin.post("/refit", response_model=schemas.InfoAnswer, include_in_schema=False)  # the former name
@admin.post("/rebuild", response_model=schemas.InfoAnswer)
async def rebuild(served: TheIndex, service: TheService, key: TheKey) -> Response:
    """Fit the whitener to all documents there are now, and build the tree again. Takes a while."""
    await service.workers.write(served, served.index.rebuild)
    return await info(served, service, key)


@of_server.get("/indexes", response_model=schemas.IndexList)
async def indexes(service: TheService, key: TheKey) -> Response:
    """All indexes of this server: each has the same routes under /v1/indexes/{name} as the first has under /v1."""

    def entry(served: Served) -> dict[str, object]:
        return {
            "name": served.name,
            "documents": len(served.index),
            "writable": served.writable and key.allows("write"),
            "default": served is service.catalog.first,
        }

    return JsonResponse({"indexes": await service.workers.read(lambda: [entry(served) for served in service.catalog])})


@metrics.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "In Prometheus's text format.", "content": {"text/plain": {}}}},
)
async def prometheus(service: TheService) -> Response:
    """Requests, latencies, documents, concepts, and how much was written since the tree was saved."""
    return Response(await service.workers.read(service.metrics.text), media_type=CONTENT_TYPE_LATEST)


@public.get("/healthz", response_model=schemas.Health)
async def healthz() -> Response:
    """Whether the process is alive."""
    return JsonResponse({"status": "alive"})


@public.get("/readyz", response_model=schemas.Health)
async def readyz(service: TheService) -> Response:
    """Whether it takes requests: every index answers, and it is not stopping."""
    if service.workers.draining:
        raise busy("the server is stopping")
    await service.readiness.check()
    return JsonResponse({"status": "ready"})
