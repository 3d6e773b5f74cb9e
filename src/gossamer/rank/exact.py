"""Query and documents that are named → their exact scores: for filters, and for what lies below one concept."""

from typing import NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Longs
from gossamer.runtime.jit import kernel
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import Ranked, empty_ranking, log_p, path_score


class Scoring(NamedTuple):
    """How a score is made of the log densities along a path (`scoring.blend`)."""

    mean: bool
    context: float

    @property
    def by_leaf_alone(self) -> bool:
        """Whether it is the path gain, for which ancestors other than the root do not count."""
        return not self.mean and self.context == 0.0


class _Ancestors(NamedTuple):
    """Log densities by internal row, for the query with this stamp."""

    densities: Doubles
    stamps: Doubles


def rank_listed(t: TreeArrays, Q: Floats, documents: Longs, k: int, scoring: Scoring) -> Ranked:
    """The k best of `documents` (ascending) for each row of Q; equal scores in order of arrival."""
    ranked = empty_ranking(len(Q), k)
    if not len(documents):
        return ranked
    seen = np.zeros(len(t.row), np.bool_)
    seen[t.leaf[documents]] = True
    ranked.visited[:] = np.count_nonzero(seen)

    def work(start: int, stop: int) -> None:
        scores = np.empty(len(documents))
        ancestors = _Ancestors(np.empty(len(t.mean)), np.zeros(len(t.mean)))
        for q in range(start, stop):
            _score(t, Q[q], documents, scoring, ancestors, q + 1.0, scores)
            order = _best(scores, k)
            ranked.documents[q, : len(order)] = documents[order]
            ranked.scores[q, : len(order)] = scores[order]

    in_threads(work, len(Q))
    return ranked


def _best(scores: Doubles, k: int) -> Longs:
    """The places of the k highest, highest first; of equal ones the first."""
    places = np.arange(len(scores))
    if len(scores) > 4 * k:  # to sort thousands takes longer than to score them
        places = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
    order: Longs = places[np.argsort(-scores[places], kind="stable")][:k]
    return order


@kernel
def _score(
    t: TreeArrays, x: Floats, documents: Longs, scoring: Scoring, ancestors: _Ancestors, stamp: float, out: Doubles
) -> None:
    """Write the exact score of each document for one query. The path gain needs no walk up to the root."""
    mean, context = scoring
    by_leaf_alone = not mean and context == 0.0
    root = log_p(t, t.meta[Meta.ROOT], x)
    last, score = NONE, 0.0
    for i in range(documents.shape[0]):
        leaf = t.leaf[documents[i]]
        if leaf != last:
            if by_leaf_alone:
                score = log_p(t, leaf, x) - root
            else:
                score = path_score(t, leaf, x, mean, context, ancestors.densities, ancestors.stamps, stamp)
            last = leaf
        out[i] = score
