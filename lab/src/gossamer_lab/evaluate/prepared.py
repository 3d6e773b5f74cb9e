"""What methods share, made when first asked for: whitened vectors, trees, words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from gossamer.array_types import Floats
from gossamer.encoders import Progress
from gossamer.vector_index.vector_index import VectorIndex
from gossamer.whitening.whitening import Whitening
from gossamer_lab.bench.systems import grow
from gossamer_lab.bench.timing import clock
from gossamer_lab.evaluate.collection import Rows
from gossamer_lab.evaluate.embed import Embedded
from gossamer_lab.evaluate.lexical import Lexical, lexical
from gossamer_lab.evaluate.spaces import Space, fit, space_of

T = TypeVar("T")


@dataclass(frozen=True)
class Vectors:
    """Documents and queries in one space, and the seconds it took to fit and project."""

    X: Floats
    Y: Floats
    whitener: Whitening | None
    seconds: float


@dataclass(frozen=True)
class Tree:
    """An index over the raw vectors, its documents numbered as in the collection, and its build time."""

    index: VectorIndex
    rows: Rows
    """The row in the collection of each document, by its number in the tree."""
    seconds: float


class Prepared:
    """A collection with its vectors, ready for any method."""

    def __init__(
        self, data: Embedded, *, cache: Path, order: int | None = None, progress: Progress | None = None
    ) -> None:
        """`order` is the seed of another order of insertion into trees; None for the collection's own."""
        self.data, self.cache, self.order = data, cache, order
        self._progress = progress
        self._vectors: dict[str, Vectors] = {}
        self._trees: dict[str, Tree] = {}
        self._lexical: Lexical | None = None
        self._last: dict[str, tuple[object, object]] = {}

    def last(self, kind: str, key: object, make: Callable[[], T]) -> T:
        """What `make` returns, kept until another one of its kind is asked for."""
        if kind not in self._last or self._last[kind][0] != key:
            self._last.pop(kind, None)  # two of them may not fit into memory
            self._last[kind] = (key, make())
        return self._last[kind][1]  # type: ignore[return-value]

    def vectors(self, name: str) -> Vectors:
        """The vectors of a space."""
        if name not in self._vectors:
            self._vectors[name] = self._project(space_of(name))
        return self._vectors[name]

    def _project(self, space: Space) -> Vectors:
        E, Q = self.data.E, self.data.Q
        if space.whitener is None:
            return Vectors(E, Q, None, 0.0)
        if space.whitener == "preset":
            whitener = self.tree(space.name).index.whitener
            if whitener is None:  # so few documents that the index takes vectors as they are
                return Vectors(E, Q, None, 0.0)
            return Vectors(whitener.project(E), whitener.project(Q), whitener, 0.0)
        recipe = space.whitener
        seconds, fitted = clock(lambda: fit(recipe, E, self.cache))
        projecting, pair = clock(lambda: (fitted.project(E), fitted.project(Q)))
        return Vectors(*pair, fitted, seconds + projecting)

    def tree(self, name: str) -> Tree:
        """A tree over the vectors of a space."""
        if name not in self._trees:
            space, dim = space_of(name), self.data.E.shape[1]
            if space.whitener == "preset":
                index = VectorIndex(dim, space.preset)
            else:
                index = VectorIndex(dim, space.preset, whitener=self.vectors(name).whitener)
            rows = self.arrival()
            seconds, _ = clock(lambda: grow(index, self.data.E[rows], rows.tolist()))
            self._trees[name] = Tree(index, rows, seconds)
        return self._trees[name]

    def arrival(self) -> Rows:
        """The documents in the order in which they are inserted."""
        if self.order is not None:
            return np.random.default_rng(self.order).permutation(len(self.data.E)).astype(np.int64)
        source = self.data.collection.rows
        return np.arange(len(self.data.E)) if source is None else np.argsort(source, kind="stable")

    def lexical(self) -> Lexical:
        """BM25 of all queries."""
        if self._lexical is None:
            collection = self.data.collection
            self._lexical = lexical(collection.texts, collection.queries, self._progress)
        return self._lexical

    def reordered(self, order: int) -> Prepared:
        """The same with documents inserted in another order; what does not depend on it is shared."""
        other = Prepared(self.data, cache=self.cache, order=order, progress=self._progress)
        other._lexical = self._lexical
        other._vectors = {name: each for name, each in self._vectors.items() if space_of(name).whitener != "preset"}
        return other
