"""Documents that stand for a concept: the one nearest to its prototype, then such as show how far it goes."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.array_types import Longs
from gossamer.tree.arrays import TreeArrays

_MOST: Final = 3


def exemplars(t: TreeArrays, node: int, documents: Longs) -> tuple[int, ...]:
    """Up to three of `documents`, which lie below `node`, no two alike.

    The first is nearest to the prototype. Each further one is, within the nearer half, the furthest from those
    chosen already: different, and still typical.
    """
    if t.n_children[node] == 0:
        return (int(documents[0]),)
    candidates = _distinct(t, documents)
    members = t.vectors[t.row[t.leaf[candidates]]].astype(np.float64)
    away = np.square(members - t.mean[t.row[node]]).sum(axis=1)
    nearer = np.argsort(away, kind="stable")[: max(_MOST, (len(away) + 1) // 2)]
    candidates, members = candidates[nearer], members[nearer]
    if len(candidates) <= _MOST:
        return tuple(candidates.tolist())
    chosen = [0]
    apart = np.square(members - members[0]).sum(axis=1)
    while len(chosen) < _MOST:
        chosen.append(int(np.argmax(apart)))
        apart = np.minimum(apart, np.square(members - members[chosen[-1]]).sum(axis=1))
    return tuple(candidates[chosen].tolist())


def _distinct(t: TreeArrays, documents: Longs) -> Longs:
    """The first document of each leaf."""
    firsts: dict[int, int] = {}
    for document, leaf in zip(documents.tolist(), t.leaf[documents].tolist(), strict=True):
        firsts.setdefault(leaf, document)
    return np.array(list(firsts.values()), np.int64)
