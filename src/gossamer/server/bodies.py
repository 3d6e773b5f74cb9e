"""Bodies that are read in one go, from bytes to a checked request, which for a vector is five times as fast.

What cannot be read so goes the usual way, through Python's own JSON and then the check, so that an error, and whatever
Python takes beside the standard, is what it would be without this. A body that is large or has many errors is refused
here with its first error: FastAPI would describe every one of them, which takes gigabytes and minutes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from gossamer.server.problems import Refusal, first_of

_SMALL: Final = 256 * 1024
"""Bytes of a body that is checked on the event loop; a larger one is checked in a thread."""

MOST_ERRORS: Final = 20
"""Errors of a body that are described; pydantic can count more, but only describes all of them at once."""


class JsonRoute(APIRoute):
    """A route whose body is read in one go."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The usual handler, with another way to read."""
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
    """A request whose JSON is checked already when FastAPI asks for it."""

    def __init__(self, request: Request, adapter: TypeAdapter[Any]) -> None:
        super().__init__(request.scope, request.receive)
        self._adapter = adapter

    async def json(self) -> Any:
        """The body as a model; where that fails and the body is small, as it is: the same check will then say why."""
        body = await self.body()
        if len(body) <= _SMALL:
            return _checked(self._adapter, body)
        return await asyncio.to_thread(_checked, self._adapter, body)


def _checked(adapter: TypeAdapter[Any], body: bytes) -> Any:
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
    value = json.loads(body)  # Python takes more than the standard allows
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
        detail = first_of(error.errors(include_input=False, include_url=False), "body")
    return Refusal(422, detail, "invalid-request")
