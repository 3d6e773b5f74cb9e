"""Terms of a concept's members → its most distinctive terms, and which of them are its label: class-based TF-IDF.

For a term t that a share p of the concept's members hold, a share q of its siblings' members and a share r of the
corpus:

    score(t) = p · [⅔·log(p/q) + ⅓·log(p/r)] · log(1/r) · √breadth

The first factor is high for what is typical of the concept. The second is high for what sets it apart: mostly from its
siblings, and from the corpus too, so that a label can be read without its path. The third is inverse document
frequency. Breadth tells whether those that hold the term are everywhere in the concept or in one part of it alone: the
number of parts they are in over that of all members, both as exp(entropy). Shares are of passages in a sample; q is
smoothed towards r where there are few siblings.

The label has up to four terms: the best one, and others that members hold which have none of those before. Where the
vectors of terms are known, what a term adds to the label's power to tell members from those of siblings counts as well
(`meaning`). A concept that few terms cover is a mixture, and named by its parts.

Everything here is a function of its arguments: no tree, no cache. See `proposals` for those.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from gossamer.explain.meaning import Separation
from gossamer.explain.terms import Counts, Terms, contains, related

Scores: TypeAlias = list[tuple[str, float]]
"""Keys of terms with their scores, best first."""

_IN_LABEL: Final = 4
"""Terms of a label, at most. (Area under the ROC curve by meaning, mean of three levels of 20newsgroups and banking77:
.898 with 3, .903 with 4.)"""

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

_WORTH: Final = 0.08
"""A further term of a label scores at least this share of the first one."""

_AGAIN: Final = 0.5
"""What a holder counts that holds another term of the label already. (Area under the ROC curve of labels by meaning and
by words, mean of three collections: .895 and .811 with 1, .900 and .824 with .6, .898 and .824 with 0.)"""

_BY_MEANING: Final = 30.0
"""How much the gain of a term in area counts, where vectors are known: 0.01 as much as a third of its score. (Chosen on
bbc_news, MS MARCO and QQP. Area by meaning, mean of three levels: .920 .886 .851 with 0, .946 .899 .868 with 12, .948
.904 .873 with 20, .950 .905 .874 with 30.)"""

_ALTERNATIVES: Final = 5
"""Labels that a concept can choose from, at most."""

_COVERED: Final = 0.3
_BROAD: Final = 0.6
"""A label that fewer members than this share hold a term of, and whose first term has a lower breadth, tells little."""

_INSTEAD: Final = 0.55
"""A pair replaces one of its words if it is held by at least this share of the members that hold the word ..."""

_MUTUAL: Final = 0.4
"""... and by this share of the members that hold its other word."""


def distinctive_terms(
    members: Counts, siblings: Counts, corpus: Counts, breadth: Callable[[str], float] | None = None
) -> Scores:
    """At most ten terms of a concept, best first; a term related to a better one is left out.

    `breadth` tells of a term how far its holders are spread over the parts of the concept, see `breadth_of`.
    """
    scores = _scores(members, siblings, corpus)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))[:_CANDIDATES]
    if breadth is not None:
        scores |= {key: scores[key] * math.sqrt(breadth(key)) for key in ranked}
        ranked.sort(key=lambda key: (-scores[key], key))
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
            q = (siblings.count(key) + _SMOOTHING * r) / (siblings.passages + _SMOOTHING)
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


def breadth_of(passages: Sequence[Terms], parts: Sequence[int]) -> Callable[[str], float]:
    """A function of a term: exp(entropy) of the parts of those that hold it, over that of all passages; 1 if alike."""
    everywhere = _effective(Counter(parts))

    def breadth(key: str) -> float:
        holders = Counter([part for part, terms in zip(parts, passages, strict=True) if key in terms])
        return min(1.0, _effective(holders) / everywhere)

    return breadth


def _effective(counts: Counter[int]) -> float:
    total = sum(counts.values())
    return math.exp(-sum(count / total * math.log(count / total) for count in counts.values()))


class Holders:
    """Which passages hold each of some terms: one bit for each passage."""

    def __init__(self, keys: Sequence[str], passages: Sequence[Terms]) -> None:
        self.passages = len(passages)
        self.masks = [_mask(key, passages) for key in keys]

    def covered(self, terms: Iterable[int]) -> float:
        """The share of the passages that hold one of the terms, which are given by their places."""
        together = 0
        for term in terms:
            together |= self.masks[term]
        return together.bit_count() / max(1, self.passages)


def _mask(key: str, passages: Sequence[Terms]) -> int:
    return int("".join(["1" if key in terms else "0" for terms in passages]) or "0", 2)


def in_label(
    scores: Sequence[float],
    holders: Holders,
    separation: Separation | None = None,
    without: frozenset[int] = frozenset(),
) -> tuple[int, ...]:
    """The places of the terms that make the label: the best, then up to three more by score and by whom they add.

    A term counts for its holders that hold none of those chosen, and a little for the others; where its vector is
    known, times exp(30·gain), the gain being what it adds to the area under the ROC curve. `scores` are in falling
    order.
    """
    chosen: list[int] = []
    left, covered = [term for term in range(len(scores)) if term not in without], 0
    while left and len(chosen) < _IN_LABEL:
        values = told = [
            scores[term] * _worth(holders.masks[term], covered) if chosen else scores[term] for term in left
        ]
        if separation is not None:  # the area before is the same for all
            areas = separation.areas(chosen, left)
            told = [value * math.exp(_BY_MEANING * area) for value, area in zip(values, areas, strict=True)]
        best = max(range(len(told)), key=told.__getitem__)  # of equals the first
        if chosen and values[best] < _WORTH * scores[chosen[0]]:
            break
        covered |= holders.masks[left[best]]
        chosen.append(left.pop(best))
    return tuple(chosen)


def _worth(mask: int, covered: int) -> float:
    return _AGAIN + (1.0 - _AGAIN) * (mask & ~covered).bit_count() / max(1, mask.bit_count())


def alternatives(terms: Scores, holders: Holders, separation: Separation | None = None) -> tuple[tuple[int, ...], ...]:
    """Possible labels of a concept, the best one first; the last term of each is not in those that follow."""
    scores, dropped = [score for _, score in terms], frozenset[int]()
    found: list[tuple[int, ...]] = []
    while len(found) < _ALTERNATIVES and (label := in_label(scores, holders, separation, dropped)):
        found.append(label)
        dropped |= {label[-1]}
    return tuple(found)


def is_mixture(
    first: str, label: Sequence[int], holders: Holders, passages: Sequence[Terms], parts: Sequence[int]
) -> bool:
    """Whether a concept has several parts and a label that covers little of them, and that in one place."""
    if not parts or holders.covered(label) >= _COVERED:
        return False
    return breadth_of(passages, parts)(first) < _BROAD


def usual_form(key: str, passages: Iterable[Terms]) -> str:
    """The form in which a term occurs most often; of equally frequent ones the one in lower case."""
    forms = Counter(terms[key] for terms in passages if key in terms)
    return max(forms, key=lambda form: (forms[form], form.islower(), form), default=key)
