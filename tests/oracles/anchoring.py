"""Points moved apart where a tree divides them, one leaf at a time, in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gossamer.tree.views import NodeView

Vector = npt.NDArray[np.float64]


def trust(concept: NodeView, settled: int) -> float:
    """How far documents from number `settled` on are divided as those before."""
    groups = [np.array(child.documents) for child in concept.child_nodes]
    older = np.array([(group < settled).sum() for group in groups], float)
    recent = np.array([(group >= settled).sum() for group in groups], float)
    if not older.sum():
        return 0.0
    if not recent.sum():
        return 1.0
    p, q = older / older.sum(), recent / recent.sum()
    difference = 0.5 * np.abs(q - p).sum()
    chance = 0.5 * np.sqrt(p * (1 - p) / recent.sum()).sum()
    return float(max(0.0, 1.0 - 8.0 * max(0.0, difference - 2.0 * chance)))


def anchored(path: list[NodeView], point: Vector, settled: int, strength: float) -> Vector:
    """x' of a point whose path is these concepts, root first."""
    means = [*(concept.mean for concept in path), point]
    weight, total = 1.0, np.zeros(len(point))
    for i, concept in enumerate(path):
        total = total + weight * (means[i + 1] - means[i])
        if i + 1 < len(path):
            weight *= (path[i + 1].count / concept.count) ** (strength * trust(concept, settled))
    return total
