"""Documents that stand for a concept: the one nearest to the mean, then typical ones that differ from it."""

from typing import Final

import numpy as np

from gossamer.array_types import Longs
from gossamer.tree.arrays import TreeArrays

_MOST: Final = 3
"""Exemplars of a concept, at most."""


def exemplars(t: TreeArrays, documents: Longs) -> tuple[int, ...]:
    """Up to three of `documents`, which are members of one concept; no two of one leaf.

    The first is nearest to their mean. Each further one is, among the nearer half, the furthest from those chosen.
    """
    members = t.vectors[t.row[t.leaf[documents]]].astype(np.float64)
    distances = np.square(members - members.mean(axis=0)).sum(axis=1)
    _, firsts = np.unique(t.leaf[documents], return_index=True)
    firsts.sort()
    candidates, members, distances = documents[firsts], members[firsts], distances[firsts]
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
