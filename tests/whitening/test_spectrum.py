"""The spectrum of a corpus: principal axes, directions without variance, and the rotation of ICA."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from gossamer.errors import ParameterError
from gossamer.whitening.eigen import eigenpairs
from gossamer.whitening.spectrum import (
    chunks,
    corpus_moments,
    eigenpairs_by_covariance,
    eigenpairs_by_gram,
    ica_rotation,
)
from gossamer.whitening.whitener import Whitener
from whitening.data import Array, covariance, embeddings, mixed_sources, squared_distances


def test_share_of_variance_keeps_as_few_components_as_hold_it() -> None:
    X = embeddings()
    eigenvalues = np.linalg.eigvalsh(np.cov(X.astype(np.float64).T, ddof=0))[::-1]
    for share in (0.1, 0.5, 0.9, 0.96):
        d = Whitener(n_components=share).fit(X).n_components_
        assert eigenvalues[:d].sum() >= share * eigenvalues.sum() > eigenvalues[: d - 1].sum()
    assert Whitener(n_components=7).fit(X).n_components_ == 7


def test_chunks_cover_every_row_and_none_is_short() -> None:
    for n in range(60):
        found = list(chunks(n, 10))
        assert [i for c in found for i in range(n)[c]] == list(range(n))
        sizes = [c.stop - c.start for c in found]
        assert max(sizes, default=0) <= 10
        assert n <= 10 or min(sizes) >= 5


@pytest.mark.parametrize("n", [2, 3, 10, 23])
def test_fewer_rows_than_dimensions(n: int) -> None:
    X = embeddings(n)
    w = Whitener(n_components=1.0, strength=1, sphere=False).fit(X)
    assert w.n_components_ == n - 1  # n points span n − 1 directions
    np.testing.assert_allclose(covariance(w.transform(X)), np.eye(n - 1), atol=1e-4)


def test_gram_and_covariance_agree_where_both_apply() -> None:
    table = embeddings(40, offset=0.2)
    moments = corpus_moments(table)
    variances, axes = eigenpairs_by_covariance(table, moments)
    by_gram, longer = eigenpairs_by_gram(table, moments)
    np.testing.assert_allclose(by_gram[-10:], variances[-10:], rtol=1e-5)
    products = np.einsum("ij,ij->j", axes[:, -5:], longer[:, -5:]) / np.linalg.norm(longer[:, -5:], axis=0)
    np.testing.assert_allclose(np.abs(products), 1, atol=1e-4)


@pytest.mark.parametrize("constant", [0.0, 0.1, -7e4])
@pytest.mark.parametrize("n", [12, 400])
def test_constant_columns_are_dropped(n: int, constant: float) -> None:
    X = embeddings(n, 16) * np.float32(100)
    X[:, 3:12] = constant
    w = Whitener(n_components=1.0, strength=1).fit(X)
    assert w.n_components_ == min(7, n - 1)
    assert np.abs(w.components_[:, 3:12]).max() < 1e-3 * np.abs(w.components_).max()
    assert np.isfinite(w.transform(X)).all()


def test_dependent_columns_are_dropped() -> None:
    X = embeddings(2000, 8) @ np.random.default_rng(0).normal(size=(8, 40)).astype(np.float32)
    w = Whitener(n_components=40, strength=1, sphere=False).fit(X)
    assert w.n_components_ == 8
    np.testing.assert_allclose(covariance(w.transform(X)), np.eye(8), atol=1e-3)


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 50),
    dim=st.integers(1, 12),
    value=st.floats(-(2.0**56), 2.0**56, width=32),
    n_components=st.sampled_from([0.96, 1.0, 1]),
    ica=st.booleans(),
)
def test_no_spread_means_the_coordinate_axes(
    n: int, dim: int, value: float, n_components: float | int, ica: bool
) -> None:
    """One row, or copies of one: nothing is divided by, and other vectors are still told apart."""
    X = np.full((n, dim), value, dtype=np.float32) / np.arange(1, dim + 1, dtype=np.float32)
    w = Whitener(n_components=n_components, sphere=False, ica=ica).fit(X)
    d = 1 if isinstance(n_components, int) else dim
    np.testing.assert_array_equal(w.components_, np.eye(dim)[:d])
    assert not w.transform(X).any()
    assert not w.explained_variance_.any()


def test_no_spread_on_the_sphere_is_finite() -> None:
    w = Whitener().fit(np.ones((5, 4)))
    assert not w.transform(np.ones((2, 4))).any()
    np.testing.assert_allclose(w.transform([[2.0, 1, 1, 1]]), [[2, 0, 0, 0]])


@pytest.mark.parametrize("n", [6, 300])
def test_differences_in_the_last_bit_are_no_spread(n: int) -> None:
    row = embeddings(1, 20)
    X = np.where(np.random.default_rng(0).random((n, 20)) < 0.5, row, np.nextafter(row, np.float32(9)))
    np.testing.assert_array_equal(Whitener(n_components=1.0).fit(X).components_, np.eye(20))


def test_values_too_small_to_divide_by_count_as_no_spread() -> None:
    X = embeddings() * np.float32(1e-38)
    np.testing.assert_array_equal(Whitener(n_components=1.0).fit(X).components_, np.eye(24))


def test_mean_cosine_is_that_of_all_pairs() -> None:
    X = embeddings(70, offset=0.02)
    X[[5, 60]] = 0  # no direction: left out
    U = np.delete(X, [5, 60], axis=0).astype(np.float64)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    pairs = (U @ U.T)[np.triu_indices(len(U), 1)]
    assert Whitener().fit(X).mean_cosine_ == pytest.approx(pairs.mean(), abs=1e-9)


def test_ica_is_a_rotation_that_finds_the_sources() -> None:
    sources, X = mixed_sources()
    plain = Whitener(n_components=1.0, strength=1, sphere=False).fit(X)
    turned = Whitener(n_components=1.0, strength=1, sphere=False, ica=True).fit(X)
    rotation = turned.components_.astype(np.float64) @ np.linalg.pinv(plain.components_.astype(np.float64))
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-5)
    assert np.abs(rotation - np.eye(5)).max() > 0.1
    Y = turned.transform(X)
    before = squared_distances(plain.transform(X[:50]))
    np.testing.assert_allclose(squared_distances(Y[:50]), before, atol=1e-4 * before.max())
    np.testing.assert_allclose(covariance(Y), np.eye(5), atol=1e-4)
    correlations = np.abs(np.corrcoef(Y.T, sources.T)[:5, 5:])
    assert (correlations.max(axis=1) > 0.98).all()
    assert (np.abs(np.corrcoef(plain.transform(X).T, sources.T)[:5, 5:]).max(axis=1) < 0.98).any()


def test_ica_looks_at_a_bounded_seeded_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.decomposition import FastICA

    seen: list[Array] = []
    original = FastICA.fit

    def spy(self: Any, Z: Array) -> Any:
        seen.append(Z)
        return original(self, Z)

    monkeypatch.setattr(FastICA, "fit", spy)
    _, X = mixed_sources()
    plain = Whitener(n_components=1.0, strength=1, sphere=False).fit(X)
    for seed in (0, 0, 1):
        ica_rotation(X, plain.mean_, plain.components_.astype(np.float64), seed, most_rows=500)
    assert {Z.shape[0] for Z in seen} == {500}
    assert {Z.dtype for Z in seen} == {np.dtype(np.float32)}
    # A sample of white rows is not white; unless it is whitened again, ICA does not converge, and warns.
    np.testing.assert_allclose(covariance(seen[0]), np.eye(5), atol=1e-5)
    assert seen[0].tobytes() == seen[1].tobytes() != seen[2].tobytes()


def test_ica_survives_a_sample_that_misses_a_direction() -> None:
    _, X = mixed_sources()
    X = np.hstack([X, np.zeros((len(X), 1), dtype=np.float32)])
    X[7, 5] = 100  # one row carries this direction, and the sample is without it
    assert 7 not in np.random.default_rng(0).choice(len(X), 100, replace=False)
    plain = Whitener(n_components=1.0, strength=1, sphere=False).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rotation = ica_rotation(X, plain.mean_, plain.components_.astype(np.float64), 0, most_rows=100)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(6), atol=1e-10)


def test_ica_that_does_not_converge_warns_once_and_is_a_rotation_all_the_same() -> None:
    _, X = mixed_sources(300)
    plain = Whitener(n_components=1.0, strength=1, sphere=False).fit(X)
    with pytest.warns(ConvergenceWarning) as caught:
        rotation = ica_rotation(X, plain.mean_, plain.components_.astype(np.float64), 0, iterations=1)
    assert [str(c.message)[:45] for c in caught] == ["ICA did not converge in 1 iterations over 300"]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-10)


def test_a_warning_of_ica_names_the_line_that_called_fit() -> None:
    X = np.random.default_rng(0).normal(size=(400, 8))  # nothing but noise: there are no independent axes to find
    with pytest.warns(ConvergenceWarning) as caught:
        Whitener(n_components=1.0, ica=True).fit(X)
    assert caught[0].filename == __file__


def test_ica_means_full_strength() -> None:
    _, X = mixed_sources(300)
    assert Whitener(ica=True).fit(X).strength_ == 1
    with pytest.raises(ParameterError, match=r"ica=True needs strength=1, got strength=0\.5.*set strength=1"):
        Whitener(ica=True, strength=0.5).fit(X)


def test_ica_of_one_component_has_nothing_to_turn() -> None:
    _, X = mixed_sources(300)
    a, b = (Whitener(n_components=1, strength=1, ica=ica).fit(X) for ica in (False, True))
    assert a.components_.tobytes() == b.components_.tobytes()


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from(["general", "low rank", "equal", "graded"]))
def test_eigenpairs_are_those_of_lapack(dim: int, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(dim if kind != "low rank" else max(1, dim // 3), dim))
    A = A * (np.geomspace(1, 1e-6, dim) if kind == "graded" else 1.0)
    matrix = np.eye(dim) * 3.5 if kind == "equal" else A.T @ A
    values, vectors = eigenpairs(matrix)
    scale = max(float(values[-1]), 1e-300)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-13 * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(dim), atol=1e-13)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-13 * scale)
