"""Moments that follow from the children are not saved, and read back bit for bit."""

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

FIXTURE = Path(__file__).parent.parent / "fixtures" / "vectors-v4"


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


def test_moments_of_an_agglomerated_tree_are_left_out(tmp_path: Path) -> None:
    index = VectorIndex(16)
    rng = np.random.default_rng(0)
    index.add(rng.normal(size=(3000, 16)))
    assert not len(index.tree.to_bundle().arrays["mean"])
    index.add(rng.normal(size=(1, 16)))
    saved = index.tree.to_bundle().arrays
    assert 0 < len(saved["mean"]) == len(saved[SAVED_MOMENTS]) < 50, "the concepts that it came to"
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


def test_moments_of_another_tree_are_noticed() -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(50, 3)))
    bundle = tree.to_bundle()
    with pytest.raises(CorruptError, match="h is not the entropy"):
        CobwebTree.from_bundle(Bundle(bundle.params, {**bundle.arrays, "m2": 0.5 * bundle.arrays["m2"]}))


def test_vectors_of_format_version_4_are_read() -> None:
    index = VectorIndex.load(FIXTURE)
    index.tree.check()
    assert len(index) == 198
    X = np.random.default_rng(0).normal(size=(200, 6))
    found = index.search(X[[0, 199]], k=1)
    assert found.ids.ravel().tolist() == [0, 199]
