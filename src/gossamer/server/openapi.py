"""The OpenAPI document: FastAPI's, with every error and the need for keys declared."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from gossamer.server.problems import MEDIA_TYPE
from gossamer.server.schemas import ProblemAnswer, Progress

_REFUSALS: Final = {
    400: "The request cannot be read.",
    401: "No key, or a wrong one.",
    403: "The key's scope, or the server, does not allow this.",
    404: "There is no such document, concept or index.",
    408: "The request did not arrive in time.",
    413: "Too large.",
    415: "Not of the right content type.",
    421: "A server without keys was called by another name than localhost.",
    422: "Something in the request is wrong: the sentence says what.",
    429: "Too many requests at once from this caller.",
    500: "The server's own fault.",
    503: "Busy, stopping, short of memory, or an index that must be repaired: nothing was done.",
    504: "It took too long.",
    507: "The server's disk is full: nothing was changed.",
}
_WITH_BODY: Final = frozenset((400, 408, 413, 415))


def describe(app: FastAPI, public: frozenset[str]) -> dict[str, Any]:
    """The OpenAPI document."""
    found = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
    )
    parts = found.setdefault("components", {})
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "A key: gsm_<id>_<secret>."}}
    parts["responses"] = {str(status): _problem(text) for status, text in _REFUSALS.items()}
    schemas = parts.setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    for model in (ProblemAnswer, Progress):
        schemas[model.__name__] = model.model_json_schema(ref_template="#/components/schemas/{model}")
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _declare(operation, needs_key=path not in public)
    return found


def _declare(operation: dict[str, Any], *, needs_key: bool) -> None:
    statuses = [status for status in _REFUSALS if "requestBody" in operation or status not in _WITH_BODY]
    if needs_key:
        operation["security"] = [{"key": []}, {}]
    else:
        statuses = [421, 500, 503, 504]
    for status in statuses:
        operation["responses"][str(status)] = {"$ref": f"#/components/responses/{status}"}
    if 422 not in statuses:
        operation["responses"].pop("422", None)


def _problem(text: str) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemAnswer.__name__}"}}}
    return {"description": text, "content": content}
