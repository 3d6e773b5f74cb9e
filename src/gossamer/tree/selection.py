"""The best few of many, and the documents of the best leaves."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.runtime.jit import subkernel
from gossamer.tree.arrays import TreeArrays

Flags: TypeAlias = npt.NDArray[np.uint8]

EVERYTHING: Final = np.zeros(0, np.uint8)
"""Flags that allow every document."""


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


@subkernel
def fill(
    t: TreeArrays, leaves: Ints, scores: Doubles, allowed: Flags, documents_out: Longs, scores_out: Doubles
) -> None:
    """Write the documents of scored leaves, best first; equal scores in order of arrival.

    `allowed` has a flag for each document, or none at all if every document may be written. Sorts its input.
    """
    _sort_by_score(leaves, scores)
    k = documents_out.shape[0]
    filled, at = 0, 0
    while filled < k and at < leaves.shape[0]:
        first = filled
        score = scores[at]
        # Leaves of the same score are taken together, so that their documents can be put in order. The first is taken
        # whatever its score is: NaN equals nothing, not even itself, and the loop would never end.
        end = at + 1
        while end < leaves.shape[0] and scores[end] == score:
            end += 1
        while at < end:
            document = t.first_document[leaves[at]]
            while document != NONE:
                if allowed.shape[0] == 0 or allowed[document]:
                    filled = insert_document(documents_out, first, filled, document)
                document = t.next_document[document]
            at += 1
        for i in range(first, filled):
            scores_out[i] = score


@subkernel
def _sort_by_score(leaves: Ints, scores: Doubles) -> None:
    """Best first. What comes in is nearly in order (it was estimated), so insertion is quick."""
    for i in range(1, scores.shape[0]):
        score, leaf = scores[i], leaves[i]
        at = i
        while at > 0 and scores[at - 1] < score:
            scores[at], leaves[at] = scores[at - 1], leaves[at - 1]
            at -= 1
        scores[at], leaves[at] = score, leaf


@subkernel
def insert_document(documents: Longs, first: int, filled: int, document: int) -> int:
    """Put a number in order into documents[first:filled]; the highest falls out. Returns how many there are."""
    at = filled
    if filled == documents.shape[0]:
        at -= 1
        if documents[at] < document:
            return filled
    while at > first and documents[at - 1] > document:
        documents[at] = documents[at - 1]
        at -= 1
    documents[at] = document
    return min(filled + 1, documents.shape[0])
