"""Whitener as a scikit-learn transformer: what it accepts and what it refuses, with which message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from gossamer.errors import (
    DimensionError,
    DtypeError,
    GossamerError,
    InputError,
    NotFiniteError,
    ParameterError,
    StateError,
)
from gossamer.whitening.spectrum import CHUNK_ROWS
from gossamer.whitening.whitener import Whitener
from whitening.data import embeddings


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


def test_no_rows_to_transform() -> None:
    w = Whitener(n_components=5).fit(embeddings())
    assert w.transform(np.empty((0, 24))).shape == (0, 5)


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


def test_a_bad_row_is_numbered_over_all_chunks() -> None:
    X = embeddings(2 * CHUNK_ROWS)
    whitener = Whitener().fit(X)
    X[CHUNK_ROWS + 37, 0] = np.inf
    for call in (Whitener().fit, whitener.transform):
        with pytest.raises(NotFiniteError, match=f"row {CHUNK_ROWS + 37} "):
            call(X)


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


@parametrize_with_checks([Whitener()])  # type: ignore[untyped-decorator]
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
        ("gossamer.Index(encoder=len)", {"sklearn", "scipy.sparse", "onnxruntime", "pandas"}),
    ],
)
def test_what_is_not_needed_is_not_imported(code: str, spared: set[str]) -> None:
    code = f"import sys, gossamer; {code}; print({spared} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


@pytest.mark.parametrize("length", [1e-30, 0.1, 1.0, 9.0, 12.0, 1e30])
def test_rows_that_are_far_out_are_never_overlooked(length: float) -> None:
    rng = np.random.default_rng(0)
    fitted = rng.normal(size=(300, 5)).astype(np.float32)
    whitener = Whitener(sphere=False).fit(fitted)
    rows = (rng.normal(size=(3, 5)) * length).astype(np.float32)
    far = bool((whitener.relative_distances(rows) > 10.0).any())
    assert whitener.may_exceed(rows, 10.0) or not far
    assert not whitener.may_exceed(fitted[:1], 10.0)
