"""The paper's rankings and ours from the definitions, over the public view of a tree."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from gossamer import CobwebTree


def log_p(tree: CobwebTree, node: int, x: npt.NDArray[np.float32]) -> float:
    view = tree.node(node)
    squares = (x.astype(np.float64) - view.mean) ** 2 / view.variance
    return float(-0.5 * (np.log(2 * np.pi * view.variance) + squares).sum())


def path_scores(
    tree: CobwebTree, x: npt.NDArray[np.float32], *, aggregate: str = "sum", context: float = 0.0
) -> dict[int, float]:
    """The score of every document."""
    scores = {}
    for document in tree.node(tree.root).documents:
        path = [log_p(tree, node, x) for node in tree.path(document)]
        gain, total = path[-1] - path[0], sum(path)
        scores[document] = total / len(path) if aggregate == "mean" else (1 - context) * gain + context * total
    return scores


def best_first(tree: CobwebTree, x: npt.NDArray[np.float32], k: int, budget: int | None = None) -> list[int]:
    """Documents in the order their leaves leave the heap."""
    heap = [(-log_p(tree, tree.root, x), tree.root)]
    found: list[int] = []
    opened = 0
    while heap and len(found) < k:
        _, node = heapq.heappop(heap)
        view = tree.node(node)
        if view.is_leaf:
            found.extend(view.documents)
        elif opened == budget:
            break
        else:
            opened += 1
            for child in view.children:
                heapq.heappush(heap, (-log_p(tree, child, x), child))
    return found[:k]


def best_of(leaves: dict[int, list[int]], scores: dict[int, float], k: int) -> list[tuple[int, float]]:
    """The k best documents of scored leaves, with their scores; equal scores in order of arrival."""
    scored = [(document, scores[leaf]) for leaf, documents in leaves.items() for document in documents]
    return sorted(scored, key=lambda each: (-each[1], each[0]))[:k]


def evidence(tree: CobwebTree, x: npt.NDArray[np.float32], node: int) -> tuple[float, int | None, float | None]:
    """log p of a node, its best sibling (of equals the lowest id), and the margin over that one."""
    own, parent = log_p(tree, node, x), tree.node(node).parent
    if parent is None:
        return own, None, None
    others = {child: log_p(tree, child, x) for child in tree.node(parent).children if child != node}
    rival = min(others, key=lambda child: (-others[child], child))
    return own, rival, own - others[rival]
