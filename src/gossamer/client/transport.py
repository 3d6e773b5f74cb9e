"""What both clients share: the httpx client, requests and retries, and answers read as values or errors."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar
from urllib.parse import quote
from warnings import warn

from gossamer import __version__, errors
from gossamer.client.calls import Call
from gossamer.errors import (
    ClosedError,
    MissingExtraError,
    ParameterError,
    ServiceError,
    UnknownFieldWarning,
    UnreachableError,
)
from gossamer.results import Hits
from gossamer.results.other_names import unknown_attribute

if TYPE_CHECKING:
    import httpx

_T = TypeVar("_T")

_PROBLEM: Final = "urn:gossamer:problem:"
_ERRORS: Final[dict[int, type[ServiceError]]] = {
    401: errors.AccessError,
    403: errors.AccessError,
    429: errors.BusyError,
    503: errors.BusyError,
}
_RETRIED: Final = frozenset((429, 503))
"""Statuses after which a request is sent again. After others, a timeout for example, it is unknown what was done."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
"""Seconds before a request is sent again; each pause is twice the one before."""

STREAM: Final = {"Content-Type": "application/x-ndjson"}


def warned(found: Hits | list[Hits], *fields: Any) -> Hits | list[Hits]:
    """The answers of a search; with an `UnknownFieldWarning` for each warning in the first, if it named `fields`."""
    every = [found] if isinstance(found, Hits) else found
    for message in every[0].warnings if every and any(fields) else ():  # others are of phrases
        warn(message, UnknownFieldWarning, stacklevel=4)  # the line that called `search`, past its decorator
    return found


class BaseClient:
    """The connection of a client.

    url        address of the server
    key        API key, if the server wants one
    index      name of the index; None is the first index of the server
    timeout    seconds to wait for an answer
    retries    how often a request is sent again that the server had no time for (429, 503), if that is safe
    verify     certificates to trust, as httpx takes them
    transport  how requests are sent, as httpx takes it; None sends them over the network
    """

    _KIND: ClassVar[str]
    """The class of httpx that sends the requests."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        index: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        verify: ssl.SSLContext | bool = True,
        transport: Any = None,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("The client", "client") from error
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ParameterError(f"url must begin with http:// or https://, got {url!r}: as in http://127.0.0.1:8080")
        self._httpx = httpx
        self._url = url.rstrip("/") + ("/v1" if index is None else f"/v1/indexes/{quote(index, safe='')}")
        self._retries = retries
        headers = {"User-Agent": f"gossamer-client/{__version__}"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        kind = getattr(httpx, self._KIND)
        self._http = kind(base_url=self._url, headers=headers, timeout=timeout, verify=verify, transport=transport)

    if not TYPE_CHECKING:  # else types would not find misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_attribute(self, name)

    def __repr__(self) -> str:
        return f"{self._KIND}({self._url!r}{', closed' if self._http.is_closed else ''})"

    def _check_open(self) -> None:
        if self._http.is_closed:
            raise ClosedError(f"this client was closed: make a new {self._KIND}")

    def _pause(self, call: Call[Any], response: httpx.Response, tried: int) -> float | None:
        """Seconds to wait before the request is sent again; None if it is not."""
        if response.status_code not in _RETRIED or not call.repeatable or tried >= self._retries:
            return None
        after = response.headers.get("Retry-After", "")
        asked = float(after) if after.isdigit() else 0.0
        return min(max(_FIRST_PAUSE * float(2**tried), asked), _LONGEST_PAUSE)

    def _unreachable(self, error: Exception) -> UnreachableError:
        return UnreachableError(f"no answer from {self._url} ({type(error).__name__}: {error}): is the server running?")


def request_of(call: Call[Any]) -> dict[str, Any]:
    """A call as the arguments of httpx's `request`."""
    return {"method": call.method, "url": call.path, "json": call.body, "params": call.params}


def answer_of(call: Call[_T], response: httpx.Response) -> _T:
    """The value that a call returns; raises the error that the server reports."""
    try:
        found: Any = None if call.binary and response.is_success else response.json()
    except ValueError:
        found = None
    if not response.is_success:
        raise error_of(response.status_code, found)
    try:
        return call.read(response.content if call.binary else found)
    except (KeyError, TypeError, ValueError) as error:
        raise ServiceError(
            f"what answers at {response.url.host} is no Gossamer server of this version: check the address"
        ) from error


def error_of(status: int, problem: Any) -> errors.GossamerError:
    """The exception for problem details: the one that the index itself would have raised, where there is one.

    `problem` is the JSON of an answer that is no success; None if it had none.
    """
    found: dict[str, Any] = problem if isinstance(problem, dict) else {}
    detail = str(found.get("detail") or f"the server answered with status {status}")
    kind = _error_class(str(found.get("type", "")).removeprefix(_PROBLEM))
    if kind is not None and not issubclass(kind, ServiceError | MissingExtraError):
        return kind(detail)
    if found and status in (413, 422):
        return errors.InputError(detail)
    if found.get("type") == _PROBLEM + "unknown-index":
        return errors.UnknownIdError(detail)
    return _ERRORS.get(status, ServiceError)(detail, status=status, request_id=found.get("request_id"))


def _error_class(word: str) -> type[errors.GossamerError] | None:
    """The class of a problem type: UnknownIdError for "unknown-id"."""
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", word):
        return None
    kind = getattr(errors, "".join(part.title() for part in word.split("-")) + "Error", None)
    return kind if isinstance(kind, type) and issubclass(kind, errors.GossamerError) else None


# -- streams ---------------------------------------------------------------------------------------


def as_line(document: Mapping[str, Any]) -> bytes:
    """One document of a stream."""
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


class StreamProgress:
    """Reads the lines of the answer to a stream."""

    def __init__(self) -> None:
        self.added = 0
        self._done = False

    def take(self, line: str) -> int:
        """The number of documents that are durable by now; raises the error that ended the stream."""
        found = json.loads(line)
        self.added, self._done = int(found["added"]), bool(found["done"])
        if problem := found.get("error"):
            error = error_of(int(problem["status"]), problem)
            error.add_note(f"{self.added} documents of the stream were added, and stay")
            raise error
        return self.added

    def finish(self) -> int:
        """The number of all documents; raises if the last line is missing."""
        if not self._done:
            raise UnreachableError(f"the answer broke off after {self.added} documents, which are in: send the others")
        return self.added
