"""Values as JSON. Dataclasses go out field by field, as they are."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any, Final
from urllib.parse import quote

import orjson
from starlette.responses import Response
from starlette.types import Scope

from gossamer.results import Document, Explanation, Hit
from gossamer.server.problems import MEDIA_TYPE, problem_of, worth_trying_again

_DEEPEST: Final = 200
"""Levels of an answer: orjson writes 254, and most parsers read as many."""


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
    except TypeError:  # someone's metadata: a whole number beyond 64 bits, or nested too deeply
        return json.dumps(_plain(value), allow_nan=False).encode()


def _plain(value: Any, level: int = 0) -> Any:
    """What Python's JSON can write; what is nested too deeply is cut off."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), level + 1) for field in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, dict | list | tuple):
        return value
    if level >= _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {key: _plain(inner, level + 1) for key, inner in value.items()}
    return [_plain(inner, level + 1) for inner in value]


def characters_of(document: Document | Hit) -> int:
    """The length of a document in an answer: its text, and its metadata as JSON."""
    return len(document.text) + (len(as_json(document.metadata)) if document.metadata else 0)


def of_why(why: Explanation) -> dict[str, Any]:
    """An explanation with what follows from its fields: `gap`, and the sentences as `text`."""
    return {**vars(why), "gap": why.gap, "text": " ".join(why.sentences)}


def problem_response(error: Exception, scope: Scope) -> Response:
    """An error as an answer."""
    problem = problem_of(error)
    headers = dict(getattr(error, "headers", None) or {})
    if worth_trying_again(error, problem.status):
        headers.setdefault("Retry-After", "1")
    body = as_json(problem.to_dict(quote(scope["path"]), scope["state"]["request_id"]))
    return Response(body, problem.status, headers, MEDIA_TYPE)
