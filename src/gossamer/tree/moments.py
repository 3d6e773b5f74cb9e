"""Moments that need not be saved, nor be in memory: those of a concept follow from its children.

Moments are half of what a tree takes, on disk and in memory. A row of `mean` and `m2` is left out of what is saved
where pooling the children in their order gives the same bits, as it does in a tree that was agglomerated, unless
documents came to the concept since. Free rows are left out too, and read back as zeros. So what is saved and read again
is the same tree.

A tree that was read computes its moments when something asks for them (`CobwebTree.arrays`): additions, explanations
and topics do, a search does not. The root's are always saved, since every score is relative to it, and so is the
scatter of every concept, which paths show.
"""

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Ints
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.insertion import pool_children
from gossamer.tree.scoring import Flags
from gossamer.tree.structure import parents_first

_SAVED: Final = 1
_SHARED: Final = 256
"""Nodes of a level that are worth more than one thread."""


class SavedMoments(NamedTuple):
    """What is saved of the moments of a tree beside the rows themselves."""

    rows: Ints  # of `mean` and `m2`, in ascending order
    scatter: Doubles  # Σ_d m2 of every row; 0 where it is free


def moments_to_save(t: TreeArrays) -> SavedMoments:
    """The rows that do not follow from the children, with the root's; and the scatter of all."""
    saved = np.zeros(t.meta[Meta.INNER_ROWS], np.uint8)
    slots = int(t.meta[Meta.SLOTS])
    inner = t.row[:slots][(t.size[:slots] > 0) & (t.n_children[:slots] > 0)]
    if len(inner):
        saved[t.row[t.meta[Meta.ROOT]]] = _SAVED
    _follow(t, saved, True)
    scatter = np.zeros(len(saved))
    scatter[inner] = t.m2[: len(saved)].sum(axis=1)[inner]
    return SavedMoments(np.flatnonzero(saved).astype(np.int32), scatter)


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
            copy(mean, t.mean[row])
            copy(m2, t.m2[row])
        elif not _same(mean, t.mean[row]) or not _same(m2, t.m2[row]):
            saved[row] = _SAVED


@subkernel
def _same(one: Doubles, other: Doubles) -> bool:
    for d in range(one.shape[0]):
        if one[d] != other[d]:
            return False
    return True
