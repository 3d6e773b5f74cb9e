"""Regrouping: a valid tree with the same documents, better groups above, and the same fine concepts below."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score as nmi
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from gossamer.explain.cuts import best_cut
from gossamer.regroup import _added_by_pairs, regroup, sizes_before, ward
from gossamer.tree.cobweb import CobwebTree
from gossamer.whiten import Whitener


def sorted_by_class(classes: int, each: int, dim: int = 8, seed: int = 0) -> tuple[CobwebTree, list[int]]:
    """The worst order: all of one class, then all of the next."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.normal(size=(classes, dim)) * 1.5, each, axis=0) + rng.normal(size=(classes * each, dim))
    tree = CobwebTree(dim, acuity=5.0)
    tree.insert_many(rows)
    return tree, np.repeat(np.arange(classes), each).tolist()


def agreement(tree: CobwebTree, classes: list[int]) -> float:
    groups = np.zeros(len(classes), np.int64)
    for group, node in enumerate(best_cut(tree.arrays, len(set(classes)))):
        groups[tree.documents_below(node)] = group
    return float(nmi(classes, groups))


def test_groups_agree_better_with_the_classes() -> None:
    gains = []
    for seed in range(5):
        tree, classes = sorted_by_class(6, 100, seed=seed)
        before = agreement(tree, classes)
        regroup(tree)
        gains.append(agreement(tree, classes) - before)
    assert min(gains) > -0.05
    assert np.mean(gains) > 0.05


def test_the_tree_stays_whole_and_the_leaves_where_they_were() -> None:
    tree, _ = sorted_by_class(8, 60)
    leaves = [tree.leaf(document) for document in range(480)]
    fine = {node: tree.documents_below(node).tolist() for node in best_cut(tree.arrays, 48)}
    nodes = tree.n_nodes
    regroup(tree)
    tree.check()
    assert tree.n_documents == 480
    assert abs(tree.n_nodes - nodes) < 48
    assert [tree.leaf(document) for document in range(480)] == leaves
    assert {node: tree.documents_below(node).tolist() for node in fine} == fine


def test_it_grows_and_shrinks_on() -> None:
    tree, _ = sorted_by_class(5, 60)
    regroup(tree)
    tree.insert_many(np.random.default_rng(3).normal(size=(200, 8)))
    tree.check()
    tree.remove(range(0, 300, 2))
    tree.refine()
    regroup(tree)
    tree.check()
    assert tree.n_documents == 350


def test_the_same_tree_gives_the_same_result() -> None:
    trees = [sorted_by_class(6, 50)[0] for _ in range(2)]
    for tree in trees:
        regroup(tree, scale=np.linspace(1.0, 2.0, 8))
    first, second = (tree.to_bundle().arrays for tree in trees)
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("documents", [0, 1, 2, 10, 29, 40])
def test_small_trees(documents: int) -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(documents, 3)))
    regroup(tree)
    tree.check()
    assert tree.n_documents == documents


def test_equal_documents() -> None:
    tree = CobwebTree(2)
    tree.insert_many(np.tile([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]], (40, 1)))
    regroup(tree)
    tree.check()


@given(st.integers(2, 30), st.integers(0, 1000))
def test_ward_is_wards(points: int, seed: int) -> None:
    """The same unions, and so the same costs, as scipy's where all weights are one."""
    from scipy.cluster.hierarchy import linkage

    X = np.random.default_rng(seed).normal(size=(points, 3))
    sizes, means, costs = [1.0] * points, list(X), []
    for left, right in ward(np.ones(points), X):
        n = sizes[left] + sizes[right]
        costs.append(float(np.square(means[left] - means[right]).sum() * sizes[left] * sizes[right] / n))
        means.append((sizes[left] * means[left] + sizes[right] * means[right]) / n)
        sizes.append(n)
    expected = np.square(linkage(X, "ward")[:, 2]) / 2.0
    assert np.sort(costs) == pytest.approx(np.sort(expected))


@pytest.mark.parametrize("seed", range(20))
def test_ward_of_near_copies_far_from_zero_ends(seed: int) -> None:
    """Where rounding decides who is nearest, a chain must not go round in circles."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(2, 80)), int(rng.integers(1, 100))
    pairs = ward(
        rng.integers(1, 9, n).astype(float), 1e6 * rng.normal(size=(1, dim)) + 1e-3 * rng.normal(size=(n, dim))
    )
    assert sorted(place for pair in pairs for place in pair) == list(range(2 * n - 2))


@pytest.mark.parametrize(("points", "dim"), [(333, 64), (1000, 286)])
def test_wards_tree_does_not_depend_on_the_threads_of_blas(points: int, dim: int) -> None:
    """A log that is replayed elsewhere must give the same tree."""
    rng = np.random.default_rng(0)
    sizes, means = rng.integers(1, 99, points).astype(float), rng.normal(size=(points, dim))
    with threadpool_limits(1):
        alone = _added_by_pairs(sizes, means)
    with threadpool_limits(2):
        assert np.array_equal(alone, _added_by_pairs(sizes, means))


def test_a_weight_is_so_many_points() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [9.0, 1.0]])
    heavy = ward(np.array([3.0, 1.0, 2.0, 1.0]), X)
    light = ward(np.ones(7), np.repeat(X, [3, 1, 2, 1], axis=0))
    assert len(heavy) == 3
    assert len(light) == 6
    assert heavy[-1] == (4, 5)  # near ones first, then the two pairs


def test_sizes_before_whitening() -> None:
    E = np.random.default_rng(0).normal(size=(500, 6)) * [9.0, 5.0, 3.0, 2.0, 1.0, 0.5]
    whitener = Whitener(n_components=6, strength=1.0, sphere=False).fit(E)
    scale = sizes_before(whitener)
    assert scale is not None
    X = whitener.transform(E) * scale
    pairs = np.linalg.norm(X[:50] - X[50:100], axis=1), np.linalg.norm(E[:50] - E[50:100], axis=1)
    assert pairs[0] == pytest.approx(pairs[1], rel=1e-4)
