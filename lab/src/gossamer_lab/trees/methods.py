"""What is compared: k-means and Ward of scikit-learn, BERTopic if installed, and the index, also without refining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.engine import Longs, best_groups, default_whitening, structure
from gossamer_lab.timing import clock
from gossamer_lab.trees.labelled import Labelled
from gossamer_lab.trees.measures import Dendrogram

KMEANS, KMEANS_WHITENED = "k-means", "k-means, whitened"
WARD, WARD_WHITENED = "Ward", "Ward, whitened"
BERTOPIC: Final = "BERTopic, its own number"
DEFAULT: Final = "Gossamer"
BEFORE, AS_FILED = f"{DEFAULT}, before refine", f"{DEFAULT}, file order"
AS_WHITENED: Final = f"{DEFAULT}, agglomerated as whitened"

FIXED: Final = (WARD, WARD_WHITENED, AS_FILED)
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
        KMEANS_WHITENED: lambda data, seed: _k_means(_whitened(data), seed),
        **({BERTOPIC: bertopic} if find_spec("bertopic") else {}),
        BEFORE: lambda data, seed: _gossamer(data, _shuffled(data, seed), refine=None),
        AS_WHITENED: lambda data, seed: _gossamer(data, _shuffled(data, seed), refine=None, passes=1),
        DEFAULT: lambda data, seed: _gossamer(data, _shuffled(data, seed)),
        AS_FILED: lambda data, seed: _gossamer(data, np.arange(len(data))),
    }


def tree_methods() -> dict[str, Method]:
    """What is compared over the sample."""
    return {
        WARD: lambda data, seed: _ward(data),
        WARD_WHITENED: lambda data, seed: _ward(_whitened(data)),
        **{name: method for name, method in whole_methods().items() if name.startswith(DEFAULT)},
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
    n = len(data)
    parent = np.full(2 * n - 1, -1, np.int64)
    for merge, pair in enumerate(made.children_):
        parent[pair] = n + merge
    return Found(made.labels_.astype(np.int64), seconds, Dendrogram(parent, np.arange(n)))


def _shuffled(data: Labelled, seed: int) -> Longs:
    return np.random.default_rng(seed).permutation(len(data))


def _gossamer(data: Labelled, order: Longs, *, refine: Literal["preset"] | None = "preset", passes: int = 0) -> Found:
    """The index over the documents in that order, and its best cut; `passes` rebuild the tree as whitened."""
    index = VectorIndex(data.E.shape[1], refine=refine, links=False)
    groups = np.zeros(len(data), np.int64)

    def build() -> None:
        index.add(data.E[order])
        if passes:
            index.tree.refine(passes)
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
