"""Cobweb/4V, plainly: no cached sums, no closed forms. Every utility is taken from the documents below.

The only things it shares with the engine are conventions that a definition leaves open: how ids are given
out, that near-equal scores count as ties, and which operator wins a tie.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float64]

TIE = 1e-10


@dataclass
class Node:
    id: int
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)  # of a leaf


class OracleCobweb:
    def __init__(self, dim: int, acuity: float) -> None:
        self.acuity = acuity
        self.vectors: Vectors = np.zeros((0, dim))
        self.root: Node | None = None
        self.used: list[str] = []
        self._slots = 0
        self._free: dict[str, list[int]] = {"leaf": [], "inner": []}
        self._seen: Vectors = np.zeros((0, dim))  # also documents that were removed

    # -- definitions ---------------------------------------------------------------------------------

    def below(self, node: Node) -> list[int]:
        return node.documents + [d for child in node.children for d in self.below(child)]

    def entropy(self, documents: list[int]) -> float:
        """H = Σ_d log(variance + acuity), over the documents themselves."""
        return float(np.log(self.vectors[documents].var(axis=0) + self.acuity).sum())

    def partition_utility(self, partition: list[list[int]]) -> float:
        """The mean over the children c of P(c)·[H(parent) − H(c)]."""
        everything = [d for part in partition for d in part]
        gains = [len(part) / len(everything) * (self.entropy(everything) - self.entropy(part)) for part in partition]
        return float(np.mean(gains))

    def cost(self, node: Node, document: int) -> float:
        """What x adds to n·H of a child."""
        documents = self.below(node)
        return (len(documents) + 1) * self.entropy([*documents, document]) - len(documents) * self.entropy(documents)

    @property
    def tie(self) -> float:
        width = self._seen.max() - self._seen.min()
        return float(TIE * self.vectors.shape[1] * np.log1p(width * width / (4 * self.acuity)))

    # -- insertion -----------------------------------------------------------------------------------

    def insert(self, x: npt.NDArray[np.float32]) -> None:
        document = len(self.vectors)
        self.vectors = np.vstack([self.vectors, x.astype(np.float64)])
        self._seen = self.vectors
        twin = self.leaf_of_equal(document)
        if twin is not None:
            twin.documents.append(document)
            self.used.append("join")
        elif self.root is None:
            self.root = self._new("leaf", [document])
            self.used.append("new")
        else:
            self._sort_in(self.root, document)

    def _sort_in(self, node: Node, document: int) -> None:
        if not node.children:
            self._split_fringe(node, document)
            return
        b1, b2 = self._two_best(node, document)
        operator = self._best_operator(node, b1, b2, document)
        self.used.append(operator)
        if operator == "insert":
            self._sort_in(b1, document)
        elif operator == "new":
            self._hang(node, self._new("leaf", [document]))
        elif operator == "merge":
            merged = self._new("inner", [])
            for child in (b1, b2):
                node.children.remove(child)
                self._hang(merged, child)
            self._hang(node, merged)
            self._sort_in(merged, document)
        else:
            node.children.remove(b1)
            for child in b1.children:
                self._hang(node, child)
            self._free["inner"].append(b1.id)
            self._sort_in(node, document)

    def _best_operator(self, node: Node, b1: Node, b2: Node, document: int) -> str:
        parts = {child.id: self.below(child) for child in node.children}
        without_b1 = [part for id, part in parts.items() if id != b1.id]
        without_both = [part for id, part in parts.items() if id not in (b1.id, b2.id)]
        scores = {
            "insert": self.partition_utility([*without_b1, [*parts[b1.id], document]]),
            "new": self.partition_utility([*parts.values(), [document]]),
        }
        if len(parts) > 2:
            scores["merge"] = self.partition_utility([*without_both, [*parts[b1.id], *parts[b2.id], document]])
        if b1.children:
            scores["split"] = self.partition_utility([*without_b1, *(self.below(child) for child in b1.children)])
        best = "insert"
        for operator, score in scores.items():
            if score > scores[best] + self.tie:
                best = operator
        return best

    def _two_best(self, node: Node, document: int) -> tuple[Node, Node]:
        tie = self.tie * (len(self.below(node)) + 1)
        left = sorted(node.children, key=lambda child: child.id)
        chosen = []
        for _ in range(2):
            costs = [self.cost(child, document) for child in left]
            chosen.append(next(child for child, cost in zip(left, costs, strict=True) if cost <= min(costs) + tie))
            left.remove(chosen[-1])
        return chosen[0], chosen[1]

    def _split_fringe(self, leaf: Node, document: int) -> None:
        self.used.append("fringe")
        inner = self._new("inner", [])
        self._replace(leaf, inner)
        self._hang(inner, leaf)
        self._hang(inner, self._new("leaf", [document]))

    # -- removal -------------------------------------------------------------------------------------

    def remove(self, document: int) -> None:
        leaf = next(node for node in self.nodes() if document in node.documents)
        leaf.documents.remove(document)
        if leaf.documents:
            return
        self._free["leaf"].append(leaf.id)
        parent = leaf.parent
        if parent is None:
            self.root = None
            return
        parent.children.remove(leaf)
        if len(parent.children) == 1:
            self._replace(parent, parent.children[0])
            self._free["inner"].append(parent.id)

    # -- shape -----------------------------------------------------------------------------------------

    def nodes(self) -> list[Node]:
        found = [self.root] if self.root else []
        for node in found:
            found.extend(node.children)
        return found

    def shape(self) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        """Every node: its children and the documents below it."""
        return {
            node.id: (tuple(sorted(child.id for child in node.children)), tuple(sorted(self.below(node))))
            for node in self.nodes()
        }

    def leaf_of_equal(self, document: int) -> Node | None:
        for node in self.nodes():
            if node.documents and np.array_equal(self.vectors[node.documents[0]], self.vectors[document]):
                return node
        return None

    def _hang(self, parent: Node, child: Node) -> None:
        child.parent = parent
        parent.children.append(child)

    def _replace(self, old: Node, new: Node) -> None:
        parent = old.parent
        new.parent = parent
        if parent is None:
            self.root = new
        else:
            parent.children[parent.children.index(old)] = new

    def _new(self, kind: str, documents: list[int]) -> Node:
        if self._free[kind]:
            return Node(self._free[kind].pop(), documents=documents)
        self._slots += 1
        return Node(self._slots - 1, documents=documents)
