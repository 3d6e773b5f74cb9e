"""Reading vectors: found where they should be, refused with a sentence where not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.conftest import made_up
from gossamer.errors import DiskError, InputError
from gossamer_lab.bench.data import embeddings_folder, load_set, prepare, spread_evenly


def write_set(folder: Path) -> None:
    np.save(folder / "qqp-minilm-corpus.npy", made_up(300).astype(np.float16))
    np.save(folder / "qqp-minilm-queries.npy", made_up(60, seed=1).astype(np.float16))


def test_the_folder_is_the_one_given_then_the_variable_then_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "here"
    inner.mkdir()
    monkeypatch.chdir(inner)
    monkeypatch.delenv("GOSSAMER_DATA", raising=False)
    with pytest.raises(DiskError, match=r"no folder of vectors: no data folder at \.\./shared. Name one with --data"):
        embeddings_folder(None)
    (tmp_path / "shared" / "embeddings").mkdir(parents=True)
    assert embeddings_folder(None) == Path("../shared/embeddings")
    monkeypatch.setenv("GOSSAMER_DATA", str(inner))
    assert embeddings_folder(None) == inner
    assert embeddings_folder(tmp_path / "shared" / "embeddings") == tmp_path / "shared" / "embeddings"
    with pytest.raises(DiskError, match="nowhere"):
        embeddings_folder(tmp_path / "nowhere")


def test_a_set_is_read_as_float32(tmp_path: Path) -> None:
    write_set(tmp_path)
    E, Q = load_set(tmp_path, "qqp")
    assert E.dtype == np.float32
    assert (E.shape, Q.shape) == ((300, 16), (60, 16))
    with pytest.raises(DiskError, match=r"no vectors at .*msmarco"):
        load_set(tmp_path, "msmarco")
    with pytest.raises(InputError, match="no set called 'trec'"):
        load_set(tmp_path, "trec")


def test_everybody_sees_the_default_whitening() -> None:
    data = prepare("some", made_up(400), made_up(50, seed=1), rows=300, queries=10)
    assert (len(data.raw), len(data.Q)) == (300, 10)
    np.testing.assert_allclose(data.whitener.project(data.raw), data.X, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(data.raw_queries, made_up(50, seed=1)[::5])
    assert data.description.startswith("some: 300 documents, 10 queries, 16 dimensions")
    with pytest.raises(InputError, match="documents have 16 dimensions and queries 3"):
        prepare("some", made_up(50), made_up(5, dim=3), rows=None, queries=None)


def test_spreading_evenly() -> None:
    assert spread_evenly(10, 5).tolist() == [0, 2, 4, 6, 8]
    assert spread_evenly(3, 5).tolist() == spread_evenly(3, None).tolist() == [0, 1, 2]
