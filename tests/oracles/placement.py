"""Living insertion from its definitions: every utility is taken from the documents below.

A tree is made of nodes with children or, at the leaves, documents. Which of equally near leaves is the nearest is left
open: vectors are to be without such ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer import CobwebTree

SMALL, TIE = 12, 1e-10


@dataclass(eq=False)
class Node:
    children: list[Node] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)  # of a leaf
    parent: Node | None = None

    def below(self) -> list[int]:
        return self.documents + [document for child in self.children for document in child.below()]

    def leaves(self) -> list[Node]:
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]

    def adopt(self, child: Node) -> None:
        child.parent = self
        self.children.append(child)

    def is_small(self, most: int) -> bool:
        return 0 < len(self.children) <= most and not any(child.children for child in self.children)

    def nested(self) -> frozenset[Any]:
        """The node as sets of sets: documents at the leaves."""
        return frozenset(child.nested() for child in self.children) if self.children else frozenset(self.documents)


class OraclePlacement:
    """A tree that takes in documents beside those nearest to them."""

    def __init__(self, dim: int, acuity: float) -> None:
        self.acuity = acuity
        self.vectors: npt.NDArray[np.float64] = np.zeros((0, dim))
        self.root: Node | None = None

    @classmethod
    def over(cls, tree: CobwebTree, X: npt.NDArray[np.float32]) -> OraclePlacement:
        """The same tree as the engine's, whose document i is row i of X."""
        oracle = cls(X.shape[1], tree.acuity)
        oracle.vectors = X.astype(np.float64)

        def copy(node: int) -> Node:
            view = tree.node(node)
            made = Node(documents=list(view.documents) if view.is_leaf else [])
            for child in view.children:
                made.adopt(copy(child))
            return made

        oracle.root = copy(tree.root) if tree.n_documents else None
        return oracle

    # -- definitions -----------------------------------------------------------------------------------

    def weighed(self, documents: Sequence[int]) -> float:
        """n·h with h = Σ_d log(1 + variance/acuity)."""
        return float(len(documents) * np.log1p(self.vectors[documents].var(axis=0) / self.acuity).sum())

    def landing(self, leaf: Node, document: int) -> Node:
        """Climb while to unite the node with x loses more than its parent's merges lost in the mean."""
        width = self.vectors.max() - self.vectors.min()
        tie = TIE * self.vectors.shape[1] * np.log1p(width * width / (4 * self.acuity))
        node = leaf
        while node.parent is not None:
            below, parent = node.below(), node.parent
            loss = self.weighed([*below, document]) - self.weighed(below)
            parts = sum(self.weighed(child.below()) for child in parent.children)
            if loss <= (self.weighed(parent.below()) - parts) / (len(parent.children) - 1) + tie:
                break
            node = parent
        return node

    def home(self, leaf: Node, document: int) -> Node:
        """The lowest concept that a document beside a leaf would lie in."""
        node = self.landing(leaf, document)
        return node if node.is_small(self.small()) or node.parent is None else node.parent

    def small(self, more: int = 0) -> int:
        """The leaves that a small concept has at most, in this tree and so many more leaves."""
        assert self.root is not None
        return max(2, min(SMALL, (len(self.root.leaves()) + more) // 12))

    def nearest(self, document: int) -> Node:
        assert self.root is not None
        x = self.vectors[document]
        return min(self.root.leaves(), key=lambda leaf: np.square(self.vectors[leaf.documents[0]] - x).sum())

    # -- changes ---------------------------------------------------------------------------------------

    def insert(self, x: npt.NDArray[np.float32]) -> None:
        document = len(self.vectors)
        self.vectors = np.vstack([self.vectors, x.astype(np.float64)])
        if self.root is None:
            self.root = Node(documents=[document])
            return
        beside = self.nearest(document)
        if np.array_equal(self.vectors[beside.documents[0]], self.vectors[document]):
            beside.documents.append(document)
            return
        node = self.landing(beside, document)
        most = self.small(more=1)
        if not node.children and node.parent is not None and node.parent.is_small(most):
            node = node.parent
        if node.is_small(most):
            node.adopt(Node(documents=[document]))
            if len(node.children) > most:
                self.divide(node)
        else:
            union = Node()
            self._replace(node, union)
            union.adopt(node)
            union.adopt(Node(documents=[document]))

    def divide(self, node: Node) -> None:
        """Put the leaves below two children, by Ward's rule; one that is alone stays a leaf."""
        parts = self.two_clusters([leaf.documents for leaf in node.children])
        leaves, node.children = node.children, []
        for part in parts:
            if len(part) == 1:
                node.adopt(leaves[part[0]])
                continue
            child = Node()
            for place in part:
                child.adopt(leaves[place])
            node.adopt(child)

    def two_clusters(self, members: list[list[int]]) -> list[list[int]]:
        """Merge the two clusters whose union adds least to the squared distances within, until two are left."""
        clusters = [[place] for place in range(len(members))]

        def cost(one: list[int], other: list[int]) -> float:
            a, b = ([document for place in part for document in members[place]] for part in (one, other))
            gap = np.square(self.vectors[a].mean(axis=0) - self.vectors[b].mean(axis=0)).sum()
            return float(len(a) * len(b) / (len(a) + len(b)) * gap)

        while len(clusters) > 2:
            one, other = min(combinations(clusters, 2), key=lambda pair: cost(*pair))
            clusters = [part for part in clusters if part not in (one, other)] + [one + other]
        return clusters

    def remove(self, document: int) -> None:
        """A leaf without documents goes; of a parent with one child left that child takes the place."""
        assert self.root is not None
        leaf = next(leaf for leaf in self.root.leaves() if document in leaf.documents)
        leaf.documents.remove(document)
        parent = leaf.parent
        if leaf.documents:
            return
        if parent is None:
            self.root = None
            return
        parent.children.remove(leaf)
        if len(parent.children) == 1:
            self._replace(parent, parent.children[0])

    def _replace(self, old: Node, new: Node) -> None:
        new.parent = old.parent
        if old.parent is None:
            self.root = new
        else:
            old.parent.children[old.parent.children.index(old)] = new
