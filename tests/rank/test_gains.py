"""What the concepts of a path contribute equals the definition, and adds up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.rank.gains import at_length_of_documents, evidence, evidence_shown, gains, gains_by_axis, scale
from gossamer.tree.browsing import shown_path
from oracles import browsing, ranking
from properties.strategies import Matrix, acuities, matrices, tree_of


@settings(max_examples=100)
@given(X=matrices(max_rows=30), acuity=acuities, seed=st.integers(0, 99))
def test_evidence_is_that_of_the_definition(X: Matrix, acuity: float, seed: int) -> None:
    tree, rng = tree_of(X, acuity), np.random.default_rng(seed)
    x = (X[rng.integers(0, len(X))] + rng.normal(size=X.shape[1])).astype(np.float32)
    path = tree.path(int(rng.integers(0, len(X))))
    found = evidence(tree.arrays, x, path)
    assert list(found) == list(path)
    for node, ours in found.items():
        log_p, rival, margin = ranking.evidence(tree, x, node)
        assert ours.log_p == pytest.approx(log_p, rel=1e-9, abs=1e-9)
        assert (ours.rival is None) == (rival is None)
        if margin is not None:
            assert ours.margin == pytest.approx(margin, rel=1e-9, abs=1e-9 * max(1.0, abs(log_p)))
    steps = gains([found[node].log_p for node in path])
    assert steps[0] == 0.0
    assert sum(steps) == pytest.approx(found[path[-1]].log_p - found[path[0]].log_p, abs=1e-6)


@settings(max_examples=60)
@given(X=matrices(max_rows=60), acuity=acuities, seed=st.integers(0, 99))
def test_evidence_on_shown_paths_is_over_shown_siblings(X: Matrix, acuity: float, seed: int) -> None:
    tree, rng = tree_of(X, acuity), np.random.default_rng(seed)
    x = (X[rng.integers(0, len(X))] + rng.normal(size=X.shape[1])).astype(np.float32)
    paths = [shown_path(tree.arrays, tree.leaf(int(document))) for document in rng.integers(0, len(X), 3)]
    found = evidence_shown(tree.arrays, x, paths)
    assert set(found) == {node for path in paths for node in path}
    for path in paths:
        assert found[path[0]].rival is None
        for above, node in pairwise(path):
            siblings = [child for child in browsing.shown(tree.arrays, above) if child != node]
            others = {child: ranking.log_p(tree, child, x) for child in siblings}
            assert found[node].rival in others
            size = max(1.0, abs(found[node].log_p))
            assert found[node].margin == pytest.approx(found[node].log_p - max(others.values()), abs=1e-9 * size)


@settings(max_examples=60)
@given(X=matrices(max_rows=30), acuity=acuities, seed=st.integers(0, 99))
def test_gains_by_axis_add_up_to_the_gain(X: Matrix, acuity: float, seed: int) -> None:
    tree, rng = tree_of(X, acuity), np.random.default_rng(seed)
    x = (X[rng.integers(0, len(X))] + rng.normal(size=X.shape[1])).astype(np.float32)
    log_ps = [ranking.log_p(tree, node, x) for node in tree.path(0)]
    size = max(1.0, np.abs(log_ps).sum())
    gain = log_ps[-1] - log_ps[0]
    assert gains_by_axis(tree.arrays, x, tree.path(0)).sum() == pytest.approx(gain, abs=1e-9 * size)
    paper = gains_by_axis(tree.arrays, x, tree.path(0), context=1.0)
    assert paper.sum() == pytest.approx(sum(log_ps), abs=1e-9 * size)


def test_gains_times_their_scale_differ_as_cosines_do() -> None:
    """Between two leaves of equal length, the scaled gains differ by exactly the difference of the cosines."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True) * 3).astype(np.float32)
    tree = tree_of(X, 1.0)
    x = at_length_of_documents(tree.arrays, rng.normal(size=6).astype(np.float32))
    assert np.linalg.norm(x) == pytest.approx(3.0, rel=1e-5)
    cosines = X @ x / 9.0
    length = float(np.linalg.norm(x))
    parts = [
        scale(tree.arrays, length, leaf) * (ranking.log_p(tree, leaf, x) - ranking.log_p(tree, tree.root, x))
        for leaf in map(tree.leaf, range(50))
    ]
    np.testing.assert_allclose(np.array(parts) - parts[0], cosines - cosines[0], atol=1e-5)


def test_lengths_too_different_to_compare_have_no_scale() -> None:
    tree = tree_of(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), 1.0)
    leaf = tree.leaf(0)
    assert scale(tree.arrays, 1.0, leaf) == 1.0
    for length in (0.0, 1e-5, 1e5):
        assert scale(tree.arrays, length, leaf) == 0.0
