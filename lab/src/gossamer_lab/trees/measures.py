"""How well groups and trees agree with classes that people gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gossamer.errors import InputError
from gossamer_lab.engine import Doubles, Longs


@dataclass(frozen=True)
class Dendrogram:
    """A tree over documents: the parent of each node, children before parents, and the node of each document."""

    parent: Longs
    """-1 for the root, which comes last."""
    leaf: Longs

    def __post_init__(self) -> None:
        """Check that parents come after their children."""
        above = self.parent[:-1]
        if len(self.parent) and (self.parent[-1] != -1 or bool((above <= np.arange(len(above))).any())):
            raise InputError("the nodes of a dendrogram must come before their parents, and the root last")

    @classmethod
    def of_merges(cls, merges: Longs) -> Self:
        """A binary tree by the two nodes merged at each step: documents 0 … n − 1, unions n, n + 1 ..."""
        documents = len(merges) + 1
        parent = np.full(documents + len(merges), -1, np.int64)
        for step, pair in enumerate(merges):
            parent[pair] = documents + step
        return cls(parent, np.arange(documents))


def dendrogram_purity(tree: Dendrogram, classes: Longs) -> float:
    """The mean, over all pairs of documents of one class, of that class's share in the smallest node with both.

    After Heller and Ghahramani (2005); exact. For a node with n documents, n_k of class k, the pairs of k that meet
    there are those among its documents which meet in none of its children: C(n_k, 2) − Σ C(n_k of child, 2).
    """
    counts = np.zeros((len(tree.parent), int(classes.max()) + 1))
    np.add.at(counts, (tree.leaf, classes), 1.0)
    met_below = np.zeros_like(counts)
    for node, above in enumerate(tree.parent[:-1]):
        counts[above] += counts[node]
        met_below[above] += _pairs(counts[node])
    meeting = _pairs(counts) - met_below
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    whole = float(_pairs(counts[-1]).sum())
    return float((meeting * shares).sum() / whole) if whole else 1.0


def _pairs(counts: Doubles) -> Doubles:
    return counts * (counts - 1.0) / 2.0


def nmi(groups: Longs, classes: Longs) -> float:
    """Normalised mutual information, by the arithmetic mean of both entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(classes, groups))
