"""Access: requests without a valid key, from other hosts or above the limits are refused before any route is reached.

The body is read here as a whole, so that a route begins with all of it or not at all. A stream of documents is the
exception: it is read as it arrives, and each of its lines is limited.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.server.keys import Key, KeyRing
from gossamer.server.limits import Limits
from gossamer.server.problems import Refusal, busy
from gossamer.server.responses import problem_response

STREAM: Final = "/documents/stream"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_JSON: Final = "application/json"
_NDJSON: Final = "application/x-ndjson"

ANYONE: Final = Key("", "admin", "", "", "", "")
"""The key of every request if the server has no keys; it then listens on this machine alone."""


class AccessMiddleware:
    """Passes a request on with its key in ``scope["state"]["key"]``, or answers with a refusal."""

    def __init__(
        self, app: ASGIApp, *, limits: Limits, keys: KeyRing | None, public: frozenset[str], origins: Iterable[str] = ()
    ) -> None:
        self._app = app
        self._limits = limits
        self._keys = keys
        self._public = public
        self._origins = frozenset(origins)
        self._counts: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check_origin(headers, scope)
            if scope["path"] in self._public:
                await self._app(scope, receive, send)
            else:
                scope["state"]["key"] = key = self._key(headers)
                caller = key.id or (scope["client"] or ("?",))[0]
                await self._counted(caller, headers, scope, receive, send)
        except Refusal as refusal:
            await problem_response(refusal, scope)(scope, receive, send)

    async def _counted(self, caller: str, headers: dict[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        self._enter(caller)
        try:
            if scope["method"] == "POST" and (
                headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
            ):
                receive = await self._body(scope["path"], headers, receive)
            await self._app(scope, receive, send)
        finally:
            self._leave(caller)

    # -- host, origin and key ----------------------------------------------------------------------

    def _check_origin(self, headers: dict[str, str], scope: Scope) -> None:
        """Refuse other hosts if there are no keys, and changes by pages of other origins: a web page that is open in a
        browser on this machine must not reach the server."""
        host = headers.get("host", "")
        if self._keys is None and _without_port(host) not in _LOOPBACK:
            raise Refusal(
                421, f"this server has no keys and answers to localhost alone, not to {host[:100]!r}", "wrong-host"
            )
        origin = headers.get("origin")
        if origin is None or scope["method"] in ("GET", "HEAD") or origin in self._origins:
            return
        if origin.partition("://")[2] != host:
            raise Refusal(403, "pages from elsewhere may not use this server: name them with --cors-origin", "access")

    def _key(self, headers: dict[str, str]) -> Key:
        if self._keys is None:
            return ANYONE
        kind, _, token = headers.get("authorization", "").partition(" ")
        key = self._keys.find(token.strip()) if kind.lower() == "bearer" else None
        if key is None:
            raise Refusal(
                401,
                "a valid key is needed, as in: Authorization: Bearer gsm_…",
                "access",
                headers={"WWW-Authenticate": 'Bearer realm="gossamer"'},
            )
        return key

    # -- requests at once --------------------------------------------------------------------------

    def _enter(self, caller: str) -> None:
        if self._counts.total() >= self._limits.in_flight:
            raise busy(f"{self._limits.in_flight} requests are being answered, which is all this server does at once")
        if self._counts[caller] >= self._limits.per_caller:
            raise busy(f"{self._limits.per_caller} of your requests are being answered: wait for one", status=429)
        self._counts[caller] += 1

    def _leave(self, caller: str) -> None:
        self._counts[caller] -= 1
        if not self._counts[caller]:
            del self._counts[caller]

    # -- body --------------------------------------------------------------------------------------

    async def _body(self, path: str, headers: dict[str, str], receive: Receive) -> Receive:
        streamed = path.endswith(STREAM)
        wanted = _NDJSON if streamed else _JSON
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != wanted:
            # A form on any page may send text/plain to this machine, but not JSON: browsers ask first.
            raise Refusal(415, f"the content type must be {wanted}, got {kind[:100] or 'none'}", "invalid-request")
        if streamed:
            return receive
        if (declared := headers.get("content-length", "")).isdigit() and int(declared) > self._limits.body:
            raise self._too_large()
        try:
            async with asyncio.timeout(self._limits.seconds):
                whole = await self._whole(receive)
        except TimeoutError:
            raise Refusal(
                408, f"the request did not arrive within {self._limits.seconds:g} seconds", "not-arrived",
                headers={"Connection": "close"},
            ) from None  # fmt: skip
        return _replay(whole, receive)

    async def _whole(self, receive: Receive) -> bytes:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client went away")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.body:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> Refusal:
        most = f"{self._limits.body:,}"
        return Refusal(
            413, f"a request may have at most {most} bytes: send less at once, or a stream to {STREAM}", "too-large",
            headers={"Connection": "close"},
        )  # fmt: skip


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()
