from __future__ import annotations

from collections.abc import Iterator

import pytest

from gossamer import Client, Index
from server.running import Running, running, small_index


@pytest.fixture(scope="module")
def index() -> Index:
    """What the server of `service` serves; closed with it."""
    return small_index()


@pytest.fixture(scope="module")
def service(index: Index) -> Iterator[Running]:
    """For tests that only look."""
    with running({"main": index, "other": small_index(20, seed=1)}) as found:
        yield found


@pytest.fixture(scope="module")
def client(service: Running) -> Iterator[Client]:
    with Client(service.url) as found:
        yield found


@pytest.fixture
def own() -> Iterator[Running]:
    """For tests that change something."""
    with running({"main": small_index(30)}) as found:
        yield found
