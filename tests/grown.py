"""A tree and its search graph that change together, as in `VectorIndex`, for tests below that class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer import CobwebTree
from gossamer.graph import search_graph
from gossamer.graph.calibration import Effort
from gossamer.graph.linking import ALL_PAIRS
from gossamer.graph.search_graph import SearchGraph
from gossamer.neighbours.all_pairs import ON_PROCESSOR
from gossamer.rank.guided import prepare, search_with_effort
from gossamer.rank.path_sum import PathSum
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.scoring import Ranked
from gossamer.tree.structure import sibling_leaves

Matrix = npt.NDArray[np.float32]


def topics(n: int, dim: int = 24, seed: int = 0) -> Matrix:
    """Vectors in topics within themes, on a sphere, as whitened embeddings are."""
    rng = np.random.default_rng(seed)
    themes = np.random.default_rng(99).normal(size=(10, dim)) * 1.5
    centres = themes[rng.integers(0, 10, 80)] + np.random.default_rng(98).normal(size=(80, dim))
    X = centres[rng.integers(0, 80, n)] + rng.normal(size=(n, dim)) * 0.8
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(dim), np.float32)


QUERIES = topics(200, seed=5)


def share_found(found: npt.NDArray[Any], exact: npt.NDArray[Any]) -> float:
    """The mean share of the exact answers that were found."""
    return float(
        np.mean([len(set(a) & set(b)) / len(set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)])
    )


class Grown:
    """Vectors in a tree, with the graph that searches of it use."""

    def __init__(self, X: Matrix, *, linked: bool = True, all_pairs: int = ALL_PAIRS) -> None:
        self.linked = linked
        self.tree = CobwebTree(X.shape[1])
        self.tree.agglomerate(X)
        self.kept: SearchGraph | None = search_graph.build(
            self.t, linked=linked, comparison=ON_PROCESSOR._replace(linked=all_pairs)
        )

    @property
    def t(self) -> TreeArrays:
        return self.tree.arrays

    @property
    def graph(self) -> SearchGraph:
        assert self.kept is not None
        return self.kept

    def add(self, X: Matrix) -> list[int]:
        documents = self.tree.insert_many(X)
        self.kept = search_graph.with_added(self.kept, self.t, documents)
        return list(map(int, documents))

    def remove(self, documents: npt.ArrayLike) -> None:
        leaves = self.t.leaf[np.asarray(documents)]
        rows, beside = self.t.row[leaves], sibling_leaves(self.t, leaves)
        self.tree.remove(np.asarray(documents).tolist())
        self.kept = search_graph.with_removed(self.kept, self.t, rows, beside)

    def prepare(self) -> Grown:
        self.kept = prepare(self.t, self.kept, linked=self.linked)
        return self

    def search(self, Q: Matrix, effort: Effort, k: int = 10) -> Ranked:
        return search_with_effort(self.t, self.graph, Q, k, effort)

    def recall(self, effort: Effort) -> float:
        exact = PathSum().search(self.t, QUERIES, 10).documents
        return share_found(self.search(QUERIES, effort).documents, exact)

    def links(self) -> dict[int, list[int]]:
        """Where the links of each leaf row lead, shortest first."""
        links = self.graph.arrays.links
        rows = np.flatnonzero(links.degree > 0).tolist()
        return {row: links.to[row, : links.degree[row]].tolist() for row in rows}
