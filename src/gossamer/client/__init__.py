"""Clients of `gossamer serve`, with the methods of `Index`.

client      `Client`                                       async_client   `AsyncClient`
calls       each method as a request and a reader          transport      requests, retries, errors
decoding    JSON → the dataclasses of `gossamer.results`

Needs httpx: ``pip install "gossamer[client]"``.
"""

from gossamer.client.async_client import AsyncClient
from gossamer.client.client import Client

__all__ = ["AsyncClient", "Client"]
