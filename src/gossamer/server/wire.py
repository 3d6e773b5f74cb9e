"""HTTP as it comes in: the head of a request must be small, and must come soon.

uvicorn bounds neither with httptools: headers without end would fill the memory before any limit of ours is asked.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST: Final = 64 * 1024
"""Bytes of a head: far more than any browser sends."""


class CarefulProtocol(HttpToolsProtocol):
    """uvicorn's, which hangs up on those who send too much before a request begins, or nothing for too long."""

    seconds: float = 30.0
    """For a head to arrive, from its first byte or from the opening of the connection."""

    _head: int | None = 0
    """Bytes since the head began; None once it is complete."""
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has come."""
        super().connection_made(transport)
        self._set_alarm()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._stop_alarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes."""
        super().data_received(data)
        if self._head is not None:
            self._head += len(data)
            if self._head > _MOST and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._head = 0
        self._set_alarm()

    def on_headers_complete(self) -> None:
        """The last byte of its head."""
        self._head = None
        self._stop_alarm()
        super().on_headers_complete()

    def _set_alarm(self) -> None:
        self._stop_alarm()
        self._alarm = asyncio.get_running_loop().call_later(self.seconds, self._hang_up)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _hang_up(self) -> None:
        self.transport.close()


def careful(seconds: float) -> type[CarefulProtocol]:
    """The protocol with this patience."""
    return type("CarefulProtocol", (CarefulProtocol,), {"seconds": seconds})
