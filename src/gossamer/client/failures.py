"""Problem details as exceptions: the same that the index itself would have raised."""

from __future__ import annotations

import re
from typing import Any

from gossamer import errors

_PREFIX = "urn:gossamer:problem:"
_BY_STATUS: dict[int, type[errors.ServiceError]] = {
    401: errors.AccessError,
    403: errors.AccessError,
    429: errors.BusyError,
    503: errors.BusyError,
}


def error_of(status: int, problem: Any) -> errors.GossamerError:
    """The exception for an answer that is no success; `problem` is its JSON, or None where it had none."""
    found: dict[str, Any] = problem if isinstance(problem, dict) else {}
    detail = str(found.get("detail") or f"the server answered with status {status}")
    kind = _named(str(found.get("type", "")).removeprefix(_PREFIX))
    if kind is not None and not issubclass(kind, errors.ServiceError | errors.MissingExtraError):
        return kind(detail)
    if found and status in (413, 422):
        return errors.InputError(detail)
    if found.get("type") == _PREFIX + "unknown-index":
        return errors.UnknownIdError(detail)
    return _BY_STATUS.get(status, errors.ServiceError)(detail, status=status, request_id=found.get("request_id"))


def _named(word: str) -> type[errors.GossamerError] | None:
    """ "unknown-id" is UnknownIdError."""
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", word):
        return None
    kind = getattr(errors, "".join(part.title() for part in word.split("-")) + "Error", None)
    return kind if isinstance(kind, type) and issubclass(kind, errors.GossamerError) else None
