"""The vectors of a benchmark: read, cut to size, and whitened once for all systems."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import as_vectors
from gossamer.errors import DiskError, InputError
from gossamer.vector_index.presets import PRESETS
from gossamer.whitening.whitening import Whitening

SETS: Final = ("qqp", "msmarco")
FOLDER_VARIABLE: Final = "GOSSAMER_DATA"
_BESIDE: Final = Path("../shared/embeddings")


@dataclass(frozen=True)
class Data:
    """Documents and queries, as they came and as every system sees them."""

    name: str
    raw: Floats
    raw_queries: Floats
    whitener: Whitening
    X: Floats
    Q: Floats

    @property
    def description(self) -> str:
        """In words."""
        dims = f"{self.raw.shape[1]} dimensions, {self.X.shape[1]} after whitening"
        return f"{self.name}: {len(self.X):,} documents, {len(self.Q):,} queries, {dims}"


def folder_of_sets(given: Path | None) -> Path:
    """The folder of ready vectors: the one given, or $GOSSAMER_DATA, or ../shared/embeddings."""
    named = given or (Path(os.environ[FOLDER_VARIABLE]) if os.environ.get(FOLDER_VARIABLE) else None)
    folder = named or _BESIDE
    if not folder.is_dir():
        cure = f"name one with --data or ${FOLDER_VARIABLE}, or give --vectors and --queries"
        raise DiskError(f"there is no folder of vectors at {folder}: {cure}")
    return folder


def load_set(folder: Path, name: str) -> tuple[Floats, Floats]:
    """Documents and queries of one of the ready sets."""
    if name not in SETS:
        raise InputError(f"there is no set called {name!r}: choose one of {', '.join(SETS)}")
    return load_file(folder / f"{name}-minilm-corpus.npy"), load_file(folder / f"{name}-minilm-queries.npy")


def load_file(path: Path) -> Floats:
    """The rows of a .npy file as float32."""
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise DiskError(f"there are no vectors at {path}: give the path of a .npy file") from None
    except (ValueError, EOFError, OSError) as error:
        raise DiskError(f"{path} cannot be read as a .npy file: {error}") from error
    if array.ndim != 2 or not len(array):
        raise InputError(f"{path} holds an array of shape {array.shape}: expected one row a vector")
    return as_vectors(array, array.shape[1], what=str(path))


def load_duplicates(folder: Path, rows: int) -> tuple[Data, npt.NDArray[np.int64]]:
    """The paper's setting on QQP with so many documents and a tenth as many queries, and the row each duplicates."""
    E, Q = load_set(folder, "qqp")
    queries = min(len(Q), rows // 10)
    path = folder / "qqp-setup.json.gz"
    try:
        with gzip.open(path) as setup:
            targets = np.array(json.load(setup)["targets"][:queries], np.int64)
    except FileNotFoundError:
        raise DiskError(f"there is no {path}: the duplicates of QQP are read from it") from None
    return prepare("qqp", E, Q[:queries], rows=rows, queries=None), targets


def prepare(name: str, E: Floats, Q: Floats, *, rows: int | None, queries: int | None) -> Data:
    """The first `rows` documents and `queries` queries spread evenly over all, whitened as the default preset does."""
    if E.shape[1] != Q.shape[1]:
        raise InputError(f"documents have {E.shape[1]} dimensions and queries {Q.shape[1]}: they must be the same")
    E = E[:rows]
    Q = Q[spread_evenly(len(Q), queries)]
    whitener = PRESETS["default"].whitening().fit(E)
    return Data(name, E, Q, whitener, whitener.project(E), whitener.project(Q))


def spread_evenly(available: int, wanted: int | None) -> npt.NDArray[np.int64]:
    """`wanted` places spread evenly over `available`; all of them where there are no more."""
    n = available if wanted is None else min(available, wanted)
    return np.arange(n, dtype=np.int64) * available // max(1, n)
