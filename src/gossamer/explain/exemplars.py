"""Documents that stand for a concept: the one nearest to its mean, then typical ones that differ from it."""

from typing import Final

import numpy as np

from gossamer.array_types import Longs
from gossamer.tree.arrays import TreeArrays

_MOST: Final = 3
"""Exemplars of a concept, at most."""


def exemplars(t: TreeArrays, node: int, documents: Longs) -> tuple[int, ...]:
    """Up to three of `documents`, members of the internal node `node`, no two of one leaf.

    The first is nearest to the mean. Each further one is, among the nearer half, the furthest from those chosen.
    """
    _, firsts = np.unique(t.leaf[documents], return_index=True)
    candidates = documents[np.sort(firsts)]
    members = t.vectors[t.row[t.leaf[candidates]]].astype(np.float64)
    distances = np.square(members - t.mean[t.row[node]]).sum(axis=1)
    nearer = np.argsort(distances, kind="stable")[: max(_MOST, (len(distances) + 1) // 2)]
    candidates, members = candidates[nearer], members[nearer]
    if len(candidates) <= _MOST:
        return tuple(candidates.tolist())
    chosen = [0]
    apart = np.square(members - members[0]).sum(axis=1)
    while len(chosen) < _MOST:
        chosen.append(int(np.argmax(apart)))
        apart = np.minimum(apart, np.square(members - members[chosen[-1]]).sum(axis=1))
    return tuple(candidates[chosen].tolist())
