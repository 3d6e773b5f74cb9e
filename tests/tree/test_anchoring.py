"""Points that make Ward's tree prefer the concepts there are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.array_types import NONE
from gossamer.tree.anchoring import anchored_points, strength
from gossamer.tree.arrays import Meta, TreeArrays, empty_arrays
from gossamer.tree.cobweb import CobwebTree
from oracles import anchoring as oracle
from properties.strategies import Matrix, matrices


def leaves_of(t: TreeArrays) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    slots = int(t.meta[Meta.SLOTS])
    return np.flatnonzero((t.size[:slots] > 0) & (t.n_children[:slots] == 0)).astype(np.int32)


@given(matrices(max_rows=40), st.integers(0, 40), st.booleans())
def test_points_equal_the_oracle(X: Matrix, settled: int, rebuild: bool) -> None:
    tree = CobwebTree(X.shape[1])
    tree.insert_many(X)
    if rebuild:
        tree.rebuild()
    t = tree.arrays
    leaves = leaves_of(t)
    points = t.vectors[t.row[leaves]]
    found = anchored_points(t, leaves, points.copy(), np.empty((len(leaves), 0), np.int32), settled)
    for leaf, point, moved in zip(leaves.tolist(), points, found, strict=True):
        path = [tree.node(node) for node in tree.path(int(t.first_document[leaf]))[:-1]]
        expected = oracle.anchored(path, point.astype(np.float64), settled, strength(len(leaves))) if path else point
        np.testing.assert_allclose(moved, expected, rtol=1e-5, atol=1e-5 * float(np.abs(points).max() + 1e-30))


def test_a_young_tree_is_trusted_less() -> None:
    found = [strength(leaves) for leaves in (1, 100, 2048, 8192, 10**6)]
    assert found == sorted(found)
    assert found[2] == found[3] / 2
    assert found[3] == found[4]


def test_leaves_that_are_not_in_the_tree_are_placed_beside_a_neighbour() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 9.0]).astype(np.float32)
    tree = CobwebTree(4)
    tree.insert_many(X)
    t = tree.arrays
    leaves = np.append(leaves_of(t), [10_000, 10_001]).astype(np.int32)
    points = np.concatenate([t.vectors[t.row[leaves[:-2]]], X[:1], X[40:41]])
    beside = [int(np.flatnonzero(leaves == t.leaf[document])[0]) for document in (0, 40)]
    near = np.full((len(leaves), 3), NONE, np.int32)
    near[-2:] = [[len(leaves) - 1, beside[0], beside[1]], [len(leaves) - 2, NONE, beside[1]]]
    found = anchored_points(t, leaves, points.copy(), near, 60)
    np.testing.assert_array_equal(found[-2:], found[beside])


def test_trees_without_concepts() -> None:
    point = np.ones((1, 3), np.float32)
    near = np.empty((1, 0), np.int32)
    assert np.array_equal(anchored_points(empty_arrays(3, 5.0), np.zeros(1, np.int32), point, near, 0), point)
    tree = CobwebTree(3)
    tree.insert_many(point)
    assert np.array_equal(anchored_points(tree.arrays, np.zeros(1, np.int32), point, near, 0), point)
