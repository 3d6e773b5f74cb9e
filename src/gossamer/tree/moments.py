"""Moments that need not be saved: those of a concept follow from its children.

Moments are half of what a tree takes on disk. A row of `mean` and `m2` is left out where pooling the children in their
order gives the same bits, as it does in a tree that was agglomerated, unless documents came to the concept since. Free
rows are left out too, and read back as zeros. So what is saved and read again is the same tree.
"""

from itertools import pairwise
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Doubles, Ints
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.insertion import pool_children
from gossamer.tree.scoring import Flags
from gossamer.tree.structure import parents_first

_SAVED: Final = 1
_SHARED: Final = 256
"""Nodes of a level that are worth more than one thread."""


def rows_to_save(t: TreeArrays) -> Ints:
    """The rows of `mean` and `m2`, in ascending order, that do not follow from the children."""
    saved = np.zeros(t.meta[Meta.INNER_ROWS], np.uint8)
    _follow(t, saved, True)
    return np.flatnonzero(saved).astype(np.int32)


def compute_moments(t: TreeArrays, saved: Ints) -> None:
    """Compute the moments of all concepts whose rows are not in `saved`."""
    known = np.zeros(len(t.mean), np.uint8)
    known[saved] = _SAVED
    _follow(t, known, False)


def _follow(t: TreeArrays, saved: Flags, checking: bool) -> None:
    """Pool the children of each concept, children first; where `checking`, flag the rows that differ from the result,
    else write it into the rows without a flag."""
    if t.meta[Meta.ROOT] == NONE:
        return
    order, starts = _levels(t)
    for first, stop in pairwise(starts[::-1].tolist()):
        level = order[stop:first]
        if len(level) < _SHARED:
            _follow_some(t, level, saved, checking)
        else:
            in_threads(lambda start, end, some=level: _follow_some(t, some[start:end], saved, checking), len(level))  # type: ignore[misc]


@kernel
def _levels(t: TreeArrays) -> tuple[Ints, Ints]:
    """All nodes, level by level, and where each level starts; the last start is the number of nodes."""
    order = parents_first(t, t.meta[Meta.ROOT])
    starts = np.empty(order.shape[0] + 1, np.int32)
    starts[0] = 0
    levels, stop, at = 1, 1, 0
    while stop < order.shape[0]:
        starts[levels] = stop
        levels += 1
        for at in range(starts[levels - 2], starts[levels - 1]):
            stop += t.n_children[order[at]]
    starts[levels] = order.shape[0]
    return order, starts[: levels + 1]


@kernel
def _follow_some(t: TreeArrays, nodes: Ints, saved: Flags, checking: bool) -> None:
    """`_follow` for nodes whose children are done.

    One kernel writes and checks, since sums may be reassociated otherwise in another one.
    """
    mean, m2 = np.empty(t.mean.shape[1]), np.empty(t.mean.shape[1])
    for node in nodes:
        row = t.row[node]
        if t.n_children[node] == 0 or saved[row] == _SAVED:
            continue
        pool_children(t, node, mean, m2)
        if not checking:
            t.mean[row] = mean
            t.m2[row] = m2
        elif not _same(mean, t.mean[row]) or not _same(m2, t.m2[row]):
            saved[row] = _SAVED


@subkernel
def _same(one: Doubles, other: Doubles) -> bool:
    for d in range(one.shape[0]):
        if one[d] != other[d]:
            return False
    return True
