"""ConceptTree among the estimators of scikit-learn: its checks, pipelines, streams, and a hierarchy for SciPy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from gossamer import Whitener
from gossamer.errors import ParameterError
from gossamer.integrations.scikit_learn import ConceptTree


@parametrize_with_checks([ConceptTree()])
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def blobs() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    X, y = make_blobs(1500, 12, centers=6, cluster_std=2.0, random_state=0)
    return X, y


def test_clusters_and_memberships(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    tree = ConceptTree(6).fit(X[:1200])
    assert adjusted_rand_score(y[:1200], tree.labels_) > 0.97
    assert np.array_equal(tree.predict(X[:1200]), tree.labels_)
    assert adjusted_rand_score(y[1200:], tree.predict(X[1200:])) > 0.95
    shares = tree.transform(X[1200:])
    assert shares.shape == (300, 6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == tree.predict(X[1200:])).mean() > 0.95
    assert tree.get_feature_names_out().tolist() == [f"concepttree{at}" for at in range(6)]
    assert (np.diff(np.bincount(tree.labels_)) <= 0).all(), "large clusters first"


def test_memberships_are_those_of_bayes_rule() -> None:
    X = np.array([[0.0, 0], [0, 2], [2, 0], [20, 20], [20, 22]])
    tree = ConceptTree(2, whiten=False).fit(X)
    acuity = tree.index_.tree.acuity
    x, densities = np.array([9.0, 12.0]), []
    for members in (X[:3], X[3:]):
        variance = members.var(axis=0) + acuity
        density = np.exp(-0.5 * ((x - members.mean(axis=0)) ** 2 / variance)) / np.sqrt(variance)
        densities.append(len(members) * density.prod())
    np.testing.assert_allclose(tree.transform([x])[0], np.array(densities) / sum(densities), rtol=1e-6)


def test_a_stream_keeps_the_numbers_of_clusters(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    tree = ConceptTree(6)
    before = np.empty(0, np.int64)
    for start in range(0, len(X), 250):
        tree.partial_fit(X[start : start + 250])
        assert len(tree.labels_) == 250
        now = tree.predict(X[: start + 250])
        assert (now[: len(before)] == before).sum() >= 0.97 * len(before)
        before = now
    assert adjusted_rand_score(y, before) > 0.97
    assert len(tree.index_) == len(X)
    assert len(tree.fit(X[:50]).index_) == 50, "fit begins anew"


def test_few_rows_and_wrong_parameters() -> None:
    tree = ConceptTree(5).fit([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert tree.n_clusters_ == 2
    assert tree.labels_.tolist() == [0, 0, 1]
    assert ConceptTree(3).fit([[1.0, 2.0]]).linkage().shape == (0, 4)
    for wrong in (0, -1, 2.5, True, "two"):
        with pytest.raises(ParameterError, match="n_clusters must be a whole number"):
            ConceptTree(wrong).fit([[1.0], [2.0]])  # type: ignore[arg-type]
    with pytest.raises(NotFittedError):
        ConceptTree().linkage()


def test_in_a_pipeline_in_a_search_and_pickled(blobs: tuple[Any, Any]) -> None:
    X, y = blobs
    pipeline = make_pipeline(Whitener(n_components=8), ConceptTree(6, whiten=False)).fit(X)
    assert adjusted_rand_score(y, pipeline.predict(X)) > 0.9
    again = pickle.loads(pickle.dumps(pipeline))
    assert np.array_equal(again.predict(X), pipeline.predict(X))
    assert np.array_equal(again.transform(X), pipeline.transform(X))
    again[-1].partial_fit(again[0].transform(X[:10]))  # a tree from a pickle grows on
    assert clone(pipeline[-1]).get_params() == {"n_clusters": 6, "structure": "living", "whiten": False}

    def agreement(tree: ConceptTree, X: Any, y: Any) -> float:
        return float(adjusted_rand_score(y, tree.predict(X)))

    search = GridSearchCV(ConceptTree(), {"n_clusters": [2, 6]}, scoring=agreement, cv=2).fit(X[:400], y[:400])
    assert search.best_params_ == {"n_clusters": 6}


def test_the_linkage_joins_what_is_near() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [0, 10], [100, 0], [100, 10], [100, 20]])
    X = np.repeat(centres, 20, axis=0) + rng.normal(size=(100, 2))
    tree = ConceptTree(5, whiten=False).fit(X)
    merges = tree.linkage()
    assert is_valid_linkage(merges)
    assert is_monotonic(merges)
    of_centre = tree.labels_[::20]
    assert sorted(of_centre.tolist()) == [0, 1, 2, 3, 4]
    halves = fcluster(merges, 2, "maxclust")[of_centre]
    assert len(set(halves[:2])) == len(set(halves[2:])) == 1
    assert halves[0] != halves[2]
    others = fcluster(tree.linkage({number: 4 - number for number in range(5)}), 2, "maxclust")[4 - of_centre]
    assert np.array_equal(others == others[0], halves == halves[0])
