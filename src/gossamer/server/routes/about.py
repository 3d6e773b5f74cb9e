"""What is served: info, the list of indexes, and what only an admin may ask for."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from gossamer.server import schemas
from gossamer.server.answers import Answer
from gossamer.server.catalog import Served
from gossamer.server.service import TheIndex, TheKey, TheService, needs

router = APIRouter(tags=["about"], dependencies=[Depends(needs("read"))])
whole = APIRouter(tags=["about"], dependencies=[Depends(needs("read"))])
"""About the server as a whole: not repeated for each index."""
admin = APIRouter(tags=["about"], dependencies=[Depends(needs("admin"))])


@router.get("/info", response_model=schemas.InfoAnswer)
async def info(served: TheIndex, service: TheService, key: TheKey) -> Response:
    """What the index is and what it takes."""
    about = vars(await service.workers.read(served.index.info))
    path = about["path"] if key.allows("admin") else None
    writable = served.writable and key.allows("write")
    return Answer({**about, "path": path, "name": served.name, "writable": writable})


@whole.get("/indexes", response_model=schemas.IndexList)
async def indexes(service: TheService, key: TheKey) -> Response:
    """All indexes of this server: each has the same routes under /v1/indexes/{name} as the first has under /v1."""

    def entry(served: Served) -> dict[str, object]:
        return {
            "name": served.name,
            "documents": len(served.index),
            "writable": served.writable and key.allows("write"),
            "default": served is service.catalog.first,
        }

    return Answer({"indexes": await service.workers.read(lambda: [entry(served) for served in service.catalog])})


@admin.post("/refit", response_model=schemas.InfoAnswer)
async def refit(served: TheIndex, service: TheService, key: TheKey) -> Response:
    """Fit the whitener to all documents there are now, and grow the tree again. Takes a while."""
    await service.workers.write(served, served.index.refit)
    return await info(served, service, key)
