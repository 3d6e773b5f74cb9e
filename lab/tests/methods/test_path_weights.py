"""Path-sum with other weights: with all weights 1 it is the engine's mean over the path."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer_lab.data.collection import Collection
from gossamer_lab.data.embedded import Embedded
from gossamer_lab.engine import nodes_of
from gossamer_lab.methods import path_weights
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import method_of


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(8, 6)) * 2
    E = np.asarray(centres[rng.integers(0, 8, 150)] + rng.normal(size=(150, 6)), np.float32)
    Q = np.asarray(E[:12] + rng.normal(size=(12, 6)) * 0.2, np.float32)
    ids, asked = [f"d{i}" for i in range(150)], [f"q{i}" for i in range(12)]
    made = Collection(
        "made up", tuple(ids), tuple(ids), tuple(asked), tuple(asked), {f"q{i}": {f"d{i}": 1} for i in range(12)}
    )  # fmt: skip
    return Prepared(Embedded(made, "made up", E, Q), cache=tmp_path_factory.mktemp("cache"), order=1)


def test_weights_of_one_are_the_mean_over_the_path(task: Prepared) -> None:
    ranker = path_weights._ranker(lambda i, depth: np.ones_like(i))
    ours, engine = ranker(task, "raw", 5).rows, method_of("path-sum@raw").rank(task, 5).rows
    assert ours.tolist() == engine.tolist()


def test_over_concepts_alone_siblings_are_equal(task: Prepared) -> None:
    nodes = nodes_of(task.tree("raw").index)
    paths = path_weights._paths(nodes, lambda i, depth: np.ones_like(i), leaf=False, mean=False)
    assert paths.shape == (150, len(nodes.parent))
    above = nodes.parent[nodes.leaf]
    first = np.flatnonzero(above == np.bincount(above).argmax())
    assert len(first) > 1
    assert (paths[first[0]] != paths[first[1]]).nnz == 0
    assert not paths[:, nodes.leaf].nnz


@pytest.mark.parametrize("name", ["path-sum-decay", "path-sum-increase", "path-sum-linear", "path-sum-concepts"])
def test_every_weighting_ranks_distinct_documents(task: Prepared, name: str) -> None:
    for rows in method_of(f"{name}@raw").rank(task, 7).rows:
        assert len(set(rows.tolist())) == 7


def test_a_budget_bounds_best_first(task: Prepared) -> None:
    assert (method_of("best-first-100@raw").rank(task, 5).rows >= -1).all()
