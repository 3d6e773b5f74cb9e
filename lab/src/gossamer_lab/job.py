"""One run of `gossamer eval`: where its data is, where results are kept, and how progress is told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gossamer_lab.data.datasets import load
from gossamer_lab.data.embedded import Embedded, Say, embed, silent
from gossamer_lab.data.files import kept
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankings import Rankings
from gossamer_lab.tables import Report, Table


@dataclass(frozen=True)
class Job:
    """What every report needs beside its own settings."""

    folder: Path | None = None
    """The data folder; None for the usual places."""
    cache: Path | None = None
    """The folder of vectors and rankings computed before; None for the usual one."""
    quick: bool = False
    fresh: bool = False
    """Whether to compute rankings again that are kept."""
    say: Say = silent
    vectors: Path | None = None
    """A folder of ready vectors, looked at before the data folder's."""
    command: str = ""
    """The command as it was typed."""
    started: float = field(default_factory=time.perf_counter)

    @cached_property
    def rankings(self) -> Rankings:
        """The rankings that are kept."""
        return Rankings(kept(self.cache), fresh=self.fresh)

    def embedded(
        self,
        name: str,
        model: str = "minilm",
        *,
        documents: int | None = None,
        queries: int | None = None,
        seed: int = 0,
        keep_own: bool = False,
    ) -> Embedded:
        """A collection by name, cut to size, with the vectors of a model; see `data.datasets.load`."""
        self.say(f"reading {name}", 0, 0)
        collection = load(
            name, folder=self.folder, documents=documents, queries=queries, seed=seed, keep_own=keep_own
        )  # fmt: skip
        return embed(collection, model, folder=self.folder, vectors=self.vectors, cache=self.cache, say=self.say)

    def prepared(self, data: Embedded) -> Prepared:
        """A collection ready for any method."""
        return Prepared(data, cache=kept(self.cache))

    def report(self, name: str, data: str, tables: Sequence[Table]) -> Report:
        """A report of what was found, with the time since the job was made."""
        return Report(name, self.command, data, tables, time.perf_counter() - self.started)
