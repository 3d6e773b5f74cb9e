"""Documents: get, add or replace, delete. An answer to a change means that it is durable."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Response

from gossamer.errors import InputError
from gossamer.index import Index
from gossamer.results import Document
from gossamer.server import schemas
from gossamer.server.answers import Answer, characters_of
from gossamer.server.bodies import JsonRoute
from gossamer.server.limits import Limits
from gossamer.server.service import TheIndex, TheService, needs

reading = APIRouter(tags=["documents"], dependencies=[Depends(needs("read"))], route_class=JsonRoute)
writing = APIRouter(tags=["documents"], dependencies=[Depends(needs("write"))], route_class=JsonRoute)

_T = TypeVar("_T")

_READ: Final = 32
"""Documents read from disk at once."""

OneOrMany = Annotated[schemas.AddRequest, Body()]
DocumentId = Annotated[str, Path(min_length=1, description="Slashes in it may stay as they are.")]


@reading.post("/documents/get", response_model=schemas.Documents)
async def get_documents(asked: schemas.Ids, served: TheIndex, service: TheService) -> Response:
    """Several documents, in the order of their ids; 404 where one is not there."""
    limits, ids = service.limits, asked.ids
    limits.check_batch(len(ids), "ids")

    def work() -> list[Document]:
        times = Counter(ids)
        each = list(times)
        found: dict[str, Document] = {}
        characters = 0
        for at in range(0, len(each), _READ):  # a few at a time, so that what is too much is not all in memory
            for document in served.index.get(each[at : at + _READ]):
                found[document.id] = document
                characters += times[document.id] * characters_of(document)
            limits.check_answer(characters)
        return [found[id] for id in ids]

    return Answer({"documents": await service.workers.read(work)})


@reading.get("/documents/{id:path}", response_model=schemas.DocumentAnswer)
async def get_document(id: DocumentId, served: TheIndex, service: TheService) -> Response:
    """One document as it was added."""
    return Answer(await service.workers.read(lambda: served.index.get(id)))


@writing.post("/documents", response_model=schemas.Added)
async def add_documents(asked: OneOrMany, served: TheIndex, service: TheService) -> Response:
    """Add a document or several; an id that is there already is replaced. All of them are in, or none."""
    new = asked.documents if isinstance(asked, schemas.NewDocuments) else [asked]
    service.limits.check_batch(len(new))
    ids = await service.workers.write(served, lambda: add(served.index, new, service.limits))
    service.metrics.written.labels(served.name).inc(len(ids))
    return Answer({"ids": ids})


@writing.post("/documents/delete", response_model=schemas.Deleted)
async def delete_documents(asked: schemas.Ids, served: TheIndex, service: TheService) -> Response:
    """Delete several documents; ids that are not there are no error."""
    service.limits.check_batch(len(asked.ids), "ids")
    return Answer({"deleted": await service.workers.write(served, lambda: served.index.delete(asked.ids))})


@writing.delete("/documents/{id:path}", response_model=schemas.Deleted)
async def delete_document(id: DocumentId, served: TheIndex, service: TheService) -> Response:
    """Delete one document; an id that is not there is no error."""
    return Answer({"deleted": await service.workers.write(served, lambda: served.index.delete(id))})


def add(index: Index, new: list[schemas.NewDocument], limits: Limits) -> list[str]:
    """Documents into the index; returns their ids."""
    for document in new:
        limits.check_text(document.text)
    ids = _all_or_none([document.id for document in new], "id")
    vectors = _all_or_none([document.vector for document in new], "vector")
    return index.add([document.text for document in new], ids, [document.metadata for document in new], vectors=vectors)


def _all_or_none(values: list[_T | None], what: str) -> list[_T] | None:
    given = [value for value in values if value is not None]
    if given and len(given) != len(values):
        raise InputError(
            f"{len(given)} of {len(values)} documents have a field {what!r}: give it to all of a request, or to none"
        )
    return given or None
