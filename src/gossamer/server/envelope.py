"""Around every request: an id, headers that keep browsers safe, a line in the log, and no traceback to the outside."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
from itertools import count
from typing import Any, Final, TextIO

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.server.answers import problem_response
from gossamer.server.metrics import Metrics
from gossamer.server.problems import Refusal, problem_of

_log = logging.getLogger("gossamer.server")
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer, unless the answer has its own."""

_RAW: Final = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_PIECE: Final = 64 * 1024
"""Bytes of an answer that are sent at once."""
_numbers = count(secrets.randbits(62))
"""Request ids: no two alike, and different ones after each start. They are no secret."""


class Envelope:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the beginning and end of the server."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["request_id"] = request_id = _request_id(scope)
        status, start = 0, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                there = {name for name, _ in headers}
                headers.append((b"x-request-id", request_id.encode()))
                headers.extend(header for header in _RAW if header[0] not in there)
                await send(message)
            else:
                await _in_pieces(message, send)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, sending)
        except (ConnectionError, ClientDisconnect):
            status = status or 499  # nobody is there to be told
        except Exception as error:
            log_if_ours(error, request_id)
            if status:  # too late for another answer: ending it here tells the client that it is cut short
                raise
            await problem_response(error, scope)(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - start
            self._metrics.in_flight.dec()
            self._metrics.observe(_route(scope), scope["method"], status, seconds)
            _tell(scope, request_id, status, seconds)


async def _in_pieces(message: Message, send: Send) -> None:
    """Send a body piece by piece: uvicorn waits before each for the client to take the last ones."""
    body = message.get("body", b"")
    for at in range(0, len(body) - _PIECE, _PIECE):
        await send({"type": message["type"], "body": body[at : at + _PIECE], "more_body": True})
    sent = max(0, (len(body) - 1) // _PIECE * _PIECE)
    await send({**message, "body": body[sent:]} if sent else message)


def _request_id(scope: Scope) -> str:
    """The caller's own, where it is harmless in a log."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _ID.fullmatch(given := value.decode("latin-1")):
            return str(given)
    return f"{next(_numbers):016x}"


async def answer_problem(request: Request, error: Exception) -> Response:
    """The same, as FastAPI calls it."""
    log_if_ours(error, request.state.request_id)
    return problem_response(error, request.scope)


def log_if_ours(error: Exception, request_id: str) -> None:
    """What is our fault, or the disk's, is told to whoever runs the server."""
    if not isinstance(error, Refusal) and problem_of(error).status >= 500:
        _log.error("failed", extra={"fields": {"request_id": request_id}}, exc_info=error)


def _route(scope: Scope) -> str:
    """The pattern of the route below the index, so that there are few of them, and no document's id is in a log."""
    path: str = getattr(scope.get("route"), "path", "none")
    return path.removeprefix("/v1/indexes/{name}").removeprefix("/v1")


def _tell(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    if _log.isEnabledFor(logging.INFO):
        fields: dict[str, Any] = {
            "request_id": request_id,
            "method": scope["method"],
            "route": _route(scope),
            "status": status,
            "ms": round(1e3 * seconds, 2),
        }
        if index := scope["state"].get("index"):
            fields["index"] = index
        if key := getattr(scope["state"].get("key"), "id", None):
            fields["key"] = key
        _log.info("request", extra={"fields": fields})


class JsonLines(logging.Formatter):
    """Log records as JSON, one a line. No text of a query or a document is ever among them."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class _ToStderr(logging.StreamHandler[TextIO]):
    """To what standard error is when there is something to say: what it was before may be closed by then."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def log_to_stderr(level: int = logging.INFO) -> None:
    """Have the server's log lines on standard error."""
    handler = _ToStderr()
    handler.setFormatter(JsonLines())
    for logger, least in ((_log, level), (logging.getLogger("uvicorn.error"), logging.WARNING)):
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False
