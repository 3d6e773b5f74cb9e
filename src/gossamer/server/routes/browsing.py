"""Routes for browsing: concepts, what became of them, topics, and the tree as columns for a map."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response

from gossamer.errors import ParameterError, UnknownIdError
from gossamer.index import Index
from gossamer.results import Concept, Topics
from gossamer.server import schemas
from gossamer.server.request_bodies import JsonRoute
from gossamer.server.responses import JsonResponse
from gossamer.server.service import TheIndex, TheService, needs

router = APIRouter(tags=["concepts"], dependencies=[Depends(needs("read"))], route_class=JsonRoute)
writing = APIRouter(tags=["concepts"], dependencies=[Depends(needs("write"))], route_class=JsonRoute)

_ROOTS: Final = 200
"""Parts of the tree in one answer: the paths of a hundred hits, more or less."""

Root = Annotated[int | None, Query(description="The id of a concept to begin with; without one, the root.")]
Roots = Annotated[
    list[int] | None, Query(max_length=_ROOTS, description="Ids of concepts to begin with; without any, the root.")
]
Depth = Annotated[int, Query(ge=0, le=1000, description="Levels below it.")]
Words = Annotated[str, Query(min_length=1, examples=["baking"])]


@router.get("/concepts", response_model=schemas.Concepts)
async def concepts(served: TheIndex, service: TheService, depth: Depth = 2, root: Root = None) -> Response:
    """Concepts from a root down, each before those below it, opened from the largest on as long as they fit."""
    most = service.limits.nodes

    def work() -> list[Concept]:
        return _existing(served.index, served.index.outline(root, depth=depth, most=most).ids)

    return JsonResponse({"concepts": await service.workers.read(work)})


@router.get("/concepts/find", response_model=schemas.ConceptMatches)
async def find_concepts(
    request: Request, served: TheIndex, service: TheService, query: Words, k: Annotated[int, Query(ge=1)] = 10
) -> Response:
    """The concepts that a query fits, each at the level of generality that fits it best."""
    given = {"query": query, "k": k} if "k" in request.query_params else {"query": query}
    return await find_concepts_by(schemas.FindConceptsRequest.model_validate(given), served, service)


@router.post("/concepts/find", response_model=schemas.ConceptMatches)
async def find_concepts_by(asked: schemas.FindConceptsRequest, served: TheIndex, service: TheService) -> Response:
    """The same for a long query, or a vector."""
    k = service.limits.check_k(asked.k, given=asked.has("k"))
    service.limits.check_text(asked.query)
    found = await service.workers.read(lambda: served.index.find_concepts(asked.query, k, vector=asked.vector))
    return JsonResponse({"matches": found})


@router.get("/concepts/{id}", response_model=schemas.ConceptAnswer)
async def concept(id: int, served: TheIndex, service: TheService) -> Response:
    """One concept, its children, and the path that leads to it; of very many children the largest."""
    most = service.limits.nodes

    def work() -> dict[str, Concept | list[Concept]]:
        found = served.index.concept(id)
        children = served.index.outline(id, depth=1).ids[1 : 1 + most]  # large ones first
        path = [*_existing(served.index, found.path[:-1]), found]
        return {"concept": found, "children": _existing(served.index, children), "path": path}

    return JsonResponse(await service.workers.read(work))


@writing.put("/concepts/{id}/name", response_model=schemas.NamedConcept)
async def rename_concept(id: int, asked: schemas.NewName, served: TheIndex, service: TheService) -> Response:
    """Call a concept by a name instead of its label; null takes the name away."""

    def work() -> Concept:
        served.index.rename_concept(id, asked.name)
        return served.index.concept(id)

    return JsonResponse({"concept": await service.workers.write(served, work)})


@router.get("/topics", response_model=schemas.TopicsAnswer)
async def topics(
    served: TheIndex,
    service: TheService,
    n: Annotated[int | None, Query(ge=1, description="At most so many groups.")] = None,
    levels: Annotated[
        str | None, Query(pattern=r"^[0-9]{1,9}(,[0-9]{1,9}){0,15}$", description="Several cuts.", examples=["8,40"])
    ] = None,
    assignments: Annotated[bool, Query(description="Whether to tell the group of every document.")] = True,
) -> Response:
    """The corpus in groups: `n` of them, or as `levels` several cuts that lie in each other."""
    if (n is None) == (levels is None):
        raise ParameterError("topics takes the number of groups, as in n=8, or levels, as in levels=8,40")
    wanted = [n] if n is not None else [int(level) for level in (levels or "").split(",")]
    for count in wanted:
        service.limits.check_k(count)

    def work() -> list[Topics]:
        if assignments:
            service.limits.check_assignments(len(served.index), len(wanted))
        return served.index.topics(levels=wanted, assignments=assignments)

    return JsonResponse({"levels": await service.workers.read(work)})


@router.get("/map", response_model=schemas.MapAnswer)
async def tree_map(
    served: TheIndex,
    service: TheService,
    root: Roots = None,
    depth: Depth = 4,
    min_size: Annotated[int, Query(ge=1, description="Leave out concepts with fewer passages.")] = 1,
    limit: Annotated[int | None, Query(ge=1, description="At most so many concepts.")] = None,
    labels: Annotated[bool, Query(description="With a label for each.")] = False,
) -> Response:
    """A part of the tree as columns, for drawing it: opened from the largest concept on, as long as all fit.

    Several roots give one part after the other, each of at most `limit` concepts.
    """
    most = min(limit or service.limits.nodes, service.limits.nodes)

    def work() -> dict[str, Any]:
        tops: list[int | None] = [*root] if root else [None]
        parts = [vars(served.index.outline(top, depth=depth, min_size=min_size, most=most)) for top in tops]
        shown = {name: list(chain.from_iterable(part[name] for part in parts)) for name in parts[0]}
        return {**shown, "labels": existing_labels(served.index, shown["ids"]) if labels else None}

    return JsonResponse(await service.workers.read(work))


@router.get("/changes", response_model=schemas.ChangesAnswer)
async def changes(
    served: TheIndex,
    service: TheService,
    since: Annotated[int | None, Query(ge=0, description="An operation, as `operation` of /v1/info tells it.")] = None,
    time: Annotated[datetime | None, Query(description="A time instead, as in 2026-05-01T12:00:00Z.")] = None,
) -> Response:
    """Which concepts are new, grown, shrunk, merged, split or gone since an operation or a time, large ones first."""
    most = service.limits.nodes
    start = time if since is None else since
    if start is None or (since is not None and time is not None):
        raise ParameterError("changes are told since an operation or a time: pass one of since and time")

    def work() -> dict[str, Any]:
        operation = served.index.info().operation  # first: what comes in between is told again next time
        found = served.index.changes(start)[:most]
        named = sorted({id for each in found for id in (each.id, each.other) if id is not None})
        labels = {str(id): label for id, label in _labels_by_id(served.index, named).items()}
        return {"changes": found, "operation": operation, "labels": labels}

    return JsonResponse(await service.workers.read(work))


@router.post("/assign", response_model=schemas.AssignAnswer)
async def assign(asked: schemas.AssignRequest, served: TheIndex, service: TheService) -> Response:
    """The concepts that each text would lie in if it were added; nothing is added."""
    service.limits.check_batch(len(asked.texts), "texts")
    for text in asked.texts:
        service.limits.check_text(text)
    return JsonResponse({"paths": await service.workers.read(lambda: served.index.assign(asked.texts))})


def existing_labels(index: Index, ids: Sequence[int]) -> list[str]:
    """The labels in the order of `ids`; "" for a concept that a change has deleted meanwhile."""
    found = _labels_by_id(index, ids)
    return [found.get(id, "") for id in ids]


def _labels_by_id(index: Index, ids: Sequence[int]) -> dict[int, str]:
    """The labels of those concepts that exist."""
    try:
        return index.labels(ids)
    except UnknownIdError:
        return {concept.id: concept.label for concept in _existing(index, ids)}


def _existing(index: Index, ids: Sequence[int]) -> list[Concept]:
    """The concepts by their ids, without those that a change has deleted meanwhile."""
    found = []
    for id in ids:
        try:
            found.append(index.concept(id))
        except UnknownIdError:
            continue
    return found
