"""Query and path → what each concept on the path contributes to the score, and how it compares with its best sibling.

    log p(x|leaf) = −½·[D·log 2πa + |x−l|²/a],   |x−l|² = |x|² + |l|² − 2·|x|·|l|·cos(x, l)

So a cosine is affine in the log density of its leaf, and the gains of a path, times a/(|x|·|l|), add up to the cosine
less a part that the root gives. On the sphere all lengths are one radius: the scale and the root's part are then the
same for every document, and documents can be compared step by step.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Limit, Meta, TreeArrays
from gossamer.tree.browsing import shown_children_of
from gossamer.tree.scoring import log_p
from gossamer.tree.views import children_of

_APART: Final = 1e4
"""A query and a leaf whose lengths differ by more than this factor are not compared by cosine."""


class Evidence(NamedTuple):
    """How well a query fits one node."""

    log_p: float
    rival: int | None
    """The sibling that the query fits best; None where there is none, as at the root."""
    margin: float | None
    """log p less that of the rival."""


def evidence(t: TreeArrays, x: Floats, nodes: Iterable[int]) -> dict[int, Evidence]:
    """The evidence of a query, projected as the tree's vectors are, for each of some nodes; siblings are the tree's."""
    listed = list(dict.fromkeys(nodes))
    parents = t.parent[listed].tolist()
    return _evidence(t, x, listed, [() if parent == NONE else children_of(t, parent) for parent in parents])


def evidence_shown(t: TreeArrays, x: Floats, paths: Iterable[Sequence[int]]) -> dict[int, Evidence]:
    """The same for the nodes of shown paths; siblings are those that people see."""
    parents = {node: above for path in paths for above, node in pairwise((path[0], *path))}
    shown = zip(parents.items(), shown_children_of(t, list(parents.values())), strict=True)
    return _evidence(t, x, list(parents), [() if node == above else beside for (node, above), beside in shown])


def _evidence(t: TreeArrays, x: Floats, nodes: Sequence[int], siblings: Sequence[Sequence[int]]) -> dict[int, Evidence]:
    """The evidence for each node, compared with its siblings, which may contain the node itself."""
    own, rivals, theirs = np.empty(len(nodes)), np.empty(len(nodes), np.int32), np.empty(len(nodes))
    ends = np.cumsum([len(each) for each in siblings])
    _measure(t, x, np.array(nodes, np.int32), np.array(list(chain(*siblings)), np.int32), ends, own, rivals, theirs)
    measured = zip(nodes, own.tolist(), rivals.tolist(), theirs.tolist(), strict=True)
    return {
        node: Evidence(mine, None, None) if rival == NONE else Evidence(mine, rival, mine - other)
        for node, mine, rival, other in measured
    }


def gains(log_ps: Sequence[float]) -> list[float]:
    """The log density of each node of a path less that of the one above it; 0 at the root."""
    return [here - above for here, above in zip(log_ps, [log_ps[0], *log_ps], strict=False)]


def scale(t: TreeArrays, length: float, leaf: int) -> float:
    """The factor that turns gains into parts of the cosine between a leaf and a query of this length: a/(|x|·|l|).

    0 where the lengths differ so much that a distance says nothing of the angle, or one of the two has no direction.
    """
    leaf_length = math.sqrt(float(t.norm[t.row[leaf]]))
    if not (0.0 < length < leaf_length * _APART and leaf_length < length * _APART):
        return 0.0
    return float(t.limits[Limit.ACUITY]) / (length * leaf_length)


def at_length_of_documents(t: TreeArrays, x: Floats) -> Floats:
    """A query rescaled to the root mean square length of the documents: a cosine depends on its direction alone."""
    root = int(t.meta[Meta.ROOT])
    row = t.row[root]
    if t.n_children[root] == 0:
        wanted = float(t.norm[row])
    else:
        wanted = float(np.square(t.mean[row]).sum() + t.m2[row].sum() / t.size[root])
    length = float(np.linalg.norm(x.astype(np.float64)))
    return x if length == 0.0 else (x * (math.sqrt(wanted) / length)).astype(np.float32)


def gains_by_axis(t: TreeArrays, x: Floats, path: Sequence[int], context: float = 0.0) -> Doubles:
    """The score of the leaf at the end of a path from the root, as a sum over axes: the term of each."""
    log_ps = [_log_p_by_axis(t, x, node) for node in path]
    by_axis: Doubles = (1.0 - context) * (log_ps[-1] - log_ps[0])
    return by_axis if context == 0.0 else by_axis + context * np.sum(log_ps, axis=0)


def _log_p_by_axis(t: TreeArrays, x: Floats, node: int) -> Doubles:
    """log p(x|c) as a sum over axes."""
    acuity, row = float(t.limits[Limit.ACUITY]), t.row[node]
    if t.n_children[node] == 0:
        mean, variance = t.vectors[row].astype(np.float64), np.full(len(x), acuity)
    else:
        mean, variance = t.mean[row], t.m2[row] / t.size[node] + acuity
    by_axis: Doubles = -0.5 * (np.log(2.0 * math.pi * variance) + np.square(x - mean) / variance)
    return by_axis


@kernel
def _measure(
    t: TreeArrays, x: Floats, nodes: Ints, siblings: Ints, ends: Longs, own: Doubles, rivals: Ints, theirs: Doubles
) -> None:
    """Write log p(x|c) of each node, its best sibling (of equals the lowest id), and log p of that one.

    The siblings of node i end before siblings[ends[i]], and those of the next one follow.
    """
    at = 0
    for i in range(nodes.shape[0]):
        own[i] = log_p(t, nodes[i], x)
        rivals[i] = NONE
        theirs[i] = 0.0
        while at < ends[i]:
            sibling = siblings[at]
            at += 1
            if sibling != nodes[i]:
                value = log_p(t, sibling, x)
                if rivals[i] == NONE or value > theirs[i] or (value == theirs[i] and sibling < rivals[i]):
                    rivals[i] = sibling
                    theirs[i] = value
