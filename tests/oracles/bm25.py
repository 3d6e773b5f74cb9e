"""BM25 by the book, from texts: the oracle of `gossamer.lexical`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from gossamer.lexical.analysis import Analyser, words_of

K1, B, TITLE = 0.8, 0.6, 2


def bm25(texts: Mapping[int, tuple[str, str]], query: Sequence[str], language: str = "english") -> dict[int, float]:
    """The score of every document that holds a word of the query; `texts` gives (text, title) by number."""
    term = Analyser(language).term
    counts = {}
    for number, (text, title) in texts.items():
        counts[number] = Counter(map(term, words_of(text)))
        for word in words_of(title):
            counts[number][term(word)] += TITLE
    mean = max(1.0, sum(count.total() for count in counts.values())) / max(1, len(counts))
    scores: dict[int, float] = {}
    for wanted in dict.fromkeys(map(term, query)):
        holders = [number for number in counts if counts[number][wanted]]
        weight = max(1e-6, math.log((len(counts) - len(holders) + 0.5) / (len(holders) + 0.5)))
        for number in holders:
            tf = min(counts[number][wanted], 255)
            norm = K1 * (1 - B + B * counts[number].total() / mean)
            scores[number] = scores.get(number, 0.0) + weight * tf / (tf + norm)
    return scores


def auto_weight(scores: Mapping[int, float]) -> float:
    """The weight of words where each query decides it, from the BM25 of all documents."""
    best = sorted(scores.values(), reverse=True)[:10]
    return min(0.4, 0.1 + 0.9 * (1 - sum(best) / 10 / best[0])) if best else 0.0
