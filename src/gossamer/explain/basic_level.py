"""The basic level of a path: the concept people would name first, neither too general nor too special.

Category utility (Gluck and Corter 1985) weighs how much a concept tells, H(root) − H(c), by how many it tells it of,
P(c). As it stands it nearly always picks a child of the root: going down, P falls by a factor at each step, and what
is told grows by an amount. So the basic level here is where the geometric mean of utility and information peaks,

    √(P(c)·[H(root) − H(c)] · [H(root) − H(c)]) = √P(c) · [H(root) − H(c)]

which is 0 at the root and small near the leaves. Leaves are not considered: a document is no concept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gossamer.tree.arrays import TreeArrays


def weights(t: TreeArrays, nodes: Sequence[int], root: int) -> list[float]:
    """How good a basic level each node below the root would be, √n · [H(root) − H(c)]; minus infinity for a leaf."""
    listed = list(nodes)
    found = np.sqrt(t.size[listed]) * (t.h[root] - t.h[listed])
    found[t.n_children[listed] == 0] = -np.inf
    each: list[float] = found.tolist()
    return each


def basic_level(weights: Sequence[float]) -> int | None:
    """Where the basic level is on a path of these weights, root and all; None with nothing between root and leaf."""
    best = max(weights[1:], default=-math.inf)
    return None if best == -math.inf else weights.index(best, 1)
