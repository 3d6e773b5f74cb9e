"""Concept → a sample of its members, and the terms of their passages.

A label costs the same for a large concept as for a small one, because only a sample of the members is read. Samples
are always the same, nested, and nearly the same after a small change: every document has a fixed pseudo-random
number, and a sample takes the members whose number is below a bound, a power of two chosen by the concept's size.
So the sample of a concept, as far as it lies below a child, is part of the child's own sample, and one document more
or less changes a sample by at most one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Longs
from gossamer.explain.passages import READ, Texts
from gossamer.explain.terms import Counts, Terms, terms_of
from gossamer.runtime import deadline
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import shown_children
from gossamer.tree.cobweb import CobwebTree

DRIFT: Final = 1.25
"""Labels and the counts of the corpus are made again after growing or shrinking by more than this factor."""

_BITS: Final = 32
"""Of a document's pseudo-random number."""

_READ: Final = 256
"""Members of a concept whose texts are read, at most."""

_CORPUS: Final = 1536
"""Members of the root whose texts are read, at most: they stand for the corpus."""

_IN_PARTS: Final = 100
"""Passages from which on the parts of a concept are looked at."""

_MEASURED: Final = 1024
"""Members whose vectors are compared with the mean, at most."""

_CACHED_TERMS: Final = 1 << 14
"""Passages whose terms are cached. Without the cache, the first 50 searches of 20,000 documents took 1.3 s, not 1.0."""

_CACHED_SAMPLES: Final = 1 << 10
"""Concepts whose samples are cached until the tree changes. Sampling the root of 20,000 documents takes 1 ms."""


def sample(documents: Longs, most: int, *, bound: int = 0) -> Longs:
    """Between about half of `most` and `most` of the documents, in their order; all where there are no more.

    Documents whose number is below `bound` are taken in any case.
    """
    if len(documents) <= most:
        return documents
    numbers = _numbers(documents)
    return documents[numbers < max(bound, _bound(numbers, most))]


def bound_of(documents: Longs, most: int) -> int:
    """The largest power of two below which at most `most` documents have their number."""
    return _bound(_numbers(documents), most)


def _bound(numbers: Longs, most: int) -> int:
    bound, left = 1 << _BITS, len(numbers)
    while left > most:
        bound >>= 1
        left = int((numbers < bound).sum())
    return bound if left else int(numbers.min()) + 1


def _numbers(documents: Longs) -> Longs:
    """A fixed pseudo-random number below 2³² for each document (the finaliser of SplitMix64)."""
    x = documents.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Longs = ((x ^ (x >> np.uint64(31))) >> np.uint64(32)).astype(np.int64)
    return mixed


def parts_of(t: TreeArrays, node: int, documents: Longs) -> list[int]:
    """The shown child of a node that each of its documents is below."""
    parents, shown = t.parent, set(shown_children(t, node).tolist())
    found: dict[int, int] = {}
    for leaf in set(t.leaf[documents].tolist()):
        part = leaf
        while part not in shown:
            part = int(parents[part])
        found[leaf] = part
    return [found[leaf] for leaf in t.leaf[documents].tolist()]


class Sample(NamedTuple):
    """Members of one concept: documents as the tree numbers them."""

    read: Longs
    measured: Longs


class Members(NamedTuple):
    """What a label and exemplars of one concept are made from."""

    terms: list[Terms]
    """Of each member that is read."""
    siblings: Counts
    """Terms of the siblings' members that are in the parent's sample."""
    measured: Longs
    """Members whose vectors are compared with the mean."""
    parts: list[int]
    """Of each member that is read, the shown child that it is below; empty for a small concept."""


class Sampler:
    """Reads the members of a tree's concepts; caches samples and terms. One sampler serves one tree."""

    def __init__(self) -> None:
        self._terms: dict[int, Terms] = {}
        self._corpus: tuple[int, Counts] | None = None
        self._samples: dict[int, Sample] = {}
        self._sampled = NONE  # the state of the tree at which the samples were taken
        self._bound = 0

    def members(self, tree: CobwebTree, texts: Texts, parents: Mapping[int, int]) -> Iterator[tuple[int, Members]]:
        """Each node with its members; `parents` are those in the view, NONE for the root.

        The texts of all are read at once, before the first is returned.
        """
        self._sample_root(tree)
        sampled = [self._sample(tree, node).read for node in (*(set(parents.values()) - {NONE}), *parents)]
        self._read(texts, np.unique(np.concatenate(sampled)).tolist())
        for node, parent in parents.items():
            read, measured = self._sample(tree, node)
            mine = set(read.tolist())
            beside = [] if parent == NONE else self._sample(tree, parent).read.tolist()
            siblings = Counts.over(self._read(texts, [each for each in beside if each not in mine]))
            parts = parts_of(tree.arrays, node, read) if tree.arrays.size[node] >= _IN_PARTS else []
            yield node, Members(self._read(texts, read.tolist()), siblings, measured, parts)

    def corpus(self, tree: CobwebTree, texts: Texts) -> Counts:
        """Terms of the corpus: of the root's sample, counted again when the corpus has grown or shrunk by `DRIFT`."""
        size = tree.n_documents
        if self._corpus is None or not size / DRIFT <= self._corpus[0] <= size * DRIFT:
            self._sample_root(tree)
            self._corpus = size, Counts.over(self._read(texts, self._sample(tree, tree.root).read.tolist()))
        return self._corpus[1]

    def _sample_root(self, tree: CobwebTree) -> None:
        """Drop samples of another state of the tree. The root's sample sets the bound of all others."""
        changes = int(tree.arrays.meta[Meta.CHANGES])
        if self._sampled != changes or len(self._samples) > _CACHED_SAMPLES:
            self._samples.clear()
            self._sampled = changes
            self._bound = bound_of(tree.documents_below(tree.root), _CORPUS)

    def _sample(self, tree: CobwebTree, node: int) -> Sample:
        if node not in self._samples:
            documents = tree.documents_below(node)
            self._samples[node] = Sample(sample(documents, _READ, bound=self._bound), sample(documents, _MEASURED))
        return self._samples[node]

    def _read(self, texts: Texts, documents: Sequence[int]) -> list[Terms]:
        missing = [document for document in documents if document not in self._terms]
        if missing:
            if len(self._terms) + len(missing) > _CACHED_TERMS:
                self._terms.clear()
                missing = list(documents)
            for document, passage in zip(missing, texts(missing), strict=True):
                deadline.check()
                self._terms[document] = terms_of(passage.text[:READ])
        return [self._terms[document] for document in documents]
