"""Redistribution (Fisher 1996): take every document out and sort it in again, now that the concepts are there.

The first documents were sorted into a tree that knew little. A pass gives each a second chance; ids of
documents and leaves stay what they are, only the concepts between them change.
"""

from __future__ import annotations

import numpy as np

from gossamer.jit import kernel
from gossamer.tree.arrays import NONE, Longs, Meta, TreeArrays
from gossamer.tree.grow import descend, has_room
from gossamer.tree.kernels import copy
from gossamer.tree.shrink import take_out


@kernel
def redistribute(t: TreeArrays, documents: Longs, start: int, node: int) -> tuple[int, int]:
    """Sort documents[start:] in again, one after the other; as far as the arrays have room.

    Documents that share a leaf stay together where they are. Returns (documents done, node): where `node` is not
    NONE, the document at hand is on its way, as in `insert_rows`, and the call is resumed there with more room.
    """
    x = np.empty(t.vectors.shape[1])
    x32 = np.empty(t.vectors.shape[1], np.float32)
    for i in range(start, documents.shape[0]):
        document = documents[i]
        if not has_room(t):
            return i, node
        if node == NONE:
            leaf = t.leaf[document]
            if t.size[leaf] > 1 or t.meta[Meta.DOCUMENTS] == 1:
                continue
            take_out(t, document, x)
            # The slot just freed is the first to be used again: the leaf keeps its id and its row.
            node = t.meta[Meta.ROOT]
        row = t.row[t.meta[Meta.FREE_LEAF]]
        copy(t.vectors[row], x)
        copy(t.vectors[row], x32)
        node = descend(t, node, x32, x, document)
        if node != NONE:
            return i, node
    return documents.shape[0], NONE


@kernel
def total_utility(t: TreeArrays) -> float:
    """Σ over internal nodes p of P(p) · (h(p) − Σ P(c|p)·h(c)) / K: each partition's utility, by who passes it."""
    total = 0.0
    for node in range(t.meta[Meta.SLOTS]):
        if t.n_children[node] > 0:
            total += (t.size[node] * t.h[node] - t.s[node]) / t.n_children[node]
    return total / max(1, t.meta[Meta.DOCUMENTS])
