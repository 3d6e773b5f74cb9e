"""HTTP on the wire: the head of a request must be small and come soon, and an answer must be taken.

uvicorn bounds none of these with httptools: headers without end would fill the memory before any limit of ours is
asked, and so would answers to clients that do not read them.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST: Final = 64 * 1024
"""Bytes of a head: far more than any browser sends."""

_PIECE: Final = 4 * 1024
"""Bytes parsed at a time. A head that begins behind another request in one packet is counted to within these."""

_UNTAKEN: Final = 16 * 1024
"""Bytes of answers that may wait for a client without being watched."""

_TOO_LARGE: Final = b"the head of a request may have at most 65,536 bytes: send a shorter address and fewer headers"
_REFUSAL: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_TOO_LARGE), _TOO_LARGE)
)


class CarefulProtocol(HttpToolsProtocol):
    """uvicorn's, which hangs up on those who send too much before a request begins, or nothing for too long."""

    seconds: float = 30.0
    """For a head to arrive, from its first byte or from the opening of the connection; for a part of an answer to be
    taken."""

    _outside: int = 0
    """Bytes since a head began or ended, or a part of a body came: of a head so far, or of what follows a body."""
    _alarm: asyncio.TimerHandle | None = None
    _watch: asyncio.TimerHandle | None = None
    """Set while an answer, or a part of it, waits for the client to take it."""

    def connection_made(self, transport: Any) -> None:
        """A client has come."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_UNTAKEN)
        self._set_alarm()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._stop_alarm()
        self._stop_watch()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client takes no more for now."""
        super().pause_writing()
        self._stop_watch()
        self._look_again()

    def resume_writing(self) -> None:
        """It has taken most of it."""
        self._stop_watch()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Some bytes."""
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
        """The first byte of a request."""
        super().on_message_begin()
        self._outside = 0
        self._set_alarm()

    def on_headers_complete(self) -> None:
        """The last byte of its head."""
        self._outside = 0
        self._stop_alarm()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of its body."""
        self._outside = 0
        super().on_body(body)

    def _set_alarm(self) -> None:
        self._stop_alarm()
        self._alarm = asyncio.get_running_loop().call_later(self.seconds, self._hang_up)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _hang_up(self) -> None:
        self.transport.close()

    def _look_again(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._watch = asyncio.get_running_loop().call_later(self.seconds, self._check_taken, waiting)

    def _check_taken(self, before: int) -> None:
        """Hang up on a client that has taken nothing since the last look."""
        if self.transport.get_write_buffer_size() < before:
            self._look_again()
        else:
            self._watch = None
            self.transport.abort()

    def _stop_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None


def careful(seconds: float) -> type[CarefulProtocol]:
    """The protocol with this patience."""
    return type("CarefulProtocol", (CarefulProtocol,), {"seconds": seconds})
