"""What the tests of clusters share: one Ray on this machine, on the loopback device, and clusters on it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from bag import encode
from cluster.themes import corpus
from gossamer.cluster import Cluster

NEEDS_RAY = {
    "test_same_as_index.py", "test_cluster.py", "test_dataset.py", "test_faults.py", "test_command.py",
    "test_serving.py",
}  # fmt: skip

collect_ignore = [] if find_spec("ray") else sorted(NEEDS_RAY)


def pytest_report_header() -> list[str]:
    return [] if find_spec("ray") else ["tests of clusters that need Ray are skipped: it is not installed (extra ray)"]


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """1,200 documents in four shards, whitened; tests leave it as it was."""
    texts, ids, metadata = corpus(1200)
    with Cluster.create(tmp_path_factory.mktemp("large") / "c", encode, shards=4) as cluster:
        cluster.add(texts, ids, metadata)
        yield cluster
