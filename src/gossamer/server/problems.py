"""Errors as problem details (RFC 9457).

``type`` ends with a word for the class in `gossamer.errors`, so that a client can raise the same exception again.
Messages about input are sent as they are. Messages about the server, which may name paths on its disk, are only logged.
"""

import errno
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from gossamer import errors

PREFIX: Final = "urn:gossamer:problem:"
MEDIA_TYPE: Final = "application/problem+json"

_STATUS: Final[dict[type[errors.GossamerError], int]] = {
    errors.UnknownIdError: 404,
    errors.InputError: 422,
    errors.ReadOnlyError: 403,
    errors.ClosedError: 503,
    errors.LockedError: 503,
    errors.ModelUnavailableError: 503,
    errors.DegradedError: 503,
    errors.OutOfMemoryError: 503,
    errors.TooSlowError: 504,
    errors.GossamerError: 500,
}
"""The status of an error: that of the first class it is an instance of."""

_LONGEST: Final = 1000
"""Longest detail in characters: a message may quote megabytes of input."""

_INSIDE: Final = "something went wrong inside the server: its log says what, under this request_id"
_DETAILS: Final[dict[type[errors.GossamerError], str]] = {
    errors.ReadOnlyError: "this index is served for reading only: ask whoever runs the server",
    errors.DegradedError: "this index can be searched, but not changed until whoever runs the server repairs it",
    errors.LockedError: "another process is writing to this index, and nothing was changed: try again in a moment",
    errors.OutOfMemoryError: "the server has too little memory for this, and nothing was changed: ask for less, or try "
    "again later",
}
"""Details of errors whose own message may name a path."""

_FULL: Final = "the server's disk is full, and nothing was changed: ask whoever runs the server to make room"
_UNAVAILABLE: Final = "the index cannot be used now: the server's log says why, under this request_id. Try again later"


@dataclass(frozen=True)
class Problem:
    """An error as it is sent."""

    status: int
    detail: str
    word: str = ""

    def to_dict(self, instance: str, request_id: str) -> dict[str, Any]:
        """The fields of RFC 9457, and the id under which the log has more."""
        return {
            "type": PREFIX + self.word if self.word else "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail if len(self.detail) <= _LONGEST else self.detail[:_LONGEST] + "…",
            "instance": instance,
            "request_id": request_id,
        }


class Refusal(HTTPException):
    """A request that the server refuses; raised by its own code."""

    def __init__(self, status: int, detail: str, word: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.word = word


def busy(detail: str, *, status: int = 503, after: int = 1) -> Refusal:
    """A refusal for now: nothing was done, and the client may try again."""
    return Refusal(status, detail, "busy", headers={"Retry-After": str(after)})


def problem_of(error: Exception) -> Problem:
    """The problem details of an error."""
    if isinstance(error, Refusal):
        return Problem(error.status_code, error.detail, error.word)
    if isinstance(error, RequestValidationError):
        return Problem(422, first_error(error.errors()), "invalid-request")
    if isinstance(error, HTTPException):
        return Problem(error.status_code, _http_detail(error), "" if error.status_code != 400 else "invalid-request")
    if isinstance(error, errors.GossamerError):
        status = _status(error)
        return Problem(status, _detail(error, status), word_of(type(error)))
    return Problem(500, _INSIDE, "inside")


def word_of(kind: type[errors.GossamerError]) -> str:
    """UnknownIdError is "unknown-id"."""
    name = kind.__name__.removesuffix("Error")
    return re.sub(r"(?<=.)(?=[A-Z])", "-", name).lower()


def worth_trying_again(error: Exception, status: int) -> bool:
    """Whether a request refused with 503 may succeed later; a degraded index has to be repaired first."""
    return status == 503 and not isinstance(error, errors.DegradedError)


def _status(error: errors.GossamerError) -> int:
    if isinstance(error, errors.DiskError) and _is_full(error):
        return 507
    return next(status for kind, status in _STATUS.items() if isinstance(error, kind))


def _is_full(error: errors.DiskError) -> bool:
    """Whether the disk or the user's quota is full, according to the system or to SQLite."""
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            return True
        if str(getattr(cause, "sqlite_errorname", "")).startswith("SQLITE_FULL"):
            return True
        cause = cause.__cause__
    return False


def _detail(error: errors.GossamerError, status: int) -> str:
    if isinstance(error, errors.InputError | errors.TooSlowError):
        return str(error)
    if status == 507:
        return _FULL
    for kind, detail in _DETAILS.items():
        if isinstance(error, kind):
            return detail
    return _UNAVAILABLE if status == 503 else _INSIDE


def _http_detail(error: HTTPException) -> str:
    if error.status_code == 404:
        return "there is nothing at this address: /v1/openapi.json lists all that there is"
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return f"this address takes {allowed or 'another method'}: /v1/openapi.json lists all that there is"
    return str(error.detail)


_ELSEWHERE: Final = {
    **dict.fromkeys(("q", "text", "queries", "query_text", "query_texts", "search"), "query"),
    **dict.fromkeys(("top_k", "topk", "n", "n_results", "limit", "size"), "k"),
    **dict.fromkeys(("filter", "filters"), "where"),
    **dict.fromkeys(("embedding", "query_vector"), "vector"),
}
"""Fields of requests to other programs, and what they are called here."""


_SHOULD: Final = re.compile(r"^(?:Input|String|List|Dictionary|Tuple|Value) should ")
"""How pydantic begins a message about a value."""


def first_error(found: Sequence[Any], *inside: str) -> str:
    """The first of pydantic's errors with its place, and how many more there are."""
    first = found[0]
    where = ".".join(str(part) for part in (*inside, *first["loc"]) if part not in ("one", "many"))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    told = _SHOULD.sub("must ", first["msg"]).replace("Field required", "is required")
    if first.get("type") == "extra_forbidden":
        here = _ELSEWHERE.get(str(first["loc"][-1]))
        told = "there is no such field" + (f": here it is {here!r}" if here else ", see /v1/openapi.json")
    elif first.get("type") == "bool_type" and first["loc"][-1] == "text":
        told += ", and what to look for is 'query'"
    return f"{where}: {told}{more}"
