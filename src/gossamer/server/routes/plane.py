"""Routes for the plane: all points as bytes, the regions of a level with their labels, and the documents of points."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response

from gossamer.errors import ParameterError, UnknownIdError
from gossamer.index import Index
from gossamer.results import Document
from gossamer.server import schemas
from gossamer.server.planes import SentPlane
from gossamer.server.request_bodies import JsonRoute
from gossamer.server.responses import JsonResponse
from gossamer.server.routes.browsing import existing_labels
from gossamer.server.service import TheIndex, TheService, needs
from gossamer.server.static_files import is_fresh

router = APIRouter(tags=["plane"], dependencies=[Depends(needs("read"))], route_class=JsonRoute)

_BATCH: Final = 32
"""Concepts labelled at a time; in between a change can be applied."""

_SNIPPET: Final = 300
"""Characters of a text that are sent for a point."""

_BINARY: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A header in JSON and columns of 16-bit numbers: see docs/server.md.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "It has not changed since it was sent with this ETag."},
}


@router.get("/plane", response_class=Response, responses=_BINARY)
async def plane(
    request: Request,
    served: TheIndex,
    service: TheService,
    ids: Annotated[bool, Query(description="With the id of each document.")] = False,
    labels: Annotated[bool, Query(description="With the label of each region.")] = False,
) -> Response:
    """Documents as points, and the regions of concepts. The first request after a start may take seconds."""
    sent = await service.planes.current(served)
    headers = {"ETag": f'"{sent.tag}{"-ids" * ids}"', "Cache-Control": "private, no-cache"}
    if labels:  # they may change while the points stay
        found = await service.workers.lay_out(served.index.plane)
        return Response(await service.workers.read(lambda: found.to_bytes(ids=ids)), media_type=_TYPE)
    if is_fresh(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    body = await service.workers.read(lambda: sent.plane.to_bytes(ids=ids))
    return Response(body, headers=headers, media_type=_TYPE)


_TYPE: Final = "application/octet-stream"


@router.get("/plane/regions", response_model=schemas.RegionsAnswer)
async def regions(
    served: TheIndex,
    service: TheService,
    level: Annotated[int, Query(ge=1, le=9, description="Steps below the root: 1 has the fewest and largest.")] = 1,
) -> Response:
    """The regions of one level of concepts with their labels, large ones first."""
    sent = await service.planes.current(served)
    listed = sent.plane.regions[level - 1] if level <= len(sent.plane.regions) else ()

    def work() -> list[dict[str, Any]]:
        ids = [region.concept for region in listed]
        labels: list[str] = []
        for start in range(0, len(ids), _BATCH):
            labels += existing_labels(served.index, ids[start : start + _BATCH])
        return [{**vars(region), "label": label} for region, label in zip(listed, labels, strict=True)]

    found = await service.workers.read(work)
    return JsonResponse({"operation": sent.plane.operation, "level": level, "regions": found})


@router.post("/plane/documents", response_model=schemas.PointsAnswer)
async def documents(asked: schemas.PointsRequest, served: TheIndex, service: TheService) -> Response:
    """The documents at some points of a plane, or the points of some documents; those that are gone are left out."""
    if (asked.points is None) == (asked.ids is None):
        raise ParameterError("name documents by their points in the plane, or by their ids: one of the two")
    service.limits.check_batch(len(asked.points or asked.ids or ()), "points or ids")
    sent = await service.planes.at(served, asked.operation)

    def work() -> list[dict[str, Any]]:
        wanted = _wanted(sent, asked)
        found = _existing(served.index, [id for _, id in wanted])
        return [
            {"point": point, "id": id, "text": found[id].text[:_SNIPPET], "metadata": found[id].metadata}
            for point, id in wanted
            if id in found
        ]

    return JsonResponse({"documents": await service.workers.read(work)})


def _wanted(sent: SentPlane, asked: schemas.PointsRequest) -> list[tuple[int, str]]:
    """Points and ids of the documents that a request names."""
    if asked.ids is not None:
        return [(sent.points[id], id) for id in asked.ids if id in sent.points]
    count = len(sent.plane)
    for point in asked.points or ():
        if point >= count:
            raise ParameterError(f"the plane of operation {asked.operation} has {count} points, there is no {point}")
    return [(point, sent.plane.ids[point]) for point in asked.points or ()]


def _existing(index: Index, ids: Sequence[str]) -> dict[str, Document]:
    """The documents by their ids, without those that are deleted."""
    each = list(dict.fromkeys(ids))
    try:
        return {document.id: document for document in index.get(each)}
    except UnknownIdError:
        return {id: index.get(id) for id in each if id in index}
