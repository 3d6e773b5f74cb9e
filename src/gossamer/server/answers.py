"""Values as JSON. Dataclasses go out field by field, as they are."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import quote

import orjson
from starlette.responses import Response
from starlette.types import Scope

from gossamer.results import Explanation
from gossamer.server.problems import MEDIA_TYPE, problem_of


class Answer(Response):
    """A value as JSON, without a second look at it: what the index returned has been checked there."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes that are sent; those that are JSON already as they are."""
        return content if isinstance(content, bytes) else as_json(content)


def as_json(value: Any) -> bytes:
    """JSON text, of dataclasses too; NaN and infinity, which JSON lacks, as null."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a whole number beyond 64 bits in someone's metadata
        return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def of_why(why: Explanation) -> dict[str, Any]:
    """An explanation with what follows from its fields: `gap`, and the sentences as `text`."""
    return {**vars(why), "gap": why.gap, "text": " ".join(why.sentences)}


def problem_response(error: Exception, scope: Scope) -> Response:
    """An error as an answer."""
    problem = problem_of(error)
    headers = dict(getattr(error, "headers", None) or {})
    if problem.status == 503:
        headers.setdefault("Retry-After", "1")
    body = as_json(problem.to_dict(quote(scope["path"]), scope["state"]["request_id"]))
    return Response(body, problem.status, headers, MEDIA_TYPE)
