"""Whitening: the moments of its output, its strength, and saving it."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from gossamer.errors import CorruptError, NotAnIndexError
from gossamer.files.bundle import Bundle, fold, write_bundle
from gossamer.whitening.spectrum import CHUNK_ROWS
from gossamer.whitening.whitener import Whitener
from gossamer.whitening.whitening import auto_strength
from oracles import whitening as oracle
from whitening.data import covariance, embeddings, squared_distances


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


def test_sphere_has_mean_variance_near_one() -> None:
    assert Whitener().fit_transform(embeddings(3000)).var(axis=0).mean() == pytest.approx(1, abs=0.01)


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


@pytest.mark.parametrize("sphere", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [700, 2 * CHUNK_ROWS + 1])
def test_one_chunk_or_several_give_what_the_formula_gives(n: int, strength: float, sphere: bool) -> None:
    X = embeddings(n, offset=0.3)
    Y = Whitener(n_components=12, strength=strength, sphere=sphere).fit_transform(X)
    np.testing.assert_allclose(Y, oracle.whitened(X, 12, strength, sphere=sphere), atol=5e-3)


@pytest.mark.parametrize(("offset", "centering"), [(0.0, 0.0), (0.035, 0.30), (0.3, 1.0)])
@pytest.mark.parametrize("strength", [0.0, 0.15, 1.0])
def test_weak_encoders_are_centred_and_strong_ones_are_not(offset: float, centering: float, strength: float) -> None:
    X = embeddings(700, offset=offset)
    w = Whitener(n_components=12, strength=strength, center="auto").fit(X)
    assert w.centering_ == pytest.approx(centering, abs=0.01)
    np.testing.assert_allclose(w.mean_, w.centering_ * X.mean(axis=0, dtype=np.float64), atol=1e-6)
    expected = oracle.whitened(X, 12, strength, sphere=True, centering=w.centering_)
    np.testing.assert_allclose(w.transform(X), expected, atol=5e-3)


def test_without_centring_and_whitening_cosines_stay_as_they_were() -> None:
    """Up to the directions that are left out, which are none here."""
    X = embeddings(200, offset=0.02)
    Y = Whitener(n_components=1.0, strength=0, center=False).fit_transform(X)
    raw, now = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Y))
    np.testing.assert_allclose(now @ now.T, raw @ raw.T, atol=1e-5)


def test_repeating_every_row_changes_nothing() -> None:
    X = embeddings()
    once, thrice = (Whitener(strength=0.5).fit(np.repeat(X, k, axis=0)) for k in (1, 3))
    np.testing.assert_allclose(thrice.transform(X), once.transform(X), atol=1e-3)


def test_auto_strength_is_weak_for_isotropic_and_full_for_anisotropic_rows() -> None:
    isotropic = Whitener().fit(np.random.default_rng(0).normal(size=(2000, 64)))
    assert abs(isotropic.mean_cosine_) < 0.01
    assert isotropic.strength_ == 0.15
    anisotropic = Whitener().fit(np.random.default_rng(0).normal(size=(2000, 64)) + 1.5)
    assert anisotropic.mean_cosine_ > 0.6
    assert anisotropic.strength_ == 1


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_auto_strength_is_monotone_and_in_range(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0.15 <= auto_strength(low) <= auto_strength(high) <= 1


def test_auto_strength_is_a_ramp_between_two_mean_cosines() -> None:
    assert [auto_strength(c) for c in (-1.0, 0.0, 0.3)] == [0.15] * 3
    assert auto_strength(0.4) == pytest.approx(0.575)
    assert [auto_strength(c) for c in (0.5, 1.0)] == [1.0, 1.0]


def test_auto_equals_the_number_it_chose() -> None:
    X = embeddings(offset=0.035)
    auto = Whitener().fit(X)
    assert 0.3 < auto.mean_cosine_ < 0.5
    assert auto.strength_ == auto_strength(auto.mean_cosine_)
    given_ = Whitener(strength=auto.strength_).fit(X)
    assert given_.components_.tobytes() == auto.components_.tobytes()
    assert Whitener(strength=0.0).fit(X).strength_ == 0


def test_paper() -> None:
    assert Whitener.paper().get_params() == {
        "n_components": 0.96,
        "strength": 1.0,
        "sphere": False,
        "ica": True,
        "random_state": 0,
        "center": True,
    }


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_components": np.int64(3), "strength": np.float32(0.5), "sphere": np.bool_(False)},
        {"n_components": 1, "strength": 1, "ica": True, "random_state": 7},
        {"center": "auto"},
        {"center": np.bool_(False)},
    ],
    ids=["default", "numpy scalars", "one component", "centred by the mean cosine", "not centred"],
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
    for name in ("strength_", "centering_", "mean_cosine_", "n_components_", "n_features_in_"):
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


def test_whiteners_saved_before_centring_was_a_choice_are_centred() -> None:
    X = embeddings(offset=0.1)
    bundle = Whitener().fit(X).to_bundle()
    del bundle.params["center"], bundle.params["fitted_centering"]
    loaded = Whitener.from_bundle(bundle)
    assert (loaded.center, loaded.centering_) == (True, 1.0)
    assert loaded.has_drifted(X + np.float32(0.1))


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    bundle = Whitener().fit(embeddings()).to_bundle()
    bundle.arrays["mean"] = bundle.arrays["mean"][1:]
    with pytest.raises(CorruptError, match=r"shape \(23,\)"):
        Whitener.from_bundle(bundle)


# -- drift -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sphere", [True, False])
@pytest.mark.parametrize("n_components", [0.96, 20])
def test_more_of_the_same_is_no_drift(n_components: float, sphere: bool) -> None:
    whitener = Whitener(n_components, sphere=sphere).fit(embeddings(3000))
    assert not whitener.has_drifted(embeddings(3000))
    assert not whitener.has_drifted(embeddings(3000)[:1000])
    assert not whitener.has_drifted(np.repeat(embeddings(3000)[:1], 5, axis=0)), "copies of one have no variance"


def test_other_directions_are_drift() -> None:
    """A corpus whose spread is where the fitted one had none, of the same mean."""
    X, other = embeddings(2000), embeddings(2000)[:, ::-1].copy()
    whitener = Whitener(sphere=False).fit(X - X.mean(axis=0))
    other -= other.mean(axis=0)
    assert whitener.has_drifted(other)
    mixed = np.concatenate([X[:1900] - X.mean(axis=0), other[:100]])
    axes = whitener.components_ / np.linalg.norm(whitener.components_, axis=1, keepdims=True)
    away = mixed - mixed.mean(axis=0)
    outside = 1 - np.square(away @ axes.T).sum() / np.square(away).sum()
    assert whitener.has_drifted(mixed) == (outside > 2 * 0.04 + 0.01)


@pytest.mark.parametrize(("moved", "drifted"), [(0.2, False), (0.25, True)])
def test_another_mean_is_drift(moved: float, drifted: bool) -> None:
    """From a twentieth of the squared spread on: √0.05 = 0.22 standard deviations."""
    X = embeddings(2000)
    whitener = Whitener(n_components=24, sphere=False).fit(X)
    spread = np.sqrt(X.var(axis=0, dtype=np.float64).sum())
    step = (np.eye(24)[0] * moved * spread).astype(np.float32)
    assert whitener.has_drifted(X + step) == drifted


def test_a_mean_that_was_not_subtracted_may_move() -> None:
    """Along directions that are kept; along others it is drift like any other."""
    X = embeddings(2000)
    whitener = Whitener(n_components=0.96, center=False).fit(X)
    axes = whitener.components_ / np.linalg.norm(whitener.components_, axis=1, keepdims=True)
    assert not whitener.has_drifted(X + axes[0] * np.float32(0.5))
    outside = np.linalg.svd(axes)[2][-1].astype(np.float32)
    assert whitener.has_drifted(X + outside * np.float32(0.5))
