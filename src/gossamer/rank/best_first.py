"""Query → documents by the paper's best-first traversal (section 3.4.1): always open the densest node seen so far."""

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.neighbours.ordering import heap_pop, heap_push
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import Ranked, empty_ranking, insert_document, log_p


def best_first(t: TreeArrays, Q: Floats, k: int, budget: int | None = None) -> Ranked:
    """Rank documents in the order their leaves leave a heap ordered by log p(x|c); of equal nodes the lowest id first.

    Stops at k documents, or after `budget` nodes were opened (the paper's N_max). Leaves do not leave in the order of
    their own densities. So the score of a document is the lowest log density that left the heap up to its leaf; where
    it equals that of the leaf before, the next lower float. Scores fall from leaf to leaf, and say the order and no
    more.
    """
    ranked = empty_ranking(len(Q), k)
    if t.meta[Meta.ROOT] == NONE:
        return ranked
    limit = int(t.meta[Meta.NODES]) if budget is None else budget
    in_threads(lambda start, stop: _search(t, Q[start:stop], limit, ranked.rows(start, stop)), len(Q))
    return ranked


@kernel
def _search(t: TreeArrays, Q: Floats, budget: int, out: Ranked) -> None:
    keys = np.empty(t.meta[Meta.NODES])
    nodes = np.empty(t.meta[Meta.NODES], np.int32)
    for i in range(Q.shape[0]):
        one = Ranked(out.documents[i : i + 1], out.scores[i : i + 1], out.visited[i : i + 1])
        _search_one(t, Q[i], budget, keys, nodes, one)


@subkernel
def _search_one(t: TreeArrays, x: Floats, budget: int, keys: Doubles, nodes: Ints, out: Ranked) -> None:
    """Keys are negative log densities, so that the densest node is on top."""
    documents, scores = out.documents[0], out.scores[0]
    root = t.meta[Meta.ROOT]
    size = heap_push(keys, nodes, 0, -log_p(t, root, x), root, True)
    visited, opened, filled, lowest, score = 1, 0, 0, np.inf, np.inf
    while size > 0 and filled < documents.shape[0]:
        node = nodes[0]
        lowest = min(lowest, -keys[0])
        size = heap_pop(keys, nodes, size, True)
        if t.n_children[node] == 0:
            score = min(lowest, np.nextafter(score, -np.inf))
            first = filled
            document = t.first_document[node]
            while document != NONE:
                filled = insert_document(documents, first, filled, document)
                document = t.next_document[document]
            scores[first:filled] = score
            continue
        if opened == budget:
            break
        opened += 1
        child = t.first_child[node]
        while child != NONE:
            size = heap_push(keys, nodes, size, -log_p(t, child, x), child, True)
            visited += 1
            child = t.next_sibling[child]
    out.visited[0] = visited
