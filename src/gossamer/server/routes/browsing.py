"""The corpus from above: concepts, topics, and the tree as columns for a map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from gossamer.errors import ParameterError, UnknownIdError
from gossamer.index import Index
from gossamer.results import Concept, Topics
from gossamer.server import schemas
from gossamer.server.answers import Answer
from gossamer.server.service import TheIndex, TheService, needs

router = APIRouter(tags=["concepts"], dependencies=[Depends(needs("read"))])

Root = Annotated[int | None, Query(description="The id of a concept to begin with; without one, the root.")]
Depth = Annotated[int, Query(ge=0, le=1000, description="Levels below it.")]
Words = Annotated[str, Query(min_length=1, examples=["baking"])]


@router.get("/concepts", response_model=schemas.Concepts)
async def concepts(served: TheIndex, service: TheService, depth: Depth = 2, root: Root = None) -> Response:
    """Concepts from a root down, each before those below it, opened from the largest on as long as they fit."""
    most = service.limits.nodes
    found = await service.workers.read(lambda: list(_in_order(_opened(served.index, root, depth, 1, most))))
    return Answer({"concepts": found})


@router.get("/concepts/find", response_model=schemas.ConceptMatches)
async def find_concepts(
    served: TheIndex, service: TheService, query: Words, k: Annotated[int, Query(ge=1)] = 10
) -> Response:
    """The concepts that a query fits, each at the level of generality that fits it best."""
    return await find_concepts_by(schemas.FindConceptsRequest(query=query, k=k), served, service)


@router.post("/concepts/find", response_model=schemas.ConceptMatches)
async def find_concepts_by(asked: schemas.FindConceptsRequest, served: TheIndex, service: TheService) -> Response:
    """The same for a query that is long, or a vector."""
    service.limits.check_k(asked.k)
    service.limits.check_text(asked.query)
    found = await service.workers.read(lambda: served.index.find_concepts(asked.query, asked.k, vector=asked.vector))
    return Answer({"matches": found})


@router.get("/concepts/{id}", response_model=schemas.ConceptAnswer)
async def concept(id: int, served: TheIndex, service: TheService) -> Response:
    """One concept, its children, and the path that leads to it."""

    def work() -> dict[str, Concept | list[Concept]]:
        found = served.index.concept(id)
        children = sorted(_those(served.index, found.children), key=lambda child: (-child.size, child.id))
        return {"concept": found, "children": children, "path": [*_those(served.index, found.path[:-1]), found]}

    return Answer(await service.workers.read(work))


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
    found: list[Topics] = await service.workers.read(lambda: served.index.topics(levels=wanted))
    return Answer({"levels": found if assignments else [replace(each, assignments={}) for each in found]})


@router.get("/map", response_model=schemas.MapAnswer)
async def tree_map(
    served: TheIndex,
    service: TheService,
    root: Root = None,
    depth: Depth = 4,
    min_size: Annotated[int, Query(ge=1, description="Leave out concepts with fewer passages.")] = 1,
    limit: Annotated[int | None, Query(ge=1, description="At most so many concepts.")] = None,
    labels: Annotated[bool, Query(description="With a label for each.")] = False,
) -> Response:
    """A part of the tree as columns, for drawing it: opened from the largest concept on, as long as all fit."""
    most = min(limit or service.limits.nodes, service.limits.nodes)

    def work() -> list[Concept]:
        return list(_in_order(_opened(served.index, root, depth, min_size, most)))

    shown = await service.workers.read(work)
    return Answer(
        {
            "ids": [concept.id for concept in shown],
            "parents": [concept.parent if at else None for at, concept in enumerate(shown)],
            "sizes": [concept.size for concept in shown],
            "depths": [concept.depth for concept in shown],
            "children": [len(concept.children) for concept in shown],
            "labels": [concept.label for concept in shown] if labels else None,
        }
    )


# -- walking down ----------------------------------------------------------------------------------


def _opened(
    index: Index, root: int | None, depth: int, min_size: int, most: int
) -> tuple[Concept | None, dict[int, list[Concept]]]:
    """A concept and, by the id of their parent, the children that are shown: of the largest concepts first."""
    top = index.concept(root) if root is not None else next(iter(index.concepts(0)), None)
    shown: dict[int, list[Concept]] = {}
    if top is None:
        return top, shown
    count, waiting = 1, [(-top.size, top.id, top)]
    while waiting:
        _, _, at = heappop(waiting)
        if at.depth - top.depth >= depth or not at.children or count + len(at.children) > most:
            continue
        below = [child for child in _those(index, at.children) if child.size >= min_size]
        shown[at.id] = sorted(below, key=lambda child: (-child.size, child.id))
        count += len(below)
        for child in below:
            heappush(waiting, (-child.size, child.id, child))
    return top, shown


def _in_order(opened: tuple[Concept | None, dict[int, list[Concept]]]) -> Iterator[Concept]:
    """Each concept before those below it."""
    top, shown = opened
    waiting = [] if top is None else [top]
    while waiting:
        concept = waiting.pop()
        yield concept
        waiting.extend(reversed(shown.get(concept.id, [])))


def _those(index: Index, ids: tuple[int, ...]) -> list[Concept]:
    """Concepts by their ids; one that a change has done away with meanwhile is left out."""
    found = []
    for id in ids:
        try:
            found.append(index.concept(id))
        except UnknownIdError:
            continue
    return found
