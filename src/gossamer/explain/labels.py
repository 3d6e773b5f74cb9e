"""The most telling terms of a concept, by class-based TF-IDF: what its members hold, and its siblings do not.

For a term t that a share p of the concept's members hold, a share q of its siblings', and a share r of the corpus:

    score(t) = p · [⅔·log(p/q) + ⅓·log(p/r)] · log(1/r)

The first factor asks for what is typical of the concept; the second for what sets it apart, from its siblings above
all, and from the corpus, so that a label can be read without its path; the third for what says something at all
(inverse document frequency). Shares are of passages, taken on samples, so that a large concept costs no more than a
small one; q leans on r where the siblings are few.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

from gossamer.explain.terms import akin, contains

Terms: TypeAlias = Mapping[str, str]
"""Of one passage: key to written form, see `terms_of`."""

IN_LABEL: Final = 3
"""Terms of a label, at most."""

KEPT: Final = 10
"""Terms kept for a concept."""

_CANDIDATES: Final = 40
_BESIDE: Final = 2.0 / 3.0
"""How much being apart from the siblings counts, against being apart from the corpus."""

_LESS: Final = 0.8
"""A term that is rarer here than beside, by more than this, belongs to the siblings."""

_LEANING: Final = 3.0
"""Members of the corpus that are added to those of the siblings."""

_WORTH: Final = 0.15
"""A further term of a label scores at least this share of the first one."""

_INSTEAD: Final = 0.55
"""A pair stands for its word if at least this share of those who hold the word hold the pair ..."""

_MUTUAL: Final = 0.4
"""... and this share of those who hold its other word."""


@dataclass(frozen=True)
class Counts:
    """How many passages of a sample hold each term."""

    of: Counter[str]
    passages: int

    @classmethod
    def over(cls, passages: Iterable[Terms]) -> Counts:
        """Counted."""
        listed = list(passages)
        return cls(Counter(chain.from_iterable(listed)), len(listed))

    def share(self, key: str) -> float:
        """Of the passages that hold a term; never quite 0 or 1, since this is a sample."""
        return (self.of[key] + 0.5) / (self.passages + 1.0)


def telling_terms(members: Counts, siblings: Counts, corpus: Counts) -> list[tuple[str, float]]:
    """The most telling terms and their scores, best first; a term that adds nothing to a better one is left out."""
    scores = _scores(members, siblings, corpus)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))[:_CANDIDATES]
    longer = [key for key in ranked if " " in key or not key.isascii()]
    chosen: dict[str, float] = {}
    for key in ranked:
        if _outdone(key, scores, members):
            continue
        shown = _fuller(key, longer, members)
        if not any(akin(shown, other) for other in chosen):
            chosen[shown] = scores[key]
            if len(chosen) == KEPT:
                break
    return list(chosen.items())


def _scores(members: Counts, siblings: Counts, corpus: Counts) -> dict[str, float]:
    n = members.passages
    least = 1 if n == 1 else 2 if n < 40 else 3  # what one member alone holds is no trait of the concept
    scores = {}
    for key, count in members.of.items():
        if count < least:
            continue
        everywhere = corpus.share(key)
        typical = (count - 0.7 * math.sqrt(count)) / n  # what chance could have added is taken off
        apart = 1.0  # of a root: there is nothing beside it
        if siblings.passages:
            beside = (siblings.of[key] + _LEANING * everywhere) / (siblings.passages + _LEANING)
            if typical < _LESS * beside:
                continue
            apart = _BESIDE * math.log(typical / beside) + (1.0 - _BESIDE) * math.log(typical / everywhere)
        if apart > 0.0:
            scores[key] = typical * apart * -math.log(everywhere)
    return scores


def _fuller(key: str, longer: Sequence[str], members: Counts) -> str:
    """The longest term that nearly all who hold `key` hold: "machine learning" for "machine".

    Not "control black" for "control", where the other word is mostly found in other company ("black money").
    """
    fuller = [other for other in longer if contains(other, key) and _is_phrase(other, key, members)]
    return max(fuller, key=lambda other: (len(other), members.of[other], other), default=key)


def _outdone(key: str, scores: Mapping[str, float], members: Counts) -> bool:
    """Whether a pair holds a word that tells something of far more members by itself."""
    words = key.split()
    return len(words) > 1 and any(word in scores and members.of[key] < _MUTUAL * members.of[word] for word in words)


def _is_phrase(longer: str, key: str, members: Counts) -> bool:
    count = members.of[longer]
    others = [word for word in longer.split() if word != key]
    return count >= _INSTEAD * members.of[key] and all(
        not word.isdigit() and count >= _MUTUAL * members.of[word] for word in others
    )


def in_label(terms: Sequence[tuple[str, float]]) -> list[str]:
    """Those of the terms that a label shows."""
    return [key for key, score in terms[:IN_LABEL] if score >= _WORTH * terms[0][1]]


def as_written(key: str, passages: Iterable[Terms]) -> str:
    """The form of a term that is written most often; of equals the one in lower case."""
    forms = Counter(terms[key] for terms in passages if key in terms)
    return max(forms, key=lambda form: (forms[form], form.islower(), form), default=key)
