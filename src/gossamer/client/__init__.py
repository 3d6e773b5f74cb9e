"""A client of `gossamer serve`, with the methods of `Index`, now and later (async).

calls       each method as a request and a way to read its answer
decoding    JSON → the dataclasses of `gossamer.results`
failures    problem details → the exceptions of `gossamer.errors`
retries     which answers are worth another try, and when
client      `Client`            async_client        `AsyncClient`

Needs httpx: ``pip install "gossamer[client]"``.
"""

from __future__ import annotations

from gossamer.client.async_client import AsyncClient
from gossamer.client.client import Client

__all__ = ["AsyncClient", "Client"]
