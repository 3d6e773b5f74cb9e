"""What is committed can be applied: everything that can fail does so before, and leaves the index as it was."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bag import encode
from gossamer import Index, VectorIndex
from gossamer.array_types import Floats
from gossamer.errors import DimensionError, InputError, OutOfMemoryError
from gossamer.whitening.whitening import Whitening

DIM = 16


def vectors(n: int, dim: int = DIM, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def never(texts: list[str]) -> npt.NDArray[np.float32]:
    raise AssertionError("nothing is encoded here")


# -- values at the ends of what float32 holds -------------------------------------------------------


@pytest.mark.parametrize("value", [1e-42, 1e-30, 1e17, 0.0])
def test_a_vector_of_any_size_goes_in_and_is_found(tmp_path: Path, value: float) -> None:
    """Of x and −x pairs the mean is 0, and what is scaled to the sphere from next to nothing left float32's range."""
    x = vectors(800)
    extreme = np.full((1, DIM), value, np.float32)
    path = tmp_path / "a.gsm"
    with Index.create(path, never) as index:
        index.add([f"t{at}" for at in range(1600)], vectors=np.concatenate([x, -x]))
        index.add("extreme", "extreme", vectors=extreme)
        assert index.search(vector=extreme[0], k=3)
        index.search(vector=np.full(DIM, 1e-42, np.float32))
        index.check()
    with Index.open(path, never) as index:
        assert "extreme" in index
        found = index.search(vector=extreme[0], k=1)
        assert found[0].id == "extreme" or value == 0.0
        index.check()


@pytest.mark.parametrize("scale", [1e-25, 1e-10, 1e10])
def test_the_sphere_holds_every_finite_row(scale: float) -> None:
    """Fitted on tiny rows, a matrix is huge; the product with a huge row is not a float32."""
    whitening = Whitening().fit(vectors(500) * np.float32(scale))
    for row in (np.full((1, DIM), 1e17), np.full((1, DIM), -1e17), np.full((1, DIM), 1e-42), vectors(1) * 1e15):
        projected = whitening.project(row.astype(np.float32))
        assert np.isfinite(projected).all()
        assert np.linalg.norm(projected) == pytest.approx(np.sqrt(projected.shape[1]), rel=1e-3)


def test_without_a_sphere_what_float32_cannot_hold_is_refused() -> None:
    index = VectorIndex(DIM, whitener=Whitening(sphere=False))
    index.add(vectors(1200) * np.float32(1e-25))
    before = index.search(vectors(1) * np.float32(1e-25)).ids.tolist()
    for call in (index.add, index.search):
        with pytest.raises(InputError, match="float32 cannot hold it"):
            call(np.full((1, DIM), 1e17, np.float32))
    assert index.search(vectors(1) * np.float32(1e-25)).ids.tolist() == before
    index.check()


# -- one long vector at the fit ---------------------------------------------------------------------


def test_one_long_vector_changes_nothing_for_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """3,000 unit vectors, one of them scaled by 500, left 1 dimension and a recall of next to nothing."""
    E = vectors(3000, 64)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    queries = E[:100] + 0.1 * vectors(100, 64, seed=1)
    long = E.copy()
    long[1234] *= 500
    found = {}
    for name, rows in (("unit", E), ("long", long)):
        index = VectorIndex(64)
        caplog.clear()
        index.add(rows)
        assert ("should be normalised" in caplog.text) == (name == "long")
        assert index.whitener is not None
        assert index.whitener.n_components_ > 50
        found[name] = index.search(queries, k=10).ids
    same = [len(set(a) & set(b)) / 10 for a, b in zip(*map(np.ndarray.tolist, found.values()), strict=True)]
    assert np.mean(same) > 0.97


def test_a_document_far_out_is_taken_and_told(caplog: pytest.LogCaptureFixture) -> None:
    index = VectorIndex(DIM)
    index.add(vectors(1200))
    with caplog.at_level(logging.WARNING):
        index.add(vectors(1) * 1e6, ids=[7_000])
    assert "id 7000" in caplog.text
    assert 7_000 in index


def test_rows_are_shortened_only_where_length_does_not_count() -> None:
    E = vectors(500)
    E[3] *= 100
    plain = Whitening(sphere=False, strength=1.0).fit(E)
    spread = np.cov(plain.project(E).T, ddof=0)
    assert np.allclose(spread, np.eye(len(spread)), atol=1e-3), "the paper's recipe is exact whatever the rows"


# -- vectors of another length in an empty index ----------------------------------------------------


@pytest.mark.parametrize("encoder", ["minilm", encode])
def test_prepared_vectors_must_be_of_the_encoders_length(tmp_path: Path, encoder: Any) -> None:
    """They were committed, and then no text could be added or searched for, ever again."""
    with Index.create(tmp_path / "a.gsm", encoder) as index:
        with pytest.raises(DimensionError, match=r"have 5 dimensions, but the index's encoder .* gives \d+"):
            index.add("five", vectors=[[1.0, 2, 3, 4, 5]])
        assert len(index) == index.info().operation == 0
    with Index.open(tmp_path / "a.gsm", encoder) as index:
        assert index.info().dim is None


def test_a_function_for_show_says_nothing_about_length(tmp_path: Path) -> None:
    with Index.create(tmp_path / "a.gsm", never) as index:
        index.add("five", vectors=[[1.0, 2, 3, 4, 5]])
        assert index.info().dim == 5


# -- memory -----------------------------------------------------------------------------------------


def out_of_memory(*args: Any, **kwargs: Any) -> Any:
    raise MemoryError("out of memory")


def test_memory_too_small_for_a_second_tree_is_no_reason_to_refuse_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A doubling calls for another tree, and enough documents for a whitener."""
    path = tmp_path / "a.gsm"
    with Index.create(path, never) as index:
        index.add([f"t{at}" for at in range(600)], vectors=vectors(600))
        monkeypatch.setattr(Whitening, "fit", out_of_memory)
        index.add([f"u{at}" for at in range(700)], vectors=vectors(700, seed=1))
        assert "too little memory to agglomerate 1300 documents" in caplog.text
        index.check()
        assert len(index) == 1300
    monkeypatch.undo()
    with Index.open(path, never) as index:
        index.check()
        assert len(index) == 1300


def test_memory_too_small_for_the_first_tree_refuses_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.create(tmp_path / "a.gsm", never) as index:
        monkeypatch.setattr(Whitening, "fit", out_of_memory)
        with pytest.raises(OutOfMemoryError, match="nothing was changed"):
            index.add([f"t{at}" for at in range(1100)], vectors=vectors(1100))
        assert (len(index), index.info().operation) == (0, 0)
        monkeypatch.undo()
        index.add([f"t{at}" for at in range(1100)], vectors=vectors(1100))
        index.check()
