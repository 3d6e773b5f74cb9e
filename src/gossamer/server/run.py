"""Run the server: listen, and stop without losing a write.

On SIGTERM or Ctrl-C the server stops listening, refuses new writes, finishes the requests that are being answered, and
closes the indexes. A second Ctrl-C does not wait for slow reads; a write that has begun is still finished.
"""

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
from gossamer.server.http_protocol import protocol_with_timeout
from gossamer.server.limits import LONGEST
from gossamer.server.service import Service

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
        """Raise `ParameterError` if anyone could use the server without a key, or TLS is incomplete."""
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
        """A socket bound to this address; port 0 is any free port."""
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
        """The address for a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.tls_cert else ''}://{host}:{bound.getsockname()[1]}"


def run(app: FastAPI, address: Address, *, grace: float = 30.0, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve until told to stop. `grace`: seconds that requests then have to end, at most a day."""
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
    """The configuration of uvicorn for this service."""
    service: Service = app.state.service
    return uvicorn.Config(
        app,
        http=protocol_with_timeout(service.limits.seconds),
        log_config=None,
        access_log=False,  # `middleware` logs more, and no query
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        **more,
    )


class Server(uvicorn.Server):
    """uvicorn's server, which also reports when it is ready, and refuses new writes once it is told to stop."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, on_ready: Callable[[], None] | None = None) -> None:
        super().__init__(config)
        self._service: Service = app.state.service
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets=sockets)
        if self.started and self._on_ready is not None:
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal. Unlike uvicorn, do not raise it again at the end: a clean stop is success."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.stop()

    def stop(self) -> None:
        """Refuse new writes, and end when all requests are answered."""
        self._service.workers.draining = True
        self.should_exit = True
