"""Passages → sequences of words that otherwise different ones share: notices, signatures, forms that were filled in.

A sequence of five words is boilerplate if at least five passages of the corpus hold it and they are about different
things: the mean cosine of two of them, centred on the corpus, is at most 0.2. A sequence of eight words is, whatever
they are about, if at least three hold it and the rest of them is at least half as long and has few words in common.
Scripts without spaces are compared character by character, and two characters count as a word. Nothing here depends on
the language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.explain.meaning import units
from gossamer.explain.terms import SPACELESS
from gossamer.lexical.analysis import places_of

_SHORT: Final = 5
_LONG: Final = 8
"""Words of a sequence."""

_MANY: Final = 5
_SOME: Final = 3
"""Passages that hold a short and a long sequence, at least."""

_NEAR: Final = 0.2
"""Mean cosine of two holders of a short sequence, at most."""

_ALIKE: Final = 0.3
"""Share of their other words that two holders have in common on average, at most."""

_COMPARED: Final = 8
"""Holders of a long sequence that are compared with each other, at most."""

_LETTERS: Final = 2
"""Characters that count as a word, in scripts without spaces."""

_MASK: Final = " . "
"""Replaces boilerplate. No pair of words reaches over it."""

_CHARACTER: Final = re.compile(rf"{SPACELESS}|[^\W_]")


@dataclass(frozen=True)
class _Words:
    """A text as a sequence of words, or of characters where words are not marked."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Where each starts and ends in the text."""
    each: int
    """How many of them count as a word."""

    @classmethod
    def of(cls, text: str) -> _Words:
        spaceless = not text.isascii() and 2 * len(re.findall(SPACELESS, text)) > len(text)
        if spaceless:
            found = [(match[0], match.start(), match.end()) for match in _CHARACTER.finditer(text)]
        else:
            found = [(match[0].casefold(), match.start(), match.end()) for match in places_of(text)]
        spans = tuple((start, stop) for _, start, stop in found)
        return cls(tuple(word for word, _, _ in found), spans, _LETTERS if spaceless else 1)

    def sequences(self, length: int) -> list[str]:
        """All sequences of so many words, in their order."""
        n = length * self.each
        return [" ".join(self.words[at : at + n]) for at in range(len(self.words) - n + 1)]


@dataclass(frozen=True)
class Boilerplate:
    """The boilerplate of a corpus."""

    sequences: frozenset[str] = frozenset()
    """Short ones; a longer one is all the short ones in it."""
    signs: tuple[str, ...] = ()
    """Words of which every sequence has one: texts without them need not be compared."""

    def masked(self, text: str) -> str:
        """A text without its boilerplate."""
        if not self.sequences:
            return text
        folded = text.casefold()
        if not any(sign in folded for sign in self.signs):
            return text
        read = _Words.of(text)
        found = [at for at, one in enumerate(read.sequences(_SHORT)) if one in self.sequences]
        pieces, done = list[str](), 0
        for at in found:
            start, stop = read.spans[at][0], read.spans[at + _SHORT * read.each - 1][1]
            if start >= done:  # else it goes on where the one before ends
                pieces += [text[done:start], _MASK]
            done = stop
        return "".join([*pieces, text[done:]])


def boilerplate_of(texts: Sequence[str], vectors: Floats, matters: Callable[[str], object] = bool) -> Boilerplate:
    """The boilerplate of a corpus that some texts stand for. `vectors` are theirs, of length 1.

    Sequences that do not matter, having no terms, are left out.

    >>> notice = "This page was last changed on the server"
    >>> found = boilerplate_of([f"{word} {notice}" for word in "one two three four five".split()], np.eye(5))
    >>> found.masked(f"comet {notice} tail")
    'comet  .  tail'
    """
    read = [_Words.of(text) for text in texts]
    centred = units(vectors - vectors.mean(axis=0))

    def scattered(holders: Sequence[int]) -> bool:
        together, n = centred[holders].sum(axis=0, dtype=np.float64), len(holders)
        return float(together @ together) - n <= _NEAR * n * (n - 1)

    def differ(holders: Sequence[int]) -> bool:
        return _differ([frozenset(read[holder].words) for holder in holders[:_COMPARED]])

    counts = Counter(word for words in read for word in words.words)
    found = set(_shared(read, _SHORT, _MANY, scattered))
    for long in _shared(read, _LONG, _SOME, differ):
        words = long.split()
        n = len(words) * _SHORT // _LONG
        found.update(" ".join(words[at : at + n]) for at in range(len(words) - n + 1))
    found = {one for one in found if matters(one)}
    signs = {min(one.split(), key=lambda word: (counts[word], word)) for one in found}
    return Boilerplate(frozenset(found), tuple(sorted(signs)))


def _shared(read: Sequence[_Words], length: int, least: int, wanted: Callable[[Sequence[int]], bool]) -> list[str]:
    """Sequences that enough passages hold, and such as are wanted."""
    each = [dict.fromkeys(words.sequences(length)) for words in read]
    counts = Counter(one for sequences in each for one in sequences)
    often = {one for one, count in counts.items() if count >= least}
    holders: dict[str, list[int]] = {}
    for at, sequences in enumerate(each):
        for one in often.intersection(sequences):
            holders.setdefault(one, []).append(at)
    return [one for one, some in holders.items() if wanted(some)]


def _differ(passages: Sequence[frozenset[str]]) -> bool:
    """Whether passages have words enough that not all of them have, and two of them have few of these in common."""
    everywhere = frozenset[str].intersection(*passages)
    rest = [words - everywhere for words in passages]
    if 2 * sum(map(len, rest)) < len(everywhere) * len(rest):
        return False
    shares = [len(one & other) / max(1, len(one | other)) for one, other in combinations(rest, 2)]
    return sum(shares) <= _ALIKE * len(shares)
