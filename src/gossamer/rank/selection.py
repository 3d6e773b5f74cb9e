"""The best few of many, and the documents of the best leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gossamer.jit import kernel
from gossamer.tree.arrays import NONE, Doubles, Floats, Ints, Longs, TreeArrays


class Ranked(NamedTuple):
    """Documents by number, best first, with scores; NONE and NaN past the end."""

    documents: Longs
    scores: Doubles
    visited: Longs

    def rows(self, start: int, stop: int) -> Ranked:
        """The same for some of the queries: a view, to be filled in."""
        return Ranked(self.documents[start:stop], self.scores[start:stop], self.visited[start:stop])


def nothing(queries: int, k: int) -> Ranked:
    """A ranking still to be filled in."""
    return Ranked(np.full((queries, k), NONE, np.int64), np.full((queries, k), np.nan), np.zeros(queries, np.int64))


@kernel
def replace_worst(scores: Floats, items: Ints, score: float, item: int) -> None:
    """Let an item take the place of the worst in a heap of the best (the worst is on top)."""
    size = scores.shape[0]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[at] = scores[child]
        items[at] = items[child]
        at = child
    scores[at] = score
    items[at] = item


@kernel
def fill(t: TreeArrays, leaves: Ints, scores: Doubles, documents_out: Longs, scores_out: Doubles) -> None:
    """Write the documents of scored leaves, best first; equal scores in order of arrival."""
    order = np.argsort(-scores, kind="mergesort")
    k = documents_out.shape[0]
    filled, at = 0, 0
    while filled < k and at < order.shape[0]:
        # All leaves of the same score are taken together, so that their documents can be put in order.
        score = scores[order[at]]
        total, stop = 0, at
        while stop < order.shape[0] and scores[order[stop]] == score:
            total += t.size[leaves[order[stop]]]
            stop += 1
        tied = np.empty(total, np.int64)
        n = 0
        for i in range(at, stop):
            document = t.first_document[leaves[order[i]]]
            while document != NONE:
                tied[n] = document
                n += 1
                document = t.next_document[document]
        tied.sort()
        for i in range(min(total, k - filled)):
            documents_out[filled] = tied[i]
            scores_out[filled] = score
            filled += 1
        at = stop
