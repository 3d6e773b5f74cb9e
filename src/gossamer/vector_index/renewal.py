"""A new core over the documents of an index, made beside the one in use, which searches go on to read.

As an index grows, its tree is agglomerated again every so many changes, because insertion knows only what came before.
The documents at one operation (`Start`) are copied, a thread makes the new core from them and applies the changes that
came since, and at a fixed later operation, whatever the speed of the machine, the new core takes the place of the old
one. So what comes of a sequence of operations depends on the sequence alone. Neighbours of leaves are known from their
links, so that a large index is never compared with itself. The whitener is fitted again when the corpus has moved away
from what it was fitted on (`Whitening.has_drifted`).

Of n documents, the next renewal is due n/12 changes after the last one was, and takes effect n/18 changes later. So
between 0.055 and 0.14 of the documents were inserted one by one, and the others agglomerated. (From 32,768 documents on
n/8 and n/12, and 0.08 to 0.21.) It starts when the next change is staged, outside the lock that searches wait for.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import Floats, Ints, Longs
from gossamer.files import scratch
from gossamer.graph import search_graph
from gossamer.graph.linking import neighbours_by_links
from gossamer.graph.search_graph import SearchGraph
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison
from gossamer.rank.guided import prepare
from gossamer.results import DocId
from gossamer.runtime import deadline
from gossamer.runtime.process import no_fork
from gossamer.runtime.threads import in_this_thread, stop_at_exit
from gossamer.tree.agglomeration import NEIGHBOURS
from gossamer.tree.anchoring import anchored_points, with_means
from gossamer.tree.arrays import (
    DOCUMENT_FIELDS,
    INNER_FIELDS,
    LEAF_FIELDS,
    NODE_FIELDS,
    RESERVE,
    Limit,
    Meta,
    TreeArrays,
    leaf_vectors,
    rows_in_use,
)
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.identity import keep_ids
from gossamer.tree.rebuild import (
    Anchor,
    BuildOptions,
    KnownNeighbours,
    add_leaves,
    agglomerate_leaves,
    content_order,
    free_concepts,
    in_tree_order,
)
from gossamer.tree.structure import hash_rows, rehash
from gossamer.vector_index.core import Core, auto_acuity, finite
from gossamer.vector_index.raw_vectors import RawVectors
from gossamer.whitening.spectrum import Reordered
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.vectors")

_SHARE: Final = 12
_SHARE_OF_LARGE: Final = 8
_LARGE: Final = 32_768
_LEAST_PERIOD: Final = 64
"""A renewal starts when one in so many documents came or went since the last one did; another share from a size on, and
so many at the least."""

_DRIFT_SAMPLE: Final = 2048
"""Documents by which the drift of a corpus is measured, spread evenly over all."""

_COPIED_AT_ONCE: Final = 8192
"""Rows that are copied without letting another thread run."""

_CONCEPTS_PER_LEAF: Final = 0.32
"""Internal nodes that room is made for, by the number of leaves."""

_PAGE: Final = 4096
"""Bytes of a page of memory, at least."""

_PACE: Final = 0.02
"""The longest wait, in seconds, of one change for a renewal that is behind."""

_AT_EXIT: Final = 2.0
"""Seconds that the end of the program waits for a renewal to be given up."""

_TOGETHER: Final = 64
"""Changes that a new core takes in at once, at most."""


def period(documents: int) -> int:
    """Changes between the starts of two renewals of an index that had so many documents at the first."""
    return max(_LEAST_PERIOD, documents // (_SHARE if documents < _LARGE else _SHARE_OF_LARGE))


def window(documents: int) -> int:
    """Changes between the start of a renewal and the operation at which it takes effect."""
    return period(documents) * 2 // 3


@dataclass(frozen=True)
class Policy:
    """What decides how a core is made: settings of the index that do not change."""

    acuity: float | None
    """None for five times the mean variance."""
    links: bool
    template: Whitening | None
    """The whitener to fit, once there are enough documents; None where it is not to be fitted (again)."""
    enough: int
    dim: int
    """Of vectors as they come."""
    comparison: Comparison = ON_PROCESSOR

    @property
    def no_rows(self) -> Floats:
        """Vectors of no documents."""
        return np.empty((0, self.dim), np.float32)


class Start(NamedTuple):
    """The documents of an index at one operation. Vectors and codes are shared with it until they are copied."""

    arrays: TreeArrays  # without moments
    whitener: Whitening | None
    graph: SearchGraph | None
    ids: dict[DocId, int]  # with the numbers of the documents
    settled: int  # number of the first document that came since the tree was last agglomerated
    raw: RawVectors | None  # None where the whitener is not to be fitted


def start_of(core: Core, ids: dict[DocId, int], settled: int, raw: RawVectors | None) -> Start:
    """Copy what a renewal needs and what further changes would change; some ten milliseconds for 150,000 documents."""
    t = core.tree.arrays
    used = rows_in_use(t.meta)
    names = (*NODE_FIELDS, *LEAF_FIELDS[1:], *DOCUMENT_FIELDS)
    arrays: dict[str, Any] = {name: getattr(t, name)[: used[name]].copy() for name in names}
    copied = t._replace(
        **arrays, mean=t.mean[:0], m2=t.m2[:0], changed=t.changed[: used["changed"]].copy(),
        bucket=t.bucket.copy(), meta=t.meta.copy(), limits=t.limits.copy(),
    )  # fmt: skip
    usable = core.graph is not None and core.graph.complete
    graph = search_graph.frozen(core.graph) if core.graph is not None and usable else None
    return Start(copied, core.whitener, graph, ids, settled, raw)


# -- making --------------------------------------------------------------------------------------------


def renewed(
    start: Start,
    policy: Policy,
    E: Floats,
    progress: Callable[[float], None],
    copied: Callable[[], None] = lambda: None,
) -> Core:
    """A core over the documents of `start` and the rows of E. `copied` is called once nothing is shared any more."""
    t, graph = _copy(start.arrays, len(E)), None
    if start.graph is not None and not len(E) and start.graph.linked and not search_graph.is_worn(start.graph, t):
        graph = _with_own_codes(start.graph, int(t.meta[Meta.LEAF_ROWS]))
    copied()
    whitener = _fitted(start, policy, E)
    if whitener is not start.whitener:
        t = _reprojected(start, whitener, len(E))
        graph = None if graph is None else search_graph.reprojected(graph, t)
    core = Core(whitener, CobwebTree(t.vectors.shape[1]))
    add_leaves(t, core.project(E))
    t.limits[Limit.ACUITY] = policy.acuity or auto_acuity(leaf_vectors(t))
    known = None if graph is None else _known_by(graph, t)
    leaves = int(t.meta[Meta.LEAVES])
    wanted = search_graph.neighbours_wanted(leaves, linked=policy.links, comparison=policy.comparison)
    keep = wanted if graph is None else 0
    old = start.arrays._replace(vectors=t.vectors)  # leaves have the same rows in both
    options = BuildOptions(keep, comparison=policy.comparison)
    t, neighbours = agglomerate_leaves(t, options, progress, known=known, anchor=_anchor(old, start.settled))
    t, core.succession = keep_ids(old, t)
    if graph is not None:
        graph = search_graph.over(graph, t, int(start.arrays.meta[Meta.LEAF_ROWS]))
    elif len(_leaf_rows(t)) == t.meta[Meta.LEAF_ROWS]:
        t = in_tree_order(t)
    core.tree.replace_arrays(t)
    core.graph = prepare(
        t, graph, linked=policy.links, neighbours=neighbours if keep else None, comparison=policy.comparison
    )
    scratch.release(t.mean, t.m2)
    _touch_room(t)
    return core


def _anchor(old: TreeArrays, settled: int) -> Anchor:
    """Points that prefer the concepts of the old tree, so that those that are about as good stay."""
    return lambda leaves, points, near: anchored_points(with_means(old), leaves, points, near, settled)


def _leaf_rows(t: TreeArrays) -> Ints:
    """Rows of `vectors` that hold a leaf."""
    return np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]])).astype(np.int32)


def _room(t: TreeArrays, more: int) -> dict[str, int]:
    """Rows of each array: for `more` documents, and for those that will come until the next renewal takes effect."""
    documents = more + (int(t.meta[Meta.DOCUMENTS]) + more) // 3 + 16 * RESERVE
    used = rows_in_use(t.meta)
    leaves = int(t.meta[Meta.LEAVES]) + documents
    inners = max(int(t.meta[Meta.INNER_ROWS]), int(_CONCEPTS_PER_LEAF * leaves)) + documents // 3 + 2 * RESERVE
    slots = used["size"] + documents + inners
    return {
        **dict.fromkeys(NODE_FIELDS, slots),
        **dict.fromkeys(LEAF_FIELDS, used["vectors"] + documents),
        **dict.fromkeys(DOCUMENT_FIELDS, used["leaf"] + documents),
        "inner": inners,
    }


def _touch_room(t: TreeArrays) -> None:
    """Write to each page of the rows that documents will take until the next renewal takes effect; nothing changes.

    The system gives memory to a process when it is first written to. Here it does so in the thread that makes the new
    core, and not while a document is inserted and searches wait: that can take tens of milliseconds where a virtual
    machine has to get memory from its host.
    """
    documents = int(t.meta[Meta.DOCUMENTS])
    soon = period(documents) + window(documents)
    for name, rows in rows_in_use(t.meta).items():
        array, more = getattr(t, name), soon // 3 if name in INNER_FIELDS else soon
        pages = array[rows : rows + more].reshape(-1).view(np.uint8)[::_PAGE]
        np.bitwise_or(pages, 0, out=pages)


def _copy(t: TreeArrays, more: int, vectors: Floats | None = None) -> TreeArrays:
    """A copy of `t` without concepts, with room for `more` documents and growth; `vectors` replace those of leaves."""
    room = _room(t, more)
    dim = t.vectors.shape[1] if vectors is None else vectors.shape[1]
    arrays: dict[str, Any] = {}
    for name in (*NODE_FIELDS, *LEAF_FIELDS[1:], *DOCUMENT_FIELDS):
        old = getattr(t, name)
        arrays[name] = np.empty(room[name], old.dtype)
        arrays[name][: len(old)] = old
    arrays["vectors"] = np.empty((room["vectors"], dim), np.float32)
    source, rows = t.vectors if vectors is None else vectors, int(t.meta[Meta.LEAF_ROWS])
    for first in range(0, rows, _COPIED_AT_ONCE):
        part = slice(first, min(rows, first + _COPIED_AT_ONCE))
        arrays["vectors"][part] = source[part]
    for name, shape in (("mean", (room["inner"], dim)), ("m2", (room["inner"], dim))):
        arrays[name] = scratch.zeros(*shape)
    arrays["changed"] = np.zeros(room["inner"], np.int64)
    leaves = int(t.meta[Meta.LEAVES]) + room["vectors"] - rows
    arrays["bucket"] = np.empty(1 << leaves.bit_length(), np.int32)
    new = t._replace(**arrays, meta=t.meta.copy(), limits=t.limits.copy())
    free_concepts(new)
    rehash(new)
    return new


def _reprojected(start: Start, whitener: Whitening | None, more: int) -> TreeArrays:
    """A copy of the tree without concepts, its leaves projected by another whitener."""
    assert start.raw is not None
    assert whitener is not None
    t = start.arrays
    rows = _leaf_rows(t)
    id_of = {number: id for id, number in start.ids.items()}
    raw = start.raw.of([id_of[number] for number in t.first_document[t.owner[rows]].tolist()])
    X = finite(whitener.project(raw)) if len(raw) else np.zeros((0, whitener.n_components_), np.float32)
    vectors = np.zeros((int(t.meta[Meta.LEAF_ROWS]), X.shape[1]), np.float32)
    vectors[rows] = X
    new = _copy(t, more, vectors)
    new.norm[rows] = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    keys = np.empty(len(rows), np.int64)
    hash_rows(np.ascontiguousarray(vectors[rows]), keys)
    new.key[rows] = keys
    rehash(new)
    new.limits[[Limit.LOWEST, Limit.HIGHEST]] = X.min(initial=np.inf), X.max(initial=-np.inf)
    return new


def _with_own_codes(graph: SearchGraph, rows: int) -> SearchGraph:
    """`graph` with leaf codes of its own."""
    codes = graph.arrays.codes
    leaf = codes.leaf[:rows].copy()
    return replace(graph, arrays=graph.arrays._replace(codes=codes._replace(leaf=leaf)))


def _known_by(graph: SearchGraph, t: TreeArrays) -> KnownNeighbours:
    return lambda leaves: neighbours_by_links(graph.arrays, t.row[leaves], NEIGHBOURS)


def _fitted(start: Start, policy: Policy, E: Floats) -> Whitening | None:
    """The whitener in use, or another one where it is due: there are enough documents, or they have drifted."""
    documents = int(start.arrays.meta[Meta.DOCUMENTS]) + len(E)
    if policy.template is None or start.raw is None or documents < policy.enough:
        return start.whitener
    listed = list(start.ids)  # and not sorted by Python, during which no other thread would run
    ids = [listed[place] for place in np.argsort(np.fromiter(start.ids.values(), np.int64, len(listed))).tolist()]
    if start.whitener is not None:
        sample = start.raw.of(ids[:: max(1, len(ids) // _DRIFT_SAMPLE)])
        share = slice(None, None, max(1, len(E) // _DRIFT_SAMPLE))
        if not start.whitener.has_drifted(np.concatenate([sample.reshape(-1, E.shape[1]), E[share]])):
            return start.whitener
    everything = np.concatenate([start.raw.of(ids).reshape(-1, E.shape[1]), E]) if ids else E
    template = type(policy.template)(**policy.template.get_params())
    # In an order of their own: the order of arrival would show in the last bits, and through them in the tree.
    return template.fit(Reordered(everything, content_order(everything)))


# -- in the background ---------------------------------------------------------------------------------


Change: TypeAlias = tuple[Floats, Longs]
"""Documents that came, as they came, and the numbers of those that went.

A plain tuple, which Python's garbage collector soon stops to track. Thousands of objects that it tracks, waiting for a
renewal, would make it look through the whole process more often, and all threads wait for that a tenth of a second.
"""


class _CancelledError(Exception):
    """The core that is being made is not wanted any more."""


class Renewal:
    """A core that a thread makes, and keeps in step with the changes that come meanwhile."""

    def __init__(self, start: Start, policy: Policy, due: int) -> None:
        """`due` counts changes as the index does: the operation that reaches it uses the new core."""
        self.due = due
        self._policy = policy
        self._changes: deque[Change] = deque()
        self._mutex = threading.RLock()
        self._state = threading.Condition(self._mutex)  # entering the lock itself cannot be interrupted half-way
        self._ended = self._cancelled = False
        self._copied = threading.Event()
        self._core: Core | None = None  # once it is made; it has all changes when `_changes` is empty
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, args=(start,), name="gossamer-renewal", daemon=True)
        self._thread.start()
        stop_at_exit(self._end)

    def _work(self, start: Start) -> None:
        try:
            with in_this_thread():
                self._make(start)
        except BaseException as error:
            self._core = None
            if not self._cancelled:
                _log.warning("the tree could not be renewed, the one in use stays: %r", error)
        finally:
            with self._mutex:
                self._ended = True
                self._copied.set()
                self._state.notify_all()

    def _make(self, start: Start) -> None:
        with no_fork():
            core = renewed(start, self._policy, self._policy.no_rows, self._check, self._copied.set)
        del start
        with self._mutex:
            self._core = core
            self._state.notify_all()
        while True:
            changes = self._next()
            E = np.concatenate([came for came, _ in changes]) if len(changes) > 1 else changes[0][0]
            with no_fork():
                core.apply(E, changes[-1][1])
            with self._mutex:
                for _ in changes:
                    self._changes.popleft()
                self._state.notify_all()

    def _check(self, share: float) -> None:
        if self._cancelled:
            raise _CancelledError

    def _next(self) -> list[Change]:
        """The next changes that can be applied together, once there is one.

        Of several, the last alone may remove documents: insertion comes before removal.
        """
        with self._mutex:
            while not self._changes and not self._cancelled:
                self._state.wait()
            self._check(1.0)
            found: list[Change] = []
            for change in islice(self._changes, _TOGETHER):
                found.append(change)
                if len(change[1]):
                    break
            return found

    # What the thread that changes the index calls:

    def follow(self, change: Change) -> None:
        """Note a change that was made to the index."""
        with self._mutex:
            self._changes.append(change)
            self._state.notify_all()

    def wait_until_copied(self) -> None:
        """Wait until nothing is shared with the core in use: rows of removed leaves may be overwritten then."""
        while not self._copied.wait(0.1 if self._is_here() else 0.0) and self._is_here():
            deadline.check()

    def pace(self, left: int) -> None:
        """Wait a little if the new core is behind by more than twice the changes that are left.

        It takes in changes faster than they come, so the last of them need not wait long.
        """
        until = time.monotonic() + _PACE
        with self._mutex:
            while len(self._changes) > 2 * left and not self._ended and self._is_here():
                if not self._state.wait(until - time.monotonic()) or time.monotonic() > until:
                    return

    def finish(self) -> Core | None:
        """The new core, with all changes, as soon as it is ready; None where it could not be made.

        Until `cancel` it goes on to take in changes: the one that it was finished for may fail before it is made.
        """
        with self._mutex:
            while (self._core is None or self._changes) and not self._ended and self._is_here():
                self._state.wait(deadline.left() or 0.1)
                deadline.check()
            return None if self._changes else self._core

    def cancel(self) -> None:
        """End the thread, soon; the new core is in use, or not wanted any more."""
        if self._finalizer is not None:
            self._finalizer.detach()
        with self._mutex:
            self._cancelled = True
            self._state.notify_all()

    def _end(self) -> None:
        self.cancel()
        self._thread.join(_AT_EXIT)

    def cancel_with(self, owner: object) -> None:
        """End the thread when nobody uses `owner` any more."""
        self._finalizer = weakref.finalize(owner, self.cancel)

    def _is_here(self) -> bool:
        """Whether the thread exists: it does not in a process that was forked."""
        return os.getpid() == self._process
