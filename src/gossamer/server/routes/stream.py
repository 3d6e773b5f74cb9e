"""Many documents, one a line, in one request; progress comes back the same way.

Lines are gathered into batches of bounded size and written batch by batch. Each line of the answer counts what is
durable by then, so whoever loses the connection knows where to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gossamer.errors import GossamerError, InputError
from gossamer.server import schemas
from gossamer.server.answers import as_json
from gossamer.server.bodies import MOST_ERRORS
from gossamer.server.catalog import Served
from gossamer.server.envelope import log_if_ours
from gossamer.server.limits import Limits
from gossamer.server.problems import Refusal, problem_of
from gossamer.server.routes.documents import add
from gossamer.server.service import Service, TheIndex, TheService, needs

router = APIRouter(tags=["documents"], dependencies=[Depends(needs("write"))])

_BATCH = 256
"""Documents written at a time: large enough to be quick, small enough that progress is seen."""

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": '{"id": "a", "text": "Leaves make sugar."}\n{"id": "b", "text": "Bread rises."}\n',
            }
        },
    }
}
_LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One line a batch: what has been added so far is durable. The last one has done or error.",
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": '{"added": 256, "done": false}\n{"added": 300, "done": true}\n',
            }
        },
    }
}


@router.post("/documents/stream", responses=_LINES, openapi_extra=_BODY, response_class=StreamingResponse)
async def stream_documents(request: Request, served: TheIndex, service: TheService) -> Response:
    """Add documents line by line (NDJSON): as many as you like, with progress. See `Progress` for the answer's lines.

    What goes wrong before anything was added is an ordinary problem; later it is the last line's `error`.
    """
    progress = _progress(request, served, service)
    first = await anext(progress)

    async def lines() -> AsyncIterator[bytes]:
        yield first
        async for line in progress:
            yield line

    return _Lines(lines(), media_type="application/x-ndjson")


class _Lines(StreamingResponse):
    """Starlette's would listen meanwhile whether the client is still there, and swallow what it sends."""

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
        log_if_ours(error, request.state.request_id)
        problem = problem_of(error).to_dict(request.url.path, request.state.request_id)
        yield as_json({"added": added, "done": False, "error": problem}) + b"\n"
        return
    yield as_json({"added": added, "done": True}) + b"\n"


async def _batches(request: Request, limits: Limits) -> AsyncIterator[list[schemas.NewDocument]]:
    """Documents as they come, so many at a time."""
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
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(["line " + str(number), *map(str, first["loc"])])
        raise InputError(f"{where}: {first['msg']}") from None


async def _lines(request: Request, limits: Limits) -> AsyncIterator[tuple[int, bytes]]:
    """The lines of a body, numbered from 1; each is limited, and so is the wait for more."""
    number, line = 1, bytearray()  # one that grows: a line may come byte by byte
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
