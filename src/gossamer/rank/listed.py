"""Exact scores of documents that are named: for filters, for subtrees, for a second opinion on a few."""

from __future__ import annotations

import numpy as np

from gossamer.jit import kernel
from gossamer.rank.density import path_score
from gossamer.rank.selection import Ranked, nothing
from gossamer.rank.threads import in_threads
from gossamer.tree.arrays import NONE, Doubles, Floats, Longs, TreeArrays


def rank_listed(t: TreeArrays, Q: Floats, documents: Longs, k: int, *, mean: bool, context: float) -> Ranked:
    """The k best of `documents` (in ascending order) for each row of Q, exactly; equal scores in order of arrival."""
    ranked = nothing(len(Q), k)
    if not len(documents):
        return ranked
    ranked.visited[:] = len(np.unique(t.leaf[documents]))

    def work(start: int, stop: int) -> None:
        some = ranked.rows(start, stop)
        _rank(t, Q[start:stop], documents, mean, context, some.documents, some.scores)

    in_threads(work, len(Q))
    return ranked


@kernel
def score_listed(t: TreeArrays, x: Floats, documents: Longs, mean: bool, context: float, out: Doubles) -> None:
    """The exact score of each document for one query."""
    known, stamps = np.empty(t.mean.shape[0]), np.zeros(t.mean.shape[0])
    _score(t, x, documents, mean, context, known, stamps, 1.0, out)


@kernel
def _score(
    t: TreeArrays, x: Floats, documents: Longs, mean: bool, context: float,
    known: Doubles, stamps: Doubles, stamp: float, out: Doubles,
) -> None:  # fmt: skip
    last, score = NONE, 0.0
    for i in range(documents.shape[0]):
        leaf = t.leaf[documents[i]]
        if leaf != last:
            score = path_score(t, leaf, x, mean, context, known, stamps, stamp)
            last = leaf
        out[i] = score


@kernel
def _rank(
    t: TreeArrays, Q: Floats, documents: Longs, mean: bool, context: float, documents_out: Longs, scores_out: Doubles
) -> None:
    known, stamps = np.empty(t.mean.shape[0]), np.zeros(t.mean.shape[0])
    scores = np.empty(documents.shape[0])
    for q in range(Q.shape[0]):
        _score(t, Q[q], documents, mean, context, known, stamps, q + 1.0, scores)
        order = np.argsort(-scores, kind="mergesort")
        for i in range(min(order.shape[0], documents_out.shape[1])):
            documents_out[q, i] = documents[order[i]]
            scores_out[q, i] = scores[order[i]]
