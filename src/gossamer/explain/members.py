"""The members of concepts, as far as they are looked at: samples of them, and the terms of their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Longs
from gossamer.explain.labels import Counts, Terms
from gossamer.explain.passages import READ, Texts
from gossamer.explain.sampling import bound_of, thinned
from gossamer.explain.terms import terms_of
from gossamer.runtime import deadline
from gossamer.tree.arrays import Meta
from gossamer.tree.cobweb import CobwebTree

DRIFT: Final = 1.25
"""What grew or shrank by more than this is looked at anew."""

_READ: Final = 256
"""Members of a concept that are read, at most."""

_CORPUS: Final = 1536
"""Members of the root that are read, at most: they stand for the corpus."""

_MEASURED: Final = 1024
"""Members whose vectors are compared with the prototype, at most."""

_REMEMBERED: Final = 1 << 14
"""Passages whose terms are kept at hand."""

_SAMPLES: Final = 1 << 10
"""Concepts whose samples are kept at hand."""


class Sample(NamedTuple):
    """Members of a concept: documents as the tree numbers them."""

    read: Longs
    measured: Longs


class Members:
    """Samples and terms, kept as long as they hold and there is room."""

    def __init__(self) -> None:
        self._terms: dict[int, Terms] = {}
        self._corpus: tuple[int, Counts] | None = None
        self._samples: dict[int, Sample] = {}
        self._sampled = NONE  # the state of the tree that the samples are of
        self._bound = 0
        self._tree: CobwebTree | None = None
        self._texts: Texts | None = None

    @contextmanager
    def reading(self, tree: CobwebTree, texts: Texts, nodes: Sequence[int]) -> Iterator[None]:
        """Have at hand all that will be looked at for these nodes, read at once. Questions are for inside."""
        self._tree, self._texts = tree, texts
        try:
            self._prepare(tree, nodes)
            yield
        finally:
            self._tree = self._texts = None

    def _prepare(self, tree: CobwebTree, nodes: Sequence[int]) -> None:
        changes = int(tree.arrays.meta[Meta.CHANGES])
        if self._sampled != changes or len(self._samples) > _SAMPLES:
            self._samples.clear()
            self._sampled = changes
        above = {int(tree.arrays.parent[node]) for node in nodes} - {NONE}
        self.sample(tree.root)  # sets the bound of the others
        samples = [self.sample(node).read for node in (*above, *nodes)]
        self._read(np.unique(np.concatenate(samples)).tolist())

    def sample(self, node: int) -> Sample:
        """Of a node's members. As far as its parent's sample reaches below it, this one holds the same."""
        assert self._tree is not None
        if node not in self._samples:
            documents = self._tree.documents_below(node)
            if node == self._tree.root:
                self._bound = bound_of(documents, _CORPUS)
            self._samples[node] = Sample(thinned(documents, _READ, bound=self._bound), thinned(documents, _MEASURED))
        return self._samples[node]

    def terms(self, node: int) -> list[Terms]:
        """Of each member that is read."""
        return self._read(self.sample(node).read.tolist())

    def beside(self, node: int) -> Counts:
        """What the siblings hold, as far as the parent's sample shows."""
        assert self._tree is not None
        parent = int(self._tree.arrays.parent[node])
        if parent == NONE:
            return Counts.over(())
        mine = set(self.sample(node).read.tolist())
        return Counts.over(self._read([each for each in self.sample(parent).read.tolist() if each not in mine]))

    def corpus(self) -> Counts:
        """Of everything; taken anew when it has grown or shrunk."""
        assert self._tree is not None
        size = self._tree.n_documents
        if self._corpus is None or not size / DRIFT <= self._corpus[0] <= size * DRIFT:
            self._corpus = size, Counts.over(self.terms(self._tree.root))
        return self._corpus[1]

    def _read(self, documents: Sequence[int]) -> list[Terms]:
        missing = [document for document in documents if document not in self._terms]
        if missing:
            if len(self._terms) + len(missing) > _REMEMBERED:
                self._terms.clear()
                missing = list(documents)
            self._terms.update(zip(missing, self._found(missing), strict=True))
        return [self._terms[document] for document in documents]

    def _found(self, documents: Sequence[int]) -> Iterator[Terms]:
        assert self._texts is not None
        for passage in self._texts(documents):
            deadline.check()
            yield terms_of(passage.text[:READ])
