"""Terms ↔ numbers, and the words whose term is known already."""

from collections.abc import Iterable
from typing import Final

from gossamer.lexical.analysis import Analyser, words_of

_MOST_REMEMBERED: Final = 500_000
"""Words whose term is remembered, at most; then all are forgotten, and stemmed again as they occur."""


class Vocabulary:
    """The terms of an index, numbered from 1 on as they come. It only grows, so that searches may read it meanwhile."""

    def __init__(self, language: str, terms: Iterable[str] = ()) -> None:
        self.analyser = Analyser(language)
        self.terms = ["", *terms]
        self._numbers = {term: number for number, term in enumerate(self.terms)}
        self._of_words: dict[str, int] = {}

    def __len__(self) -> int:
        """One more than the highest number: 0 stands for no term."""
        return len(self.terms)

    def is_sound(self) -> bool:
        """Whether every term has one number, and none is empty."""
        return len(self._numbers) == len(self.terms)

    def find(self, word: str) -> int:
        """The number of the term of a word, in any form; 0 where no document has held it."""
        number = self._of_words.get(word)
        if number is None:
            number = self._numbers.get(self.analyser.term(word), 0)
            if number and len(self._of_words) < _MOST_REMEMBERED:
                self._of_words[word] = number
        return number

    def learn(self, text: str) -> list[int]:
        """The terms of a text in their order. New ones get a number. Only one thread at a time may do this."""
        words = words_of(text.lower())
        found = list(map(self._of_words.get, words))
        if None in found:
            return [self._learn(word) if number is None else number for word, number in zip(words, found, strict=True)]
        return found  # type: ignore[return-value]

    def _learn(self, word: str) -> int:
        term = self.analyser.term(word)
        number = self._numbers.get(term)
        if number is None:
            number = len(self.terms)
            self.terms.append(term)
            self._numbers[term] = number
        if len(self._of_words) >= _MOST_REMEMBERED:
            self._of_words.clear()
        self._of_words[word] = number
        return number
