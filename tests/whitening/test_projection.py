"""Projection: the result for a row depends on that row alone, and is finite for every finite row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.whitening.spectrum import CHUNK_ROWS
from gossamer.whitening.whitener import Whitener
from whitening.data import embeddings


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 60),
    dim=st.integers(1, 40),
    strength=st.sampled_from([0.0, 0.3, 1.0, "auto"]),
    scale=st.sampled_from([1e-25, 1.0, 1e16]),
)
def test_sphere_rows_have_length_root_d(n: int, dim: int, strength: Any, scale: float) -> None:
    X = embeddings(n, dim) * np.float32(scale)
    w = Whitener(strength=strength).fit(X)
    Y = w.transform(X)
    if w.n_components_ == 1:  # a sphere of one dimension is two points: everything would be one or the other
        assert len(np.unique(Y)) == len(np.unique(X, axis=0))
        return
    np.testing.assert_allclose(np.linalg.norm(Y, axis=1), np.sqrt(w.n_components_), rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-18, 1e17])
def test_one_far_or_near_query_lands_on_the_sphere(scale: float) -> None:
    """Squares of these leave float32's range, alone (the fast way) and in a batch."""
    w = Whitener(strength=1).fit(embeddings())
    w.mean_[:] = 0
    q = np.full((1, 24), scale, dtype=np.float32)
    radius = np.sqrt(w.n_components_)
    assert np.linalg.norm(w.transform(q)) == pytest.approx(radius, rel=1e-5)
    np.testing.assert_allclose(np.linalg.norm(w.transform(np.repeat(q, 3, axis=0)), axis=1), radius, rtol=1e-5)


def test_the_mean_itself_stays_at_the_centre() -> None:
    w = Whitener().fit(embeddings(offset=1.0))
    for n in (1, 3):  # one row goes another way through the code than several
        assert not w.transform(np.tile(w.mean_, (n, 1))).any()


def test_a_large_offset_costs_no_precision() -> None:
    """Taking mean·P off after the product would lose three digits here."""
    X = np.round(embeddings() * 2**12) / 2**12  # so that adding 64 is exact in float32
    near = Whitener(strength=1, sphere=False, n_components=10).fit_transform(X)
    far = Whitener(strength=1, sphere=False, n_components=10).fit_transform(X + np.float32(64))
    np.testing.assert_allclose(far, near, atol=2e-4)


def test_equal_rows_of_one_call_stay_equal() -> None:
    X = embeddings(CHUNK_ROWS + 1)
    X[-1] = X[0]
    Y = Whitener().fit_transform(X)
    assert Y[-1].tobytes() == Y[0].tobytes()


def test_project_is_transform_without_the_checks() -> None:
    X = embeddings()
    w = Whitener().fit(X)
    assert w.project(X).tobytes() == w.transform(X).tobytes()
    assert w.components_.T.flags.c_contiguous  # the faster layout for one query
    np.testing.assert_allclose(w.project(X[:1]), w.project(X)[:1], atol=1e-5)


def test_a_row_never_depends_on_the_rows_beside_it() -> None:
    """Bit for bit: otherwise equal documents that came in different batches would not share a leaf."""
    E = np.random.default_rng(0).normal(size=(257, 45)).astype(np.float32)
    for sphere in (False, True):
        whitener = Whitener(n_components=33, sphere=sphere, strength=0.5).fit(E)
        together = whitener.transform(E)
        for start, stop in ((0, 1), (5, 7), (100, 103), (11, 200), (256, 257)):
            assert whitener.transform(E[start:stop]).tobytes() == together[start:stop].tobytes()
