"""A change of a `VectorIndex` in two steps: stage, which can fail and changes nothing, and apply, which cannot fail.

In: vectors to add with their ids, and ids to remove. Out: a `Staged` change. Whoever keeps a log commits between the
two steps. A change is an insertion into the tree that is there, a new agglomeration of everything (when the index
has doubled), or a fit: the whitener or the acuity is chosen from all vectors, and a new tree is built.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from gossamer.array_types import Floats
from gossamer.errors import OutOfMemoryError
from gossamer.graph import search_graph
from gossamer.graph.search_graph import SearchGraph
from gossamer.rank.guided import prepare
from gossamer.rank.path_sum import PathSum
from gossamer.results import DocId
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.cobweb import Progress
from gossamer.tree.rebuild import content_order
from gossamer.vector_index.state import VectorState, finite
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.vectors")

_FAR_OUT: Final = 10.0
"""Times the median distance from the mean of all documents; a vector beyond it is worth a warning."""

GraphChange: TypeAlias = Callable[[SearchGraph | None], SearchGraph | None]
"""Makes the search graph after a change from the one before it."""


class Staged:
    """A change that is ready to be applied. `apply` changes tree and ids, `follow` then replaces the search graph."""

    def __init__(self, state: VectorState, change: Callable[[], GraphChange]) -> None:
        self._state = state
        self._change = change
        self._graph: SearchGraph | None = None
        self._graph_change: GraphChange | None = None

    def apply(self) -> None:
        """Make the change. Ctrl-C waits until it is complete."""
        with self._state.lock.writing():
            self._apply()

    def follow(self) -> None:
        """Replace the search graph. Where that fails, another is built before the next guided search."""
        with self._state.lock.writing() as interruptible, interruptible():
            self._follow()

    def at_once(self) -> None:
        """Do both, with no search in between."""
        with self._state.lock.writing() as interruptible:
            self._apply()
            with interruptible():
                self._follow()

    def _apply(self) -> None:
        state = self._state
        self._graph, state.graph = state.graph, None  # until `follow`: a search in between looks at everything
        try:
            self._graph_change = self._change()
        except BaseException:
            state.status = "broken"
            raise

    def _follow(self) -> None:
        if self._graph_change is None:
            return
        try:
            self._state.graph = self._graph_change(self._graph)
        except Exception as error:
            _log.warning("the search graph is built again, because updating it failed: %r", error)


def stage(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None = None
) -> Staged:
    """Do everything that can fail of adding the rows of E as `ids` and removing `removed`."""
    size = len(state.ids) - len(removed) + len(E)
    try:
        if len(E) and state.raw is not None and _fit_is_due(state, size):
            return _stage_fit(state, E, ids, removed, progress)
        return _stage_insertion(state, E, ids, removed, progress)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"there is too little memory to add {len(E)} vectors to {len(state.ids)}: nothing was changed; add fewer "
            "at once, or free some"
        ) from error


def _fit_is_due(state: VectorState, size: int) -> bool:
    """Whether it is time to choose the whitener (once) or the acuity (each time the index doubles)."""
    if size >= state.settings.enough:
        return True
    return state.settings.acuity == "auto" and size >= 2 * state.sized_for


def _rebuild_is_due(state: VectorState, size: int) -> bool:
    settings = state.settings
    return settings.refine == "auto" and size >= settings.enough and size >= 2 * state.rebuilt_for


def _stage_insertion(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None
) -> Staged:
    """Insert into the tree that is there, or agglomerate everything again beside it."""
    X, tree = state.project(E), state.tree
    _warn_if_far_out(state.whitener, E, ids)
    due = _rebuild_is_due(state, tree.n_documents + len(X))
    rebuilt = _agglomerated(state, X, progress) if due else None
    if rebuilt is None:
        with state.lock.writing():
            tree.reserve(len(X))
        if progress is not None:
            progress(len(X), len(X))

    def apply() -> GraphChange:
        first = tree.next_document
        if rebuilt is None:
            tree.insert_reserved(X)
            if due:  # there was too little memory: try again once the index has grown by a tenth
                state.rebuilt_for = int(0.55 * tree.n_documents)
        else:
            tree.replace_arrays(rebuilt)
            state.rebuilt_for = tree.n_documents
        numbers = np.arange(first, first + len(X))
        rows, siblings = state.remove(removed)
        state.ids.assign(ids, numbers)
        if state.raw is not None:
            state.raw.update(zip(numbers.tolist(), E, strict=True))

        def follow(graph: SearchGraph | None) -> SearchGraph | None:
            if rebuilt is not None:
                graph = search_graph.after_rebuild(graph, tree.arrays)
            if len(X):
                graph = search_graph.with_added(graph, tree.arrays, numbers)
            if removed:
                graph = search_graph.with_removed(graph, tree.arrays, rows, siblings)
            return _built_if_due(state, graph) if len(X) else graph

        return follow

    return Staged(state, apply)


def _agglomerated(state: VectorState, X: Floats, progress: Progress | None) -> TreeArrays | None:
    """The tree with the rows of X, agglomerated beside the one in use; None where memory does not suffice for two.

    The documents are then inserted into the tree that is there. Replay, with more memory, may give another tree.
    """
    try:
        with state.lock.writing():
            state.tree.reserve(len(X))
        return state.tree.agglomerated(X, **state.tree_shape(state.whitener), progress=progress)
    except MemoryError as error:
        size = state.tree.n_documents + len(X)
        _log.warning("too little memory to agglomerate %d documents: they are inserted instead (%s)", size, error)
        return None


def _stage_fit(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None
) -> Staged:
    """Choose whitener and acuity from all vectors, and build a new tree beside the one in use."""
    assert state.raw is not None
    settings, gone = state.settings, set(removed)
    kept = [number for number in sorted(state.raw) if state.ids.of(np.array([number]))[0] not in gone]
    before = np.array([state.raw[number] for number in kept], np.float32).reshape(-1, settings.dim)
    everything = np.concatenate([before, E])
    size = len(everything)
    final = size >= settings.enough
    whitener = state.whitener
    if final and state.unfitted is not None:
        # In an order of their own: the order of arrival would show in the last bits, and through them in the tree.
        whitener = type(state.unfitted)(**state.unfitted.get_params()).fit(everything[content_order(everything)])
    X = everything if whitener is None else finite(whitener.project(everything))
    tree, rebuilt = state.new_tree(X), _rebuild_is_due(state, size)
    if rebuilt:
        keep = search_graph.neighbours_wanted(len(X), linked=settings.links)
        tree.agglomerate(X, **state.tree_shape(whitener), keep=keep, progress=progress)
    else:
        tree.insert_many(X, progress=progress)
    renumbered = state.ids.renumbered(np.array(kept, np.int64))
    renumbered.assign(ids, np.arange(len(kept), size))
    _warn_if_far_out(whitener, everything, renumbered.of(np.arange(size)).tolist())
    raw = None if final else dict(enumerate(everything))

    def apply() -> GraphChange:
        state.tree, state.ids, state.whitener, state.path_sum = tree, renumbered, whitener, PathSum()
        state.raw, state.sized_for = raw, size
        if rebuilt:
            state.rebuilt_for = size
        if final:
            state.unfitted = None
        return lambda _: _built_if_due(state, None)

    return Staged(state, apply)


def _built_if_due(state: VectorState, graph: SearchGraph | None) -> SearchGraph | None:
    """`graph`, or a complete one where so many documents came that a search would wait long for it."""
    if not search_graph.too_many_waiting(graph, state.tree.arrays):
        return graph
    neighbours = state.tree.take_neighbours()
    return prepare(state.tree.arrays, graph, linked=state.settings.links, neighbours=neighbours)


def _warn_if_far_out(whitener: Whitening | None, E: Floats, ids: list[DocId]) -> None:
    """Log a warning where vectors are far from all that the whitener was fitted on: often they were not normalised."""
    if whitener is None or not len(E):
        return
    distances = whitener.relative_distances(E)
    far = np.flatnonzero(distances > _FAR_OUT)
    if len(far):
        _log.warning(
            "%d of %d vectors are more than %g times as far from the mean as is usual (id %r: %.3g times): they are "
            "kept, but see whether they should be normalised",
            len(far), len(E), _FAR_OUT, ids[int(far[0])], distances[far[0]],
        )  # fmt: skip
