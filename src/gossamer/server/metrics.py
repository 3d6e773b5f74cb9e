"""Figures for Prometheus, in a registry of their own."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from gossamer.errors import GossamerError
from gossamer.server.catalog import Catalog

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_NODES = (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)


class Metrics:
    """What is counted while requests come and go."""

    def __init__(self, catalog: Catalog) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "gossamer_requests", "Requests answered.", ["route", "method", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "gossamer_request_seconds", "Time to answer.", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self.in_flight = Gauge("gossamer_requests_in_flight", "Requests being answered.", registry=self.registry)
        self.written = Counter(
            "gossamer_documents_written", "Documents added or replaced.", ["index"], registry=self.registry
        )
        self.search_seconds = Histogram(
            "gossamer_search_seconds", "Time inside a search.", ["index"], buckets=_BUCKETS, registry=self.registry
        )
        self.visited = Histogram(
            "gossamer_search_visited", "Nodes scored by a search.", ["index"], buckets=_NODES, registry=self.registry
        )
        self.registry.register(_OfIndexes(catalog))

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """One request."""
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class _OfIndexes(Collector):
    """What the indexes say about themselves when asked."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._start = time.monotonic()

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """The names alone, so that registering asks no index."""
        yield from self._families().values()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures now. An index that cannot answer has none."""
        families = self._families()
        families["uptime"].add_metric([], time.monotonic() - self._start)
        for served in self._catalog:
            try:
                info = served.index.info()
            except GossamerError:
                continue
            saved = info.snapshots[0] if info.snapshots else 0
            families["documents"].add_metric([served.name], info.documents)
            families["passages"].add_metric([served.name], info.passages)
            families["concepts"].add_metric([served.name], info.concepts)
            families["bytes"].add_metric([served.name], info.bytes)
            families["age"].add_metric([served.name], info.operation - saved)
        yield from families.values()

    @staticmethod
    def _families() -> dict[str, GaugeMetricFamily]:
        def of_index(name: str, about: str) -> GaugeMetricFamily:
            return GaugeMetricFamily(name, about, labels=["index"])

        return {
            "documents": of_index("gossamer_documents", "Documents in the index."),
            "passages": of_index("gossamer_passages", "Passages in the tree."),
            "concepts": of_index("gossamer_concepts", "Nodes of the tree."),
            "bytes": of_index("gossamer_disk_bytes", "Bytes on disk."),
            "age": of_index("gossamer_snapshot_age_operations", "Operations since the tree was last saved."),
            "uptime": GaugeMetricFamily("gossamer_uptime_seconds", "Since the server began."),
        }
