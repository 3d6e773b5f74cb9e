"""What grows one document at a time: an index, Cobweb alone, k-means by small batches, and BERTopic's online mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.engine import Doubles, Floats, Longs, group_of_each, structure
from gossamer_lab.trees.labelled import Labelled
from gossamer_lab.trees.measures import Dendrogram

GOSSAMER: Final = "Gossamer"
COBWEB: Final = "Cobweb alone"
KMEANS: Final = "MiniBatchKMeans + Ward"
BERTOPIC: Final = "BERTopic, online"

_FEW, _MANY = 100, 500
"""Documents in a batch of k-means and of BERTopic, whose vectoriser and topic words cost more a batch."""
_CENTRES: Final = 10
"""Centres of k-means for each class: the leaves of its hierarchy."""
_COMPONENTS: Final = 5
"""Dimensions to which BERTopic reduces vectors, its default."""


@dataclass(frozen=True)
class Look:
    """What a system makes of the documents that are there: the group of each, and a tree if it has one."""

    groups: Longs
    tree: Dendrogram | None


class System(Protocol):
    """Takes documents one by one, by their row in a collection."""

    def add(self, row: int) -> None:
        """A document arrives."""

    def remove(self, row: int) -> None:
        """A document goes."""

    def look(self, rows: Longs, n: int) -> Look | None:
        """The documents `rows`, which are those that are there, in about n groups; None where it is too early."""


Maker: TypeAlias = Callable[[Labelled, int], System]
"""Takes the collection and a seed."""


def systems() -> dict[str, Maker]:
    """The systems that are installed."""
    return {
        GOSSAMER: lambda data, seed: OfIndex(data.E, VectorIndex(data.E.shape[1])),
        COBWEB: lambda data, seed: OfIndex(data.E, cobweb_alone(data.E.shape[1])),
        KMEANS: lambda data, seed: OnlineKMeans(data, seed),
        **({BERTOPIC: lambda data, seed: OnlineBertopic(data, seed)} if find_spec("bertopic") else {}),
    }


def missing() -> list[str]:
    """A sentence for each system that is not installed."""
    return [] if find_spec("bertopic") else ["BERTopic is left out: it is not installed (`pip install bertopic`)."]


# -- trees of Gossamer -----------------------------------------------------------------------------


class OfIndex:
    """A `VectorIndex`, whose ids are the rows of the collection."""

    def __init__(self, E: Floats, index: VectorIndex) -> None:
        self.index = index
        self._E = E

    @classmethod
    def built_at_once(cls, E: Floats, rows: Longs) -> OfIndex:
        """All documents added in one call."""
        index = VectorIndex(E.shape[1])
        index.add(E[rows], rows.tolist())
        return cls(E, index)

    def add(self, row: int) -> None:
        """Add one document."""
        self.index.add(self._E[row : row + 1], [row])

    def remove(self, row: int) -> None:
        """Delete one document."""
        self.index.delete([row])

    def look(self, rows: Longs, n: int) -> Look:
        """The best cut, and the tree as it is."""
        return Look(group_of_each(self.index, rows, n), Dendrogram(*structure(self.index, rows)))


def cobweb_alone(dim: int) -> VectorIndex:
    """An index that inserts documents by Cobweb's four operators and never rebuilds."""
    return VectorIndex(dim, structure="cobweb", links=False)


# -- others ----------------------------------------------------------------------------------------


class _Batched:
    """Documents wait until there are enough for a batch. What was learned from a document stays when it goes."""

    def __init__(self, first: int, batch: int) -> None:
        self._needed, self._batch = max(first, batch), batch
        self._waiting: dict[int, None] = {}
        self._ready = False

    def add(self, row: int) -> None:
        """Keep the document for the next batch, and learn the batch once it is full."""
        self._waiting[row] = None
        if len(self._waiting) == self._needed:
            self._learn(np.array(list(self._waiting), np.int64))
            self._waiting, self._needed, self._ready = {}, self._batch, True

    def remove(self, row: int) -> None:
        """Forget the document if it is still waiting."""
        self._waiting.pop(row, None)

    def _learn(self, rows: Longs) -> None:
        raise NotImplementedError


class OnlineKMeans(_Batched):
    """scikit-learn's MiniBatchKMeans with ten centres for each class, and Ward over the centres for the hierarchy."""

    def __init__(self, data: Labelled, seed: int) -> None:
        from sklearn.cluster import MiniBatchKMeans

        centres = max(data.n_classes, min(_CENTRES * data.n_classes, len(data) // 8))
        super().__init__(first=centres, batch=_FEW)
        self._E = data.E
        self._means = MiniBatchKMeans(centres, random_state=seed, batch_size=_FEW, n_init=3)

    def _learn(self, rows: Longs) -> None:
        self._means.partial_fit(self._E[rows])

    def look(self, rows: Longs, n: int) -> Look | None:
        """Each document at its nearest centre, the centres in a tree, and the tree cut into n."""
        from sklearn.cluster import AgglomerativeClustering

        if not self._ready:
            return None
        nearest = self._means.predict(self._E[rows])
        centres = len(self._means.cluster_centers_)
        ward = AgglomerativeClustering(min(n, centres), linkage="ward", compute_full_tree=True)
        ward.fit(self._means.cluster_centers_)
        above = Dendrogram.of_merges(ward.children_).parent
        return Look(ward.labels_[nearest].astype(np.int64), Dendrogram(above, nearest.astype(np.int64)))


class OnlineBertopic(_Batched):
    """BERTopic as its documentation advises for a stream: incremental PCA, MiniBatchKMeans, counts that grow.

    It has no hierarchy that grows: only its groups are compared.
    """

    def __init__(self, data: Labelled, seed: int) -> None:
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.decomposition import IncrementalPCA

        library: Any = import_module("bertopic")
        vectorizers: Any = import_module("bertopic.vectorizers")
        batch = min(_MANY, max(data.n_classes, len(data) // 8))
        super().__init__(first=data.n_classes, batch=batch)
        self._data = data
        self._model = library.BERTopic(
            umap_model=IncrementalPCA(min(_COMPONENTS, batch, data.E.shape[1])),
            hdbscan_model=MiniBatchKMeans(data.n_classes, random_state=seed, n_init=3),
            vectorizer_model=vectorizers.OnlineCountVectorizer(stop_words="english"),
        )

    def _learn(self, rows: Longs) -> None:
        self._model.partial_fit(*self._given(rows))

    def look(self, rows: Longs, n: int) -> Look | None:
        """The topic of each document; their number is that of all classes."""
        if not self._ready:
            return None
        topics, _ = self._model.transform(*self._given(rows))
        return Look(np.unique(np.array(topics), return_inverse=True)[1].astype(np.int64), None)

    def _given(self, rows: Longs) -> tuple[list[str], Doubles]:
        """Texts and vectors; in float64, because incremental PCA changes from one width to the other by itself."""
        return [self._data.texts[row] for row in rows], self._data.E[rows].astype(np.float64)
