"""The whitener: the moments of its output, input on which it must not stumble, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import gossamer.whitening.spectrum
from gossamer.errors import (
    CorruptError,
    DimensionError,
    DtypeError,
    GossamerError,
    InputError,
    NotAnIndexError,
    NotFiniteError,
    ParameterError,
    StateError,
)
from gossamer.files.bundle import Bundle, fold, write_bundle
from gossamer.whitening.whitener import Whitener
from gossamer.whitening.whitening import auto_strength

Array = npt.NDArray[Any]


def embeddings(n: int = 600, dim: int = 24, seed: int = 0, offset: float = 0.0) -> Array:
    """Correlated vectors: a spectrum that falls by a factor of about 100, turned into general position."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    spread = 0.1 * np.geomspace(1, 0.1, dim)
    X: Array = ((rng.normal(size=(n, dim)) * spread) @ turn + offset).astype(np.float32)
    return X


def covariance(Y: Array) -> Array:
    return np.cov(Y.astype(np.float64).T, ddof=0).reshape(Y.shape[1], -1)


def squared_distances(Y: Array) -> Array:
    Y = Y.astype(np.float64)
    squares: Array = np.square(Y[:, None] - Y[None]).sum(axis=-1)
    return squares


# ---------------------------------------------------------------- moments


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(40, 300),
    dim=st.integers(1, 30),
    scale=st.sampled_from([1e-20, 1e-6, 1.0, 1e6, 1e16]),
    seed=st.integers(0, 9),
)
def test_full_strength_gives_identity_covariance_at_any_scale(n: int, dim: int, scale: float, seed: int) -> None:
    X = embeddings(n, dim, seed) * np.float32(scale)
    Y = Whitener(n_components=1.0, strength=1, sphere=False).fit_transform(X)
    assert Y.shape == (n, dim)
    np.testing.assert_allclose(Y.mean(axis=0, dtype=np.float64), 0, atol=1e-5)
    np.testing.assert_allclose(covariance(Y), np.eye(dim), atol=2e-4)


@pytest.mark.parametrize("strength", [0.0, 0.25, 0.5, 1.0])
def test_components_are_uncorrelated_with_variances_of_the_formula(strength: float) -> None:
    X = embeddings()
    w = Whitener(n_components=10, strength=strength, sphere=False).fit(X)
    C = covariance(w.transform(X))
    eigenvalues = np.linalg.eigvalsh(np.cov(X.astype(np.float64).T, ddof=0))[::-1][:10]
    np.testing.assert_allclose(w.explained_variance_, eigenvalues, rtol=1e-4)
    expected = eigenvalues ** (1 - strength)
    np.testing.assert_allclose(C, np.diag(expected / expected.mean()), atol=1e-4 * expected[0] / expected.mean())


def test_strength_flattens_the_spectrum_and_keeps_its_mean_at_one() -> None:
    X = embeddings()
    ratios = []
    for strength in np.linspace(0, 1, 6):
        variances = Whitener(1.0, float(strength), sphere=False).fit_transform(X).var(axis=0)
        assert variances.mean() == pytest.approx(1, rel=1e-4)
        ratios.append(variances.max() / variances.min())
    assert all(later < earlier for earlier, later in pairwise(ratios))
    assert ratios[0] > 20
    assert ratios[-1] == pytest.approx(1, rel=1e-3)


def test_strength_zero_keeps_distances_up_to_one_factor() -> None:
    X = embeddings(80)
    Y = Whitener(n_components=1.0, strength=0, sphere=False).fit_transform(X)
    before, after = squared_distances(X), squared_distances(Y)
    np.testing.assert_allclose(after / after.max(), before / before.max(), atol=1e-5)


def test_share_of_variance_keeps_as_few_components_as_hold_it() -> None:
    X = embeddings()
    eigenvalues = np.linalg.eigvalsh(np.cov(X.astype(np.float64).T, ddof=0))[::-1]
    for share in (0.1, 0.5, 0.9, 0.96):
        d = Whitener(n_components=share).fit(X).n_components_
        assert eigenvalues[:d].sum() >= share * eigenvalues.sum() > eigenvalues[: d - 1].sum()
    assert Whitener(n_components=7).fit(X).n_components_ == 7


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


def test_sphere_has_mean_variance_near_one() -> None:
    assert Whitener().fit_transform(embeddings(3000)).var(axis=0).mean() == pytest.approx(1, abs=0.01)


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


# ---------------------------------------------------------------- determinism


@pytest.mark.parametrize("ica", [False, True])
@pytest.mark.parametrize("n", [15, 600])
def test_same_input_same_bytes_and_fixed_signs(n: int, ica: bool) -> None:
    X = np.random.default_rng(1).laplace(size=(n, 24)) @ np.diag(np.geomspace(1, 0.1, 24))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a, b = (Whitener(ica=ica, n_components=8).fit(X) for _ in range(2))
    assert a.components_.tobytes() == b.components_.tobytes()
    assert a.transform(X).tobytes() == b.transform(X).tobytes()
    rows = np.arange(len(a.components_))
    assert (a.components_[rows, np.abs(a.components_).argmax(axis=1)] > 0).all()


def test_turning_the_data_round_does_not_flip_a_sign() -> None:
    X = embeddings()
    np.testing.assert_allclose(Whitener().fit(-X).components_, Whitener().fit(X).components_, rtol=1e-3, atol=1e-4)


def test_row_order_hardly_matters() -> None:
    X = embeddings()
    a, b = Whitener().fit(X), Whitener().fit(X[::-1])
    np.testing.assert_allclose(a.transform(X), b.transform(X), atol=1e-3)


def test_chunks_cover_every_row_and_none_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossamer.whitening.spectrum, "_CHUNK_ROWS", 10)
    for n in range(60):
        chunks = list(gossamer.whitening.spectrum.chunks(n))
        assert [i for c in chunks for i in range(n)[c]] == list(range(n))
        sizes = [c.stop - c.start for c in chunks]
        assert max(sizes, default=0) <= 10
        assert n <= 10 or min(sizes) >= 5


def test_many_chunks_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    X = embeddings(700, offset=0.3)
    whole = Whitener(strength=0.5).fit(X)
    expected = whole.transform(X)
    monkeypatch.setattr(gossamer.whitening.spectrum, "_CHUNK_ROWS", 64)
    parts = Whitener(strength=0.5).fit(X)
    assert parts.mean_cosine_ == pytest.approx(whole.mean_cosine_, rel=1e-9)
    np.testing.assert_allclose(parts.transform(X), expected, atol=1e-3)


def test_equal_rows_of_one_call_stay_equal() -> None:
    n = gossamer.whitening.spectrum._CHUNK_ROWS + 1
    X = embeddings(n)
    X[-1] = X[0]
    Y = Whitener().fit_transform(X)
    assert Y[-1].tobytes() == Y[0].tobytes()


# ---------------------------------------------------------------- awkward input


@pytest.mark.parametrize("n", [2, 3, 10, 23])
def test_fewer_rows_than_dimensions(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gossamer.whitening.spectrum, "_from_covariance")  # few rows never make a D × D matrix
    X = embeddings(n)
    w = Whitener(n_components=1.0, strength=1, sphere=False).fit(X)
    assert w.n_components_ == n - 1  # n points span n − 1 directions
    np.testing.assert_allclose(covariance(w.transform(X)), np.eye(n - 1), atol=1e-4)


def test_gram_and_covariance_agree_where_both_apply() -> None:
    table = embeddings(40, offset=0.2)
    moments = gossamer.whitening.spectrum.first_look(table)
    by_covariance, axes = gossamer.whitening.spectrum._from_covariance(table, moments)
    by_gram, lifted = gossamer.whitening.spectrum._from_gram(table, moments)
    np.testing.assert_allclose(by_gram[-10:], by_covariance[-10:], rtol=1e-5)
    cosines = np.einsum("ij,ij->j", axes[:, -5:], gossamer.whitening.spectrum._unit_columns(lifted[:, -5:]))
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-4)


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


def test_repeating_every_row_changes_nothing() -> None:
    X = embeddings()
    once, thrice = (Whitener(strength=0.5).fit(np.repeat(X, k, axis=0)) for k in (1, 3))
    np.testing.assert_allclose(thrice.transform(X), once.transform(X), atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int16, ">f4"])
def test_any_real_dtype_gives_what_its_float32_gives(dtype: Any) -> None:
    X = (embeddings() * 1000).astype(dtype)
    same = X.astype(np.float32)
    w = Whitener().fit(X)
    assert w.components_.tobytes() == Whitener().fit(same).components_.tobytes()
    Y = w.transform(X)
    assert Y.dtype == np.float32
    assert Y.flags.c_contiguous
    assert Y.tobytes() == w.transform(same).tobytes()


def test_layout_of_the_input_does_not_matter_and_input_is_left_alone() -> None:
    X = embeddings()
    before = X.copy()
    X.flags.writeable = False
    w = Whitener().fit(X)
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        assert w.transform(same).tobytes() == w.transform(X).tobytes()
        assert w.transform(same).flags.c_contiguous
    np.testing.assert_array_equal(X, before)


def test_project_is_transform_without_the_checks() -> None:
    X = embeddings()
    w = Whitener().fit(X)
    assert w.project(X).tobytes() == w.transform(X).tobytes()
    assert w.components_.T.flags.c_contiguous  # the faster layout for one query
    np.testing.assert_allclose(w.project(X[:1]), w.project(X)[:1], atol=1e-5)


def test_no_rows_to_transform() -> None:
    w = Whitener(n_components=5).fit(embeddings())
    assert w.transform(np.empty((0, 24))).shape == (0, 5)


# ---------------------------------------------------------------- auto strength


def test_mean_cosine_is_that_of_all_pairs() -> None:
    X = embeddings(70, offset=0.02)
    X[[5, 60]] = 0  # no direction: left out
    U = np.delete(X, [5, 60], axis=0).astype(np.float64)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    pairs = (U @ U.T)[np.triu_indices(len(U), 1)]
    assert Whitener().fit(X).mean_cosine_ == pytest.approx(pairs.mean(), abs=1e-9)


def test_auto_strength_is_weak_for_isotropic_and_full_for_anisotropic_rows() -> None:
    isotropic = Whitener().fit(np.random.default_rng(0).normal(size=(2000, 64)))
    assert abs(isotropic.mean_cosine_) < 0.01
    assert 0.25 <= isotropic.strength_ < 0.27
    anisotropic = Whitener().fit(np.random.default_rng(0).normal(size=(2000, 64)) + 1.5)
    assert anisotropic.mean_cosine_ > 0.6
    assert anisotropic.strength_ == 1


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_auto_strength_is_monotone_and_in_range(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0.25 <= auto_strength(low) <= auto_strength(high) <= 1


def test_auto_equals_the_number_it_chose() -> None:
    X = embeddings(offset=0.02)
    auto = Whitener().fit(X)
    assert 0.3 < auto.strength_ < 0.95
    given_ = Whitener(strength=auto.strength_).fit(X)
    assert given_.components_.tobytes() == auto.components_.tobytes()
    assert Whitener(strength=0.0).fit(X).strength_ == 0


# ---------------------------------------------------------------- ICA


def mixed_sources(n: int = 2000, dim: int = 5) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    sources = rng.laplace(size=(n, dim))
    return sources, (sources @ rng.normal(size=(dim, dim))).astype(np.float32)


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
    monkeypatch.setattr(gossamer.whitening.spectrum, "_ICA_ROWS", 500)
    _, X = mixed_sources()
    for seed in (0, 0, 1):
        Whitener(n_components=1.0, ica=True, random_state=seed).fit(X)
    assert {Z.shape[0] for Z in seen} == {500}
    assert {Z.dtype for Z in seen} == {np.dtype(np.float32)}
    # A sample of white rows is not white; unless that is mended, this warns that it does not settle.
    np.testing.assert_allclose(covariance(seen[0]), np.eye(5), atol=1e-5)
    assert seen[0].tobytes() == seen[1].tobytes() != seen[2].tobytes()


def test_ica_survives_a_sample_that_misses_a_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossamer.whitening.spectrum, "_ICA_ROWS", 100)
    _, X = mixed_sources()
    X = np.hstack([X, np.zeros((len(X), 1), dtype=np.float32)])
    X[7, 5] = 100  # one row carries this direction, and the sample is without it
    assert 7 not in np.random.default_rng(0).choice(len(X), 100, replace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Y = Whitener(n_components=1.0, ica=True, sphere=False).fit_transform(X)
    np.testing.assert_allclose(covariance(Y), np.eye(6), atol=1e-3)


def test_ica_that_does_not_settle_warns_once_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossamer.whitening.spectrum, "_ICA_ITERATIONS", 1)
    _, X = mixed_sources(300)
    with pytest.warns(ConvergenceWarning) as caught:
        w = Whitener(ica=True, sphere=False).fit(X)
    assert [str(c.message)[:39] for c in caught] == ["ICA did not settle in 1 iterations over"]
    assert caught[0].filename == __file__
    np.testing.assert_allclose(covariance(w.transform(X)), np.eye(w.n_components_), atol=1e-4)


def test_ica_means_full_strength() -> None:
    _, X = mixed_sources(300)
    assert Whitener(ica=True).fit(X).strength_ == 1
    with pytest.raises(ParameterError, match=r"ica=True needs strength=1, got strength=0\.5.*set strength=1"):
        Whitener(ica=True, strength=0.5).fit(X)


def test_ica_of_one_component_has_nothing_to_turn() -> None:
    _, X = mixed_sources(300)
    a, b = (Whitener(n_components=1, strength=1, ica=ica).fit(X) for ica in (False, True))
    assert a.components_.tobytes() == b.components_.tobytes()


def test_paper() -> None:
    assert Whitener.paper().get_params() == {
        "n_components": 0.96,
        "strength": 1.0,
        "sphere": False,
        "ica": True,
        "random_state": 0,
    }


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"strength": 2}, r"strength=2 is out of range: choose 0"),
        ({"strength": -0.1}, r"strength=-0\.1"),
        ({"strength": float("nan")}, "strength=nan"),
        ({"strength": "full"}, "'auto', got 'full'"),
        ({"strength": True}, "got True"),
        ({"strength": None}, "got None"),
        ({"n_components": 0}, r"n_components=0 .*24 dimensions, so choose 1 to 24"),
        ({"n_components": 25}, r"n_components=25 .*1 to 24"),
        ({"n_components": 0.0}, r"n_components=0\.0 .*\(0, 1\]"),
        ({"n_components": 1.5}, r"n_components=1\.5 .*use an int"),
        ({"n_components": float("nan")}, "n_components=nan"),
        ({"n_components": "all"}, "got 'all'"),
        ({"n_components": True}, "got True"),
        ({"sphere": "no"}, "sphere must be True or False, got 'no'"),
        ({"ica": 1}, "ica must be True or False, got 1"),
        ({"random_state": None}, "random_state .*got None: use 0"),
        ({"random_state": -1}, "got -1"),
        ({"random_state": True}, "got True"),
    ],
)
def test_bad_parameters_are_refused_at_fit(params: dict[str, Any], message: str) -> None:
    w = Whitener(**params)
    with pytest.raises(ParameterError, match=message):
        w.fit(embeddings())
    assert not hasattr(w, "components_")


def test_bad_input_is_refused_by_its_own_error() -> None:
    good = embeddings(50)
    w = Whitener().fit(good)
    for call in (w.transform, Whitener().fit):
        bad = good.copy()
        bad[31, 2] = np.nan
        with pytest.raises(NotFiniteError, match="X: row 31 holds NaN"):
            call(bad)
        with pytest.raises(InputError, match=r"row 0 holds 1e\+30"):
            call(np.full((2, 24), 1e30))
        with pytest.raises(DimensionError, match=r"shape \(24,\)\. Reshape your data"):
            call(good[0])
        with pytest.raises(DimensionError, match="rows differ in length"):
            call([[1.0, 2.0], [1.0]])
        with pytest.raises(DimensionError, match="0 feature"):
            call(np.empty((3, 0)))
        with pytest.raises(DtypeError, match="dtype <U1"):
            call([["a"] * 24])
        with pytest.raises(DtypeError, match="Complex"):
            call(good.astype(complex))
        with pytest.raises(DtypeError, match=r"sparse.*toarray"):
            call(csr_array(good))
    with pytest.raises(DimensionError, match="X has 23 features, but Whitener is expecting 24 features as input"):
        w.transform(good[:, 1:])
    with pytest.raises(InputError, match="X has 0 rows; fitting needs at least 1"):
        Whitener().fit(good[:0])


def test_a_bad_row_is_numbered_over_all_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossamer.whitening.spectrum, "_CHUNK_ROWS", 10)
    X = embeddings(50)
    X[37, 0] = np.inf
    with pytest.raises(NotFiniteError, match="row 37 "):
        Whitener().fit(X)


def test_a_fit_that_fails_leaves_the_whitener_as_it_was() -> None:
    X = embeddings()
    w = Whitener().fit(X)
    before = w.transform(X)
    with pytest.raises(NotFiniteError):
        w.fit(np.full((9, 7), np.nan))
    assert w.n_features_in_ == 24
    assert w.transform(X).tobytes() == before.tobytes()


def test_unfitted_is_an_error_of_both_families(tmp_path: Path) -> None:
    w = Whitener()
    calls: list[tuple[Any, Any]] = [(w.transform, embeddings()), (w.save, tmp_path / "w")]
    for method, argument in calls:
        with pytest.raises(StateError, match="call fit") as caught:
            method(argument)
        assert isinstance(caught.value, GossamerError)
        assert isinstance(caught.value, SklearnNotFittedError)
    assert not (tmp_path / "w").exists()


# ---------------------------------------------------------------- disk


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_components": np.int64(3), "strength": np.float32(0.5), "sphere": np.bool_(False)},
        {"n_components": 1, "strength": 1, "ica": True, "random_state": 7},
    ],
    ids=["default", "numpy scalars", "one component"],
)
@pytest.mark.parametrize("n", [10, 500])
def test_loaded_transforms_bit_for_bit(params: dict[str, Any], n: int, tmp_path: Path) -> None:
    X = embeddings(n, offset=0.1)
    w = Whitener(**params).fit(X)
    w.save(tmp_path / "w")
    loaded = Whitener.load(tmp_path / "w")
    for rows in (X, X[:1], X[:3]):
        assert loaded.transform(rows).tobytes() == w.transform(rows).tobytes()
    assert loaded.get_params() == w.get_params()
    for name in ("strength_", "mean_cosine_", "n_components_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(w, name)
    for name in ("mean_", "components_", "explained_variance_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(w, name), strict=True)
    assert loaded.fit(X).transform(X).tobytes() == w.transform(X).tobytes()


def test_folded_into_another_bundle() -> None:
    X = embeddings()
    w = Whitener().fit(X)
    outer = fold({"whitener": w.to_bundle()}, {"dim": 24}, {"tree": np.zeros(3)})
    json.dumps(outer.params)
    assert Whitener.from_bundle(outer.part("whitener")).transform(X).tobytes() == w.transform(X).tobytes()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    Whitener().fit(embeddings()).save(tmp_path)
    (arrays,) = tmp_path.glob("arrays-*")
    blob = bytearray(arrays.read_bytes())
    blob[len(blob) // 2] ^= 1
    arrays.write_bytes(blob)
    with pytest.raises(CorruptError, match="altered"):
        Whitener.load(tmp_path)
    with pytest.raises(NotAnIndexError):
        Whitener.load(tmp_path / "nothing here")


def test_a_bundle_of_something_else_is_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path, "tree", Bundle({}, {"mean": np.zeros(2)}))
    with pytest.raises(NotAnIndexError, match="holds a tree, not a whitener"):
        Whitener.load(tmp_path)


@pytest.mark.parametrize("name", ["mean", "components", "explained_variance", "strength", "fitted_strength"])
def test_an_incomplete_bundle_is_refused(name: str) -> None:
    bundle = Whitener().fit(embeddings()).to_bundle()
    for part in (bundle.arrays, bundle.params):
        part.pop(name, None)
    with pytest.raises(CorruptError, match=f"lacks '{name}'"):
        Whitener.from_bundle(bundle)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    bundle = Whitener().fit(embeddings()).to_bundle()
    bundle.arrays["mean"] = bundle.arrays["mean"][1:]
    with pytest.raises(CorruptError, match=r"shape \(23,\)"):
        Whitener.from_bundle(bundle)


# ---------------------------------------------------------------- scikit-learn


def expected_failures(_: Whitener) -> dict[str, str]:
    return {"check_dtype_object": "arrays of Python objects are refused, with the conversion to use"}


@parametrize_with_checks([Whitener()], expected_failed_checks=expected_failures)  # type: ignore[untyped-decorator]
def test_scikit_learn_estimator(estimator: Whitener, check: Any) -> None:
    check(estimator)


def test_feature_names_out() -> None:
    w = Whitener(n_components=2).fit(embeddings())
    assert list(w.get_feature_names_out()) == ["whitener0", "whitener1"]


def test_names_of_columns_are_checked() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(embeddings(dim=3), columns=["a", "b", "c"])
    w = Whitener().fit(frame)
    assert list(w.feature_names_in_) == ["a", "b", "c"]
    assert w.transform(frame).tobytes() == w.fit(frame.to_numpy()).transform(frame.to_numpy()).tobytes()
    with pytest.raises(ValueError, match="feature names should match"):
        Whitener().fit(frame).transform(frame[["b", "a", "c"]])


@pytest.mark.parametrize(
    ("code", "spared"),
    [
        ("import gossamer.whitening.whitener", {"numba", "sklearn.decomposition"}),
        ("gossamer.VectorIndex(3)", {"sklearn"}),
    ],
)
def test_what_is_not_needed_is_not_imported(code: str, spared: set[str]) -> None:
    code = f"import sys, gossamer; {code}; print({spared} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_a_row_never_depends_on_the_rows_beside_it() -> None:
    """Bit for bit: otherwise equal documents that came in different batches would not share a leaf."""
    E = np.random.default_rng(0).normal(size=(257, 45)).astype(np.float32)
    for sphere in (False, True):
        whitener = Whitener(n_components=33, sphere=sphere, strength=0.5).fit(E)
        together = whitener.transform(E)
        for start, stop in ((0, 1), (5, 7), (100, 103), (11, 200), (256, 257)):
            assert whitener.transform(E[start:stop]).tobytes() == together[start:stop].tobytes()


def test_sizes_before_whitening() -> None:
    E = np.random.default_rng(0).normal(size=(500, 6)) * [9.0, 5.0, 3.0, 2.0, 1.0, 0.5]
    whitener = Whitener(n_components=6, strength=1.0, sphere=False).fit(E)
    scale = whitener.sizes_before()
    assert scale is not None
    X = whitener.transform(E) * scale
    pairs = np.linalg.norm(X[:50] - X[50:100], axis=1), np.linalg.norm(E[:50] - E[50:100], axis=1)
    assert pairs[0] == pytest.approx(pairs[1], rel=1e-4)
    assert Whitener(ica=True, sphere=False).fit(E).sizes_before() is None
