"""The basic level of a path: the concept people would name first, neither too general nor too special.

Category utility (Gluck and Corter 1985) multiplies the information of a concept, H(root) − H(c), by its probability
P(c). It nearly always chooses a child of the root, because P falls by a factor at each step down while the
information grows by an amount. The basic level here maximises the geometric mean of utility and information,

    √(P(c)·[H(root) − H(c)] · [H(root) − H(c)]) = √P(c) · [H(root) − H(c)]

which is 0 at the root and small near the leaves. A leaf is never the basic level.
"""

import math
from collections.abc import Sequence

import numpy as np

from gossamer.tree.arrays import TreeArrays


def weights(t: TreeArrays, nodes: Sequence[int], root: int) -> list[float]:
    """√n · [H(root) − H(c)] of each node; minus infinity for a leaf."""
    places = np.array(nodes, np.int64)
    found = np.sqrt(t.size[places]) * (t.h[root] - t.h[places])
    found[t.n_children[places] == 0] = -np.inf
    each: list[float] = found.tolist()
    return each


def basic_level(weights: Sequence[float]) -> int | None:
    """The position of the basic level among the weights of a path, root first; None for a root and a leaf alone."""
    best = max(weights[1:], default=-math.inf)
    return None if best == -math.inf else weights.index(best, 1)
