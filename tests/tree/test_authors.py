"""Our tree is the authors' tree: one that their own program grew in float64, node for node, and what it retrieves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gossamer import CobwebTree, VectorIndex

FIXTURE = Path(__file__).parents[1] / "fixtures" / "authors-tree" / "tree.npz"
Arrays = dict[str, npt.NDArray[np.float64]]


@pytest.fixture(scope="module")
def theirs() -> Arrays:
    with np.load(FIXTURE, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def groups(parent: npt.NDArray[np.int64], leaf: npt.NDArray[np.int64]) -> list[frozenset[int]]:
    """The documents below each node."""
    below: list[set[int]] = [set() for _ in parent]
    for document, node in enumerate(leaf.tolist()):
        while node >= 0:
            below[node].add(document)
            node = int(parent[node])
    return [frozenset(each) for each in below]


def test_the_same_nodes_with_the_same_means(theirs: Arrays) -> None:
    tree = CobwebTree(theirs["vectors"].shape[1], CobwebTree.PAPER_ACUITY)
    tree.insert_many(theirs["vectors"])
    listed = groups(theirs["parent"].astype(np.int64), theirs["leaf"].astype(np.int64))
    expected = dict(zip(listed, theirs["mean"], strict=True))
    found = {}
    waiting = [tree.root]
    while waiting:
        node = tree.node(waiting.pop())
        waiting.extend(node.children)
        found[frozenset(_documents(tree, node.id))] = node.mean
    assert len(found) == tree.n_nodes == len(expected)
    assert found.keys() == expected.keys()
    for documents, mean in found.items():
        np.testing.assert_allclose(mean, expected[documents], rtol=0, atol=1e-6)


def _documents(tree: CobwebTree, node: int) -> list[int]:
    view = tree.node(node)
    return [int(each) for each in view.documents] if view.is_leaf else [
        document for child in view.children for document in _documents(tree, child)
    ]  # fmt: skip


def test_the_same_answers(theirs: Arrays) -> None:
    index = VectorIndex(theirs["vectors"].shape[1], "paper", whitener=None, links=False)
    index.add(theirs["vectors"])
    queries = theirs["queries"]
    found = index.search(queries, k=20, method="best-first").ids
    assert found.tolist() == theirs["best_first"].tolist()
    sums = index.search(queries, k=20, method="path-sum", aggregate="mean")
    for row, scores in enumerate(theirs["path_sum"]):
        expected = np.argsort(-scores, kind="stable")[:20]
        assert sums.ids[row].tolist() == expected.tolist()
        np.testing.assert_allclose(sums.scores[row], scores[expected], rtol=1e-6)
