"""What is compared: k-means and Ward of scikit-learn, BERTopic if installed, and the index with either structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.engine import Longs, Structure, best_groups, default_whitening, structure
from gossamer_lab.timing import clock
from gossamer_lab.trees.labelled import Labelled
from gossamer_lab.trees.measures import Dendrogram

KMEANS, WARD, WARD_WHITENED = "k-means", "Ward", "Ward, whitened"
BERTOPIC: Final = "BERTopic, its own number"
DEFAULT: Final = "Gossamer"
COBWEB, COBWEB_FILED = "Cobweb's operators", "Cobweb's operators, file order"

FIXED: Final = (WARD, WARD_WHITENED, COBWEB_FILED)
"""Methods without chance: one run is enough."""

_STARTS: Final = 10
"""Starts of k-means, of which it keeps the best. With scikit-learn's usual single one, NMI moves by up to 0.1."""


@dataclass(frozen=True)
class Found:
    """What one method made of a collection: the group of each document, and a tree if it makes one."""

    groups: Longs
    seconds: float
    tree: Dendrogram | None = None


Method: TypeAlias = Callable[[Labelled, int], Found]
"""Takes the documents and a seed."""


def whole_methods() -> dict[str, Method]:
    """What is compared over all documents."""
    return {
        KMEANS: _k_means,
        **({BERTOPIC: bertopic} if find_spec("bertopic") else {}),
        DEFAULT: lambda data, seed: _index(data, _shuffled(data, seed), "living"),
        COBWEB: lambda data, seed: _index(data, _shuffled(data, seed), "cobweb"),
        COBWEB_FILED: lambda data, seed: _index(data, np.arange(len(data)), "cobweb"),
    }


def tree_methods() -> dict[str, Method]:
    """What is compared over the sample."""
    return {
        WARD: lambda data, seed: _ward(data),
        WARD_WHITENED: lambda data, seed: _ward(_whitened(data)),
        DEFAULT: lambda data, seed: _index(data, _shuffled(data, seed), "living"),
    }


def _k_means(data: Labelled, seed: int) -> Found:
    from sklearn.cluster import KMeans

    means = KMeans(data.n_classes, n_init=_STARTS, random_state=seed)
    seconds, groups = clock(lambda: means.fit_predict(data.E))
    return Found(groups.astype(np.int64), seconds)


def bertopic(data: Labelled, seed: int) -> Found:
    """BERTopic with its defaults (UMAP, HDBSCAN) on the same vectors; its outliers are a group of their own."""
    library: Any = import_module("bertopic")
    umap: Any = import_module("umap")
    reducer = umap.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1)
    model = library.BERTopic(umap_model=reducer)
    seconds, (topics, _) = clock(lambda: model.fit_transform(list(data.texts), embeddings=data.E))
    return Found(np.array(topics, np.int64) + 1, seconds)


def _ward(data: Labelled) -> Found:
    from sklearn.cluster import AgglomerativeClustering

    ward = AgglomerativeClustering(data.n_classes, linkage="ward", compute_full_tree=True)
    seconds, made = clock(lambda: ward.fit(data.E))
    return Found(made.labels_.astype(np.int64), seconds, Dendrogram.of_merges(made.children_))


def _shuffled(data: Labelled, seed: int) -> Longs:
    return np.random.default_rng(seed).permutation(len(data))


def _index(data: Labelled, order: Longs, kind: Structure) -> Found:
    """An index over the documents, added at once in that order, and its best cut."""
    index = VectorIndex(data.E.shape[1], structure=kind, links=False)
    groups = np.zeros(len(data), np.int64)

    def build() -> None:
        index.add(data.E[order])
        for group, documents in enumerate(best_groups(index, data.n_classes)):
            groups[order[documents]] = group

    seconds, _ = clock(build)
    parent, leaf_of_document = structure(index)
    leaf = np.empty(len(order), np.int64)
    leaf[order] = leaf_of_document
    return Found(groups, seconds, Dendrogram(parent, leaf))


def _whitened(data: Labelled) -> Labelled:
    """The same documents in the space of the tree."""
    return replace(data, E=default_whitening().fit(data.E).transform(data.E))
