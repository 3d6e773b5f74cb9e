"""Corpus → what its labels are seen against: its language, its boilerplate, and how many passages hold each term.

All of it is told by the sample that stands for the corpus. It is made once for a sample, and used for every concept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gossamer.array_types import Floats
from gossamer.explain.boilerplate import Boilerplate, boilerplate_of
from gossamer.explain.terms import Counts, Terms, language_of, terms_of

_TELLING: Final = 400
"""Passages that tell the language, at most."""


@dataclass(frozen=True)
class Background:
    """What a corpus is like."""

    made_from: int
    """A hash of the sample."""
    language: str
    boilerplate: Boilerplate
    counts: Counts = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Floats, made_from: int) -> Background:
        """The background that a sample of passages tells, which have these vectors, of length 1."""
        language = language_of(texts[:_TELLING])
        found = boilerplate_of(texts, vectors, lambda words: terms_of(words, language))
        counts = Counts.over(terms_of(found.masked(text), language) for text in texts)
        return cls(made_from, language, found, counts)

    def terms(self, text: str) -> Terms:
        """The terms of a passage."""
        return terms_of(self.boilerplate.masked(text), self.language)
