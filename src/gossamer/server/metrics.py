"""Figures for Prometheus, in a registry of their own."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from gossamer.errors import GossamerError
from gossamer.results import IndexInfo
from gossamer.server.catalog import Catalog

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_NODES = (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)


class Metrics:
    """Counters and histograms of requests, and gauges of the indexes."""

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
        """Count one request."""
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class _OfIndexes(Collector):
    """Gauges that are read from the indexes when metrics are collected."""

    _GAUGES: Final[dict[str, tuple[str, Callable[[IndexInfo], float]]]] = {
        "gossamer_documents": ("Documents in the index.", lambda info: info.documents),
        "gossamer_passages": ("Passages in the tree.", lambda info: info.passages),
        "gossamer_concepts": ("Concepts of the tree.", lambda info: info.concepts),
        "gossamer_disk_bytes": ("Bytes on disk.", lambda info: info.bytes),
        "gossamer_snapshot_age_operations": (
            "Operations since the tree was last saved.",
            lambda info: info.operation - (info.snapshots[0] if info.snapshots else 0),
        ),
    }

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._start = time.monotonic()

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """The gauges without values, so that registering reads no index."""
        for name, (about, _) in self._GAUGES.items():
            yield GaugeMetricFamily(name, about, labels=["index"])
        yield GaugeMetricFamily(
            "gossamer_uptime_seconds", "Since the server began.", value=time.monotonic() - self._start
        )

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges with their current values; none for an index that raises an error."""
        found: dict[str, IndexInfo] = {}
        for served in self._catalog:
            with suppress(GossamerError):
                found[served.name] = served.index.info()
        for family in self.describe():
            for name, info in found.items() if family.name in self._GAUGES else ():
                family.add_metric([name], self._GAUGES[family.name][1](info))
            yield family
