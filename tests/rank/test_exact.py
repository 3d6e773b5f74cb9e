"""Exact scores of listed documents equal the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.rank.exact import Scoring, rank_listed
from oracles import ranking
from properties.strategies import Matrix, acuities, matrices, tree_of

SCORINGS = [Scoring(False, 0.0), Scoring(False, 0.2), Scoring(False, 1.0), Scoring(True, 1.0)]


@settings(max_examples=100)
@given(
    X=matrices(max_rows=40),
    acuity=acuities,
    k=st.integers(1, 12),
    scoring=st.sampled_from(SCORINGS),
    seed=st.integers(0, 99),
)
def test_listed_documents_are_ranked_as_defined(X: Matrix, acuity: float, k: int, scoring: Scoring, seed: int) -> None:
    tree = tree_of(X, acuity)
    rng = np.random.default_rng(seed)
    listed = np.sort(rng.permutation(len(X))[: rng.integers(1, len(X) + 1)])
    Q = (X[rng.integers(0, len(X), 3)] + rng.normal(size=(3, X.shape[1]))).astype(np.float32)
    ranked = rank_listed(tree.arrays, Q, listed, k, scoring)
    for x, documents, scores in zip(Q, ranked.documents, ranked.scores, strict=True):
        every = ranking.path_scores(tree, x, aggregate="mean" if scoring.mean else "sum", context=scoring.context)
        expected = sorted((every[document] for document in listed.tolist()), reverse=True)[:k]
        n = min(k, len(listed))
        assert (documents[n:] == -1).all()
        assert set(documents[:n].tolist()) <= set(listed.tolist())
        size = max(1.0, max(map(abs, expected)))
        np.testing.assert_allclose(scores[:n], expected, atol=1e-9 * size)
        np.testing.assert_allclose(scores[:n], [every[d] for d in documents[:n].tolist()], atol=1e-9 * size)


def test_equal_scores_stand_in_order_of_arrival() -> None:
    tree = CobwebTree(2)
    tree.insert_many(np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], np.float32))
    ranked = rank_listed(tree.arrays, np.array([[0, 1]], np.float32), np.arange(5), 5, Scoring(False, 0.0))
    assert ranked.documents.tolist() == [[1, 3, 0, 2, 4]]
    assert ranked.visited.tolist() == [2]


@pytest.mark.parametrize("scoring", SCORINGS)
def test_no_documents_no_answers(scoring: Scoring) -> None:
    tree = CobwebTree(2)
    tree.insert([1, 0])
    ranked = rank_listed(tree.arrays, np.zeros((1, 2), np.float32), np.zeros(0, np.int64), 3, scoring)
    assert ranked.documents.tolist() == [[-1, -1, -1]]
