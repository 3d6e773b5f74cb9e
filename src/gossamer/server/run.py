"""Listening, and stopping without loss.

On SIGTERM or Ctrl-C the server stops listening, refuses new writes, lets requests that are being answered end, and
closes the indexes. A second Ctrl-C does not wait for slow readers; a write that has begun still ends.
"""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from gossamer.errors import DiskError, ParameterError
from gossamer.server.http_protocol import careful
from gossamer.server.limits import LONGEST
from gossamer.server.service import Service
from gossamer.server.warming import Warming

_log = logging.getLogger("gossamer.server")


@dataclass(frozen=True)
class Address:
    """Where to listen, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self, *, has_keys: bool) -> None:
        """Refuse what would let strangers in."""
        if not self.loopback and not has_keys:
            raise ParameterError(
                f"listening on {self.host} lets others in, and there are no keys. Make one with: gossamer keys new "
                "keys.json --scope read, and pass --key-file keys.json; or listen on 127.0.0.1"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ParameterError(
                "a certificate and its key go together: give both --tls-cert and --tls-key, or neither"
            )
        for path in (self.tls_cert, self.tls_key):
            if path is not None and not path.is_file():
                raise DiskError(f"there is no file {path}: name a PEM file")
        if not self.loopback and self.tls_cert is None:
            _log.warning("keys and texts travel in the clear: use --tls-cert and --tls-key, or a proxy with TLS")

    def bind(self) -> socket.socket:
        """A socket that listens here; port 0 is any that is free."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self.host, self.port))
        except OSError as error:
            bound.close()
            raise DiskError(
                f"cannot listen on {self.host}, port {self.port} ({error.strerror}): choose another --port"
            ) from error
        return bound

    def url(self, bound: socket.socket) -> str:
        """What to type into a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.tls_cert else ''}://{host}:{bound.getsockname()[1]}"


def run(app: FastAPI, address: Address, *, grace: float = 30.0, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve until told to stop. `grace`: seconds that requests have to end, at most a day."""
    if not 0 <= grace <= LONGEST:
        raise ParameterError(f"grace must be between 0 and {LONGEST:,} seconds, got {grace}")
    bound = address.bind()
    config = configured(
        app,
        timeout_graceful_shutdown=int(grace),
        ssl_certfile=None if address.tls_cert is None else str(address.tls_cert),
        ssl_keyfile=None if address.tls_key is None else str(address.tls_key),
    )
    url = address.url(bound)
    try:
        Server(config, app, (lambda: on_ready(url)) if on_ready else None).run(sockets=[bound])
    finally:
        bound.close()


def configured(app: FastAPI, **more: Any) -> uvicorn.Config:
    """uvicorn, as this service needs it."""
    service: Service = app.state.service
    return uvicorn.Config(
        app,
        http=careful(service.limits.seconds),
        log_config=None,
        access_log=False,  # the envelope tells more, and no query
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        **more,
    )


class Server(uvicorn.Server):
    """uvicorn's, which also tells when it is ready, and refuses new writes as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, on_ready: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._service: Service = app.state.service
        self._on_ready = on_ready
        self._warming = Warming(self._service.catalog)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets=sockets)
        if self.started:
            self._warming.start()
            if self._on_ready is not None:
                self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop. Unlike uvicorn's, it is not raised again at the end: having stopped well is success."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.stop()

    def stop(self) -> None:
        """Refuse new writes, and end when all requests are answered."""
        self._warming.stop()
        self._service.workers.draining = True
        self.should_exit = True
