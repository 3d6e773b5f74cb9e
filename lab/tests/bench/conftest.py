"""Small vectors with the structure of real ones: topics within themes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer_lab.bench.data import Data, prepare
from gossamer_lab.engine import Floats


def made_up(rows: int, seed: int = 0, dim: int = 16) -> Floats:
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(9).normal(size=(40, dim)) * 1.5
    return (topics[rng.integers(0, 40, rows)] + rng.normal(size=(rows, dim))).astype(np.float32)


@pytest.fixture(scope="session")
def data() -> Data:
    return prepare("made up", made_up(1500), made_up(40, seed=1), rows=None, queries=None)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("vectors")
    np.save(folder / "corpus.npy", made_up(1500))
    np.save(folder / "queries.npy", made_up(40, seed=1))
    return folder / "corpus.npy", folder / "queries.npy"
