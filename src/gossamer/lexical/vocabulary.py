"""Terms ↔ numbers, and the words whose term is known already."""

from collections.abc import Iterable
from typing import Final

from gossamer.lexical.analysis import Analyser, words_of

_MOST_REMEMBERED: Final = 500_000
"""Words whose term is remembered, at most; then all are forgotten, and stemmed again as they occur."""


class _Known(dict[str, int]):
    """Words with the numbers of their terms, 0 for none. A word that is not here is stemmed, and kept if it has one."""

    def __init__(self, analyser: Analyser, numbers: dict[str, int]) -> None:
        super().__init__()
        self._analyser, self._numbers = analyser, numbers

    def __missing__(self, word: str) -> int:
        number = self._numbers.get(self._analyser.term(word), 0)
        if number and len(self) < _MOST_REMEMBERED:
            self[word] = number
        return number


class Vocabulary:
    """The terms of an index, numbered from 1 on as they come. It only grows, so that searches may read it meanwhile."""

    def __init__(self, language: str, terms: Iterable[str] = ()) -> None:
        self.analyser = Analyser(language)
        self.terms = ["", *terms]
        self._numbers = {term: number for number, term in enumerate(self.terms)}
        self.of_words = _Known(self.analyser, self._numbers)
        """The number of the term of a word, in any form; 0 where no document has held it."""

    def __len__(self) -> int:
        """One more than the highest number: 0 stands for no term."""
        return len(self.terms)

    def is_sound(self) -> bool:
        """Whether every term has one number, and none is empty."""
        return len(self._numbers) == len(self.terms)

    def learn(self, text: str) -> list[int]:
        """The terms of a text in their order. New ones get a number. Only one thread at a time may do this."""
        words = words_of(text.lower())
        found = list(map(self.of_words.get, words))
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
        if len(self.of_words) >= _MOST_REMEMBERED:
            self.of_words.clear()
        self.of_words[word] = number
        return number
