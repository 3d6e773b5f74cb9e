"""Concept → a sample of its members, and a fingerprint of what its label is made from.

A label costs the same for a large concept as for a small one, because only a sample of the members is read. Samples
are always the same, nested, and nearly the same after a small change: every passage has a fixed pseudo-random
number, and a sample takes the members whose number is below a bound, a power of two chosen by the concept's size.
So the sample of a concept, as far as it lies below a child, is part of the child's own sample.

Documents that came since the tree was last agglomerated are left out as long as they are at most a fifth of a concept.
So a few documents more change no label, and which labels change depends on the tree alone, not on when they are made.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Floats, Longs
from gossamer.explain.meaning import units
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import shown_below, shown_children
from gossamer.tree.structure import parents_first

_BITS: Final = 32
"""Of a passage's pseudo-random number."""

_READ: Final = 256
"""Members of a concept whose texts are read, at most."""

_CORPUS: Final = 1536
"""Members of the root whose texts are read, at most: they stand for the corpus."""

_IN_PARTS: Final = 100
"""Passages from which on the parts of a concept are looked at."""

_NEW: Final = 0.2
"""Share of a concept up to which documents that came since the last agglomeration are left out."""

_CACHED: Final = 1 << 12
"""Concepts whose samples are cached."""

_SKETCH: Final = 16
"""Passages of a sketch, at most."""

_UPPER: Final = 3
_LARGE: Final = 10
"""Levels of the view, and passages of a concept from which on its label is also chosen by vectors of terms."""

_VERSION: Final = 2
"""Raise this when labels of the same members change, so that those on disk are made again."""


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
    numbers: Longs = (_mixed(documents.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
    return numbers


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True)
class TreeState:
    """One state of a tree, as labels need it. Nobody changes these arrays."""

    arrays: TreeArrays
    """With `vectors` of every leaf; means and moments are not used."""
    passages: Longs
    """The id of each document, by its number in the tree; NONE where it was removed."""
    settled: int
    """Number of the first document that came since the tree was last agglomerated."""
    project: Callable[[Floats], Floats] = lambda E: E
    """Vectors of the encoder → vectors in the space of the tree."""

    def signature(self) -> int:
        """A checksum that tells this state of the tree from others: the parents of all nodes, and all passages."""
        slots = int(self.arrays.meta[Meta.SLOTS])
        return crc32(self.passages.tobytes(), crc32(self.arrays.parent[:slots].tobytes(), self.settled & 0xFFFFFFFF))


class Members:
    """The members of a tree's concepts. The documents stand in depth-first order: those below a node are together."""

    def __init__(self, state: TreeState) -> None:
        t = state.arrays
        self.arrays = t
        self.project = state.project
        self.root = int(t.meta[Meta.ROOT])
        self._starts, documents = _depth_first(t, self.root)
        self.documents = documents
        self.passages = state.passages[documents]
        self._numbers = _numbers(self.passages)
        self._known = documents < state.settled
        self._counts = np.concatenate([[0], np.cumsum(self._known)])
        self._samples: dict[int, Longs] = {}
        self._bound = 0
        within = self._candidates(self.root)
        self._bound = _bound(self._numbers[within], _CORPUS)
        self.corpus = self.sample(self.root)
        self.of_corpus = self._digests(np.array([self.root]))[0]

    def span(self, node: int) -> tuple[int, int]:
        """The places of the documents below a node: from the first up to the last, exclusive."""
        start = int(self._starts[node])
        return start, start + int(self.arrays.size[node])

    def sample(self, node: int) -> Longs:
        """Places of members that stand for a concept, in the order of their passages."""
        if node not in self._samples:
            if len(self._samples) >= _CACHED:
                self._samples = {}
            places = self._candidates(node)
            if len(places) > _READ:
                numbers = self._numbers[places]
                places = places[numbers < max(self._bound, _bound(numbers, _READ))]
            self._samples[node] = places[np.argsort(self.passages[places], kind="stable")]
        return self._samples[node]

    def sketch(self, node: int) -> tuple[int, ...]:
        """A few passages that stand for a concept, in ascending order; a small change changes few of them or none."""
        places = self.sample(node)
        lowest = np.argsort(self._numbers[places], kind="stable")[:_SKETCH]
        found: list[int] = np.sort(self.passages[places[lowest]]).tolist()
        return tuple(found)

    def places_of(self, passages: Iterable[int]) -> dict[int, int]:
        """The places of passages; those that are not there are left out."""
        wanted = np.array(sorted(set(passages)), np.int64)
        places = np.flatnonzero(np.isin(self.passages, wanted))
        return dict(zip(self.passages[places].tolist(), places.tolist(), strict=True))

    def _digests(self, nodes: Longs) -> npt.NDArray[np.uint64]:
        """Hashes of the samples of concepts, passages and their vectors: the sum of a hash of each, modulo 2⁶⁴."""
        starts = self._starts[nodes]
        stops = starts + self.arrays.size[nodes]
        known = self._counts[stops] - self._counts[starts]
        whole = (known == stops - starts) | (known < (1.0 - _NEW) * (stops - starts))
        every, agglomerated = (totals[stops] - totals[starts] for totals in self._totals)
        found: npt.NDArray[np.uint64] = np.where(whole, every, agglomerated)
        for at in np.flatnonzero(np.where(whole, stops - starts, known) > _READ).tolist():
            found[at] = self._hashes[self.sample(int(nodes[at]))].sum()
        return found

    @cached_property
    def _hashes(self) -> npt.NDArray[np.uint64]:
        """A hash of each document, in depth-first order."""
        t = self.arrays
        keys = t.key[t.row[t.leaf[self.documents]]].astype(np.uint64)
        return _mixed(_mixed(self.passages.astype(np.uint64)) ^ keys)

    @cached_property
    def _totals(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The sums of the hashes of all documents before each place, and of those that were agglomerated."""
        zero, of_known = np.zeros(1, np.uint64), np.where(self._known, self._hashes, np.uint64(0))
        both = (np.concatenate([zero, np.cumsum(each, dtype=np.uint64)]) for each in (self._hashes, of_known))
        return next(both), next(both)

    def _candidates(self, node: int) -> Longs:
        """Places of the members that may be in the sample: those that were agglomerated, unless many came since."""
        start, stop = self.span(node)
        known = int(self._counts[stop] - self._counts[start])
        if known == stop - start or known < (1.0 - _NEW) * (stop - start):
            return np.arange(start, stop)
        return start + np.flatnonzero(self._known[start:stop])

    def siblings(self, node: int, parent: int) -> tuple[Longs, Longs]:
        """Places in the parent's sample: those below the node, and the others."""
        start, stop = self.span(node)
        places = self.sample(parent)
        inside = (places >= start) & (places < stop)
        return places[inside], places[~inside]

    def parts(self, node: int) -> list[int]:
        """Of each place in the sample, the shown child that it is below; empty for a small concept."""
        if self.arrays.size[node] < _IN_PARTS:
            return []
        children = shown_children(self.arrays, node)
        starts = self._starts[children]
        order = np.argsort(starts)
        found = np.searchsorted(starts[order], self.sample(node), side="right") - 1
        parts: list[int] = children[order[found]].tolist()
        return parts

    @cached_property
    def upper(self) -> frozenset[int]:
        """The concepts that people see first, which are some hundred: those of the upper levels that are not small."""
        nodes = shown_below(self.arrays, self.root, _UPPER).nodes
        return frozenset(nodes[self.arrays.size[nodes] >= _LARGE].tolist())

    def units(self, places: Longs) -> Floats:
        """The vectors of members, of length 1."""
        t = self.arrays
        return units(t.vectors[t.row[t.leaf[self.documents[places]]]])

    def fingerprints(self, nodes: Sequence[int], parents: Sequence[int]) -> list[int]:
        """Hashes of all that the labels of concepts below shown parents, NONE for the root, are made from."""
        own, above = np.array(nodes, np.int64), np.array(parents, np.int64)
        found = _mixed(self._digests(own) ^ _mixed(self.of_corpus + np.full(len(own), _VERSION, np.uint64)))
        inner = above != NONE
        found[inner] = _mixed(found[inner] ^ _mixed(self._digests(above[inner])))
        for at in np.flatnonzero(self.arrays.size[own] >= _IN_PARTS).tolist():
            parts = np.array(self.parts(nodes[at]), np.int64).tobytes()
            found[at] ^= np.uint64(int.from_bytes(blake2b(parts, digest_size=8).digest(), "little"))
        prints: list[int] = (found >> np.uint64(8)).tolist()
        return prints


def _depth_first(t: TreeArrays, root: int) -> tuple[Longs, Longs]:
    """Where the documents below each node start in depth-first order, by node; and the documents in that order."""
    order = parents_first(t, root)
    sizes, children = t.size[order], t.n_children[order]
    before = np.cumsum(sizes) - sizes
    first = 1 + np.cumsum(children) - children
    starts = np.zeros(len(order), np.int64)
    at, stop = 0, 1  # a level of the tree in `order`
    while stop < len(order):
        above = np.repeat(np.arange(at, stop), children[at:stop])
        below = slice(stop, stop + len(above))
        starts[below] = starts[above] + before[below] - before[first[above]]
        at, stop = stop, below.stop
    leaves = children == 0
    places, waiting = starts[leaves], t.first_document[order[leaves]]
    documents = np.empty(int(sizes[0]), np.int64)
    while len(waiting):
        documents[places] = waiting
        waiting = t.next_document[waiting]
        more = waiting != NONE
        places, waiting = places[more] + 1, waiting[more]
    by_node = np.zeros(len(t.size), np.int64)
    by_node[order] = starts
    return by_node, documents
