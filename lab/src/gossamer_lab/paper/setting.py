"""What the parts of `gossamer eval paper` share: the job, and the sizes of the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gossamer_lab.job import Job
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import has_hnswlib


@dataclass(frozen=True)
class Sizes:
    """Numbers of documents and queries."""

    documents: int = 10_000
    """Documents of the paper's main tables."""
    queries: int = 1_000
    """Queries of the paper's main tables."""
    scaling: Mapping[str, Sequence[int]] = field(
        default_factory=lambda: {"qqp": (5_000, 10_000, 20_000, 40_000), "msmarco": (5_000, 10_000, 20_000, 30_000)}
    )
    latency: Sequence[int] = (1_000, 5_000, 10_000, 20_000)
    growth: Sequence[int] = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    timed: int = 100
    """Queries timed one at a time."""


@dataclass(frozen=True)
class Setting:
    """The job and the sizes. A quick run has fewer sizes and no ICA."""

    job: Job
    sizes: Sizes = field(default_factory=Sizes)

    def available(self, methods: Sequence[str], collection: str) -> list[str]:
        """The methods that can run here; ICA, which takes the most time, is used in whole runs on QQP alone."""
        found = [name for name in methods if has_hnswlib() or not name.startswith("hnsw@")]
        rotated = collection == "qqp" and not self.job.quick
        return found if rotated else [name.replace("@paper", "@pca") for name in found]

    def left_out(self) -> list[str]:
        """A note on rows that are missing because a package is."""
        return [] if has_hnswlib() else ["hnsw is left out: hnswlib is not installed (pip install hnswlib)."]

    def task(self, name: str, model: str, documents: int | None, queries: int | None = None) -> Prepared:
        """A collection as the paper has it: a query's own text is a document like any other."""
        data = self.job.embedded(name, model, documents=documents, queries=queries, keep_own=True)
        return self.job.prepared(data)
