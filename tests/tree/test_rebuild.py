"""Rebuilding: the same documents under better concepts, the same tree every time, and no harm from an interruption."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from gossamer import CobwebTree
from gossamer.tree import cobweb
from gossamer.tree.arrays import TreeArrays, used
from gossamer.tree.rebuild import content_order, single_level_arrays, total_utility
from gossamer.tree.structure import hash_rows, rehash
from gossamer.tree.validation import check_tree
from oracles import content
from oracles.cobweb import OracleCobweb
from properties.strategies import Matrix, acuities, matrices


def topics(n: int, dim: int = 24, seed: int = 0) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(98).normal(size=(80, dim))
    return (centres[rng.integers(0, 80, n)] + rng.normal(size=(n, dim)) * 0.8).astype(np.float32)


def grown(n: int) -> CobwebTree:
    tree = CobwebTree(24)
    tree.insert_many(topics(n))
    return tree


def state(tree: CobwebTree) -> dict[str, bytes]:
    arrays = used(tree.arrays)
    arrays["vectors"] = arrays["vectors"][np.isfinite(arrays["norm"])]
    return {name: array.tobytes() for name, array in arrays.items()}


# -- the tree ------------------------------------------------------------------------------------------


def test_rebuilding_raises_utility_and_keeps_ids() -> None:
    X = topics(3000)
    X[100:110] = X[0]
    tree = CobwebTree(24)
    tree.insert_many(X)
    tree.remove(range(50, 90))
    leaves = {document: tree.leaf(document) for document in range(3000) if not 50 <= document < 90}
    done = tree.rebuild()
    tree.check()
    assert done.utility_after > done.utility_before
    assert {document: tree.leaf(document) for document in leaves} == leaves
    again = tree.rebuild(passes=2)
    assert again.passes == 1, "a second pass would change nothing"
    # Concepts may have other slots, so that the sum is added up in another order.
    assert again.utility_after == pytest.approx(done.utility_after, rel=1e-12)
    tree.check()


def test_rebuilding_gives_the_same_bytes_every_time() -> None:
    trees = [grown(9000) for _ in range(2)]
    for tree in trees:
        tree.rebuild()
    assert state(trees[0]) == state(trees[1])


def test_refine_is_the_old_name() -> None:
    new, old = grown(400), grown(400)
    assert new.rebuild(2, keep=3) == old.refine(2, keep=3)
    assert state(new) == state(old)


def test_an_empty_tree() -> None:
    assert CobwebTree(3).rebuild().utility_after == 0.0


@given(X=matrices(max_rows=30), acuity=acuities)
def test_total_utility_equals_the_oracle(X: Matrix, acuity: float) -> None:
    tree = CobwebTree(X.shape[1], acuity)
    tree.insert_many(X)
    oracle = OracleCobweb(X.shape[1], acuity)
    oracle.vectors = X.astype(np.float64)
    expected = 0.0
    for node in {node for document in range(len(X)) for node in tree.path(document)}:
        view = tree.node(node)
        if not view.is_leaf:
            utility = oracle.partition_utility([list(child.documents) for child in view.child_nodes])
            expected += view.count / len(X) * utility
    assert total_utility(tree.arrays) == pytest.approx(expected, rel=1e-6, abs=1e-9)


# -- interruptions and progress ------------------------------------------------------------------------


def stop_after(steps: int) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if done >= steps:
            raise KeyboardInterrupt

    return report


@pytest.mark.parametrize("steps", [1, 1000, 7000, 8820])
def test_an_interruption_leaves_the_tree_as_it_was(steps: int) -> None:
    tree = grown(9000)
    tree.remove(range(0, 9000, 50))
    before = state(tree)
    with pytest.raises(KeyboardInterrupt):
        tree.rebuild(progress=stop_after(steps))
    with pytest.raises(KeyboardInterrupt):
        tree.agglomerate(topics(500, seed=8), progress=stop_after(steps))
    assert state(tree) == before
    tree.check()
    tree.rebuild()
    tree.check()


def test_progress_rises_to_its_total_and_sees_a_whole_tree() -> None:
    tree = grown(9001)
    reported: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        reported.append((done, total))
        assert tree.n_documents == 9001

    tree.rebuild(passes=2, progress=report)
    tree.check()
    assert reported == sorted(reported)
    assert reported[-1] == (9001, 9001)
    many = CobwebTree(24)
    many.agglomerate(np.tile(topics(500), (4, 1)), progress=lambda done, total: reported.append((done, total)))
    assert reported[-1] == (2000, 2000)


def test_ctrl_c_while_room_is_made_loses_no_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = grown(4096)
    saved = tree.to_bundle()
    t = TreeArrays(**used(tree.arrays))._replace(bucket=np.empty(4096, np.int32))  # as full as a saved tree can be
    rehash(t)
    loaded = CobwebTree.from_bundle(replace(saved, arrays=t._asdict()))

    def rehash_and_interrupt(t: TreeArrays) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        rehash(t)

    with monkeypatch.context() as patch:
        patch.setattr(cobweb, "rehash", rehash_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            loaded.rebuild()
    nodes = loaded.n_nodes
    loaded.insert_many(topics(4096))
    assert loaded.n_nodes == nodes, "each finds its leaf"
    loaded.check()


# -- content -------------------------------------------------------------------------------------------


@given(X=matrices(max_rows=60, max_dim=9))
def test_hashes_and_leaves_equal_the_oracle(X: Matrix) -> None:
    X = X + np.float32(0.0)  # no negative zeros, as the tree sees vectors
    keys = np.empty(len(X), np.int64)
    hash_rows(X, keys)
    assert keys.tolist() == [content.content_hash(x) for x in X]
    tree = CobwebTree(X.shape[1])
    tree.insert_many(X)
    leaves = {frozenset(tree.node(tree.leaf(document)).documents) for document in range(len(X))}
    assert leaves == content.groups_of_equals(X)


@given(X=matrices(max_rows=60, max_dim=9))
def test_the_order_by_content_equals_the_oracle(X: Matrix) -> None:
    assert content_order(X).tolist() == content.content_order(X)


# -- a tree without concepts ---------------------------------------------------------------------------


@given(X=matrices(max_rows=40), acuity=acuities)
def test_a_single_level_has_every_leaf_below_the_root(X: Matrix, acuity: float) -> None:
    X = X + np.float32(0.0)
    tree = CobwebTree(X.shape[1], acuity)
    tree.replace_arrays(single_level_arrays(X, acuity))
    check_tree(tree.arrays)
    assert tree.depth == (1 if len(content.groups_of_equals(X)) > 1 else 0)
    leaves = {frozenset(tree.node(tree.leaf(document)).documents) for document in range(len(X))}
    assert leaves == content.groups_of_equals(X)
    assert tree.insert_many(X).tolist() == list(range(len(X), 2 * len(X))), "it grows like any other"
    tree.check()
