"""The way to a document, step by step: evidence for each concept, against its best sibling, and on the score's scale.

    log p(x|leaf) = −½·[D·log 2πa + |x−l|²/a],   |x−l|² = |x|² + |l|² − 2·|x|·|l|·cos(x, l)

so a cosine is affine in its leaf's density, and the gains of a path, times a/(|x|·|l|), add up to the cosine less
what the root gives. On the sphere all lengths are one radius: the scale and the root's share are then the same for
every document, and documents can be compared step by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.density import log_p

_APART: Final = 1e4
"""Lengths that differ by more than this factor."""


class Evidence(NamedTuple):
    """Of a query for one node."""

    log_p: float
    rival: int | None
    """The sibling the query fits best; None at the root."""
    margin: float | None
    """log p less the rival's."""


def evidence(t: TreeArrays, x: Floats, nodes: Iterable[int]) -> dict[int, Evidence]:
    """Of a query, as the tree sees it, for each node and its best sibling."""
    listed = np.array(list(dict.fromkeys(nodes)), np.int32)
    own, rivals, theirs = np.empty(len(listed)), np.empty(len(listed), np.int32), np.empty(len(listed))
    _measure(t, x, listed, own, rivals, theirs)
    return {
        node: Evidence(mine, None, None) if rival == NONE else Evidence(mine, rival, mine - other)
        for node, mine, rival, other in zip(
            listed.tolist(), own.tolist(), rivals.tolist(), theirs.tolist(), strict=True
        )
    }


def gains(log_ps: Sequence[float]) -> list[float]:
    """Of each step of a path over the one before; 0 at the root."""
    return [here - above for here, above in zip(log_ps, [log_ps[0], *log_ps], strict=False)]


def scale(t: TreeArrays, mine: float, leaf: int) -> float:
    """What a gain is worth on the scale of the cosine between a query of length `mine` and a leaf.

    0 where lengths differ so much that a distance says nothing of the angle, or one of the two has no direction.
    """
    its = math.sqrt(float(t.norm[t.row[leaf]]))
    if not (0.0 < mine < its * _APART and its < mine * _APART):
        return 0.0
    return float(t.limits[Limit.ACUITY]) / (mine * its)


def at_length_of_documents(t: TreeArrays, x: Floats) -> Floats:
    """A query as long as the documents are on average (root mean square): its direction is all that a cosine sees."""
    root = int(t.meta[Meta.ROOT])
    row = t.row[root]
    if t.n_children[root] == 0:
        wanted = float(t.norm[row])
    else:
        wanted = float(np.square(t.mean[row]).sum() + t.m2[row].sum() / t.size[root])
    length = float(np.linalg.norm(x.astype(np.float64)))
    return x if length == 0.0 else (x * (math.sqrt(wanted) / length)).astype(np.float32)


def gains_by_axis(t: TreeArrays, x: Floats, leaf: int) -> Doubles:
    """log p(x|leaf) − log p(x|root), axis by axis."""
    acuity, root = float(t.limits[Limit.ACUITY]), leaf
    while t.parent[root] != NONE:
        root = int(t.parent[root])
    if root == leaf:
        return np.zeros(len(x))
    variance = t.m2[t.row[root]] / t.size[root] + acuity
    at_leaf = np.square(x - t.vectors[t.row[leaf]].astype(np.float64)) / acuity
    at_root = np.square(x - t.mean[t.row[root]]) / variance
    by_axis: Doubles = 0.5 * (at_root + np.log(variance / acuity) - at_leaf)
    return by_axis


@kernel
def _measure(t: TreeArrays, x: Floats, nodes: Ints, own: Doubles, rivals: Ints, theirs: Doubles) -> None:
    """log p(x|c) of each node, its best sibling (the lower id where two are equal), and that one's."""
    for i in range(nodes.shape[0]):
        own[i] = log_p(t, nodes[i], x)
        rivals[i] = NONE
        theirs[i] = 0.0
        parent = t.parent[nodes[i]]
        if parent == NONE:
            continue
        sibling = t.first_child[parent]
        while sibling != NONE:
            if sibling != nodes[i]:
                value = log_p(t, sibling, x)
                if rivals[i] == NONE or value > theirs[i] or (value == theirs[i] and sibling < rivals[i]):
                    rivals[i] = sibling
                    theirs[i] = value
            sibling = t.next_sibling[sibling]
