"""The paper's best-first traversal (section 3.4.1): always open the densest node seen so far."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.density import log_p
from gossamer.tree.selection import Ranked, insert_document, nothing


def best_first(t: TreeArrays, Q: Floats, k: int, budget: int | None = None) -> Ranked:
    """Rank documents in the order their leaves leave a heap ordered by log p(x|c).

    Stops at k documents, or after `budget` nodes were opened (the paper's N_max). The order of leaving is
    not the order of the leaves' own densities, so a document's score is the density of the narrowest gate
    it came through, the smallest log p popped so far. Leaves that came through the same gate score the next numbers
    below it: scores fall from leaf to leaf, and say the order of leaving and nothing else.
    """
    ranked = nothing(len(Q), k)
    if t.meta[Meta.ROOT] == NONE:
        return ranked
    limit = int(t.meta[Meta.NODES]) if budget is None else budget

    def work(start: int, stop: int) -> None:
        some = ranked.rows(start, stop)
        _search(t, Q[start:stop], limit, some.documents, some.scores, some.visited)

    in_threads(work, len(Q))
    return ranked


@kernel
def _search(t: TreeArrays, Q: Floats, budget: int, documents: Longs, scores: Doubles, visited: Longs) -> None:
    keys = np.empty(t.meta[Meta.NODES])
    nodes = np.empty(t.meta[Meta.NODES], np.int32)
    for i in range(Q.shape[0]):
        visited[i] = _search_one(t, Q[i], budget, documents[i], scores[i], keys, nodes)


@subkernel
def _search_one(
    t: TreeArrays, x: Floats, budget: int, documents: Longs, scores: Doubles, keys: Doubles, nodes: Ints
) -> int:
    root = t.meta[Meta.ROOT]
    size = _push(keys, nodes, 0, log_p(t, root, x), root)
    visited, opened, filled, gate, last = 1, 0, 0, np.inf, np.inf
    while size > 0 and filled < documents.shape[0]:
        node = nodes[0]
        gate = min(gate, keys[0])
        size = _pop(keys, nodes, size)
        if t.n_children[node] == 0:
            last = min(gate, np.nextafter(last, -np.inf))
            filled = _take_documents(t, node, last, documents, scores, filled)
            continue
        if opened == budget:
            break
        opened += 1
        child = t.first_child[node]
        while child != NONE:
            size = _push(keys, nodes, size, log_p(t, child, x), child)
            visited += 1
            child = t.next_sibling[child]
    return visited


@subkernel
def _take_documents(t: TreeArrays, leaf: int, score: float, documents: Longs, scores: Doubles, filled: int) -> int:
    """Append the documents of a leaf in order of arrival, as far as there is room."""
    first = filled
    document = t.first_document[leaf]
    while document != NONE:
        filled = insert_document(documents, first, filled, document)
        document = t.next_document[document]
    scores[first:filled] = score
    return filled


@subkernel
def _before(key: float, node: int, other_key: float, other: int) -> bool:
    return key > other_key or (key == other_key and node < other)


@subkernel
def _push(keys: Doubles, nodes: Ints, size: int, key: float, node: int) -> int:
    at = size
    while at > 0:
        above = (at - 1) // 2
        if not _before(key, node, keys[above], nodes[above]):
            break
        keys[at], nodes[at] = keys[above], nodes[above]
        at = above
    keys[at], nodes[at] = key, node
    return size + 1


@subkernel
def _pop(keys: Doubles, nodes: Ints, size: int) -> int:
    """Remove the top; the last takes its place and sinks."""
    size -= 1
    key, node = keys[size], nodes[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(keys[child + 1], nodes[child + 1], keys[child], nodes[child]):
            child += 1
        if not _before(keys[child], nodes[child], key, node):
            break
        keys[at], nodes[at] = keys[child], nodes[child]
        at = child
    keys[at], nodes[at] = key, node
    return size
