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

from gossamer.tree.arrays import TreeArrays


def weight(t: TreeArrays, node: int, root: int) -> float:
    """How good a basic level a node below the root would be, √n · [H(root) − H(c)]; minus infinity for a leaf."""
    return math.sqrt(t.size[node]) * float(t.h[root] - t.h[node]) if t.n_children[node] else -math.inf


def basic_level(weights: Sequence[float]) -> int | None:
    """Where the basic level is on a path of these weights, root and all; None with nothing between root and leaf."""
    best = max(weights[1:], default=-math.inf)
    return None if best == -math.inf else weights.index(best, 1)
