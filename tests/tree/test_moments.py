"""Moments that follow from the children are not saved, computed when they are asked for, and the same bit for bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree, VectorIndex
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.tree.arrays import used
from gossamer.tree.validation import SAVED_MOMENTS, SCATTER

FIXTURES = Path(__file__).parent.parent / "fixtures"


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
    assert len(index.tree.to_bundle().arrays["mean"]) == 1, "the root's"
    index.add(rng.normal(size=(1, 16)))
    saved = index.tree.to_bundle().arrays
    assert 1 < len(saved["mean"]) == len(saved[SAVED_MOMENTS]) < 50, "the concepts that it came to"
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


def test_moments_of_another_root_are_noticed() -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(50, 3)))
    bundle = tree.to_bundle()
    with pytest.raises(CorruptError, match="h is not the entropy"):
        CobwebTree.from_bundle(Bundle(bundle.params, {**bundle.arrays, "m2": 0.5 * bundle.arrays["m2"]}))


@pytest.mark.parametrize("name", ["mean", "m2", "h"])
def test_moments_of_another_tree_are_noticed_when_they_are_computed(name: str) -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(50, 3)))
    bundle = tree.to_bundle()
    changed, root = bundle.arrays[name].copy(), int(tree.arrays.row[tree.root])
    if name == "h":  # of a child of the root, with what the root sums up
        child = tree.node(tree.root).children[0]
        changed[child] *= 0.5
        s = bundle.arrays["s"].copy()
        s[tree.root] -= tree.arrays.size[child] * changed[child]
        altered = {name: changed, "s": s}
    else:
        changed[bundle.arrays[SAVED_MOMENTS] != root] *= 9.0
        altered = {name: changed}
    read = CobwebTree.from_bundle(Bundle(bundle.params, {**bundle.arrays, **altered}))
    for _ in range(2):
        with pytest.raises(CorruptError, match="saved tree cannot be used"):
            read.check()
        with pytest.raises(CorruptError, match="build it again"):
            read.insert([0.0, 0.0, 0.0])


@pytest.mark.parametrize("scatter", [[-1.0], [np.nan], [1e9], [], [[0.0]], [1]])
def test_an_impossible_scatter_is_refused(scatter: list[float]) -> None:
    tree = CobwebTree(3)
    tree.insert_many([[0, 0, 0], [1, 2, 3]])
    bundle = tree.to_bundle()
    broken = Bundle(bundle.params, {**bundle.arrays, SCATTER: np.array(scatter)})
    with pytest.raises(CorruptError, match="scatter"):
        CobwebTree.from_bundle(broken)


def forget_moments(index: VectorIndex) -> None:
    """Write NaN where a tree that was read has no moments yet."""
    t, pending = index.tree.skeleton, index.tree._pending
    assert pending is not None
    missing = np.setdiff1d(np.arange(len(t.mean)), pending.rows)
    t.mean[missing] = t.m2[missing] = np.nan


@pytest.mark.parametrize("n", [900, 1500])
def test_searches_need_no_moments_but_the_roots(n: int, tmp_path: Path) -> None:
    """With links, and without, where all leaves are scored."""
    rng = np.random.default_rng(0)
    index = VectorIndex(8)
    index.add(rng.normal(size=(n, 8)))
    index.save(tmp_path / "v")
    read = VectorIndex.load(tmp_path / "v")
    forget_moments(read)
    Q, one = rng.normal(size=(20, 8)), list(range(0, n, 3))
    child = index.tree.node(index.tree.root).children[0]
    for options in ({}, {"recall": 0.99}, {"budget": 300}, {"allowed": one}, {"within": child}, {"method": "path-sum"}):
        found, expected = read.search(Q, 5, **options), index.search(Q, 5, **options)
        assert np.array_equal(found.ids, expected.ids), options
        assert np.array_equal(found.scores, expected.scores), options
    assert read.search(Q[0], 5).ids.tolist() == index.search(Q[0], 5).ids.tolist()
    assert read.paths(one) == index.paths(one)
    inner = [node for node in read.paths([0])[0] if read.tree.skeleton.n_children[node]]
    assert np.array_equal(read.tree.spreads(inner), index.tree.spreads(inner))
    assert not read.tree.has_moments
    assert read.explain(Q[0], 5) == index.explain(Q[0], 5)
    assert read.tree.has_moments
    assert_same(index.tree, read.tree)


def test_threads_that_need_moments_at_once_find_the_same(tmp_path: Path) -> None:
    index = VectorIndex(8)
    index.add(np.random.default_rng(0).normal(size=(2000, 8)))
    index.save(tmp_path / "v")
    read = VectorIndex.load(tmp_path / "v")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: read.tree.arrays, range(8)))
    assert all(each is found[0] for each in found)
    assert_same(index.tree, read.tree)


def test_vectors_of_format_version_4_are_read() -> None:
    index = VectorIndex.load(FIXTURES / "vectors-v4")
    index.tree.check()
    assert len(index) == 198
    X = np.random.default_rng(0).normal(size=(200, 6))
    found = index.search(X[[0, 199]], k=1)
    assert found.ids.ravel().tolist() == [0, 199]


def test_vectors_of_format_version_5_are_read() -> None:
    index = VectorIndex.load(FIXTURES / "vectors-v5")
    X = np.random.default_rng(0).normal(size=(1100, 4))
    found = index.search(X[[0, 1099]], k=1)
    assert found.ids.ravel().tolist() == [0, 1099]
    assert not index.tree.has_moments
    index.check()
    assert index.tree.has_moments
    assert len(index) == 1098
