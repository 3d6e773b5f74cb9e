"""The basic level of a path: the concept people would name first, neither too general nor too special.

Category utility (Gluck and Corter 1985) weighs how much a concept tells, H(root) − H(c), by how many it tells it of,
P(c). As it stands it nearly always picks a child of the root: going down, P falls by a factor at each step, and what
is told grows by an amount. So the basic level here is where the geometric mean of utility and information peaks,

    √(P(c)·[H(root) − H(c)] · [H(root) − H(c)]) = √P(c) · [H(root) − H(c)]

which is 0 at the root and small near the leaves. Leaves are not considered: a document is no concept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gossamer.tree.arrays import TreeArrays


def basic_level(t: TreeArrays, path: Sequence[int]) -> int | None:
    """Where on a path from the root the basic level is; None where there is nothing between root and leaf."""
    inner = [node for node in path[1:] if t.n_children[node]]
    if not inner:
        return None
    told = t.h[path[0]] - t.h[inner]
    return 1 + int(np.argmax(np.sqrt(t.size[inner]) * told))
