"""The lexical part of the scores of documents, for one query."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Final

import numpy as np

from gossamer.array_types import Bools, DocumentNumber, Doubles, Longs
from gossamer.lexical.words import Words

_COMMON: Final = 0.1
_LARGE: Final = 1_000
"""In an index of at least `_LARGE` documents, words that more than this share of them hold are not marked in texts."""


_NO_DOCUMENTS: Final = np.empty(0, np.int64)


class LexicalScores:
    """w · BM25 / (best BM25 of any document), between 0 and the weight w.

    words       those of the query that some document holds, rarest first; of the forms of one word the first
    """

    def __init__(self, index: Words, words: Sequence[str], weight: float) -> None:
        terms: dict[int, str] = {}
        for word in words if weight else ():
            if term := index.find(word):
                terms.setdefault(term, word)
        holders = dict(zip(terms, index.holders[list(terms)].tolist(), strict=True))
        self._index = index
        self._terms = sorted(terms, key=lambda term: (holders[term], index.vocabulary.terms[term]))
        self.words = tuple(terms[term] for term in self._terms)
        self.weight = weight
        if self.words:
            self._bm25 = index.score_all(self._terms)
            self._factor = weight / self._bm25.max()  # by which those that are asked for are multiplied: few of all

    def among(self, allowed: Bools) -> LexicalScores:
        """The same, where documents that have no flag score 0. `allowed` is in the order of `Words.numbers`."""
        if not self.words:
            return self
        limited = copy(self)
        limited._bm25 = np.where(allowed, self._bm25, 0.0)
        return limited

    def best(self, k: int) -> Longs:
        """The k best documents that hold a word of the query, best first; of equal scores the lower number."""
        if not self.words:
            return _NO_DOCUMENTS
        places = _among_the_best(k, self._bm25)
        places = places[np.argsort(-self._bm25[places], kind="stable")][:k]
        return self._index.numbers[places]

    def above(self, least: float) -> Longs:
        """All documents that score above `least`, in ascending order of their numbers."""
        if not self.words:
            return _NO_DOCUMENTS
        least = max(least, 0.0)
        places = np.flatnonzero(self._bm25 > least / self._factor * (1.0 - 1e-12))  # a little less, for rounding
        return self._index.numbers[places[self._bm25[places] * self._factor > least]]

    def of(self, documents: Longs) -> Doubles:
        """The scores of some documents; 0 for those that hold no word of the query."""
        if not self.words:
            return np.zeros(len(documents))
        found: Doubles = self._bm25[self._index.places(documents)] * self._factor
        return found

    def words_in(self, documents: Longs) -> dict[DocumentNumber, tuple[str, ...]]:
        """The words of the query that each document holds, in whatever form."""
        held = self._index.held(self._terms, self._index.places(documents)).astype(bool)
        words = np.array(self.words, object)
        return {DocumentNumber(number): tuple(words[row]) for number, row in zip(documents.tolist(), held, strict=True)}

    def matches_in(self, texts: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
        """Where the words of the query stand in each text, in whatever form: character offsets, ascending.

        In a large index words that many documents hold are left out: to see them marked tells nothing.
        """
        documents = self._index.documents
        most = documents if documents < _LARGE else _COMMON * documents
        terms = {term for term in self._terms if self._index.holders[term] <= most}
        return [self._index.matches(text, terms) if terms else () for text in texts]


def _among_the_best(k: int, scores: Doubles) -> Longs:
    """Where the k highest scores above 0 are, and perhaps some more, in ascending order.

    The scores are divided into groups. The k-th highest of the groups' maxima is reached by at least k scores, so no
    lower one is among the k highest. This takes a tenth of the time of `argpartition`.
    """
    groups, least = max(4 * k, len(scores) // 64), 0.0
    if groups < len(scores):
        highest = scores[: len(scores) // groups * groups].reshape(-1, groups).max(axis=0)
        least = float(np.partition(highest, groups - k)[groups - k])
    return np.flatnonzero(scores >= least) if least > 0.0 else np.flatnonzero(scores > 0.0)
