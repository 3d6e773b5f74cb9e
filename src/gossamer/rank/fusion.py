"""Dense and lexical scores of documents → one ranking.

    score = best + (first − best) · c · min(c, ½)  +  w · BM25 / (best BM25 of any document)

Here `best` and `first` are the cosines, in the whitened space, of the query and the best and the first passage of a
document, and c is that of these two passages, 0 if it is below: how a text begins tells what all of it is about,
unless the best passage is about something else. nDCG@10 by meaning alone, MiniLM, over the dot product of whole texts
(of which it reads 256 tokens) on Cranfield, CACM, SciFact and 1,000 news articles searched for by title, and over the
best passage where each document is 1 to 10 passages of MS MARCO, chosen by chance or alike:

    best passage alone                        −0.8   +0.4   +0.9   −0.9       0      0
    (first − best) · c · min(c, ½)            +0.6   +0.6   +1.8   +1.1    +0.1   −0.4
    (first − best) / passages                 +0.8   +0.9   +1.9   +1.0    −7.5   −6.5
    (first − best) / 2                        +0.9   +0.9   +1.5   +1.7   −31    −23
    mean of the best and a vector of the
    whole text, which would have to be kept   +1.5   +1.2   +1.9   +1.2

For w see `lexical.scores`. Scores are added, not ranks: with equal weights, reciprocal rank fusion lowered nDCG@10 on
MS MARCO from 76.6 to 70.7 and on QQP from 67.95 to 67.6 (MiniLM).

The nearest passages are read only as deep as needed, by Fagin's threshold argument: a document that is not among them
is no nearer than the last of them, so only its words can lift it into the best k, and only if their part makes up the
difference. All documents of which that is true are scored.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import DocumentNumber, Doubles, Longs

OPENING: Final = 0.5
"""The most that the first passage of a text counts, as against the best one."""

_DIGITS: Final = 9
"""Decimal places of a cosine. Beyond is the noise of float32, and equal texts must score equal."""


class Candidates(NamedTuple):
    """Documents, each once, with their best passages. Entry n of each array belongs to the same document."""

    documents: Longs
    passages: Longs
    """As the tree numbers them."""
    cosines: Doubles
    """The cosine of each passage."""
    openings: Doubles
    """What the first passage of each document takes away; never above 0."""

    def and_others(self, more: Candidates) -> Candidates:
        """These and other documents."""
        return Candidates(
            np.concatenate([self.documents, more.documents]),
            np.concatenate([self.passages, more.passages]),
            np.concatenate([self.cosines, more.cosines]),
            np.concatenate([self.openings, more.openings]),
        )

    def opened(self, first: Doubles, alike: Doubles) -> Candidates:
        """The same with the cosines of the query and the first passages, and of these and the passages that were found.

        In a restricted scope the first passage may be nearer than any that was found; it adds nothing then.
        """
        weight = np.clip(alike, 0.0, 1.0) * np.clip(alike, 0.0, OPENING)
        return self._replace(openings=rounded(np.minimum(first - self.cosines, 0.0) * weight) + 0.0)  # no −0


class Scored(NamedTuple):
    """A document with its best passage and the parts of its score."""

    document: DocumentNumber
    passage: int
    """As the tree numbers it."""
    cosine: float
    opening: float
    lexical: float
    boost: float = 0.0

    @property
    def dense(self) -> float:
        """The part of the score that is by meaning."""
        return self.cosine + self.opening

    @property
    def score(self) -> float:
        """The sum of the parts."""
        return self.dense + self.lexical + self.boost


def rounded(cosines: Doubles) -> Doubles:
    """Cosines to nine decimal places."""
    found: Doubles = np.round(cosines, _DIGITS)
    return found


def best_of(owners: Longs, passages: Longs, cosines: Doubles) -> Candidates:
    """The best passage of each document, of equal ones the one with the lowest number. `owners` are of passages."""
    if (np.diff(owners) > 0).all() or len(set(owners.tolist())) == len(owners):
        return Candidates(owners, passages, cosines, np.zeros(len(owners)))
    order = np.lexsort((passages, -cosines, owners))
    first = order[np.flatnonzero(np.diff(owners[order], prepend=-1))]
    return Candidates(owners[first], passages[first], cosines[first], np.zeros(len(first)))


def fused(found: Candidates, lexical: Doubles | None, k: int) -> list[Scored]:
    """The k documents with the highest scores, and those that score as the last of them; best first, of equal scores
    the lower number. `lexical` are the lexical parts of the documents; None where all are 0."""
    dense = found.cosines + found.openings
    scores = dense if lexical is None else dense + lexical
    order = np.lexsort((found.documents, -scores))
    if len(order) > k:
        order = order[: np.count_nonzero(scores >= scores[order[k - 1]])]
    parts = [each[order].tolist() for each in found]
    words = [0.0] * len(order) if lexical is None else lexical[order].tolist()
    return list(map(Scored, *parts, words))


def lexical_needed(ranked: list[Scored], k: int, dense: float) -> float:
    """The lexical part that a document not seen yet must exceed to be among the first k, if its dense part is at most
    `dense`.

    Infinite where none can be, since every passage was seen: `dense` is then minus infinity. Below 0 where any can be.
    """
    if dense == -math.inf:
        return math.inf
    return ranked[k - 1].score - dense if len(ranked) >= k else -math.inf
