"""Codes: near the true distances, and the same however the tree came about."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.graph.codes import encode_tree, grid_of, rows_outside
from gossamer.neighbours.quantise import Grid
from gossamer.runtime.simd import integer_dot
from gossamer.tree.arrays import Meta
from grown import Grown, topics
from kernel_wrappers import code_distance, encode_query


@pytest.mark.parametrize("linked", [True, False])
def test_codes_kept_through_changes_are_those_made_anew(linked: bool) -> None:
    rng = np.random.default_rng(3)
    grown = Grown(topics(3000), linked=linked)
    alive = list(range(3000))
    for round in range(5):
        gone = rng.permutation(len(alive))[:60]
        for some in [gone] if round % 2 else np.array_split(gone, 40):  # at once; by ones and twos
            grown.remove([alive[at] for at in some.tolist()])
        alive = np.delete(alive, gone).tolist() + grown.add(topics(80, seed=20 + round))
        t, kept = grown.t, grown.graph.arrays.codes
        fresh, _ = encode_tree(t, Grid(kept.centre, kept.step), concepts=not linked)
        inner = t.row[[node for node in range(t.meta[Meta.SLOTS]) if t.n_children[node] > 0]]
        leaves = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]))
        if linked:  # walks do not descend
            assert len(kept.inner) == len(fresh.inner) == 0
        else:
            assert np.array_equal(kept.deviations[inner], fresh.deviations[inner])
            assert np.array_equal(kept.variance[inner], fresh.variance[inner])
            assert np.array_equal(kept.inner[inner], fresh.inner[inner])
        assert np.array_equal(kept.leaf[leaves], fresh.leaf[leaves])


@settings(max_examples=60)
@given(dim=st.integers(1, 300), seed=st.integers(0, 1000), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_code_distances_are_near_the_true_ones(dim: int, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    X = ((rng.normal(size=(20, dim)) + 3) * scale).astype(np.float32)
    x = ((rng.normal(size=dim) + 3) * scale).astype(np.float32)
    tree = CobwebTree(dim, acuity=scale**2)
    tree.insert_many(X)
    t = tree.arrays
    codes, _ = encode_tree(t, grid_of(t), concepts=False)
    query = np.zeros(codes.leaf.shape[1], np.int16)
    factor, norm = encode_query(x, codes, query)
    for document in range(20):
        row = int(t.row[tree.leaf(document)])
        true = float(((X[document].astype(float) - x) ** 2).sum())
        dot = int(query.astype(np.int64) @ codes.leaf[row].astype(np.int64))
        estimate = norm + float(codes.leaf_norm[row]) - factor * dot
        # A coordinate is off by at most half a step, so a distance by at most √D/2 steps, and float32 on top.
        allowed = codes.step * np.sqrt(dim) * (np.sqrt(true) + np.sqrt(norm)) + 1e-5 * (norm + codes.leaf_norm[row])
        assert abs(estimate - true) <= allowed
        itself = code_distance(codes, row, row)
        assert abs(itself) <= 2 * codes.step * np.sqrt(dim * codes.leaf_norm[row]) + 1e-5 * codes.leaf_norm[row]


def test_leaves_outside_the_grid_are_counted() -> None:
    tree = CobwebTree(24)
    tree.agglomerate(topics(500))
    grid = grid_of(tree.arrays)
    tree.insert_many(3 * topics(40, seed=9))
    codes, outside = encode_tree(tree.arrays, grid, concepts=False)
    reach = np.abs(tree.arrays.vectors[tree.arrays.row[tree.arrays.leaf[:540]]] - grid.centre).max(axis=1) / grid.step
    assert outside == (np.rint(reach) > 140).sum() > 0
    assert len(rows_outside(tree.arrays, codes)) == outside


def test_integer_dot_is_exact() -> None:
    from numba import njit

    dot = njit(lambda a, b: integer_dot(a, b))
    rng = np.random.default_rng(0)
    for width in (32, 64, 320, 4096):
        left = rng.integers(-4000, 4000, width).astype(np.int16)
        right = rng.integers(-127, 128, width).astype(np.int8)
        assert dot(left, right) == int(left.astype(np.int64) @ right.astype(np.int64))
        assert dot(right, right) == int(right.astype(np.int64) @ right.astype(np.int64))
