"""A real server on loopback, in a thread; and texts to fill an index with."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from bag import encode, sentence
from gossamer import Index
from gossamer.server.app import create_app
from gossamer.server.catalog import Catalog
from gossamer.server.run import Address, Server, configured


def small_index(documents: int = 150, seed: int = 0) -> Index:
    """In memory: d0, d1 … with the metadata {"at": 0} …"""
    rng = random.Random(seed)
    index = Index(encode)
    index.add(
        [sentence(rng) for _ in range(documents)],
        ids=[f"d{at}" for at in range(documents)],
        metadata=[{"at": at} for at in range(documents)],
    )
    return index


@dataclass(frozen=True)
class Running:
    """Where a server is, and a way to speak to it."""

    url: str
    http: httpx.Client
    app: Any
    server: Server


@contextmanager
def running(indexes: Mapping[str, Index], *, read_only: bool = False, **options: Any) -> Iterator[Running]:
    """Serve until the end of the block. The indexes are closed then."""
    app = create_app(Catalog(indexes, read_only=read_only), **options)
    address = Address(port=0)
    bound = address.bind()
    server = Server(configured(app), app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        url = address.url(bound)
        with httpx.Client(base_url=url, timeout=30, verify=False) as http:  # or it reads all certificates, for 40 ms
            yield Running(url, http, app, server)
    finally:
        server.stop()
        thread.join(20)
        bound.close()
        assert not thread.is_alive()


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem details of an answer, checked for form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = response.json()
    assert set(found) == {"type", "title", "status", "detail", "instance", "request_id"}
    assert found["status"] == status
    assert found["detail"]
    assert found["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return found


def until(happened: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something that comes by itself: a line in the log is written after the answer is sent."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
