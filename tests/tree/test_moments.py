"""Moments that follow from the leaves are not saved, and read back bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree, VectorIndex
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.tree.arrays import used
from gossamer.tree.validation import SAVED_MOMENTS


def assert_same(tree: CobwebTree, other: CobwebTree) -> None:
    arrays = used(tree.arrays)
    in_use = arrays["row"][arrays["n_children"] > 0]
    for name, array in arrays.items():
        rows = in_use if name in ("mean", "m2") else slice(None)
        assert np.array_equal(array[rows], getattr(other.arrays, name)[rows]), name


@settings(max_examples=30)
@given(n=st.integers(0, 80), removed=st.integers(0, 40), seed=st.integers(0, 99))
def test_a_tree_read_again_is_the_same(n: int, removed: int, seed: int) -> None:
    X = np.random.default_rng(seed).integers(0, 4, (n, 3)).astype(np.float32)
    tree = CobwebTree(3)
    tree.insert_many(X)
    tree.remove(range(min(n, removed)))
    assert_same(tree, CobwebTree.from_bundle(tree.to_bundle()))


def test_most_concepts_above_leaves_are_left_out(tmp_path: Path) -> None:
    index = VectorIndex(16)
    index.add(np.random.default_rng(0).normal(size=(3000, 16)))
    saved = index.tree.to_bundle().arrays
    assert len(saved["mean"]) == len(saved[SAVED_MOMENTS]) < len(index.tree.arrays.mean) / 2
    index.save(tmp_path / "a")
    assert_same(index.tree, VectorIndex.load(tmp_path / "a").tree)


@pytest.mark.parametrize("rows", [[-1], [10**6], [3, 2], [2, 2], [[1]], [0.5]])
def test_rows_that_are_none_are_refused(rows: list[float]) -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(50, 3)))
    bundle = tree.to_bundle()
    whole = np.array(rows, np.float64 if rows == [0.5] else np.int32)
    broken = Bundle(bundle.params, {**bundle.arrays, SAVED_MOMENTS: whole})
    with pytest.raises(CorruptError):
        CobwebTree.from_bundle(broken)


def test_a_concept_whose_moments_are_missing_is_noticed() -> None:
    """The root of a deep tree does not follow from leaves."""
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(50, 3)))
    bundle = tree.to_bundle()
    arrays = {name: bundle.arrays[name][1:] for name in ("mean", "m2", SAVED_MOMENTS)}
    with pytest.raises(CorruptError, match="h is not the entropy"):
        CobwebTree.from_bundle(Bundle(bundle.params, {**bundle.arrays, **arrays}))
