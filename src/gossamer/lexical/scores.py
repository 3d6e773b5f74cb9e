"""The lexical part of the scores of documents, for one query.

    w · BM25 / (best BM25 of any document)

The weight w is a number, or "auto": the more the best document stands out from the ten best, the more words count.

    w = min(0.4, 0.1 + 0.9 · (1 − mean BM25 of the ten best / best BM25))

Where many documents hold the words of a query, they score alike and tell little; a rare word, or several together, make
one stand out. Chosen on halves of the queries of QQP and of MS MARCO (hard ones, easy ones) and on SciFact, Cranfield
and CACM. nDCG@10 over the dot product's, MiniLM, on the other halves and these three: .9, 1.1, 1.3, 5.3, 3.0, 7.0 with
w = 0.15 for all queries; 1.0, .9, .9, 7.8, 3.6, 9.6 with 0.33; 1.1, 1.1, 1.2, 8.0, 3.4, 9.5 with this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np

from gossamer.array_types import Bools, DocumentNumber, Doubles, Longs
from gossamer.lexical.kernels import best_places
from gossamer.lexical.words import CorpusCounts, Words

_COMMON: Final = 0.1
_LARGE: Final = 1_000
"""In an index of at least `_LARGE` documents, words that more than this share of them hold are not marked in texts."""


_NO_DOCUMENTS: Final = np.empty(0, np.int64)

Weight: TypeAlias = float | Literal["auto"]
"""How much words count: "auto" leaves it to each query."""

AUTO: Final = 0.1, 0.9, 0.4
"""The numbers of the formula for the weight: the least weight, its rise, and the most."""

_BEST: Final = 10
"""The documents that the best one is compared with, itself included."""

_KEPT_SORTED: Final = 100
"""Up to so many of the best scores are found without sorting all."""


@dataclass(frozen=True)
class Corpus:
    """A corpus that the documents of an index are a part of, as the words of one query see it.

    documents   how many there are
    total       the length of all of them together
    holders     by term: the documents that hold it
    held        of each phrase, and each excluded one, whether any document holds it
    best        the highest BM25 of all its documents, highest first: as many as the weight "auto" looks at. Without
                them an index goes by its own
    """

    documents: int = 0
    total: float = 0.0
    holders: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[tuple[str, ...], bool] = field(default_factory=dict)
    best: tuple[float, ...] = ()

    @classmethod
    def of(cls, index: Words, words: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> Corpus:
        """The documents of one index, for a query of these words and phrases."""
        terms = {term for word in words if (term := index.find(word))}
        holders = {index.vocabulary.terms[term]: int(index.holders[term]) for term in terms}
        held = {phrase: bool(len(index.containing(phrase))) for phrase in phrases}
        return cls(index.documents, index.total, holders, held)

    def __add__(self, other: Corpus) -> Corpus:
        """Both corpora together, which have no document in common."""
        holders, held = dict(self.holders), dict(self.held)
        for term, count in other.holders.items():
            holders[term] = holders.get(term, 0) + count
        for phrase, found in other.held.items():
            held[phrase] = held.get(phrase, False) or found
        best = tuple(sorted(self.best + other.best, reverse=True)[:_BEST])
        return Corpus(self.documents + other.documents, self.total + other.total, holders, held, best)

    def weight(self, weight: Weight) -> float:
        """The weight w of the formula, by the best scores of the whole corpus."""
        if weight != "auto":
            return weight
        return _auto_weight(np.array(self.best)) if self.best and self.best[0] > 0.0 else 0.0


class LexicalScores:
    """w · BM25 / (best BM25 of any document), between 0 and the weight w.

    words       those of the query that some document holds, rarest first; of the forms of one word the first
    weight      w; 0 where there are none and it was to be "auto"
    """

    def __init__(self, index: Words, words: Sequence[str], weight: Weight, corpus: Corpus | None = None) -> None:
        """`corpus`: the larger one that the documents are a part of, by which they are scored and compared."""
        if corpus is not None and corpus.documents < max(1, index.documents):
            corpus = None  # not counted: whoever asks could not reach this part when the others were added up
        terms: dict[int, str] = {}
        for word in words if weight else ():
            if term := index.find(word):
                terms.setdefault(term, word)
        holders = dict(zip(terms, index.holders[list(terms)].tolist(), strict=True)) if terms else {}
        if corpus is not None:
            # What was counted may be a little older than this index: a word may have come since.
            counted = {term: corpus.holders.get(index.vocabulary.terms[term], 0) for term in terms}
            holders = {term: min(max(holders[term], counted[term]), max(1, corpus.documents)) for term in terms}
        self._index, self._documents = index, 0 if corpus is None else corpus.documents
        self._terms = sorted(terms, key=lambda term: (holders[term], index.vocabulary.terms[term]))
        self._holders = [holders[term] for term in self._terms]
        self.words = tuple([terms[term] for term in self._terms])
        self.weight = 0.0 if weight == "auto" else weight
        known = corpus is not None and bool(corpus.best)
        if corpus is not None and known:
            self.weight = corpus.weight(weight)
        if self.words:
            counts = None if corpus is None else CorpusCounts(corpus.documents, corpus.total, tuple(self._holders))
            self._bm25 = index.score_all(self._terms, counts)
            self._best = _best_places(_BEST, self._bm25)
            if weight == "auto" and not known:
                self.weight = _auto_weight(self._bm25[self._best])
            best = float(self._bm25[self._best[0]])
            if corpus is not None and known:
                best = max(best, corpus.best[0])
            # By which those that are asked for are multiplied: few of all.
            self._factor = self.weight / best

    def among(self, allowed: Bools) -> LexicalScores:
        """The same, where documents that have no flag score 0. `allowed` is in the order of `Words.numbers`."""
        if not self.words:
            return self
        limited = copy(self)
        limited._bm25 = np.where(allowed, self._bm25, 0.0)
        limited._best = _best_places(_BEST, limited._bm25)
        return limited

    def best(self, k: int) -> Longs:
        """The k best documents that hold a word of the query, best first; of equal scores the lower number."""
        if not self.words:
            return _NO_DOCUMENTS
        places = self._best if k <= _BEST else _best_places(k, self._bm25)
        return self._index.numbers[places[:k]]

    def bm25_of(self, documents: Longs) -> Doubles:
        """BM25 of some documents, as it is before it is weighed against that of the best one."""
        return self._bm25[self._index.places(documents)] if self.words else np.zeros(len(documents))

    def above(self, least: float) -> Longs:
        """All documents that score above `least`, in ascending order of their numbers."""
        if not self.words:
            return _NO_DOCUMENTS
        least = max(least, 0.0)
        places = np.flatnonzero(self._bm25 > least / self._factor * (1.0 - 1e-12))  # a little less, for rounding
        found: Longs = self._index.numbers[places[self._bm25[places] * self._factor > least]]
        return found

    def of(self, documents: Longs) -> Doubles:
        """The scores of some documents; 0 for those that hold no word of the query."""
        if not self.words:
            return np.zeros(len(documents))
        all_of_them = np.array_equal(documents, self._index.numbers)
        found: Doubles = (self._bm25 if all_of_them else self._bm25[self._index.places(documents)]) * self._factor
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
        documents = max(self._index.documents, self._documents)
        most = documents if documents < _LARGE else _COMMON * documents
        terms = {term for term, holders in zip(self._terms, self._holders, strict=True) if holders <= most}
        return [self._index.matches(text, terms) if terms else () for text in texts]


def _auto_weight(best: Doubles) -> float:
    """What the weight "auto" stands for, by the best scores; documents that are not there count as 0."""
    stands_out = 1.0 - float(best.sum()) / (_BEST * float(best[0]))
    least, rise, most = AUTO
    return min(most, least + rise * max(0.0, stands_out))


def _best_places(k: int, scores: Doubles) -> Longs:
    """Where the k highest scores above 0 are, highest first; of equal scores the lower place."""
    if k <= _KEPT_SORTED:
        return best_places(scores, k)
    places = np.flatnonzero(scores > 0.0)
    return places[np.argsort(-scores[places], kind="stable")][:k]
