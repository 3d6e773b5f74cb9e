"""`VectorIndex` as an algorithm of ann-benchmarks and of VIBE.

Their runners call `fit`, `set_query_arguments`, `query` or `batch_query`, and `get_additional`. In a checkout of theirs
`class Gossamer(gossamer.integrations.ann_benchmarks.Gossamer, BaseANN)` is the whole module. Vectors are not whitened,
since the true neighbours are those of the raw vectors. The index compares by squared distance, so other metrics change
the vectors first:

angle           x / |x|
inner product   rows (x, √(max |x|² − |x|²)), queries (q, 0): all rows have the same length, so the nearest row is that
                with the largest product (Bachrach et al., RecSys 2014)
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gossamer.errors import ParameterError, StateError
from gossamer.results import SearchResult
from gossamer.vector_index import VectorIndex

_ANGULAR = ("angular", "cosine", "normalized")
_METRICS = (*_ANGULAR, "euclidean", "ip")


class Gossamer:
    """An approximate nearest neighbour search, whose query argument is the wanted recall."""

    def __init__(self, metric: str, structure: Literal["living", "cobweb"] = "living") -> None:
        """`metric` is "euclidean", "angular" or "ip"; VIBE's "cosine" and "normalized" are angles too."""
        if metric not in _METRICS:
            raise ParameterError(f"the metric {metric!r} is not supported: choose among {', '.join(_METRICS)}")
        self._metric = metric
        self._structure = structure
        self._recall: float | None = None
        self._index: VectorIndex | None = None
        self._found: SearchResult | None = None
        self._visited = 0
        self.name = f"Gossamer({structure})"

    def fit(self, X: npt.NDArray[Any]) -> None:
        """Build the tree and the links over the rows of X."""
        rows = self._prepared(X)
        if self._metric == "ip":
            squares = (rows.astype(np.float64) ** 2).sum(axis=1)
            rows[:, -1] = np.sqrt(squares.max() - squares)
        self._index = VectorIndex(rows.shape[1], whitener=None, structure=self._structure)
        self._index.add(rows)
        self._index.settle()

    def set_query_arguments(self, recall: float) -> None:
        """Set the share of the true neighbours to aim for, up to 1.0, which looks at everything."""
        self._recall = recall
        self._visited = 0
        self.name = f"Gossamer({self._structure}, recall={recall})"

    def query(self, q: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        """The rows nearest to one vector, best first."""
        found: npt.NDArray[np.int64] = self._search(q[None], n)[0]
        return found

    def batch_query(self, X: npt.NDArray[Any], n: int) -> None:
        """Search for many vectors at once; `get_batch_results` has the answers."""
        self._found = None
        self._search(X, n)

    def get_batch_results(self) -> npt.NDArray[np.int64]:
        """The answers of the last `batch_query`, a row for each vector."""
        if self._found is None:
            raise StateError("there are no answers: call batch_query first")
        ids: npt.NDArray[np.int64] = self._found.ids
        return ids

    def get_additional(self) -> dict[str, float]:
        """Nodes of the tree that were scored since the arguments were set; ann-benchmarks calls them `dist_comps`."""
        return {"dist_comps": self._visited}

    def done(self) -> None:
        """Free the memory."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def __str__(self) -> str:
        return self.name

    def _search(self, X: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        if self._index is None:
            raise StateError("there is nothing to search: call fit(X) first")
        self._found = self._index.search(self._prepared(X), n, recall=self._recall)
        self._visited += int(self._found.visited.sum())
        return self.get_batch_results()

    def _prepared(self, X: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Vectors in the space that is searched; for inner products the last dimension of queries, which is 0."""
        rows: npt.NDArray[np.float32] = np.asarray(X, np.float32)
        if self._metric in _ANGULAR:
            return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-30))
        return np.pad(rows, ((0, 0), (0, 1))) if self._metric == "ip" else rows
