"""Best-first equals the paper's definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.rank.best_first import best_first
from oracles import ranking
from properties.strategies import Matrix, acuities, matrices, tree_of


@settings(max_examples=100)
@given(
    X=matrices(max_rows=40),
    acuity=acuities,
    k=st.integers(1, 50),
    budget=st.none() | st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_best_first_is_the_papers(X: Matrix, acuity: float, k: int, budget: int | None, seed: int) -> None:
    tree = tree_of(X, acuity)
    rng = np.random.default_rng(seed)
    x = (X[rng.integers(0, len(X))] + rng.normal(size=X.shape[1])).astype(np.float32)
    ranked = best_first(tree.arrays, x[None], k, budget)
    assert [d for d in ranked.documents[0].tolist() if d >= 0] == ranking.best_first(tree, x, k, budget)
    scores = ranked.scores[0][: np.isfinite(ranked.scores[0]).sum()]
    assert (np.diff(scores) <= 0).all()


def test_batches_and_single_queries_agree() -> None:
    rng = np.random.default_rng(4)
    tree, Q = tree_of(rng.normal(size=(3000, 20)).astype(np.float32), 5.0), rng.normal(size=(60, 20)).astype(np.float32)
    batch = best_first(tree.arrays, Q, 7)
    for i in range(0, 60, 11):
        one = best_first(tree.arrays, Q[i : i + 1], 7)
        assert np.array_equal(one.documents[0], batch.documents[i])
        assert np.array_equal(one.scores[0], batch.scores[i])
        assert one.visited[0] == batch.visited[i]


def test_of_equal_nodes_the_lowest_id_leaves_first() -> None:
    """Four points at the corners of a square, and the query at its centre."""
    tree = tree_of(np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]], np.float32), 1.0)
    x = np.zeros(2, np.float32)
    assert best_first(tree.arrays, x[None], 4).documents[0].tolist() == ranking.best_first(tree, x, 4)


def test_more_documents_in_a_leaf_than_asked_for() -> None:
    X = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    assert best_first(tree_of(X, 1.0).arrays, X[:1], 3).documents.tolist() == [[0, 1, 2]]


def test_an_empty_tree_has_no_answers() -> None:
    ranked = best_first(CobwebTree(2).arrays, np.zeros((2, 2), np.float32), 3)
    assert (ranked.documents == -1).all()
    assert np.isnan(ranked.scores).all()
    assert not ranked.visited.any()
