"""What the parts of `gossamer eval paper` share: the job, models and data, sizes, and what could not be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from gossamer.errors import GossamerError
from gossamer_lab.data.embedded import is_encoder
from gossamer_lab.job import Job
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import has_hnswlib
from gossamer_lab.methods.spaces import without_ica
from gossamer_lab.paper.published import THEIRS, Kind, kind_of

Name = Literal["qqp", "msmarco"]
MODELS: Final = ("minilm", "t5", "smollm2")
"""Models whose vectors are at hand, one of each kind."""

ABOUT: Final = {
    "minilm": "MiniLM, 384 dimensions",
    "t5": "the encoder of a small T5 fine-tuned for titles, 512 dimensions",
    "smollm2": "SmolLM2-135M, 576 dimensions, mean of the last hidden states",
}


@dataclass(frozen=True)
class Sizes:
    """Numbers of documents and queries."""

    documents: int = 10_000
    """Documents of the paper's main tables."""
    queries: int = 1_000
    """Queries of the paper's main tables."""
    scaling: Sequence[int] = (5_000, 10_000, 20_000, 40_000)
    latency: Mapping[Name, Sequence[int]] = field(
        default_factory=lambda: {
            "qqp": (1_000, 5_000, 10_000, 20_000), "msmarco": (1_000, 5_000, 7_500, 10_000, 20_000),
        }
    )  # fmt: skip
    growth: Sequence[int] = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    timed: int = 100
    """Queries timed one at a time."""


@dataclass(frozen=True)
class Missing:
    """A collection with a model that cannot be had here, and why."""

    reason: str


@dataclass(frozen=True)
class Setting:
    """The job, what it runs on, and the sizes. A quick run has fewer sizes and no ICA."""

    job: Job
    sizes: Sizes = field(default_factory=Sizes)
    models: Sequence[str] = MODELS
    qqp: str = "qqp"
    """The ready setting, or a file of labelled pairs such as GLUE's dev.tsv, from which the authors make theirs."""
    msmarco: str = "msmarco-v21"
    """Rows of MS MARCO 2.1 as the authors take them, or "msmarco": other queries and the pool of their passages."""
    fit_on_queries: bool = False
    """Whether the paper's whitening is fitted on documents and queries, as the authors do on MS MARCO."""

    @property
    def by_kind(self) -> dict[Kind, str]:
        """The first model of each kind."""
        found: dict[Kind, str] = {}
        for model in self.models:
            found.setdefault(kind_of(model), model)
        return {kind: found[kind] for kind in THEIRS if kind in found}

    @property
    def whitened(self) -> str:
        """The name of the paper's vectors in this run."""
        return "pca" if self.job.quick else "both" if self.fit_on_queries else "paper"

    def method(self, name: str) -> str:
        """A method by its name in the paper, over the vectors of this run."""
        if self.job.quick:
            return without_ica(name)
        return name.replace("@paper", f"@{self.whitened}")

    def available(self, methods: Sequence[str]) -> list[str]:
        """The methods that can run here, over the vectors of this run."""
        return [self.method(name) for name in methods if has_hnswlib() or not name.startswith("hnsw@")]

    def left_out(self) -> list[str]:
        """A note on rows that are missing because a package is."""
        return [] if has_hnswlib() else ["hnsw is left out: hnswlib is not installed (pip install hnswlib)."]

    def task(self, name: Name, model: str, documents: int | None, queries: int | None = None) -> Prepared:
        """A collection as the paper has it: a query's own text is a document like any other."""
        which = self.qqp if name == "qqp" else self.msmarco
        data = self.job.embedded(which, model, documents=documents, queries=queries, keep_own=True)
        return self.job.prepared(data)

    def task_or_reason(
        self, name: Name, model: str | None, documents: int | None, queries: int | None = None
    ) -> Prepared | Missing:
        """A collection as the paper has it, or why it cannot be had."""
        if model is None:
            return Missing("no model of this kind was given")
        try:
            return self.task(name, model, documents, queries)
        except GossamerError as error:
            source = "msmarco" if name == "msmarco" else "qqp"
            if not is_encoder(model):
                return Missing(
                    f"there are no ready vectors of {model} for {_count(documents)} documents of {source}: put "
                    f"{source}-{model}-corpus.npy and -queries.npy into a folder and name it with --vectors, or name "
                    "an encoder with --model"
                )
            return Missing(str(error))


def _count(documents: int | None) -> str:
    return "all" if documents is None else f"{documents:,}"


def about(model: str) -> str:
    """A model in words."""
    return ABOUT.get(model, model)
