"""The vectors of a benchmark: read, cut to size, and whitened once for all systems."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.cli.evaluation import data_folder
from gossamer.errors import InputError
from gossamer_lab.data.files import load_vectors
from gossamer_lab.engine import Floats, Longs, Whitening, default_whitening

SETS: Final = ("qqp", "msmarco")


@dataclass(frozen=True)
class Data:
    """Documents and queries as they came (raw), and whitened as every system sees them (X, Q)."""

    name: str
    raw: Floats
    raw_queries: Floats
    whitener: Whitening
    X: Floats
    Q: Floats

    @property
    def description(self) -> str:
        """Name, sizes and dimensions in words."""
        dims = f"{self.raw.shape[1]} dimensions, {self.X.shape[1]} after whitening"
        return f"{self.name}: {len(self.X):,} documents, {len(self.Q):,} queries, {dims}"


def embeddings_folder(given: Path | None) -> Path:
    """The folder of ready vectors: `embeddings` in the data folder, or that folder itself."""
    folder = data_folder(given, "folder of vectors")
    return folder / "embeddings" if (folder / "embeddings").is_dir() else folder


def load_set(folder: Path, name: str) -> tuple[Floats, Floats]:
    """Documents and queries of one of the ready sets."""
    if name not in SETS:
        raise InputError(f"there is no set called {name!r}: choose one of {', '.join(SETS)}")
    return load_vectors(folder / f"{name}-minilm-corpus.npy"), load_vectors(folder / f"{name}-minilm-queries.npy")


def prepare(name: str, E: Floats, Q: Floats, *, rows: int | None, queries: int | None) -> Data:
    """The first `rows` documents and `queries` queries spread evenly over all, whitened as the default preset does."""
    if E.shape[1] != Q.shape[1]:
        raise InputError(f"documents have {E.shape[1]} dimensions and queries {Q.shape[1]}: they must be the same")
    E = E[:rows]
    Q = Q[spread_evenly(len(Q), queries)]
    whitener = default_whitening().fit(E)
    return Data(name, E, Q, whitener, whitener.project(E), whitener.project(Q))


def spread_evenly(available: int, wanted: int | None) -> Longs:
    """`wanted` places spread evenly over `available`; all of them if there are no more."""
    n = available if wanted is None else min(available, wanted)
    return np.arange(n, dtype=np.int64) * available // max(1, n)
