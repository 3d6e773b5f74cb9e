"""Kernels over the words of documents: postings made and read, documents scored, phrases found.

A document is the sequence of its terms, in `tokens[starts[d]:starts[d + 1]]`: those of the text and, after a `GAP`,
those of the title. Postings list for each term the documents that hold it. They are made from the sequences, and cover
the first documents; the few that came later are read one by one.

The score is BM25 (Robertson and Zaragoza 2009, *The Probabilistic Relevance Framework*, formula 3.15):

    Σ over terms of  weight · tf / (tf + norm),    norm = K1 · (1 − B + B · length / mean length)
    weight = log((documents − holders + ½) / (holders + ½))

where a term in the title counts `TITLE` times, in tf and in the length of the document.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats, Ints, Longs
from gossamer.runtime.jit import ordered_kernel, ordered_subkernel, subkernel

GAP: Final = 0
"""Between the text of a document and its title. No term has this number."""

TITLE: Final = 2
"""How often a word in the title counts."""

_MOST: Final = 255
"""The highest term frequency that is told apart from higher ones."""

_BLOCK: Final = 128
"""Scores that are compared with the lowest of the best at once."""

Counts = npt.NDArray[np.uint8]


class Sequences(NamedTuple):
    """Documents as sequences of terms."""

    tokens: Ints
    starts: Longs
    lengths: Floats
    """The number of words of each document; infinite where it was removed, so that it scores 0."""


class Postings(NamedTuple):
    """For each term the documents that hold it: `documents[offsets[term]:offsets[term + 1]]`, ascending."""

    offsets: Longs
    documents: Ints
    counts: Counts
    """The term frequency in each, up to 255."""
    covered: int
    """How many documents, from the first on, are in the postings."""


class Weights(NamedTuple):
    """A query: its terms, each with its weight."""

    terms: Ints
    weights: Doubles
    base: float
    slope: float
    """norm = base + slope · length."""


@ordered_subkernel
def _gain(weight: float, count: int, length: float, q: Weights) -> float:
    tf = min(count, _MOST)
    return weight * (tf / (tf + (q.base + q.slope * length)))


@ordered_kernel
def score_all(s: Sequences, p: Postings, q: Weights, vocabulary: int) -> Doubles:
    """BM25 of every document. Each sums up its terms in the order of the query, so equal documents score the same.

    All postings of the terms are read, at about 2 ns each: with 76,000 questions of a dozen words 66,000 of them, in
    0.12 ms. To skip those that cannot matter (max_score, WAND) took longer, since what is skipped has to be found out.
    """
    scores = np.zeros(len(s.lengths))
    for place in range(len(q.terms)):
        first, last = _postings_of(q.terms[place], p)
        weight = q.weights[place]
        for at in range(first, last):
            document = p.documents[at]
            scores[document] += _gain(weight, p.counts[at], s.lengths[document], q)
    if p.covered < len(s.lengths):
        places, counts = np.zeros(vocabulary, np.int32), np.zeros(len(q.terms), np.int32)
        _score_later(s, p, q, places, counts, scores)
    return scores


@ordered_kernel
def best_places(scores: Doubles, k: int) -> Longs:
    """Where the k highest scores above 0 are, highest first; of equal scores the lower place.

    The best so far are kept sorted: k is small. Most blocks of scores have none that is among them.
    """
    places, highest = np.empty(k, np.int64), np.empty(k)
    found, least = 0, 0.0
    for start in range(0, len(scores), _BLOCK):
        block = scores[start : start + _BLOCK]
        above = 0
        for i in range(block.shape[0]):
            above += block[i] > least
        if above == 0:
            continue
        for i in range(block.shape[0]):
            if block[i] > least:
                at = min(found, k - 1)
                while at > 0 and highest[at - 1] < block[i]:
                    highest[at], places[at] = highest[at - 1], places[at - 1]
                    at -= 1
                highest[at], places[at] = block[i], start + i
                found = min(found + 1, k)
                if found == k:
                    least = highest[k - 1]
    return places[:found]


@ordered_subkernel
def _score_later(s: Sequences, p: Postings, q: Weights, places: Ints, counts: Ints, scores: Doubles) -> None:
    """Score the documents that are in no postings, from their own terms. `places` and `counts` are scratch."""
    for place in range(len(q.terms)):
        places[q.terms[place]] = place + 1
    for document in range(p.covered, len(s.lengths)):
        weight = 1
        counts[:] = 0
        for at in range(s.starts[document], s.starts[document + 1]):
            token = s.tokens[at]
            if token == GAP:
                weight = TITLE
            elif places[token]:
                counts[places[token] - 1] += weight
        for place in range(len(q.terms)):
            if counts[place]:
                scores[document] += _gain(q.weights[place], counts[place], s.lengths[document], q)


@ordered_kernel
def which_terms(documents: Longs, s: Sequences, terms: Ints) -> Counts:
    """1 in row d, column t where document d holds term t."""
    held = np.zeros((len(documents), len(terms)), np.uint8)
    for row in range(len(documents)):
        for at in range(s.starts[documents[row]], s.starts[documents[row] + 1]):
            for column in range(len(terms)):
                if s.tokens[at] == terms[column]:
                    held[row, column] = 1
    return held


@subkernel
def _postings_of(term: int, p: Postings) -> tuple[int, int]:
    """Where the postings of a term begin and end; a term that came later has none."""
    if term + 1 >= len(p.offsets):
        return 0, 0
    return p.offsets[term], p.offsets[term + 1]


@ordered_kernel
def containing(phrase: Ints, s: Sequences, p: Postings) -> Longs:
    """The documents, ascending, in whose text or title the terms of a phrase stand one after the other."""
    rarest, fewest = phrase[0], len(s.lengths) + 1
    for term in phrase:
        first, last = _postings_of(term, p)
        if last - first < fewest:
            rarest, fewest = term, last - first
    first, last = _postings_of(rarest, p)
    later = len(s.lengths) - p.covered
    documents, found = np.empty(last - first + later, np.int64), 0
    for at in range(last - first + later):
        document = p.documents[first + at] if at < last - first else p.covered + at - (last - first)
        if s.lengths[document] < np.inf and _stands_in(document, phrase, s):
            documents[found] = document
            found += 1
    return documents[:found]


@subkernel
def _stands_in(document: int, phrase: Ints, s: Sequences) -> bool:
    for start in range(s.starts[document], s.starts[document + 1] - len(phrase) + 1):
        length = 0
        while length < len(phrase) and s.tokens[start + length] == phrase[length]:
            length += 1
        if length == len(phrase):
            return True
    return False


@ordered_kernel
def count_holders(documents: Longs, sign: int, s: Sequences, holders: Ints, last_seen: Ints) -> None:
    """Add `sign` to holders[term] for every document that holds a term. `last_seen` is scratch, full of −1."""
    for at in range(len(documents)):
        for place in range(s.starts[documents[at]], s.starts[documents[at] + 1]):
            token = s.tokens[place]
            if token != GAP and last_seen[token] != at:
                last_seen[token] = at
                holders[token] += sign


@ordered_kernel
def invert(s: Sequences, offsets: Longs, documents: Ints, counts: Counts) -> None:
    """Fill the postings of all documents. `offsets` are those of each term's postings."""
    filled = offsets[:-1].copy()
    for document in range(len(s.lengths)):
        weight = 1
        for place in range(s.starts[document], s.starts[document + 1]):
            token = s.tokens[place]
            if token == GAP:
                weight = TITLE
                continue
            if filled[token] == offsets[token] or documents[filled[token] - 1] != document:
                documents[filled[token]], counts[filled[token]] = document, 0
                filled[token] += 1
            last = filled[token] - 1
            counts[last] = min(counts[last] + weight, _MOST)
