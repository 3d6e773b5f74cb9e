"""Path-sum equals its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.rank.exact import Scoring
from gossamer.rank.path_sum import PathSum
from oracles import ranking
from properties.strategies import Matrix, acuities, matrices, tree_of

SCORINGS = [Scoring(False, 0.0), Scoring(False, 0.2), Scoring(False, 1.0), Scoring(True, 1.0)]


@settings(max_examples=150)
@given(
    X=matrices(max_rows=40),
    acuity=acuities,
    k=st.integers(1, 12),
    scoring=st.sampled_from(SCORINGS),
    seed=st.integers(0, 99),
)
def test_path_sum_is_exact(X: Matrix, acuity: float, k: int, scoring: Scoring, seed: int) -> None:
    tree = tree_of(X, acuity)
    rng = np.random.default_rng(seed)
    Q = (X[rng.integers(0, len(X), 3)] + rng.normal(size=(3, X.shape[1]))).astype(np.float32)
    ranked = PathSum().search(tree.arrays, Q, k, scoring)
    for x, documents, scores in zip(Q, ranked.documents, ranked.scores, strict=True):
        expected = ranking.path_scores(tree, x, aggregate="mean" if scoring.mean else "sum", context=scoring.context)
        found = documents[documents >= 0].tolist()
        assert len(found) == min(k, len(X))
        assert len(set(found)) == len(found)
        assert np.isnan(scores[len(found) :]).all()
        size = max(1.0, max(abs(score) for score in expected.values()))
        np.testing.assert_allclose(scores[: len(found)], [expected[d] for d in found], atol=1e-9 * size)
        best = sorted(expected.values(), reverse=True)[: len(found)]
        np.testing.assert_allclose(scores[: len(found)], best, atol=1e-9 * size)
        assert (np.diff(scores[: len(found)]) <= 0).all()


def test_rounding_never_hides_an_answer() -> None:
    """Far from the origin float32 products are worthless; the exact step must notice and ask for more."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 8)) + 10_000).astype(np.float32)
    Q = (X[:40] + rng.normal(size=(40, 8)) * 0.1).astype(np.float32)
    tree = tree_of(X, 1.0)
    found = PathSum().search(tree.arrays, Q, 5).documents
    exact = np.argsort(((Q[:, None].astype(float) - X[None]) ** 2).sum(-1), axis=1)[:, :5]
    assert np.array_equal(found, exact)
    without_margin = PathSum(spare=0, sure=0.0).search(tree.arrays, Q, 5).documents
    assert not np.array_equal(without_margin, exact), "the margin is what saves it"


@pytest.mark.parametrize("scoring", SCORINGS)
def test_what_path_sum_keeps_follows_the_tree(scoring: Scoring) -> None:
    """One ranker through growth and removal equals a fresh one at every step."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6)).astype(np.float32)
    Q = rng.normal(size=(7, 6)).astype(np.float32)
    tree, kept = CobwebTree(6, 1.0), PathSum()
    for start in range(0, 400, 50):
        tree.insert_many(X[start : start + 50])
        tree.remove(range(start, start + 50, 3))
        ours = kept.search(tree.arrays, Q, 9, scoring)
        fresh = PathSum().search(tree.arrays, Q, 9, scoring)
        assert np.array_equal(ours.documents, fresh.documents)
        assert np.array_equal(ours.scores, fresh.scores)


def test_batches_and_single_queries_agree() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    Q = rng.normal(size=(600, 20)).astype(np.float32)
    tree = tree_of(X, 5.0)
    for scoring in SCORINGS:
        batch = PathSum().search(tree.arrays, Q, 7, scoring)
        for i in range(0, 600, 101):
            one = PathSum().search(tree.arrays, Q[i : i + 1], 7, scoring)
            assert np.array_equal(one.documents[0], batch.documents[i])
            assert np.array_equal(one.scores[0], batch.scores[i])


def test_more_documents_in_a_leaf_than_asked_for() -> None:
    X = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    tree = tree_of(X, 1.0)
    assert PathSum().search(tree.arrays, X[:1], 3).documents.tolist() == [[0, 1, 2]]
    assert PathSum().search(tree.arrays, X[:1], 15).documents[0, :5].tolist() == [0, 1, 2, 3, 4]


def test_an_empty_tree_has_no_answers() -> None:
    tree = CobwebTree(2)
    Q = np.zeros((2, 2), np.float32)
    ranked = PathSum().search(tree.arrays, Q, 3)
    assert (ranked.documents == -1).all()
    assert np.isnan(ranked.scores).all()
    assert not ranked.visited.any()
