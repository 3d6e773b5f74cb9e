"""Vectors of a collection: by an encoder, each text once, or from ready files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bag
from gossamer.array_types import Floats
from gossamer.encoders import CallableEncoder
from gossamer.errors import DiskError, InputError
from gossamer_lab.data import embedded as module
from gossamer_lab.data.datasets import beir
from gossamer_lab.data.embedded import Embedded, embed, ready_models
from gossamer_lab.data.files import load_vectors


def test_encoders_and_their_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(texts: list[str]) -> Floats:
        asked.append(len(texts))
        return bag.encode(texts)

    monkeypatch.setattr(module, "load_encoder", lambda name: CallableEncoder(counted, name="bag-v1"))
    collection = beir(folder)
    first = embed(collection, "bag", cache=tmp_path)
    assert sum(asked) == 125
    again = embed(collection, "bag", cache=tmp_path)
    assert sum(asked) == 125
    assert np.array_equal(first.E, again.E)
    assert first.fingerprint == again.fingerprint


def test_a_fitted_encoder(folder: Path, tmp_path: Path) -> None:
    data = embed(beir(folder), "lsa", cache=tmp_path)
    assert len(data.E) == 120
    some = data.with_queries([1, 3])
    assert some.collection.query_ids == (data.collection.query_ids[1], data.collection.query_ids[3])
    assert np.array_equal(some.Q, data.Q[[1, 3]])


def test_ready_vectors(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "embeddings").mkdir()
    collection = beir(folder)
    E, Q = bag.encode(list(collection.texts)), bag.encode(list(collection.queries))
    np.save(tmp_path / "embeddings" / "kitchen-mine-corpus.npy", E.astype(np.float16))
    np.save(tmp_path / "embeddings" / "kitchen-mine-queries.npy", Q)
    assert ready_models("kitchen", tmp_path) == ["mine"]
    part = collection.with_documents(np.arange(60, 120))
    found = embed(part, "mine", folder=tmp_path)
    assert np.allclose(found.E, E[60:], atol=1e-3)
    np.save(tmp_path / "embeddings" / "kitchen-mine-corpus.npy", E[:70])
    with pytest.raises(InputError, match="holds 70 vectors, and row 119 is needed"):
        embed(part, "mine", folder=tmp_path)
    with pytest.raises(InputError, match="70 vectors for 120 documents"):
        Embedded(collection, "mine", E[:70], Q)
    with pytest.raises(InputError, match="documents have 32 dimensions and queries 5"):
        Embedded(collection, "mine", E, Q[:, :5])


@pytest.mark.parametrize("content", [b"", b"no numpy here", b"\x93NUMPY"])
def test_what_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npy").write_bytes(content)
    with pytest.raises(DiskError, match=r"bad\.npy cannot be read"):
        load_vectors(tmp_path / "bad.npy")


def test_what_is_no_matrix_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "line.npy", np.zeros(5))
    with pytest.raises(InputError, match=r"shape \(5,\)"):
        load_vectors(tmp_path / "line.npy")
