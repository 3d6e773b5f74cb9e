"""What is compared: k-means and Ward of scikit-learn, and the index, also without refining."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Floats
from gossamer.tree.cuts import best_cut
from gossamer.tree.structure import parents_first
from gossamer.vector_index.presets import PRESETS
from gossamer.vector_index.vector_index import VectorIndex
from gossamer_lab.evaluate.tree_quality_data import Labelled
from gossamer_lab.evaluate.tree_quality_measures import Dendrogram, Numbers

KMEANS, KMEANS_WHITENED = "k-means", "k-means, whitened"
WARD, WARD_WHITENED = "Ward", "Ward, whitened"
BERTOPIC: Final = "BERTopic, its own number"
DEFAULT: Final = "Gossamer"
BEFORE, AS_WHITENED, AS_FILED = f"{DEFAULT}, before refine", f"{DEFAULT}, united as whitened", f"{DEFAULT}, file order"

FIXED: Final = (WARD, WARD_WHITENED, AS_FILED)
"""Methods without chance: once is enough."""

_STARTS: Final = 10
"""Of k-means, of which it keeps the best; with scikit-learn's usual single one, NMI moves by up to 0.1."""


@dataclass(frozen=True)
class Found:
    """What one method made of a collection, once."""

    groups: Numbers
    seconds: float
    tree: Dendrogram | None = None


Method: TypeAlias = Callable[[Labelled, int], Found]
"""Of the documents, and a seed."""


def whole_methods() -> dict[str, Method]:
    """What is compared over all documents; BERTopic where it is installed."""
    return {
        KMEANS: _k_means,
        KMEANS_WHITENED: lambda data, seed: _k_means(_whitened(data), seed),
        **({BERTOPIC: _bertopic} if find_spec("bertopic") else {}),
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

    start = time.perf_counter()
    groups = KMeans(data.n_classes, n_init=_STARTS, random_state=seed).fit_predict(data.E)
    return Found(groups.astype(np.int64), time.perf_counter() - start)


def _bertopic(data: Labelled, seed: int) -> Found:
    """BERTopic with its defaults (UMAP, HDBSCAN) on the same vectors; what it leaves out is a group of its own."""
    bertopic: Any = import_module("bertopic")
    umap: Any = import_module("umap")

    start = time.perf_counter()
    reducer = umap.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1)
    topics, _ = bertopic.BERTopic(umap_model=reducer).fit_transform(list(data.texts), embeddings=data.E)
    return Found(np.array(topics, np.int64) + 1, time.perf_counter() - start)


def _ward(data: Labelled) -> Found:
    from sklearn.cluster import AgglomerativeClustering

    start = time.perf_counter()
    made = AgglomerativeClustering(data.n_classes, linkage="ward", compute_full_tree=True).fit(data.E)
    seconds = time.perf_counter() - start
    n = len(data)
    parent = np.full(2 * n - 1, -1, np.int64)
    for merge, pair in enumerate(made.children_):
        parent[pair] = n + merge
    return Found(made.labels_.astype(np.int64), seconds, Dendrogram(parent, np.arange(n)))


def _shuffled(data: Labelled, seed: int) -> Numbers:
    return np.random.default_rng(seed).permutation(len(data))


def _gossamer(data: Labelled, order: Numbers, *, refine: Literal["preset"] | None = "preset", passes: int = 0) -> Found:
    """The index over the documents in that order, and its best cut; `passes` refine the tree as whitened."""
    start = time.perf_counter()
    index = VectorIndex(data.E.shape[1], refine=refine, links=False)
    index.add(data.E[order])
    if passes:
        index.tree.refine(passes)
    cut = best_cut(index.tree.arrays, data.n_classes)
    groups = np.zeros(len(data), np.int64)
    for group, node in enumerate(cut):
        groups[order[index.tree.documents_below(node)]] = group
    seconds = time.perf_counter() - start
    return Found(groups, seconds, _dendrogram(index, order))


def _dendrogram(index: VectorIndex, order: Numbers) -> Dendrogram:
    arrays = index.tree.arrays
    nodes = parents_first(arrays, index.tree.root)[::-1]
    place = np.full(int(nodes.max()) + 2, NONE, np.int64)  # the last entry is what NONE, the root's parent, finds
    place[nodes] = np.arange(len(nodes))
    leaf = np.empty(len(order), np.int64)
    leaf[order] = place[arrays.leaf[: len(order)]]
    return Dendrogram(place[arrays.parent[nodes]], leaf)


def _whitened(data: Labelled) -> Labelled:
    """The same documents as the tree sees them."""
    whitening = PRESETS["default"].whitening().fit(data.E)
    E: Floats = whitening.transform(data.E)
    return Labelled(data.name, data.texts, data.classes, E)
