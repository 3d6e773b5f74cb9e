"""What both clients do around httpx: addresses and headers, and answers read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from gossamer.client.calls import Call
from gossamer.client.failures import error_of
from gossamer.errors import MissingExtraError, ParameterError, ServiceError, UnreachableError
from gossamer.version import __version__

if TYPE_CHECKING:
    import httpx

_T = TypeVar("_T")


def library() -> Any:
    """httpx, or the error that names the extra."""
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("The client", "client") from error
    return httpx


def base_url(url: str, index: str | None) -> str:
    """Where the index's routes are."""
    if not url.startswith(("http://", "https://")):
        raise ParameterError(f"url must begin with http:// or https://, got {url!r}: as in http://127.0.0.1:8080")
    return url.rstrip("/") + ("/v1" if index is None else f"/v1/indexes/{quote(index, safe='')}")


def headers(key: str | None) -> dict[str, str]:
    """Who asks."""
    own = {"User-Agent": f"gossamer-client/{__version__}"}
    return own if key is None else {**own, "Authorization": f"Bearer {key}"}


def request_of(call: Call[Any]) -> dict[str, Any]:
    """A call as the arguments of httpx's `request`."""
    return {"method": call.method, "url": call.path, "json": call.body, "params": call.params}


def answer_of(call: Call[_T], response: httpx.Response) -> _T:
    """What a call returns, or the error it raises."""
    found = _json(response)
    if not response.is_success:
        raise error_of(response.status_code, found)
    try:
        return call.read(found)
    except (KeyError, TypeError) as error:
        raise ServiceError(
            f"what answers at {response.url.host} is no Gossamer server of this version: check the address"
        ) from error


def unreachable(error: Exception, url: str) -> UnreachableError:
    """No answer: the sentence says where it was sought."""
    return UnreachableError(f"no answer from {url} ({type(error).__name__}: {error}): is the server running?")


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


# -- streams ---------------------------------------------------------------------------------------

STREAM = {"Content-Type": "application/x-ndjson"}


def as_line(document: Mapping[str, Any]) -> bytes:
    """One document of a stream."""
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


class Acknowledged:
    """The lines of the answer to a stream, as they come."""

    def __init__(self) -> None:
        self.added = 0
        self._done = False

    def take(self, line: str) -> int:
        """The number of documents that are durable by now; raises what ended the stream."""
        found = json.loads(line)
        self.added, self._done = int(found["added"]), bool(found["done"])
        if problem := found.get("error"):
            error = error_of(int(problem["status"]), problem)
            error.add_note(f"{self.added} documents of the stream were added, and stay")
            raise error
        return self.added

    def finish(self) -> int:
        """The number of all; raises where the end is missing."""
        if not self._done:
            raise UnreachableError(f"the answer broke off after {self.added} documents, which are in: send the others")
        return self.added


def documents_as_lines(documents: Iterable[Mapping[str, Any]]) -> Iterable[bytes]:
    """Documents as the body of a request."""
    return (as_line(document) for document in documents)
