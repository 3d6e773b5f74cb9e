"""What methods share, made at first use: whitened vectors, trees, BM25."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.data.embedded import Embedded
from gossamer_lab.engine import Floats, Longs, Whitening
from gossamer_lab.methods.lexical import Lexical, lexical
from gossamer_lab.methods.spaces import Space, fit, space_of
from gossamer_lab.timing import clock

T = TypeVar("T")


@dataclass(frozen=True)
class Vectors:
    """Documents (X) and queries (Y) in one space, and the seconds it took to fit and project."""

    X: Floats
    Y: Floats
    whitener: Whitening | None
    seconds: float


@dataclass(frozen=True)
class Tree:
    """An index over the raw vectors whose ids are rows of the collection, and the seconds it took to build."""

    index: VectorIndex
    seconds: float


class Prepared:
    """A collection with its vectors, ready for any method."""

    def __init__(self, data: Embedded, *, cache: Path, order: int | None = None) -> None:
        """`order` is the seed of another order of insertion into trees; None for the collection's own."""
        self.data, self.cache, self.order = data, cache, order
        self._vectors: dict[str, Vectors] = {}
        self._trees: dict[str, Tree] = {}
        self._lexical: Lexical | None = None
        self._last: dict[str, tuple[object, object]] = {}

    def last(self, kind: str, key: object, make: Callable[[], T]) -> T:
        """What `make` returns, kept until another key of this kind is asked for: two may not fit into memory."""
        if kind not in self._last or self._last[kind][0] != key:
            self._last.pop(kind, None)
            self._last[kind] = (key, make())
        return self._last[kind][1]  # type: ignore[return-value]

    def vectors(self, name: str) -> Vectors:
        """The vectors of a space."""
        if name not in self._vectors:
            space = space_of(name)
            self._vectors[name] = self.vectors(space.like) if space.like else self._project(space)
        return self._vectors[name]

    def _project(self, space: Space) -> Vectors:
        E, Q = self.data.E, self.data.Q
        recipe = space.whitener
        if recipe == "preset":
            whitener = self.tree(space.name).index.whitener
            if whitener is not None:
                return Vectors(whitener.project(E), whitener.project(Q), whitener, 0.0)
        elif recipe is not None:
            seconds, fitted = clock(lambda: fit(recipe, np.vstack([E, Q]) if space.queries else E, self.cache))
            projecting, pair = clock(lambda: (fitted.project(E), fitted.project(Q)))
            return Vectors(*pair, fitted, seconds + projecting)
        return Vectors(E, Q, None, 0.0)  # as they are, or so few that the index does not whiten them

    def tree(self, name: str) -> Tree:
        """A tree over the vectors of a space."""
        if name not in self._trees:
            space, dim = space_of(name), self.data.E.shape[1]
            if space.whitener == "preset":
                index = VectorIndex(dim, space.preset, structure=space.structure)
            else:
                whitener = self.vectors(name).whitener
                index = VectorIndex(dim, space.preset, whitener=whitener, structure=space.structure)
            rows = self.arrival()
            seconds, _ = clock(lambda: grow(index, self.data.E[rows], rows.tolist()))
            self._trees[name] = Tree(index, seconds)
        return self._trees[name]

    def arrival(self) -> Longs:
        """The documents in the order in which they are inserted."""
        if self.order is not None:
            return np.random.default_rng(self.order).permutation(len(self.data.E)).astype(np.int64)
        collection = self.data.collection
        source = collection.rows if collection.arrival is None else collection.arrival
        return np.arange(len(self.data.E)) if source is None else np.argsort(source, kind="stable")

    def lexical(self) -> Lexical:
        """BM25 of all queries."""
        if self._lexical is None:
            self._lexical = lexical(self.data.collection.texts, self.data.collection.queries)
        return self._lexical

    def reordered(self, order: int) -> Prepared:
        """The same with another order of insertion; what does not depend on the order is shared."""
        other = Prepared(self.data, cache=self.cache, order=order)
        other._lexical = self._lexical
        other._vectors = {name: each for name, each in self._vectors.items() if not _depends_on_tree(name)}
        return other


def _depends_on_tree(name: str) -> bool:
    """Whether the vectors of a space are those of an index, which fits its whitener as it grows."""
    space = space_of(name)
    return "preset" in (space.whitener, space_of(space.like or name).whitener)


def grow(index: VectorIndex, X: Floats, ids: Sequence[int] | None = None) -> None:
    """Add everything and build its links, which are otherwise left to the first search and missing from the time."""
    index.add(X, ids=ids)
    index.settle()
