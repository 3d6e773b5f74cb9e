"""The best documents of scored leaves, against the oracle: with ties, duplicates and a filter."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import CobwebTree
from gossamer.tree.scoring import EVERYTHING
from kernel_wrappers import fill
from oracles import ranking


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 5, 200])
@pytest.mark.parametrize("filtered", [False, True])
def test_the_best_are_those_of_the_oracle(seed: int, k: int, filtered: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (120, 3)).astype(np.float32)  # some share a leaf
    tree = CobwebTree(3)
    tree.insert_many(X)
    t = tree.arrays
    leaves = rng.permutation(np.unique(t.leaf[:120]))[:40].astype(np.int32)
    scores = rng.integers(0, 6, len(leaves)).astype(np.float64)  # many are equal
    flags = (rng.random(120) < 0.5).astype(np.uint8) if filtered else EVERYTHING
    documents, out = np.full(k, -1), np.full(k, np.nan)
    by_leaf = dict(zip(leaves.tolist(), scores.tolist(), strict=True))
    fill(t, leaves.copy(), scores.copy(), flags, documents, out)
    members = {leaf: list(tree.node(leaf).documents) for leaf in by_leaf}
    allowed = {leaf: [d for d in own if not filtered or flags[d]] for leaf, own in members.items()}
    expected = ranking.best_of(allowed, by_leaf, k)
    assert list(zip(documents.tolist(), out.tolist(), strict=True))[: len(expected)] == expected
    assert (documents[len(expected) :] == -1).all()
    assert np.isnan(out[len(expected) :]).all()
