"""ConceptTree: a hierarchical clusterer with the interface of scikit-learn, over a `VectorIndex`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gossamer.errors import ParameterError
from gossamer.vector_index import VectorIndex

_FLOATS: Final = [np.float32, np.float64]


class ConceptTree(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters that are cut from a tree of concepts; the tree goes on growing with `partial_fit`.

    Attributes of a fitted tree:

    labels_         the cluster of each row that `fit`, or the last `partial_fit`, was given
    n_clusters_     clusters found: `n_clusters`, or fewer where there are fewer different rows
    index_          the `VectorIndex`: search, explain, paths; the rows have the ids 0, 1, 2 ... in order of arrival

    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [9, 9], [9, 8]])
    >>> tree = ConceptTree(n_clusters=2).fit(X)
    >>> tree.labels_.tolist(), tree.predict([[8.0, 8]]).tolist()
    ([0, 0, 0, 1, 1], [1])
    """

    def __init__(
        self, n_clusters: int = 8, *, whiten: bool = True, structure: Literal["living", "cobweb"] = "living"
    ) -> None:
        """A tree that is cut into `n_clusters` clusters.

        `whiten=False` takes rows as they are, for those that a `Whitener` in the same pipeline has made; else they are
        whitened once there are a thousand, or four for each dimension. `structure` is that of `VectorIndex`.
        """
        self.n_clusters = n_clusters
        self.whiten = whiten
        self.structure = structure

    def fit(self, X: Any, y: object = None) -> Self:
        """Build a tree over the rows of X and cut it; `y` is ignored."""
        self.__dict__.pop("index_", None)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Add the rows of X to the tree, and cut it again; `y` is ignored.

        A cluster keeps its number: numbers are given so that as many rows as possible stay in the cluster they had.
        """
        if (
            not isinstance(self.n_clusters, int | np.integer)
            or isinstance(self.n_clusters, bool)
            or self.n_clusters < 1
        ):
            raise ParameterError(f"n_clusters must be a whole number of at least 1, got {self.n_clusters!r}")
        first = not hasattr(self, "index_")
        rows = validate_data(self, X, dtype=_FLOATS, reset=first)
        if first:
            whitener: Any = "preset" if self.whiten else None
            self.index_ = VectorIndex(rows.shape[1], whitener=whitener, structure=self.structure)
        before: npt.NDArray[np.int64] = np.empty(0, np.int64) if first else self._clusters
        self.index_.add(rows)
        self._cut = self.index_.cut(int(self.n_clusters))
        found = np.empty(len(self.index_), np.int64)
        for number, members in enumerate(self._cut.members):
            found[np.array(members, np.int64)] = number
        self._numbers = _matched(found[: len(before)], before, len(self._cut))
        self._clusters: npt.NDArray[np.int64] = self._numbers[found]
        self.labels_ = self._clusters[-len(rows) :]
        self.n_clusters_ = len(self._cut)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """The cluster of each row: that of the fitted row which is nearest to it in the space of the tree."""
        rows = self._checked(X)
        nearest = self.index_.search(rows, 1).ids[:, 0]
        clusters: npt.NDArray[np.int64] = self._clusters[nearest.astype(np.int64)]
        return clusters

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The membership of each row in each cluster, P(cluster given row); rows add up to 1.

        A cluster is a Gaussian here, with the variances of its rows. The largest membership is not always that in the
        cluster which `predict` gives by the nearest row.
        """
        rows = self._checked(X)
        shares = self._cut.memberships(self.index_.project(rows))
        out = np.empty_like(shares)
        out[:, self._numbers] = shares
        return out

    def linkage(self, numbers: Mapping[int, int] | None = None) -> npt.NDArray[np.float64]:
        """How the tree merges the clusters further, as a linkage matrix for scipy.cluster.hierarchy.

        `numbers` are those by which someone else calls the clusters, as BERTopic does, which sorts them by size.
        """
        check_is_fitted(self, "index_")
        called = [int(each) if numbers is None else numbers[int(each)] for each in self._numbers]
        merges = self._cut.linkage.copy()
        of_clusters = merges[:, :2] < self.n_clusters_
        merges[:, :2][of_clusters] = np.array(called)[merges[:, :2][of_clusters].astype(np.int64)]
        return merges

    def _checked(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self, "index_")
        # The index itself looks for NaN and infinity.
        rows: npt.NDArray[Any] = validate_data(self, X, dtype=_FLOATS, reset=False, ensure_all_finite=False)
        return rows

    @property
    def _n_features_out(self) -> int:
        """For scikit-learn's get_feature_names_out."""
        return self.n_clusters_

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "index_" in state:
            self.index_.settle()  # a renewal under way would be lost
            state["index_"] = self.index_.to_bundle()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "index_" in state:
            self.index_ = VectorIndex.from_bundle(state["index_"])


def _matched(found: npt.NDArray[np.int64], before: npt.NDArray[np.int64], clusters: int) -> npt.NDArray[np.int64]:
    """A number for each cluster, so that as many rows as possible keep theirs; without rows, large clusters first."""
    shared = np.zeros((clusters, clusters), np.int64)
    kept = before < clusters
    np.add.at(shared, (found[kept], before[kept]), 1)
    numbers = np.empty(clusters, np.int64)
    of, number = linear_sum_assignment(shared, maximize=True)
    numbers[of] = number
    return numbers
