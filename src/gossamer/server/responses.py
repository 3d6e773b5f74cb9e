"""Values as JSON responses: dataclasses field by field, errors as problem details."""

import json
import math
from dataclasses import fields, is_dataclass
from typing import Any, Final
from urllib.parse import quote

import orjson
from starlette.responses import Response
from starlette.types import Scope

from gossamer.results import Concept, Document, Explanation, Hit, Hits
from gossamer.server.problems import MEDIA_TYPE, problem_of, worth_trying_again

_DEEPEST: Final = 200
"""Nesting levels of an answer; deeper values are cut off. orjson writes 254, and most parsers read as many."""


class JsonResponse(Response):
    """A value as JSON, written without validation: the index has checked what it returned."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return as_json(content)


def as_json(value: Any) -> bytes:
    """JSON text of values and dataclasses; NaN and infinity, which JSON lacks, become null."""
    try:
        return orjson.dumps(value)
    except TypeError:  # metadata with an integer beyond 64 bits, or nested too deeply
        return json.dumps(_plain(value), allow_nan=False).encode()


def _plain(value: Any, level: int = 0) -> Any:
    """The value as Python's `json` can write it, cut off at `_DEEPEST` levels."""
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


def characters_of(document: Document | Hit, *, text: bool = True) -> int:
    """The length of a document in an answer: its text, where that is in it, and its metadata as JSON."""
    return len(document.text) * text + (len(as_json(document.metadata)) if document.metadata else 0)


def explanation_fields(why: Explanation) -> dict[str, Any]:
    """The fields of an explanation, with its `gap` and its sentences as `text`."""
    return {**vars(why), "gap": why.gap, "text": " ".join(why.sentences)}


def search_answer(hits: Hits, *, concepts: bool, text: bool = True) -> dict[str, Any]:
    """The answer to a search: hits, nodes visited and warnings.

    `concepts` gives paths in full; without `text`, hits have their passage alone.
    """
    whys = [None if hit.explanation is None else explanation_fields(hit.explanation) for hit in hits]
    paths: list[Any] = [hit.path if concepts else list(map(_step, hit.path)) for hit in hits]
    found = [{**vars(hit), "explanation": why, "path": path} for hit, why, path in zip(hits, whys, paths, strict=True)]
    if not text:
        found = [{name: value for name, value in hit.items() if name != "text"} for hit in found]
    return {"hits": found, "visited": hits.visited, "warnings": hits.warnings}


def _step(concept: Concept) -> dict[str, Any]:
    """A concept of a path in short: a path of whole concepts is several times as long as its document."""
    return {name: getattr(concept, name) for name in ("id", "label", "size", "depth", "basic")}


def problem_response(error: Exception, scope: Scope) -> Response:
    """An error as problem details."""
    problem = problem_of(error)
    headers = dict(getattr(error, "headers", None) or {})
    if worth_trying_again(error, problem.status):
        headers.setdefault("Retry-After", "1")
    body = as_json(problem.to_dict(quote(scope["path"]), scope["state"]["request_id"]))
    return Response(body, problem.status, headers, MEDIA_TYPE)
