"""Exact scores of documents that are named: for filters, for subtrees, for a second opinion on a few."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Longs
from gossamer.runtime.jit import kernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.density import log_p, path_score
from gossamer.tree.selection import Ranked, nothing


def rank_listed(t: TreeArrays, Q: Floats, documents: Longs, k: int, *, mean: bool, context: float) -> Ranked:
    """The k best of `documents` (in ascending order) for each row of Q, exactly; equal scores in order of arrival."""
    ranked = nothing(len(Q), k)
    if not len(documents):
        return ranked
    ranked.visited[:] = len(np.unique(t.leaf[documents]))

    def work(start: int, stop: int) -> None:
        scores = np.empty(len(documents))
        known, stamps = np.empty(len(t.mean)), np.zeros(len(t.mean))
        for q in range(start, stop):
            _score(t, Q[q], documents, mean, context, known, stamps, q + 1.0, scores)
            order = np.argsort(-scores, kind="stable")[:k]
            ranked.documents[q, : len(order)] = documents[order]
            ranked.scores[q, : len(order)] = scores[order]

    in_threads(work, len(Q))
    return ranked


@kernel
def _score(
    t: TreeArrays, x: Floats, documents: Longs, mean: bool, context: float,
    known: Doubles, stamps: Doubles, stamp: float, out: Doubles,
) -> None:  # fmt: skip
    """The exact score of each document for one query. The pure gain needs no walk up to the root for each."""
    gain_alone = not mean and context == 0.0
    root = log_p(t, t.meta[Meta.ROOT], x)
    last, score = NONE, 0.0
    for i in range(documents.shape[0]):
        leaf = t.leaf[documents[i]]
        if leaf != last:
            if gain_alone:
                score = log_p(t, leaf, x) - root
            else:
                score = path_score(t, leaf, x, mean, context, known, stamps, stamp)
            last = leaf
        out[i] = score
