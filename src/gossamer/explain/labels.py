"""Terms of a concept's members → its most distinctive terms, and which of them are its label: class-based TF-IDF.

For a term t that a share p of the concept's members hold, a share q of its siblings' members and a share r of the
corpus:

    score(t) = p · [⅔·log(p/q) + ⅓·log(p/r)] · log(1/r)

The first factor is high for what is typical of the concept. The second is high for what sets it apart: mostly from its
siblings, and from the corpus too, so that a label can be read without its path. The third is inverse document
frequency. Shares are of passages in a sample; q is smoothed towards r where there are few siblings.

Everything here is a function of its arguments: no tree, no cache. See `label_cache` for those.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final, TypeAlias

from gossamer.explain.terms import Counts, Terms, contains, related

Scores: TypeAlias = list[tuple[str, float]]
"""Keys of terms with their scores, best first."""

_IN_LABEL: Final = 3
"""Terms of a label, at most."""

_KEPT: Final = 10
"""Terms of a concept, at most."""

_CANDIDATES: Final = 40
"""Best-scoring terms that are compared with each other, at most."""

_SIBLINGS: Final = 2.0 / 3.0
"""Weight of log(p/q); the rest is the weight of log(p/r)."""

_RARER: Final = 0.8
"""A term with p below this share of q belongs to the siblings and is left out."""

_SMOOTHING: Final = 3.0
"""Passages of the corpus that are added to those of the siblings."""

_WORTH: Final = 0.15
"""A further term of a label scores at least this share of the first one."""

_INSTEAD: Final = 0.55
"""A pair replaces one of its words if it is held by at least this share of the members that hold the word ..."""

_MUTUAL: Final = 0.4
"""... and by this share of the members that hold its other word."""


def distinctive_terms(members: Counts, siblings: Counts, corpus: Counts) -> Scores:
    """At most ten terms of a concept, best first; a term related to a better one is left out."""
    scores = _scores(members, siblings, corpus)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))[:_CANDIDATES]
    longer = [key for key in ranked if " " in key or not key.isascii()]
    chosen: dict[str, float] = {}
    for key in ranked:
        if _outdone(key, scores, members):
            continue
        shown = _fuller(key, longer, members)
        if not any(related(shown, other) for other in chosen):
            chosen[shown] = scores[key]
            if len(chosen) == _KEPT:
                break
    return list(chosen.items())


def _scores(members: Counts, siblings: Counts, corpus: Counts) -> dict[str, float]:
    n = members.passages
    least = 1 if n == 1 else 2 if n < 40 else 3  # a term of one member alone is no trait of the concept
    scores = {}
    for key, count in members.of.items():
        if count < least:
            continue
        r = corpus.share(key)
        p = (count - 0.7 * math.sqrt(count)) / n  # a lower bound: less what chance may have added
        apart = 1.0  # for the root, which has no siblings
        if siblings.passages:
            q = (siblings.of[key] + _SMOOTHING * r) / (siblings.passages + _SMOOTHING)
            if p < _RARER * q:
                continue
            apart = _SIBLINGS * math.log(p / q) + (1.0 - _SIBLINGS) * math.log(p / r)
        if apart > 0.0:
            scores[key] = p * apart * -math.log(r)
    return scores


def _fuller(key: str, longer: Sequence[str], members: Counts) -> str:
    """The longest term that most members with `key` hold: "machine learning" for "machine".

    Not "control black" for "control", where the other word mostly stands beside another one ("black money").
    """
    fuller = [other for other in longer if contains(other, key) and _is_phrase(other, key, members)]
    return max(fuller, key=lambda other: (len(other), members.of[other], other), default=key)


def _outdone(key: str, scores: Mapping[str, float], members: Counts) -> bool:
    """Whether one of the words of a pair is a scored term that far more members hold."""
    words = key.split()
    return len(words) > 1 and any(word in scores and members.of[key] < _MUTUAL * members.of[word] for word in words)


def _is_phrase(longer: str, key: str, members: Counts) -> bool:
    count = members.of[longer]
    others = [word for word in longer.split() if word != key]
    return count >= _INSTEAD * members.of[key] and all(
        not word.isdigit() and count >= _MUTUAL * members.of[word] for word in others
    )


def in_label(terms: Scores) -> list[str]:
    """The keys of the terms that make the label: up to three that do not score far below the first."""
    return [key for key, score in terms[:_IN_LABEL] if score >= _WORTH * terms[0][1]]


def unlike(terms: Scores, taken: Set[frozenset[str]]) -> Scores:
    """The terms without the last ones of the label, dropped one by one until the label is none of those in `taken`."""
    while frozenset(keys := in_label(terms)) in taken:
        terms = terms[: len(keys) - 1] + terms[len(keys) :]
    return terms


def usual_form(key: str, passages: Iterable[Terms]) -> str:
    """The form in which a term occurs most often; of equally frequent ones the one in lower case."""
    forms = Counter(terms[key] for terms in passages if key in terms)
    return max(forms, key=lambda form: (forms[form], form.islower(), form), default=key)
