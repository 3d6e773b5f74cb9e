"""Around every request: an id, security headers, a log line, metrics, and unexpected errors as problem details."""

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

from gossamer.server.metrics import Metrics
from gossamer.server.problems import Refusal, problem_of
from gossamer.server.responses import problem_response

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
"""Headers of every answer that does not set them itself."""

_RAW: Final = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_PIECE: Final = 64 * 1024
"""Bytes of an answer that are sent at a time."""
_numbers = count(secrets.randbits(62))
"""Numbers for request ids: unique, and different after each start. They are not secret."""


class RequestMiddleware:
    """The outermost middleware."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or a lifespan event."""
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
            status = status or 499  # the client is gone
        except Exception as error:
            log_server_error(error, request_id)
            if status:  # the answer has begun: breaking it off tells the client that it is incomplete
                raise
            await problem_response(error, scope)(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - start
            self._metrics.in_flight.dec()
            self._metrics.observe(_route(scope), scope["method"], status, seconds)
            _log_request(scope, request_id, status, seconds)


async def _in_pieces(message: Message, send: Send) -> None:
    """Send a body piece by piece: before each, uvicorn waits for the client to read the ones before."""
    body = message.get("body", b"")
    for at in range(0, len(body) - _PIECE, _PIECE):
        await send({"type": message["type"], "body": body[at : at + _PIECE], "more_body": True})
    sent = max(0, (len(body) - 1) // _PIECE * _PIECE)
    await send({**message, "body": body[sent:]} if sent else message)


def _request_id(scope: Scope) -> str:
    """The caller's own id if it is harmless in a log, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _ID.fullmatch(given := value.decode("latin-1")):
            return str(given)
    return f"{next(_numbers):016x}"


async def answer_problem(request: Request, error: Exception) -> Response:
    """An error that a route raised, as a response: FastAPI's exception handler."""
    log_server_error(error, request.state.request_id)
    return problem_response(error, request.scope)


def log_server_error(error: Exception, request_id: str) -> None:
    """Log an error with a 5xx status, unless the server raised it on purpose."""
    if not isinstance(error, Refusal) and problem_of(error).status >= 500:
        _log.error("failed", extra={"fields": {"request_id": request_id}}, exc_info=error)


def _route(scope: Scope) -> str:
    """The pattern of the route, without the index: logs and metrics hold no ids of documents."""
    path: str = getattr(scope.get("route"), "path", "none")
    return path.removeprefix("/v1/indexes/{name}").removeprefix("/v1")


def _log_request(scope: Scope, request_id: str, status: int, seconds: float) -> None:
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
    """Formats log records as JSON, one a line. They hold no text of a query or a document."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
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
    """Writes to the current `sys.stderr`: the one at the start may be closed."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def log_to_stderr(level: int = logging.INFO) -> None:
    """Write the log lines of the server to standard error."""
    handler = _ToStderr()
    handler.setFormatter(JsonLines())
    for logger, least in ((_log, level), (logging.getLogger("uvicorn.error"), logging.WARNING)):
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False
