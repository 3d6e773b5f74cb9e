"""A change of a `VectorIndex` in two steps: stage, which can fail and changes nothing, and apply, which cannot fail.

In: vectors to add with their ids, and ids to remove. Out: a `Staged` change. Whoever keeps a log commits between the
two steps. What is staged depends on the structure of the tree:

living      documents are inserted one by one, into the core that a renewal has made if one is due now (`renewal`); as
            many as there are already, or more, are agglomerated at once with all others
cobweb      documents are inserted by Cobweb's operators; when the whitener is fitted, and until then whenever the index
            has doubled, all are inserted again into a new tree with another acuity. A rebuild inserts all again, too
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Floats, Longs
from gossamer.errors import OutOfMemoryError
from gossamer.graph import search_graph
from gossamer.results import DocId
from gossamer.results.progress import Progress
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.history import History
from gossamer.tree.rebuild import content_order
from gossamer.vector_index.core import Core, finite
from gossamer.vector_index.raw_vectors import Kept
from gossamer.vector_index.renewal import Renewal, period, renewed, start_of, window
from gossamer.vector_index.state import VectorState
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.vectors")

_FAR_OUT: Final = 10.0
"""Times the median distance from the mean of all documents; a vector beyond it is worth a warning."""


class Staged:
    """A change that is ready to be applied."""

    def __init__(self, state: VectorState, change: Callable[[], None]) -> None:
        self._state = state
        self._change = change
        self.operation: int | None = None
        """The number that the owner of a log gives this change; None for the next one."""

    def apply(self) -> None:
        """Make the change. Ctrl-C waits until it is complete."""
        with self._state.lock.writing():
            try:
                if self.operation is not None:
                    self._state.operation = self.operation - 1
                self._change()
            except BaseException:
                self._state.status = "broken"
                raise


def stage(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None = None
) -> Staged:
    """Do everything that can fail of adding the rows of E as `ids` and removing `removed`; E is not kept."""
    try:
        if len(E) and len(E) >= len(state.ids) and state.settings.structure == "living":
            with _contained(state, len(E)):
                return _stage_bulk(state, E, ids, removed, progress)
        E = E.copy()  # kept longer than this call
        if state.settings.structure == "cobweb":
            size = len(state.ids) - len(removed) + len(E)
            due = len(E) and state.raw is not None and _fit_is_due(state, size)
            return (_stage_fit if due else _stage_cobweb)(state, E, ids, removed, progress)
        return _stage_living(state, E, ids, removed, progress)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"there is too little memory to add {len(E)} vectors to {len(state.ids)}: nothing was changed; add fewer "
            "at once, or free some"
        ) from error


@contextmanager
def _contained(state: VectorState, rows: int) -> Iterator[None]:
    """Let documents be inserted one by one where memory does not suffice for a second tree; not the first of all."""
    try:
        yield
    except MemoryError as error:
        if not len(state.ids):
            raise
        _log.warning(
            "too little memory to agglomerate %d documents: they are inserted (%s)", len(state.ids) + rows, error
        )


# -- living --------------------------------------------------------------------------------------------


def _stage_living(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None
) -> Staged:
    """Insert documents one by one, and start or end a renewal where that is due."""
    _start_renewal_if_due(state)
    renewal, work = state.renewal, len(E) + len(removed)
    swapped: Core | None = None
    history = state.history
    due = renewal is not None and state.clock + work >= renewal.due
    if renewal is not None:
        if due:
            swapped = renewal.finish()
            history = _recorded(state, swapped)
        else:
            renewal.pace(renewal.due - state.clock)
            if removed:
                renewal.wait_until_copied()
    core = swapped or state
    X, gone = core.project(E), state.numbers(removed)
    _warn_if_far_out(core.whitener, E, ids)
    if not core.has_room(len(X)):
        with state.lock.writing():
            core.reserve(len(X))

    def apply() -> None:
        if swapped is not None:
            _adopt(state, swapped, history)
        if due:
            end_renewal(state)
        if len(X):
            state.insert(X, "living")
        _replace_ids(state, E, ids, removed, gone)
        if state.renewal is not None:
            state.renewal.follow((E, gone))

    return Staged(state, _reported(apply, progress, len(E)))


def _recorded(state: VectorState, core: Core | None) -> History:
    """The history with what became of concepts in a new core."""
    return state.history if core is None else state.history.record(state.operation, core.tree.arrays, core.succession)


def _adopt(state: VectorState, core: Core, history: History) -> None:
    """Put a new core in the place of the one in use."""
    state.become(core)
    state.settled, state.history = state.settled_next, history


def _replace_ids(state: VectorState, E: Kept, ids: list[DocId], removed: list[DocId], gone: Longs) -> None:
    """Remove documents from the tree, and give ids to the newest ones in it."""
    last = state.tree.next_document
    if len(gone):
        state.remove(gone, state.settings.structure)
        state.ids.forget(removed)
        if state.raw is not None:
            state.raw.forget(removed)
    state.ids.assign(ids, np.arange(last - len(ids), last))
    if state.raw is not None:
        state.raw.add(ids, E)
    state.clock += len(ids) + len(removed)
    state.operation += 1


def is_renewing(state: VectorState) -> bool:
    """Whether a new core is being made, or is due and will be when the next change is staged."""
    if state.renewal is not None or state.settings.structure == "cobweb":
        return state.renewal is not None
    return state.clock - state.started >= period(state.started_size) or search_graph.is_outgrown(state.graph)


def _start_renewal_if_due(state: VectorState) -> None:
    """Copy the documents, while searches go on, and let a thread make a new core of them.

    Where memory does not suffice, try again later.
    """
    if state.renewal is not None or not is_renewing(state):
        return
    size = len(state.ids)
    with state.lock.reading():  # no search may replace the graph meanwhile
        try:
            raw = None if state.raw is None else state.raw.frozen()
            start = start_of(state, state.ids.numbers(), state.settled, raw)
            renewal = Renewal(start, state.policy, state.clock + window(size))
        except (MemoryError, RuntimeError) as error:  # RuntimeError: no more threads
            _log.warning("the tree of %d documents is renewed later: %r", size, error)
        else:
            state.renewal, state.settled_next = renewal, state.tree.next_document
            renewal.cancel_with(state)
    state.started, state.started_size = state.clock, size


def end_renewal(state: VectorState) -> None:
    """End the thread of a renewal, if there is one."""
    if state.renewal is not None:
        state.renewal.cancel()
        state.renewal = None


def _stage_bulk(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None
) -> Staged:
    """Agglomerate all documents at once, beside the tree in use."""
    size, gone = len(state.ids) + len(E), state.numbers(removed)
    raw = None if state.raw is None else state.raw.frozen()

    def report(share: float) -> None:
        if progress is not None:
            progress(int(share * size), size)

    core = renewed(start_of(state, state.ids.numbers(), state.settled, raw), state.policy, E, report)
    history = _recorded(state, core)
    _warn_if_far_out(core.whitener, E, ids)
    kept = E if state.raw is None else state.raw.to_keep(E)
    report(1.0)

    def apply() -> None:
        state.settled_next = core.tree.next_document
        _adopt(state, core, history)
        end_renewal(state)
        _replace_ids(state, kept, ids, removed, gone)
        state.started, state.started_size = state.clock, len(state.ids)

    return Staged(state, apply)


def stage_settling(state: VectorState) -> Staged:
    """End the renewal that is under way or due."""
    _start_renewal_if_due(state)
    core = None if state.renewal is None else state.renewal.finish()
    history = _recorded(state, core)

    def apply() -> None:
        if core is not None:
            _adopt(state, core, history)
        end_renewal(state)
        state.operation += 1

    return Staged(state, apply)


def stage_rebuild(state: VectorState, progress: Progress | None) -> Staged:
    """Agglomerate all documents again, or insert them again by Cobweb's operators."""
    if state.settings.structure == "living":
        return _stage_bulk(state, state.policy.no_rows, [], [], progress)
    if state.raw is not None and len(state.ids):
        return _stage_fit(state, state.policy.no_rows, [], [], progress)
    return _stage_insertion(state, progress)


def _reported(apply: Callable[[], None], progress: Progress | None, rows: int) -> Callable[[], None]:
    if progress is not None and rows:
        progress(rows, rows)
    return apply


# -- cobweb --------------------------------------------------------------------------------------------


def _fit_is_due(state: VectorState, size: int) -> bool:
    """Whether it is time to choose the whitener (once) or the acuity (each time the index doubles)."""
    if size >= state.settings.enough:
        return True
    return state.settings.acuity == "auto" and size >= 2 * state.sized_for


def _stage_cobweb(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None
) -> Staged:
    """Insert into the tree that is there."""
    X, gone = state.project(E), state.numbers(removed)
    _warn_if_far_out(state.whitener, E, ids)
    with state.lock.writing():
        state.tree.reserve(len(X))

    def apply() -> None:
        if len(X):
            state.insert(X, "cobweb")
        _replace_ids(state, E, ids, removed, gone)

    return Staged(state, _reported(apply, progress, len(E)))


def _stage_fit(
    state: VectorState, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None
) -> Staged:
    """Choose whitener and acuity from all vectors, and insert all documents into a new tree."""
    assert state.raw is not None
    settings, gone = state.settings, set(removed)
    kept = [id for id in state.ids if id not in gone]
    before = state.raw.of(kept).reshape(-1, settings.dim)
    everything = np.concatenate([before, E])
    size = len(everything)
    final = size >= settings.enough
    whitener = state.whitener
    if final and state.template is not None:
        # In an order of their own: the order of arrival would show in the last bits, and through them in the tree.
        template = type(state.template)(**state.template.get_params())
        whitener = template.fit(everything[content_order(everything)])
    X = everything if whitener is None else finite(whitener.project(everything))
    tree = state.new_tree(X)
    tree.insert_many(X, progress=progress)
    renumbered = state.ids.renumbered(state.numbers(kept))
    renumbered.assign(ids, np.arange(len(kept), size))
    _warn_if_far_out(whitener, everything, [*kept, *ids])

    def apply() -> None:
        state.become(Core(whitener, tree))
        state.ids, state.sized_for = renumbered, size
        state.clock += len(E) + len(removed)
        state.operation += 1
        if final:
            state.template = state.raw = None
        elif state.raw is not None:
            state.raw.forget(removed)
            state.raw.add(ids, E)

    return Staged(state, apply)


def _stage_insertion(state: VectorState, progress: Progress | None) -> Staged:
    """Insert all documents into a new tree in order of arrival, as the whitener that is kept projects them."""
    t = state.tree.arrays
    numbers = np.flatnonzero(t.leaf[: state.tree.next_document] != NONE)
    tree = CobwebTree(state.tree.dim, state.tree.acuity)
    tree.insert_many(t.vectors[t.row[t.leaf[numbers]]], progress=progress)
    renumbered = state.ids.renumbered(numbers)

    def apply() -> None:
        state.become(Core(state.whitener, tree))
        state.ids = renumbered
        state.operation += 1

    return Staged(state, apply)


def _warn_if_far_out(whitener: Whitening | None, E: Floats, ids: list[DocId]) -> None:
    """Log a warning where vectors are far from all that the whitener was fitted on: often they were not normalised."""
    if whitener is None or not whitener.may_exceed(E, _FAR_OUT):
        return
    distances = whitener.relative_distances(E)
    far = np.flatnonzero(distances > _FAR_OUT)
    if len(far):
        _log.warning(
            "%d of %d vectors are more than %g times as far from the mean as is usual (id %r: %.3g times): they are "
            "kept, but see whether they should be normalised",
            len(far), len(E), _FAR_OUT, ids[int(far[0])], distances[far[0]],
        )  # fmt: skip
