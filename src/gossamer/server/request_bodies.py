"""JSON bodies parsed and validated in one pass by pydantic, which is five times as fast for a vector.

A body that fails is read again as FastAPI would read it, with Python's JSON and then validation, so that errors and
non-standard JSON are treated as without this. A body that is large or has many errors is refused here with its first
error: FastAPI would describe all of them, which takes gigabytes and minutes.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from gossamer.server.problems import Refusal, first_error

_SMALL: Final = 256 * 1024
"""Largest body in bytes that is validated on the event loop; larger ones are validated in a thread."""

MOST_ERRORS: Final = 20
"""Largest number of errors that are described: pydantic describes all of them or none."""


class JsonRoute(APIRoute):
    """A route whose body is parsed and validated in one pass."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with a request that parses its own body."""
        usual = super().get_route_handler()
        if self.body_field is None:
            return usual
        info = self.body_field.field_info
        expected: Any = Annotated[info.annotation, info]
        adapter: TypeAdapter[Any] = TypeAdapter(expected)

        async def handler(request: Request) -> Response:
            return await usual(_Request(request, adapter))

        return handler


class _Request(Request):
    """A request whose JSON is validated when FastAPI asks for it."""

    def __init__(self, request: Request, adapter: TypeAdapter[Any]) -> None:
        super().__init__(request.scope, request.receive)
        self._adapter = adapter

    async def json(self) -> Any:
        """The body as a model; if it is invalid and small, as plain JSON, which FastAPI validates and describes."""
        body = await self.body()
        if len(body) <= _SMALL:
            return _validated(self._adapter, body)
        return await asyncio.to_thread(_validated, self._adapter, body)


def _validated(adapter: TypeAdapter[Any], body: bytes) -> Any:
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        failed = error
    if failed.error_count() > MOST_ERRORS:
        raise _refusal(failed)
    if len(body) <= _SMALL and not _is_syntax(failed):
        return json.loads(body)
    if not _is_syntax(failed):
        raise _refusal(failed)
    value = json.loads(body)  # Python reads NaN, for example, which is not standard JSON
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        if len(body) > _SMALL or error.error_count() > MOST_ERRORS:
            raise _refusal(error) from None
        return value


def _is_syntax(error: ValidationError) -> bool:
    return error.errors(include_input=False, include_url=False)[0]["type"] == "json_invalid"


def _refusal(error: ValidationError) -> Refusal:
    if (count := error.error_count()) > MOST_ERRORS:
        detail = f"body: {count:,} fields are wrong or unknown: /v1/openapi.json describes what is expected"
    else:
        detail = first_error(error.errors(include_input=False, include_url=False), "body")
    return Refusal(422, detail, "invalid-request")
