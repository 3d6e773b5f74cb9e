"""Path-sum with its first step in PyTorch gives the documents and scores of the compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gossamer.rank.exact import Scoring, rank_listed
from gossamer.rank.path_sum import PathSum
from gossamer.rank.path_sum_on_device import DevicePathSum, largest
from properties.strategies import tree_of
from rank.test_path_sum import SCORINGS

pytestmark = pytest.mark.extra
torch = pytest.importorskip("torch", reason="PyTorch is optional")


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("rows", [1, 2, 30, 3000])
def test_the_answers_are_those_of_the_kernels(rows: int, scoring: Scoring) -> None:
    rng = np.random.default_rng(rows)
    X = (rng.normal(size=(20, 10))[rng.integers(0, 20, rows)] + rng.normal(size=(rows, 10)) / 3).astype(np.float32)
    X[rows // 2 :: 7] = X[0]  # copies share a leaf
    tree = tree_of(X, 0.7)
    Q = rng.normal(size=(70, 10)).astype(np.float32)
    ours, theirs = DevicePathSum("cpu").search(tree.arrays, Q, 9, scoring), PathSum().search(tree.arrays, Q, 9, scoring)
    assert np.array_equal(ours.documents, theirs.documents)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
    assert np.array_equal(ours.visited, theirs.visited)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_what_is_on_the_device_follows_the_tree(scoring: Scoring) -> None:
    rng = np.random.default_rng(0)
    tree, kept = tree_of(rng.normal(size=(50, 6)).astype(np.float32), 1.0), DevicePathSum("cpu")
    Q = rng.normal(size=(5, 6)).astype(np.float32)
    for _ in range(4):
        tree.insert_many(rng.normal(size=(40, 6)))
        tree.remove([int(rng.integers(0, 10)) + 10 * _])
        ours, theirs = kept.search(tree.arrays, Q, 7, scoring), PathSum().search(tree.arrays, Q, 7, scoring)
        assert np.array_equal(ours.documents, theirs.documents)


def test_rounding_never_hides_an_answer() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 8)) + 10_000).astype(np.float32)
    Q = (X[:40] + rng.normal(size=(40, 8)) * 0.1).astype(np.float32)
    found = DevicePathSum("cpu").search(tree_of(X, 1.0).arrays, Q, 5).documents
    exact = np.argsort(((Q[:, None].astype(float) - X[None]) ** 2).sum(-1), axis=1)[:, :5]
    assert np.array_equal(found, exact)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize(("size", "acuity"), [(1e-6, 1e-12), (1e6, 1e12), (1e-14, 1.0), (1.0, 1e-4), (1.0, 1e4)])
def test_answers_are_the_same_at_any_scale(size: float, acuity: float, scoring: Scoring) -> None:
    rng = np.random.default_rng(0)
    tree = tree_of((rng.normal(size=(300, 5)) * size).astype(np.float32), acuity)
    Q = (rng.normal(size=(20, 5)) * size * 10.0 ** rng.integers(-9, 3, (20, 1))).astype(np.float32)
    ours, theirs = DevicePathSum("cpu").search(tree.arrays, Q, 6, scoring), PathSum().search(tree.arrays, Q, 6, scoring)
    assert np.array_equal(ours.documents, theirs.documents)
    np.testing.assert_array_equal(ours.scores, theirs.scores)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_scores_of_the_device_are_off_by_less_than_the_bound(scoring: Scoring) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 40))[rng.integers(0, 30, 2000)] + rng.normal(size=(2000, 40)) / 3).astype(np.float32)
    t, Q, ranker = tree_of(X, 2.0).arrays, rng.normal(size=(30, 40)).astype(np.float32) * 2, DevicePathSum("cpu")
    ranker.search(t, Q[:1], 1, scoring)
    found, bound = ranker._screen(t, Q, 25, scoring), ranker._rounding_error(t, Q, scoring)
    exact = np.array([
        [rank_listed(t, q[None], np.array([t.first_document[leaf]]), 1, scoring).scores[0, 0] for leaf in leaves]
        for q, leaves in zip(Q, found.leaves, strict=True)
    ])  # fmt: skip
    off = np.ptp(found.scores - exact, axis=1)  # the same constant of the query may be missing from all
    assert (off < bound).all()
    assert (off > bound / 10_000).any(), "the bound is of the size of the errors"


def test_a_program_that_wants_fast_products_gets_the_same_answers() -> None:
    tree = tree_of(np.random.default_rng(0).normal(size=(400, 16)).astype(np.float32), 1.0)
    used = []

    class Noted(DevicePathSum):
        def _best(self, *given: Any) -> Any:
            used.append((torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_fp16_accumulation))
            return super()._best(*given)

    Q = np.random.default_rng(1).normal(size=(30, 16)).astype(np.float32)
    torch.set_float32_matmul_precision("medium")
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    try:
        found = Noted("cpu").search(tree.arrays, Q, 5)
        assert torch.get_float32_matmul_precision() == "medium"
        assert torch.backends.cuda.matmul.allow_fp16_accumulation
    finally:
        torch.backends.cuda.matmul.allow_fp16_accumulation = False
        torch.set_float32_matmul_precision("highest")
    assert set(used) == {("highest", False)}
    assert np.array_equal(found.documents, PathSum().search(tree.arrays, Q, 5).documents)


@pytest.mark.parametrize(("columns", "wanted"), [(50, 50), (5000, 7), (5013, 20)])
def test_largest_is_topk(columns: int, wanted: int) -> None:
    scores = torch.randn(11, columns, generator=torch.Generator().manual_seed(0))
    values, places = largest(scores, wanted)
    assert torch.equal(values, scores.topk(wanted).values)
    assert torch.equal(scores.gather(1, places), values)
