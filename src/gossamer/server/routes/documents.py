"""Routes for documents: get, add, update, delete, and a stream to add. The answer to a change means it is durable.

A stream has one document a line. Lines are gathered into batches of bounded size, and each batch is written. Each line
of the answer counts what is durable by then, so a client that loses the connection knows where to go on.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Request, Response
from pydantic import ValidationError
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gossamer.errors import GossamerError, InputError
from gossamer.index import Index
from gossamer.results import Document
from gossamer.server import schemas
from gossamer.server.catalog import Served
from gossamer.server.limits import Limits
from gossamer.server.middleware import log_server_error
from gossamer.server.problems import Refusal, first_error, problem_of
from gossamer.server.request_bodies import MOST_ERRORS, JsonRoute
from gossamer.server.responses import JsonResponse, as_json, characters_of
from gossamer.server.service import Service, TheIndex, TheService, needs

reading = APIRouter(tags=["documents"], dependencies=[Depends(needs("read"))], route_class=JsonRoute)
writing = APIRouter(tags=["documents"], dependencies=[Depends(needs("write"))], route_class=JsonRoute)
streaming = APIRouter(tags=["documents"], dependencies=[Depends(needs("write"))])

_T = TypeVar("_T")

_READ: Final = 32
"""Documents read from disk at a time."""

_BATCH: Final = 256
"""Documents of a stream written at a time: enough to be quick, few enough to see progress."""

OneOrMany = Annotated[schemas.AddRequest, Body()]
DocumentId = Annotated[str, Path(min_length=1, description="Slashes in it may stay as they are.")]


@reading.post("/documents/get", response_model=schemas.Documents)
async def get_documents(asked: schemas.Ids, served: TheIndex, service: TheService) -> Response:
    """Several documents, in the order of their ids; 404 where one is not there, unless `skip_unknown`."""
    limits, ids = service.limits, asked.ids
    limits.check_batch(len(ids), "ids")

    def work() -> list[Document]:
        times = Counter(ids)
        each = list(times)
        found: dict[str, Document] = {}
        characters = 0
        for at in range(0, len(each), _READ):  # the limit is checked before all are in memory
            for document in served.index.get(each[at : at + _READ], skip_unknown=asked.skip_unknown):
                found[document.id] = document
                characters += times[document.id] * characters_of(document)
            limits.check_answer(characters)
        return [found[id] for id in ids if id in found]

    return JsonResponse({"documents": await service.workers.read(work)})


@reading.get("/documents/{id:path}", response_model=schemas.DocumentAnswer)
async def get_document(id: DocumentId, served: TheIndex, service: TheService) -> Response:
    """One document as it was added."""
    return JsonResponse(await service.workers.read(lambda: served.index.get(id)))


@writing.post("/documents", response_model=schemas.Added)
async def add_documents(asked: OneOrMany, served: TheIndex, service: TheService) -> Response:
    """Add a document or several; an id that is there already is replaced. All of them are in, or none."""
    new = asked.documents if isinstance(asked, schemas.NewDocuments) else [asked]
    service.limits.check_batch(len(new))
    ids = await service.workers.write(served, lambda: add(served.index, new, service.limits))
    service.metrics.written.labels(served.name).inc(len(ids))
    return JsonResponse({"ids": ids})


@writing.post("/documents/update", response_model=schemas.Updated)
async def update_documents(asked: schemas.UpdateRequest, served: TheIndex, service: TheService) -> Response:
    """Set fields of the metadata of documents, without encoding anything; 404 where one is not there."""
    service.limits.check_batch(len(asked.ids), "ids")
    await service.workers.write(served, lambda: served.index.update(asked.ids, asked.metadata))
    return JsonResponse({"updated": len(asked.ids)})


@writing.post("/documents/delete", response_model=schemas.Deleted)
async def delete_documents(asked: schemas.DeleteRequest, served: TheIndex, service: TheService) -> Response:
    """Delete documents by their ids, those that are not there are no error, or all that match a filter."""
    service.limits.check_batch(len(asked.ids or ()), "ids")
    service.limits.check_where(asked.where)

    def work() -> int:
        return served.index.delete(asked.ids, where=asked.where)

    return JsonResponse({"deleted": await service.workers.write(served, work)})


@writing.delete("/documents/{id:path}", response_model=schemas.Deleted)
async def delete_document(id: DocumentId, served: TheIndex, service: TheService) -> Response:
    """Delete one document; an id that is not there is no error."""
    return JsonResponse({"deleted": await service.workers.write(served, lambda: served.index.delete(id))})


def add(index: Index, new: list[schemas.NewDocument], limits: Limits) -> list[str]:
    """Add documents to the index; returns their ids."""
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


# -- streams ----------------------------------------------------------------------------------------------


def _ndjson(*lines: str, **about: Any) -> dict[str, Any]:
    """An OpenAPI request body or response of lines of JSON."""
    example = "".join(line + "\n" for line in lines)
    return {**about, "content": {"application/x-ndjson": {"schema": {"type": "string"}, "example": example}}}


_REQUEST = _ndjson('{"id": "a", "text": "Leaves make sugar."}', '{"id": "b", "text": "Bread rises."}', required=True)
_RESPONSE = _ndjson(
    '{"added": 256, "done": false}', '{"added": 300, "done": true}',
    description="One line a batch: what has been added so far is durable. The last one has done or error.",
)  # fmt: skip


@streaming.post(
    "/documents/stream",
    responses={200: _RESPONSE},
    openapi_extra={"requestBody": _REQUEST},
    response_class=StreamingResponse,
)
async def stream_documents(request: Request, served: TheIndex, service: TheService) -> Response:
    """Add any number of documents line by line (NDJSON), with progress. See `Progress` for the lines of the answer.

    An error before anything was added is an ordinary problem; later it is the `error` of the last line.
    """
    progress = _progress(request, served, service)
    first = await anext(progress)

    async def lines() -> AsyncIterator[bytes]:
        yield first
        async for line in progress:
            yield line

    return _Lines(lines(), media_type="application/x-ndjson")


class _Lines(StreamingResponse):
    """A streamed response that reads nothing: Starlette's would read, and discard, the rest of the request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        await self.stream_response(send)


async def _progress(request: Request, served: Served, service: Service) -> AsyncIterator[bytes]:
    added = 0
    try:
        async for batch in _batches(request, service.limits):
            new = batch
            ids = await service.workers.write(served, lambda: add(served.index, new, service.limits))  # noqa: B023
            added += len(ids)
            service.metrics.written.labels(served.name).inc(len(ids))
            yield as_json({"added": added, "done": False}) + b"\n"
    except (GossamerError, Refusal) as error:
        if not added:
            raise
        log_server_error(error, request.state.request_id)
        problem = problem_of(error).to_dict(request.url.path, request.state.request_id)
        yield as_json({"added": added, "done": False, "error": problem}) + b"\n"
        return
    yield as_json({"added": added, "done": True}) + b"\n"


async def _batches(request: Request, limits: Limits) -> AsyncIterator[list[schemas.NewDocument]]:
    """The documents of a stream in batches."""
    batch: list[schemas.NewDocument] = []
    size, most = 0, min(_BATCH, limits.batch)
    async for number, line in _lines(request, limits):
        if not line.strip():
            continue
        batch.append(_document(line, number))
        size += len(line)
        if len(batch) >= most or size >= limits.body:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _document(line: bytes, number: int) -> schemas.NewDocument:
    try:
        return schemas.NewDocument.model_validate_json(line)
    except ValidationError as error:
        if (count := error.error_count()) > MOST_ERRORS:  # pydantic describes all or none
            raise InputError(f"line {number}: {count:,} fields are wrong or unknown") from None
        first = error.errors(include_input=False, include_url=False)[:1]
        raise InputError(first_error(first, f"line {number}")) from None


async def _lines(request: Request, limits: Limits) -> AsyncIterator[tuple[int, bytes]]:
    """The lines of a body, numbered from 1. The length of a line is limited, and so is the wait for more."""
    number, line = 1, bytearray()  # mutable, since a line may arrive byte by byte
    async for chunk in _chunks(request, limits.seconds):
        *ends, beginning = chunk.split(b"\n")
        for end in ends:
            line += end
            _check_line(line, number, limits)
            yield number, bytes(line)
            line.clear()
            number += 1
        line += beginning
        _check_line(line, number, limits)
    yield number, bytes(line)


async def _chunks(request: Request, seconds: float) -> AsyncIterator[bytes]:
    chunks = aiter(request.stream())
    while True:
        try:
            yield await asyncio.wait_for(anext(chunks), seconds)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refusal(
                408, f"nothing came for {seconds:g} seconds: send on, or end the request", "not-arrived"
            ) from None


def _check_line(line: bytearray, number: int, limits: Limits) -> None:
    if len(line) > limits.body:
        raise Refusal(413, f"line {number} has more than {limits.body:,} bytes: split the text", "too-large")
