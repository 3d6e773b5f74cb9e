"""Questions about a whole tree: its depth, the documents below a node, and whether it is consistent.

`check` looks at everything that loading a tree looks at (see `validation`), and then takes all moments afresh from the
leaves, in NumPy, level by level: it shares no code with the kernels whose work it checks, except the order in which it
walks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints
from gossamer.errors import InvariantError
from gossamer.tree.arrays import Limit, Meta, TreeArrays, used
from gossamer.tree.structure import parents_first
from gossamer.tree.validation import TOLERANCE, check_arrays


def depth(t: TreeArrays) -> int:
    """Steps from the root to the deepest leaf; 0 for an empty tree or a single leaf."""
    return len(levels(t)) - 1 if t.meta[Meta.ROOT] != NONE else 0


def branching(t: TreeArrays) -> Ints:
    """The number of children of every internal node."""
    alive = t.size[: t.meta[Meta.SLOTS]] > 0
    children = t.n_children[: t.meta[Meta.SLOTS]][alive]
    return children[children > 0]


def levels(t: TreeArrays) -> list[Ints]:
    """The nodes by depth: the root alone, its children, theirs ..."""
    order = parents_first(t, t.meta[Meta.ROOT])
    # Breadth first, so a level ends where its nodes' children begin.
    found = []
    start, stop = 0, 1
    while start < len(order):
        found.append(order[start:stop])
        start, stop = stop, stop + int(t.n_children[order[start:stop]].sum())
    return found


def documents_below(t: TreeArrays, node: int) -> npt.NDArray[np.int64]:
    """The documents below a node, in ascending order."""
    order = parents_first(t, node)
    waiting = t.first_document[order[t.n_children[order] == 0]]
    found = []
    while len(waiting):
        found.append(waiting)
        waiting = t.next_document[waiting]
        waiting = waiting[waiting != NONE]
    return np.sort(np.concatenate(found)).astype(np.int64)


def check(t: TreeArrays) -> None:
    """Raise `InvariantError` naming the first thing that does not hold."""
    check_arrays(TreeArrays(**used(t)), t.vectors.shape[1])
    if t.meta[Meta.ROOT] != NONE:
        _check_statistics(t)


def _check_statistics(t: TreeArrays) -> None:
    """Kept means, sums of squares, entropies and sums of entropies equal those taken from the leaves."""
    acuity = t.limits[Limit.ACUITY]
    width = max(float(t.limits[Limit.HIGHEST] - t.limits[Limit.LOWEST]), 1e-30)
    largest = max(abs(float(t.limits[Limit.HIGHEST])), abs(float(t.limits[Limit.LOWEST])), width)
    entropy = np.zeros(len(t.size))
    for nodes in reversed(levels(t)):
        inner = nodes[t.n_children[nodes] > 0]
        for node in inner:
            row, n = t.row[node], t.size[node]
            mean, m2 = _moments(t, int(node))
            _near(t.mean[row], mean, TOLERANCE * largest, f"mean of node {node}")
            _near(t.m2[row] / n, m2 / n, TOLERANCE * width * width, f"variance of node {node}")
            entropy[node] = np.log1p(m2 / (n * acuity)).sum()
            _near(t.h[node], entropy[node], TOLERANCE * len(m2), f"h of node {node}")
            children = _children(t, int(node))
            s = (t.size[children] * entropy[children]).sum()
            _near(t.s[node] / n, s / n, TOLERANCE * len(m2), f"s of node {node}")


def _children(t: TreeArrays, node: int) -> list[int]:
    found = []
    child = int(t.first_child[node])
    while child != NONE:
        found.append(child)
        child = int(t.next_sibling[child])
    return found


def _moments(t: TreeArrays, node: int) -> tuple[Doubles, Doubles]:
    """Mean and M2 of the documents below, in two passes over the leaves themselves."""
    order = parents_first(t, node)
    leaves = order[t.n_children[order] == 0]
    weights = t.size[leaves].astype(np.float64)
    vectors = t.vectors[t.row[leaves]].astype(np.float64)
    mean = weights @ vectors / weights.sum()
    return mean, weights @ (vectors - mean) ** 2


def _near(kept: Doubles | float, fresh: Doubles | float, tolerance: float, what: str) -> None:
    off = float(np.abs(np.asarray(kept) - fresh).max())
    if not off <= tolerance:
        raise InvariantError(f"{what} is off by {off:.3g} (allowed: {tolerance:.3g})")
