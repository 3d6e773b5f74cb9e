"""What must hold of a tree after any sequence of insertions and removals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.errors import InvariantError
from properties.strategies import Matrix, acuities, matrices, scales


@settings(max_examples=150)
@given(X=matrices(max_rows=60, max_dim=9), acuity=acuities, scale=scales, data=st.data())
def test_any_sequence_keeps_the_tree_consistent(X: Matrix, acuity: float, scale: float, data: st.DataObject) -> None:
    """Counts add up, moments and caches equal fresh ones, documents partition, no node has one child.

    The acuity is not scaled with the data here: tiny and huge ratios of variance to acuity are part of it.
    """
    tree = CobwebTree(X.shape[1], acuity)
    alive: list[int] = []
    at = 0
    while at < len(X):
        step = data.draw(st.integers(1, 12), label="insert")
        alive += tree.insert_many(X[at : at + step] * np.float32(scale)).tolist()
        at += step
        gone = data.draw(st.lists(st.sampled_from(alive), unique=True, max_size=len(alive)), label="remove")
        tree.remove(gone)
        alive = [document for document in alive if document not in gone]
        tree.check()
        assert tree.n_documents == len(alive)
        assert not alive or tree.node(tree.root).documents == tuple(alive)
        for document in alive:
            assert np.array_equal(tree.node(tree.leaf(document)).mean, X[document] * np.float32(scale))


@settings(max_examples=100)
@given(X=matrices(max_rows=60, max_dim=9), acuity=acuities, scale=scales, removed=st.integers(1, 7))
def test_rebuilding_keeps_the_tree_consistent(X: Matrix, acuity: float, scale: float, removed: int) -> None:
    """The same documents stay in the same leaves, and everything else is consistent."""
    tree = CobwebTree(X.shape[1], acuity)
    tree.insert_many(X * np.float32(scale))
    tree.remove(range(0, len(X), removed + 1))
    alive = [document for document in range(len(X)) if document % (removed + 1)]
    leaves = {document: tree.leaf(document) for document in alive}
    tree.rebuild(passes=2)
    tree.check()
    assert {document: tree.leaf(document) for document in alive} == leaves
    assert not alive or tree.node(tree.root).documents == tuple(alive)
    tree.remove(alive)
    tree.check()


def partition(tree: CobwebTree, names: Sequence[int]) -> set[frozenset[int]]:
    """Every concept as the documents below it, by other names."""
    return {
        frozenset(names[document] for document in tree.documents_below(node).tolist())
        for document in range(len(names))
        for node in tree.path(document)
    }


@settings(max_examples=60)
@given(rows=st.integers(2, 80), dim=st.integers(1, 6), seed=st.integers(0, 10**6), copies=st.integers(0, 5))
def test_a_rebuilt_tree_does_not_depend_on_the_order_of_arrival(rows: int, dim: int, seed: int, copies: int) -> None:
    """Inserted in any order and rebuilt, or loaded at once: the same concepts. (Without ties, which go by id.)"""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim)).astype(np.float32)
    X[rng.integers(0, rows, copies)] = X[0]
    order = rng.permutation(rows)
    inserted, shuffled, loaded = (CobwebTree(dim, 2.0) for _ in range(3))
    inserted.insert_many(X)
    inserted.rebuild()
    shuffled.insert_many(X[order[: rows // 2]])
    shuffled.agglomerate(X[order[rows // 2 :]])
    assert loaded.agglomerate(X).tolist() == list(range(rows))
    for tree in (inserted, shuffled, loaded):
        tree.check()
    concepts = partition(loaded, range(rows))
    assert partition(inserted, range(rows)) == concepts
    # Copies have one vector and different names.
    first = {row.tobytes(): at for at, row in reversed(list(enumerate(X)))}
    named = [first[row.tobytes()] for row in X]
    assert partition(shuffled, [named[at] for at in order]) == partition(loaded, named)


@given(X=matrices(max_rows=40), acuity=acuities)
def test_batches_do_not_matter(X: Matrix, acuity: float) -> None:
    """One call or many: the same tree, byte for byte."""
    together, apart = CobwebTree(X.shape[1], acuity), CobwebTree(X.shape[1], acuity)
    together.insert_many(X)
    for x in X:
        apart.insert(x)
    assert_same_bytes(together, apart)


@given(X=matrices(max_rows=40), acuity=acuities, extra=st.integers(0, 2**32 - 1))
def test_insert_then_remove_is_identity_for_the_statistics(X: Matrix, acuity: float, extra: int) -> None:
    tree = CobwebTree(X.shape[1], acuity)
    tree.insert_many(X)
    root = tree.node(tree.root)
    mean, variance = root.mean, root.variance
    outlier = np.random.default_rng(extra).normal(size=X.shape[1]) * 1e6
    tree.remove(tree.insert(outlier))
    tree.check()
    width = float(np.abs(X).max()) + 1.0
    np.testing.assert_allclose(tree.node(tree.root).mean, mean, atol=1e-9 * width)
    np.testing.assert_allclose(tree.node(tree.root).variance, variance, rtol=1e-9, atol=1e-9 * width**2)


@given(X=matrices(max_rows=40), acuity=acuities, cut=st.floats(0, 1))
def test_save_and_load_is_identity(
    tmp_path_factory: pytest.TempPathFactory, X: Matrix, acuity: float, cut: float
) -> None:
    """Also for what comes after: the loaded tree grows exactly as the one that stayed in memory."""
    path: Path = tmp_path_factory.mktemp("tree")
    half = int(cut * len(X))
    tree = CobwebTree(X.shape[1], acuity)
    tree.insert_many(X[:half])
    tree.remove(range(0, half, 3))
    tree.save(path)
    loaded = CobwebTree.load(path)
    assert_same_bytes(tree, loaded)
    for each in (tree, loaded):
        each.insert_many(X[half:])
        each.check()
    assert_same_bytes(tree, loaded)


@pytest.mark.slow
def test_no_drift_after_100_000_operations() -> None:
    """Mixed insertions and removals, with outliers passing through; `check` states its tolerance."""
    rng = np.random.default_rng(7)
    dim, operations = 12, 0
    centres = rng.normal(size=(20, dim)) * 3
    tree = CobwebTree(dim, acuity=5.0)
    alive: list[int] = []
    while operations < 100_000:
        X = centres[rng.integers(0, 20, 500)] + rng.normal(size=(500, dim))
        X[rng.random(500) < 0.01] *= 1e4
        alive += tree.insert_many(X).tolist()
        rng.shuffle(alive)
        keep = int(rng.integers(0, min(len(alive), 2000)))
        tree.remove(alive[keep:])
        operations += 500 + len(alive) - keep
        alive = alive[:keep]
        if operations % 10 == 0:
            tree.check()
    tree.check()
    assert tree.n_documents == len(alive)


@pytest.mark.parametrize("field", ["size", "mean", "m2", "h", "s", "parent", "next_sibling", "leaf", "vectors"])
def test_check_notices_a_broken_tree(field: str) -> None:
    """A check that cannot fail checks nothing: harm each array in turn."""
    tree = CobwebTree(3, acuity=1.0)
    tree.insert_many(np.random.default_rng(0).normal(size=(40, 3)))
    tree.check()
    array = getattr(tree.arrays, field)
    victim = tree.root if field in ("size", "h", "s") else int(np.flatnonzero(tree.arrays.first_child >= 0)[3])
    if field in ("mean", "m2"):
        victim = int(tree.arrays.row[tree.root])
    array[victim] += 1
    with pytest.raises(InvariantError):
        tree.check()


def assert_same_bytes(a: CobwebTree, b: CobwebTree) -> None:
    from gossamer.tree.arrays import used

    ours, theirs = used(a.arrays), used(b.arrays)
    for name in ours:
        if name in ("bucket", "chain"):  # depends on how much room was asked for at once
            continue
        # The moments of rows that no node has are not saved.
        rows = ours["row"][ours["n_children"] > 0] if name in ("mean", "m2") else slice(None)
        assert ours[name][rows].tobytes() == theirs[name][rows].tobytes(), name
