"""The words of all documents of an index: one value, which a change replaces by another.

A `Words` never changes, so a search can go on with the one it has. What a new one shares with the old is not copied:
the terms of new documents are written behind those there are, where the old one does not look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import Stemmer

from gossamer.array_types import DocumentNumber, Doubles, Floats, Ints, Longs
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.lexical import kernels
from gossamer.lexical.analysis import places_of
from gossamer.lexical.kernels import GAP, TITLE, Counts, Postings, Sequences, Weights
from gossamer.lexical.vocabulary import Vocabulary

K1: Final = 0.8
B: Final = 0.6
"""The parameters of BM25: how soon a repeated word counts no more, and how much a long document is held back. The usual
ones, 1.2 and 0.75, bring hybrid search 0.3 nDCG@10 less (mean of six sets of queries, where 0.4 to 1 and 0.4 to 0.75
differ by 0.3 at most). BM25 alone is a little better with them (SciFact 68.9 and 68.0, Cranfield 36.3 and 35.6)."""

_LEAST_WEIGHT: Final = 1e-6
"""The weight of a word that half of the documents or more hold; by the formula it would be 0 or less."""

_TAIL: Final = 4_096
_TAIL_SHARE: Final = 32
"""Terms of documents that are in no postings: new postings are made for more than `_TAIL` and more than one of so many
in all. A search reads the tail in 3 ns a term."""

_ANALYSIS: Final = f"1, Snowball {Stemmer.version()}"
"""Which analysis made saved terms. Terms made by another one would not be found, so they are made again."""

_HIGHLIGHTED: Final = 4_000
"""Characters of a text in which words are looked for, at most."""


class WordsOf(NamedTuple):
    """A document to be added."""

    document: DocumentNumber
    text: str
    title: str


class CorpusCounts(NamedTuple):
    """What BM25 knows of a corpus as a whole."""

    documents: int
    total: float
    """The length of all of them together."""
    holders: tuple[int, ...]
    """For each term of a query the documents that hold it."""


@dataclass(frozen=True)
class Words:
    """The words of all documents.

    numbers     of the documents, ascending; a document's place here is its place in `sequences`
    holders     by term: the number of documents that hold it
    documents   how many there are; those that were removed keep their place until postings are made again
    total       the length of all of them together
    """

    vocabulary: Vocabulary
    numbers: Longs
    sequences: Sequences
    postings: Postings
    holders: Ints
    documents: int
    total: float

    @classmethod
    def empty(cls, language: str) -> Words:
        """No words yet, of documents in this language: see `analysis.languages`."""
        return _gathered(Vocabulary(language), np.empty(0, np.int64), np.empty(0, np.int32), np.zeros(1, np.int64))

    @property
    def language(self) -> str:
        """The language by whose rules words are stemmed."""
        return self.vocabulary.analyser.language

    # -- changing ----------------------------------------------------------------------------------

    def changed(self, removed: Iterable[DocumentNumber], added: Sequence[WordsOf]) -> Words:
        """These words without some documents, then with others. A number that is removed may be added again."""
        without = self._without(np.unique(np.fromiter(removed, np.int64)))
        together = without._with(added) if added else without
        later = int(together.sequences.starts[-1] - together.sequences.starts[together.postings.covered])
        in_order = bool((np.diff(together.numbers[max(0, len(self.numbers) - 1) :]) > 0).all())
        if in_order and later <= max(_TAIL, len(together.sequences.tokens) // _TAIL_SHARE):
            return together
        return together.compact()

    def _without(self, removed: Longs) -> Words:
        places, there = self._places(removed)
        places = places[there]
        places = places[np.isfinite(self.sequences.lengths[places])]
        if not len(places):
            return self
        lengths, holders = self.sequences.lengths.copy(), self.holders.copy()
        kernels.count_holders(places, -1, self.sequences, holders, np.full(len(holders), -1, np.int32))
        gone = float(lengths[places].sum(dtype=np.float64))
        lengths[places] = np.inf
        return replace(
            self, sequences=self.sequences._replace(lengths=lengths), holders=holders,
            documents=self.documents - len(places), total=self.total - gone,
        )  # fmt: skip

    def _with(self, added: Sequence[WordsOf]) -> Words:
        sequences, lengths = _analysed(self.vocabulary, added)
        s, first = self.sequences, len(self.numbers)
        sizes = np.fromiter(map(len, sequences), np.int64, len(sequences))
        terms = np.fromiter(chain.from_iterable(sequences), np.int32, int(sizes.sum()))
        joined = Sequences(
            _appended(s.tokens, terms), _appended(s.starts, s.starts[-1] + np.cumsum(sizes)),
            _appended(s.lengths, lengths),
        )  # fmt: skip
        holders = np.zeros(len(self.vocabulary), np.int32)
        holders[: len(self.holders)] = self.holders
        places = np.arange(first, first + len(added))
        kernels.count_holders(places, 1, joined, holders, np.full(len(holders), -1, np.int32))
        numbers = np.fromiter((each.document for each in added), np.int64, len(added))
        return replace(
            self, numbers=_appended(self.numbers, numbers), sequences=joined, holders=holders,
            documents=self.documents + len(added), total=self.total + float(lengths.sum(dtype=np.float64)),
        )  # fmt: skip

    def differ(self, document: WordsOf) -> bool:
        """Whether the words of a document, as it is now, are not these, or it is not here yet."""
        places, there = self._places(np.array([document.document], np.int64))
        if not there[0] or not np.isfinite(self.sequences.lengths[places[0]]):
            return True
        start, stop = self.sequences.starts[places[0] : places[0] + 2]
        (terms,), _ = _analysed(self.vocabulary, [document])
        return bool(self.sequences.tokens[start:stop].tolist() != terms)

    def compact(self) -> Words:
        """The same without what removed documents left, all in postings."""
        return _gathered(self.vocabulary, *self._content())

    def _content(self) -> tuple[Longs, Ints, Longs]:
        """Numbers, terms and starts of the documents there are, in order of their numbers."""
        s = self.sequences
        alive = np.flatnonzero(np.isfinite(s.lengths))
        alive = alive[np.argsort(self.numbers[alive], kind="stable")]
        sizes = np.diff(s.starts)[alive]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        where = np.arange(starts[-1]) + np.repeat(s.starts[:-1][alive] - starts[:-1], sizes)
        return self.numbers[alive], s.tokens[where], starts

    # -- asking ------------------------------------------------------------------------------------

    def counts(self, terms: Sequence[int]) -> CorpusCounts:
        """What BM25 knows of these documents as a whole, for a query that is given by its terms."""
        return CorpusCounts(self.documents, self.total, tuple(self.holders[list(terms)].tolist()))

    def score_all(self, terms: Sequence[int], counts: CorpusCounts | None = None) -> Doubles:
        """BM25 of every document for a query, given by its terms, each once; in the order of `numbers`.

        `counts`: of a larger corpus that these documents are a part of.
        """
        wanted = np.array(terms, np.int32)
        counts = counts or self.counts(terms)
        holders = np.array(counts.holders, np.float64)
        weights = np.maximum(np.log((counts.documents - holders + 0.5) / (holders + 0.5)), _LEAST_WEIGHT)
        mean = max(counts.total, 1.0) / max(counts.documents, 1)
        query = Weights(wanted, weights, K1 * (1.0 - B), K1 * B / mean)
        return kernels.score_all(self.sequences, self.postings, query, len(self.holders))

    def held(self, terms: Sequence[int], places: Longs) -> Counts:
        """Which of the terms each document holds: a row for each document."""
        return kernels.which_terms(places, self.sequences, np.array(terms, np.int32))

    def present(self) -> Longs:
        """The numbers of all documents, ascending."""
        return self.numbers[np.isfinite(self.sequences.lengths)]

    def containing(self, phrase: Sequence[str]) -> Longs:
        """The numbers of the documents that hold words one after the other, in whatever form."""
        terms = [self.find(word) for word in phrase]
        if not terms or 0 in terms:
            return np.empty(0, np.int64)
        return self.numbers[kernels.containing(np.array(terms, np.int32), self.sequences, self.postings)]

    def find(self, word: str) -> int:
        """The number of the term of a word; 0 where no document holds it."""
        term = self.vocabulary.of_words[word.lower()]
        return term if term < len(self.holders) and self.holders[term] else 0

    def matches(self, text: str, terms: set[int]) -> tuple[tuple[int, int], ...]:
        """Where words of these terms stand in a text: (start, stop) character offsets, ascending."""
        head, term_of = text[:_HIGHLIGHTED], self.vocabulary.of_words
        lowered = head.lower()
        if len(lowered) == len(head):  # letters stay where they are: the usual case, in half of the time
            return tuple([match.span() for match in places_of(lowered) if term_of[match[0]] in terms])
        return tuple([match.span() for match in places_of(head) if term_of[match[0].lower()] in terms])

    def places(self, documents: Longs) -> Longs:
        """The places of documents, which must be there."""
        places, there = self._places(documents)
        if not there.all():
            raise CorruptError(f"document {documents[~there][0]} has no words: open the index again")
        return places

    def _places(self, documents: Longs) -> tuple[Longs, npt.NDArray[np.bool_]]:
        places = np.minimum(np.searchsorted(self.numbers, documents), max(0, len(self.numbers) - 1))
        there = self.numbers[places] == documents if len(self.numbers) else np.zeros(len(documents), np.bool_)
        return places, there

    def equals(self, other: Words) -> bool:
        """Whether both hold the same documents with the same words."""
        (numbers, tokens, starts), (others, theirs, other_starts) = self._content(), other._content()
        terms, other_terms = np.array(self.vocabulary.terms, object), np.array(other.vocabulary.terms, object)
        return bool(
            self.language == other.language
            and np.array_equal(numbers, others)
            and np.array_equal(starts, other_starts)
            and (terms[tokens] == other_terms[theirs]).all()
            and (self.documents, self.total) == (other.documents, other.total)
        )

    # -- saving ------------------------------------------------------------------------------------

    def to_bundle(self) -> Bundle:
        """What `from_bundle` reads. Of removed documents nothing is left, not even a word that only they held."""
        numbers, tokens, starts = self._content()
        held = np.flatnonzero(np.bincount(tokens, minlength=len(self.vocabulary)))
        held = held[held != GAP]
        renumbered = np.zeros(len(self.vocabulary), np.int32)
        renumbered[held] = np.arange(1, len(held) + 1)
        terms = "\n".join(self.vocabulary.terms[term] for term in held.tolist()).encode()
        params = {"language": self.language, "analysis": _ANALYSIS}
        arrays: dict[str, npt.NDArray[Any]] = {
            "numbers": numbers, "tokens": renumbered[tokens], "starts": starts, "terms": np.frombuffer(terms, np.uint8)
        }  # fmt: skip
        return Bundle(params, arrays)

    @classmethod
    def from_bundle(cls, saved: Bundle, language: str) -> Words:
        """The words that were saved; `CorruptError` where they are not sound, or another analysis made them."""
        if saved.params.get("language") != language or saved.params.get("analysis") != _ANALYSIS:
            raise CorruptError(f"they were made by another analysis ({saved.params})")
        try:
            text = saved.array("terms", np.uint8, None).tobytes().decode()
        except UnicodeDecodeError as error:
            raise CorruptError("its terms are no text") from error
        vocabulary = Vocabulary(language, text.split("\n") if text else ())
        numbers = saved.numbers("numbers", np.int64, None, least=1)
        tokens = saved.numbers("tokens", np.int32, None, least=0, most=len(vocabulary) - 1)
        starts = saved.array("starts", np.int64, len(numbers) + 1)
        in_order = (np.diff(numbers) > 0).all() and (np.diff(starts) >= 0).all()
        if not in_order or starts[0] != 0 or starts[-1] != len(tokens) or not vocabulary.is_sound():
            raise CorruptError("its documents or terms are not in order")
        return _gathered(vocabulary, numbers, tokens, starts)


def _analysed(vocabulary: Vocabulary, added: Sequence[WordsOf]) -> tuple[list[list[int]], Floats]:
    """The terms of each document, and the length of each."""
    sequences, lengths = [], []
    for _, text, title in added:
        terms = vocabulary.learn(text)
        lengths.append(len(terms))
        if title:
            of_title = vocabulary.learn(title)
            lengths[-1] += TITLE * len(of_title)
            terms = [*terms, GAP, *of_title]
        sequences.append(terms)
    return sequences, np.array(lengths, np.float32)


def _gathered(vocabulary: Vocabulary, numbers: Longs, tokens: Ints, starts: Longs) -> Words:
    """Words with postings of all documents."""
    documents = len(numbers)
    lengths = _lengths(tokens, starts)
    s = Sequences(tokens, starts, lengths)
    holders = np.zeros(len(vocabulary), np.int32)
    kernels.count_holders(np.arange(documents), 1, s, holders, np.full(len(holders), -1, np.int32))
    offsets = np.concatenate([[0], np.cumsum(holders, dtype=np.int64)])
    held, counts = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.uint8)
    kernels.invert(s, offsets, held, counts)
    total = float(lengths.sum(dtype=np.float64))
    return Words(vocabulary, numbers, s, Postings(offsets, held, counts, documents), holders, documents, total)


def _lengths(tokens: Ints, starts: Longs) -> Floats:
    """The length of each document: words of the text, and `TITLE` times those of the title."""
    lengths = np.diff(starts).astype(np.float32)
    gaps = np.flatnonzero(tokens == GAP)
    owners = np.searchsorted(starts, gaps, side="right") - 1
    in_title = starts[owners + 1] - gaps - 1
    lengths[owners] += (TITLE - 1) * in_title - 1
    return lengths


def _appended(array: npt.NDArray[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` with `more` behind it: in the room there is behind it, if there is enough, else in a larger copy."""
    size = len(array) + len(more)
    room = array.base if isinstance(array.base, np.ndarray) and array.base.dtype == array.dtype else array
    if room.ndim != 1 or len(room) < size or room.ctypes.data != array.ctypes.data or not room.flags.writeable:
        room = np.empty(size + size // 8 + 64, array.dtype)
        room[: len(array)] = array
    room[len(array) : size] = more
    return room[:size]
