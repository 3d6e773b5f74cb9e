"""What searches read of a `VectorIndex`: whitener, tree and search graph, and how documents come in and go.

A document is inserted by `tree.placement` (structure "living") or by Cobweb's operators (structure "cobweb"). Both
change the tree that is there. `renewal` makes a new core over the same documents, beside the one in use.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gossamer.array_types import Floats, Longs
from gossamer.checks import LARGEST
from gossamer.errors import InputError
from gossamer.graph import search_graph
from gossamer.graph.growth import CONSIDERED, grow
from gossamer.graph.search_graph import SearchGraph
from gossamer.rank.path_sum import PathSum
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.identity import Succession
from gossamer.tree.structure import sibling_leaves
from gossamer.whitening.spectrum import mean_variance, winsorised
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.vectors")

Structure: TypeAlias = Literal["living", "cobweb"]

_FREED_AT_ONCE: Final = 1 << 24
_FREED_EVERY: Final = 0.4
"""Bytes that are freed at once, and the seconds between."""


@dataclass
class Core:
    """The parts of an index that belong together: vectors of the tree are those that the whitener projects to."""

    whitener: Whitening | None
    """In use; None while vectors are taken as they are."""
    tree: CobwebTree
    graph: SearchGraph | None = None
    path_sum: PathSum = field(default_factory=PathSum)
    succession: Succession | None = None
    """What became of the concepts of the core it was made from."""

    def project(self, E: Floats) -> Floats:
        """Checked vectors in the tree's space."""
        return E if self.whitener is None else finite(self.whitener.project(E))

    def has_room(self, documents: int) -> bool:
        """Whether so many documents can be inserted without making room."""
        graph, t = self.graph, self.tree.arrays
        return self.tree.has_room(documents) and (graph is None or search_graph.has_room(graph, t))

    def reserve(self, documents: int) -> None:
        """Make room for so many documents in the tree and in the graph, so that inserting them cannot fail."""
        self.tree.reserve(documents)
        if self.graph is not None and self.graph.complete:
            self.graph = search_graph.with_room(self.graph, self.tree.arrays)

    def insert(self, X: Floats, structure: Structure) -> None:
        """Insert projected vectors, for which there is room; searches must not run meanwhile."""
        if structure == "cobweb":
            first = self.tree.next_document
            self.tree.insert_reserved(X)
            self._follow(
                lambda graph: search_graph.with_added(graph, self.tree.arrays, np.arange(first, first + len(X)))
            )
        elif self.graph is None or not self.graph.complete:
            self.tree.place_reserved(X)
        else:
            self._grow(X, self.graph)

    def _grow(self, X: Floats, graph: SearchGraph) -> None:
        """Insert by walks along links, which are made at once."""
        done, outside = 0, 0
        while True:
            t = self.tree.arrays
            workspace = graph.workspaces.take(t, CONSIDERED)
            grown = grow(t, graph.arrays, X, done, workspace)
            graph.workspaces.give_back(workspace)
            done, outside = grown.rows, outside + grown.outside
            if done == len(X):
                break
            self.tree.reserve(len(X) - done)
            graph = search_graph.with_room(graph, self.tree.arrays)
        self.graph = search_graph.after_growth(graph, t, len(X), outside)

    def remove(self, numbers: Longs, structure: Structure) -> None:
        """Remove documents, which must be in the tree; searches must not run meanwhile."""
        t = self.tree.arrays
        leaves = t.leaf[numbers]
        rows, beside = t.row[leaves], sibling_leaves(t, leaves)
        self.tree.remove(numbers.tolist())
        living = structure == "living"
        self._follow(lambda graph: search_graph.with_removed(graph, self.tree.arrays, rows, beside, keep=living))

    def _follow(self, change: search_graph.GraphChange) -> None:
        """Bring the graph in step with the tree; where that fails, another is built before the next guided search."""
        graph, self.graph = self.graph, None
        try:
            self.graph = change(graph)
        except Exception as error:
            _log.warning("the search graph is built again, because updating it failed: %r", error)

    def apply(self, E: Floats, removed: Longs) -> None:
        """Insert the rows of E and remove documents, as living insertion does."""
        X = self.project(E)
        if not self.has_room(len(X)):
            self.reserve(len(X))
        if len(X):
            self.insert(X, "living")
        if len(removed):
            self.remove(removed, "living")

    def become(self, other: Core) -> None:
        """Take over the parts of another core; memory of the old ones is freed little by little.

        The tree stays the same object, so that caches by node can be kept.
        """
        old: list[object] = [*self.tree.arrays, self.path_sum]
        if self.graph is not None:
            old += [*self.graph.arrays.codes, *self.graph.arrays.links, self.graph.workspaces]
        self.tree.replace_arrays(other.tree.arrays)
        self.whitener, self.graph, self.path_sum = other.whitener, other.graph, self.path_sum.fresh()
        _free_later(old)


def _free_later(parts: list[object]) -> None:
    """Let go of large arrays in another thread, little by little.

    To free hundreds of megabytes at once takes tens of milliseconds, and a virtual machine that returns them to its
    host stops all threads a tenth of a second for that.
    """

    def free() -> None:
        while parts:
            array: Any = parts.pop()
            if isinstance(array, np.ndarray) and array.base is not None:
                array = array.base
            # From the end on. An array that something else refers to, or a part of another, refuses: ValueError.
            with suppress(ValueError):
                while isinstance(array, np.ndarray) and array.nbytes > _FREED_AT_ONCE:
                    array.resize(len(array) - max(1, _FREED_AT_ONCE * len(array) // array.nbytes), *array.shape[1:])
                    time.sleep(_FREED_EVERY)
            del array

    try:
        threading.Thread(target=free, name="gossamer-free", daemon=True).start()
    except RuntimeError:  # no more threads
        parts.clear()


def auto_acuity(X: Floats) -> float:
    """What acuity="auto" stands for with the vectors X: five times the mean variance of a dimension."""
    variance, squared_mean = mean_variance(winsorised(X))
    # One document, or copies of one, have no variance; the size of their values gives the scale.
    return 5.0 * (variance if variance > 1e-12 * squared_mean else squared_mean or 1.0)


def finite(X: Floats) -> Floats:
    """Projected vectors, if float32 can hold them. On a sphere it always can."""
    if np.vdot(X, X) < LARGEST**2:
        return X
    with np.errstate(invalid="ignore"):
        fine = (np.abs(X) <= LARGEST).all(axis=1)
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(
            f"vectors: row {row} is so far from what the whitener was fitted on that float32 cannot hold it: "
            "rescale it, or use a whitener with sphere=True"
        )
    return X
