"""Limits on the connection itself: size and time of request heads, and time for the client to read an answer.

uvicorn with httptools has none of these. Endless headers would fill the memory before any limit of ours is checked, and
so would answers to clients that do not read them.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST: Final = 64 * 1024
"""Largest head of a request in bytes: far more than any browser sends."""

_PIECE: Final = 4 * 1024
"""Bytes parsed at a time. A head that follows another request in the same packet is measured to within these."""

_UNREAD: Final = 16 * 1024
"""Bytes of an answer that may be buffered before the client is timed."""

_TOO_LARGE: Final = b"the head of a request may have at most 65,536 bytes: send a shorter address and fewer headers"
_REFUSAL: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_TOO_LARGE), _TOO_LARGE)
)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which closes connections with too large a head, or that are silent for too long."""

    seconds: float = 30.0
    """Time for a head to arrive, from its first byte or the opening of the connection, and time in which a client has
    to read some of an answer."""

    _outside: int = 0
    """Bytes received since a head began or ended, or since a part of a body: the size of the head so far."""
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    """Set while a part of an answer waits for the client."""

    def connection_made(self, transport: Any) -> None:
        """Start to time the first head."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_UNREAD)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start to time a client that reads too slowly."""
        super().pause_writing()
        self._stop_read_timer()
        self._start_read_timer()

    def resume_writing(self) -> None:
        """The client has read most of the buffer: stop its timer."""
        self._stop_read_timer()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse `data` piece by piece; refuse a head that is too large."""
        at = 0
        while at < len(data) and not self.transport.is_closing():
            room = _MOST - self._outside
            if room <= 0:
                self.transport.write(_REFUSAL)
                self.transport.close()
                return
            piece = data[at : at + min(room, _PIECE)]
            super().data_received(piece)
            at += len(piece)
            self._outside += len(piece)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._outside = 0
        self._start_head_timer()

    def on_headers_complete(self) -> None:
        """The head has arrived."""
        self._outside = 0
        self._stop_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body has arrived."""
        self._outside = 0
        super().on_body(body)

    def _start_head_timer(self) -> None:
        self._stop_head_timer()
        self._head_timer = asyncio.get_running_loop().call_later(self.seconds, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _start_read_timer(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._read_timer = asyncio.get_running_loop().call_later(self.seconds, self._check_read, waiting)

    def _check_read(self, before: int) -> None:
        """Close the connection if the client has read nothing since the timer was started."""
        if self.transport.get_write_buffer_size() < before:
            self._start_read_timer()
        else:
            self._read_timer = None
            self.transport.abort()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def protocol_with_timeout(seconds: float) -> type[LimitedProtocol]:
    """A protocol class with this timeout, as uvicorn takes it."""
    return type("LimitedProtocol", (LimitedProtocol,), {"seconds": seconds})
