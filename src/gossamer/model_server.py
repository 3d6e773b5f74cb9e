"""Requests to servers of models: where they are, keys, and what to do when one is busy.

openai   any server that speaks OpenAI's protocol, at $OPENAI_BASE_URL, with the key in $OPENAI_API_KEY if it wants one
ollama   the server at $OLLAMA_HOST, by default on this machine, with the key in $OLLAMA_API_KEY if it wants one

The environment is read when a request is made. A key is sent to that address and nowhere else: redirects are not
followed, and keys are neither stored, logged nor part of an error.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from threading import Event
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from gossamer.errors import AccessError, BusyError, ParameterError, ServiceError, UnreachableError
from gossamer.plain_text import one_line, shortened
from gossamer.runtime import deadline

Kind: TypeAlias = Literal["openai", "ollama"]

_OLLAMA_PORT: Final = 11434
_LARGEST: Final = 2**28
"""Bytes read of an answer, at most."""

_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that may be different the next time."""

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 60.0
"""Seconds before the first repetition, which are doubled for each further one; and the most, also for Retry-After."""


@dataclass(frozen=True)
class ModelServer:
    """A server of models, at the address that the environment names."""

    kind: Kind

    def post(
        self, path: str, body: Mapping[str, Any], *, seconds: float, attempts: int = 1, stop: Event | None = None
    ) -> Any:
        """The JSON answer to `body`, sent to `path` below the server's address.

        `seconds`: the longest wait for one answer. `attempts`: how often it is asked if it is busy, fails or cannot be
        reached; waits are doubled, or as long as its Retry-After says. `stop` ends the waiting from another thread.
        Waits end at the deadline of this thread (`runtime.deadline`).
        """
        stop, pause = stop or Event(), _FIRST_WAIT
        for left in range(attempts - 1, -1, -1):
            try:
                return _send(f"{self.address()}{path}", body, self._key(), _until_deadline(seconds))
            except _PassingError as error:
                wait = pause if error.retry_after is None else error.retry_after
                if not left or wait > _LONGEST_WAIT or stop.is_set():
                    raise error.final() from None
                stop.wait(_until_deadline(wait))
                pause = min(2 * pause, _LONGEST_WAIT)
        raise AssertionError("attempts is at least 1")

    def address(self) -> str:
        """The address that the environment names, without a slash at the end."""
        if self.kind == "ollama":
            return _ollama_address(os.environ.get("OLLAMA_HOST", "").strip())
        return _checked(os.environ.get("OPENAI_BASE_URL", "").strip() or "https://api.openai.com/v1")

    def _key(self) -> str:
        variable = "OPENAI_API_KEY" if self.kind == "openai" else "OLLAMA_API_KEY"
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):  # http.client would show it in its error
            raise ParameterError(f"the key in {variable} has characters that a key cannot have: set it again")
        return key


def as_kind(name: str) -> Kind | None:
    """The kind of server that `name` stands for; None if there is none of that name."""
    return cast(Kind, name) if name in ("openai", "ollama") else None


def _ollama_address(host: str) -> str:
    """OLLAMA_HOST as Ollama reads it: the scheme and the port may be missing, and 0.0.0.0 is this machine."""
    if not host:
        return f"http://127.0.0.1:{_OLLAMA_PORT}"
    if "://" in host:
        return _checked(host)
    name, slash, path = host.partition("/")
    if name.startswith(":"):
        name = f"127.0.0.1{name}"
    elif not name.rpartition("]")[2].rpartition(":")[1]:
        name = f"{name}:{_OLLAMA_PORT}"
    return _checked(f"http://{name.replace('0.0.0.0', '127.0.0.1')}{slash}{path}")


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(
            f"the address of a model server begins with http:// or https://, got {url!r}: "
            "check OPENAI_BASE_URL or OLLAMA_HOST"
        )
    if parts.username or parts.password:  # addresses are shown in errors
        raise ParameterError("the address of a model server holds a password: put the key into OPENAI_API_KEY instead")
    return url.rstrip("/")


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: urllib would send the key to wherever they lead."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _PassingError(Exception):
    """A failure that may not happen again: what to raise if it does, and the wait the server asked for."""

    def __init__(self, error: ServiceError, retry_after: float | None = None) -> None:
        super().__init__(str(error))
        self._error, self.retry_after = error, retry_after

    def final(self) -> ServiceError:
        """The error to raise when it is not tried again."""
        return self._error


def _send(url: str, body: Mapping[str, Any], key: str, seconds: float) -> Any:
    headers = {"Content-Type": "application/json", "User-Agent": "gossamer"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = Request(url, json.dumps(body).encode(), headers)
    try:
        with build_opener(_NoRedirects).open(request, timeout=seconds) as answer:
            content = answer.read(_LARGEST + 1)
    except HTTPError as error:
        with error:  # closes the connection
            raise _refusal(url, error, key) from None  # its request holds the key
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else str(error) or type(error).__name__
        raise _PassingError(UnreachableError(f"{url} gave no answer ({reason}): is the server running?")) from None
    if len(content) > _LARGEST:
        raise ServiceError(f"{url} answered with more than {_LARGEST:,} bytes")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ServiceError(f"{url} did not answer with JSON: is it the address of a model server?") from None


def _refusal(url: str, error: HTTPError, key: str) -> Exception:
    """The error for a status other than 200."""
    told, code = _told(error)
    if key:
        told = told.replace(key, "…")
    what = f"{url} answered {error.code} {error.reason}" + (f": {told}" if told else "")
    status = error.code
    if 300 <= status < 400:
        return ServiceError(f"{what}: redirects are not followed, since the request carries a key", status=status)
    if status in (401, 403):
        return AccessError(f"{what}: check the key in the environment", status=status)
    after = _retry_after(error.headers)
    if status == 429 and code == "insufficient_quota":  # no waiting will help
        return BusyError(what, status=status)
    if status == 429:
        asked = "" if after is None else f"; it asks to wait {after:,.0f} s"
        return _PassingError(BusyError(f"{what}{asked}", status=status), after)
    refused = ServiceError(what, status=status)
    return _PassingError(refused, after) if status in _PASSING else refused


def _told(error: HTTPError) -> tuple[str, str]:
    """What the server says about it, in one short line, and its code: {"error": {"message", "code"}} or {"error"}."""
    try:
        said = json.loads(error.read(100_000))["error"]
    except (ValueError, KeyError, TypeError, RecursionError, OSError, HTTPException):
        return "", ""
    if not isinstance(said, dict):
        return shortened(one_line(str(said)), 300), ""
    return shortened(one_line(str(said.get("message", ""))), 300), str(said.get("code"))


def _retry_after(headers: Any) -> float | None:
    """Seconds until the server wants to be asked again: Retry-After as a number or a date, or OpenAI's own header."""
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return _positive(float(milliseconds) / 1000)
        told = headers.get("Retry-After")
        if told is None:
            return None
        if told.strip().replace(".", "", 1).isdigit():
            return _positive(float(told))
        return _positive(parsedate_to_datetime(told).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _positive(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until_deadline(seconds: float) -> float:
    """At most `seconds`, and no longer than the deadline of this thread allows."""
    deadline.check()
    left = deadline.left()
    return seconds if left is None else max(0.001, min(seconds, left))
