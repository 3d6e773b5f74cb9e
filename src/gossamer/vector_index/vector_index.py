"""VectorIndex: whitening, tree and ranking together, for people who bring vectors."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Floats, Ints
from gossamer.checks import LARGEST, as_vectors, one_of, positive
from gossamer.errors import ClosedError, CorruptError, DimensionError, InputError, OutOfMemoryError, StateError
from gossamer.files.bundle import CURE, Bundle, fold, read_bundle, write_bundle
from gossamer.rank.gains import evidence, gains, gains_by_axis
from gossamer.rank.guided import Guide
from gossamer.rank.path_sum import Aggregate, PathSum
from gossamer.rank.request import Method, Request, as_context
from gossamer.results import Axis, DocId, PathStep, Refinement, SearchResult, VectorExplanation
from gossamer.runtime.locks import ReadWriteLock, Turn
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.cobweb import CobwebTree, Progress
from gossamer.tree.flat import flat_arrays
from gossamer.tree.paths import paths_to
from gossamer.tree.rebuild import content_order
from gossamer.tree.selection import Ranked
from gossamer.tree.structure import one_beside_each
from gossamer.vector_index.ids import IdMap
from gossamer.vector_index.presets import PRESETS
from gossamer.whitening.spectrum import mean_variance, winsorised
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.vectors")

_FAR_OUT: Final = 10.0
"""Times the usual distance from the mean of all documents; beyond it a vector is worth a warning."""

_MOST_DIMENSIONS: Final = 2**31
"""No index has so many; a file may claim it."""

_AXES: Final = 5
_EXTREMES: Final = 3
"""Axes that an explanation names, and documents that name each."""


def auto_acuity(X: Floats) -> float:
    """What acuity="auto" stands for where there are the vectors X: five times the mean variance of a dimension."""
    spread, level = mean_variance(winsorised(X))
    # One document, or copies of one, have no variance to go by; their own size gives the scale.
    return 5.0 * (spread if spread > 1e-12 * level else level or 1.0)


class Staged:
    """A change of a `VectorIndex` that is ready to be made: everything that can fail was done.

    `apply` makes it, and `follow` then brings what guides searches up to date.
    """

    def __init__(
        self, index: VectorIndex, change: Callable[[], Callable[[Guide], None]], guide: Guide | None = None
    ) -> None:
        self._index = index
        self._change = change
        self._guide = guide
        self._to_follow: Callable[[Guide], None] | None = None

    def apply(self) -> None:
        """Make the change. Ctrl-C waits until it is whole."""
        with self._index._lock.writing():
            self._apply()

    def follow(self) -> None:
        """Bring what guides searches up to date. Where that fails, it is made anew before the next search."""
        with self._index._lock.writing() as interruptible, interruptible():
            self._follow()

    def at_once(self) -> None:
        """Do both, with no search in between."""
        with self._index._lock.writing() as interruptible:
            self._apply()
            with interruptible():
                self._follow()

    def _apply(self) -> None:
        index = self._index
        self._guide = self._guide or index._guide
        index._guide = Guide(links=index._links)  # until `follow`: a search that comes before looks at everything
        try:
            self._to_follow = self._change()
        except BaseException:
            index._state = "broken"
            raise

    def _follow(self) -> None:
        if self._guide is None or self._to_follow is None:
            return
        try:
            self._to_follow(self._guide)
            self._index._guide = self._guide
        except Exception as error:
            _log.warning("what guides searches is made anew, because it could not be kept: %r", error)


class VectorIndex:
    """Vectors in, explained neighbours out.

    The whitener is fitted when enough vectors have arrived (a thousand, or four for each dimension if that
    is more); until then vectors are taken as they are, and an index of 0, 1 or 3 documents works. Safe for
    use from many threads: searches run side by side, a change waits for them and is seen as a whole.

    >>> index = VectorIndex(dim=3)
    >>> index.add([[1, 0, 0], [0, 1, 0], [0.9, 0.1, 0]], ids=["sun", "moon", "star"])
    ['sun', 'moon', 'star']
    >>> index.search([1, 0, 0], k=2).ids.tolist()
    [['sun', 'star']]
    >>> index.remove(["sun"])
    >>> index.search([1, 0, 0], k=3).ids.tolist()
    [['star', 'moon', -1]]
    """

    def __init__(
        self,
        dim: int,
        preset: Literal["default", "paper"] = "default",
        *,
        whitener: Whitening | Literal["preset"] | None = "preset",
        acuity: float | Literal["auto"] | None = None,
        context: float | None = None,
        refine: Literal["preset", "auto"] | None = "preset",
        links: bool = True,
    ) -> None:
        """An empty index for vectors of `dim` dimensions.

        `preset` chooses whitening, acuity, context and refining; each can be set apart: a whitener of your own,
        fitted or not, or None for vectors that are taken as they are; an `acuity`, or "auto" for five times the
        mean variance; the `context` of scores unless a search says otherwise; `refine="auto"` to put the
        tree together anew whenever the index has doubled, or None. `links=False` keeps no links between
        leaves: guided searches then use the tree alone, and building takes a third less time.
        """
        one_of(preset, "preset", tuple(PRESETS))
        chosen = PRESETS[preset]
        self._dim = positive(dim, "dim")
        self._preset = preset
        wanted = chosen.acuity if acuity is None else acuity
        self._acuity: float | Literal["auto"] = wanted if isinstance(wanted, str) else float(wanted)
        self._context = as_context(chosen.context if context is None else context)
        given = chosen.whitening() if whitener == "preset" else whitener
        fitted = hasattr(given, "components_")
        if given is not None and fitted and given.n_features_in_ != dim:
            raise DimensionError(f"the whitener takes {given.n_features_in_} dimensions, the index {dim}")
        one_of(refine or "auto", "refine", ("preset", "auto"))
        self._refine = chosen.refine if refine == "preset" else refine
        self._links = bool(links)
        self._whitener = given if fitted else None  # in use
        self._to_fit = None if fitted else given  # waiting for enough vectors

        self._ids = IdMap()
        self._raw: dict[int, Floats] | None = {}  # by document, while the fit is still to come
        self._sized_for = 0  # documents when the acuity was last chosen
        self._refined_for = 0  # documents when the tree was last put together anew
        self._tree = self._new_tree(self._project(np.zeros((0, self._dim), np.float32)))
        self._path_sum = PathSum()
        self._guide = Guide(links=self._links)
        self._lock = ReadWriteLock()
        self._one_writer = Turn()
        self._state: Literal["open", "closed", "broken"] = "open"

    @classmethod
    def flat(cls, E: Floats, ids: Iterable[DocId]) -> Self:
        """An index without concepts or whitening, searched exactly: for vectors that no tree could be made of."""
        index = cls(E.shape[1], whitener=None, refine=None, links=False)
        index._tree.replace_arrays(flat_arrays(as_vectors(E, index._dim), auto_acuity(E)))
        index._ids.assign(list(ids), np.arange(len(E)))
        index._raw = None
        return index

    # -- changing ----------------------------------------------------------------------------------

    def add(
        self, E: npt.ArrayLike, ids: Iterable[DocId] | None = None, *, progress: Progress | None = None
    ) -> list[DocId]:
        """Add the rows of E; returns their ids. An id that is there already is replaced.

        Without `ids` documents are numbered on. All rows go in, or none: after an error, and after Ctrl-C until the
        last moment. What guides searches is made for a run of additions at once, before the next search: see `settle`.
        """
        E = as_vectors(E, self._dim)
        with self._writer():
            checked = self._ids.check_new(ids, len(E))
            if not checked:
                return []
            self._staged(E, checked, [id for id in checked if id in self._ids], progress).at_once()
            return checked

    def remove(self, ids: DocId | Iterable[DocId]) -> None:
        """Remove documents by id; an unknown id raises, and then none is removed."""
        several = [ids] if isinstance(ids, int | str | np.integer) else list(ids)
        with self._writer():
            numbers = {id: self._ids.number(id) for id in several}
            self._staged(np.empty((0, self._dim), np.float32), [], list(numbers)).at_once()

    def stage(self, E: Floats, ids: Iterable[DocId], removed: Iterable[DocId]) -> Staged:
        """Prepare to remove some documents and add others as one change, for whoever logs it before it is made.

        Everything that can fail is done here, and nothing is changed; no other change may be made before this one.
        """
        E = as_vectors(E, self._dim) if len(E) else np.empty((0, self._dim), np.float32)
        with self._writer():
            checked = self._ids.check_new(ids, len(E))
            gone = dict.fromkeys([*removed, *(id for id in checked if id in self._ids)])
            for id in gone:
                self._ids.number(id)
            return self._staged(E, checked, list(gone))

    def refine(self, passes: int = 1, *, progress: Progress | None = None) -> Refinement:
        """Put the tree together anew, now that all documents are known; returns the utility before and after."""
        with self._writer(), self._lock.writing() as interruptible, interruptible():
            try:
                return self._tree.refine(passes, **self._shape(self._whitener), progress=progress)
            finally:
                self._guide.follow(self._tree.arrays)

    def settle(self) -> None:
        """Make now what the next guided search would wait for, where much was added or removed since the last.

        Answers to come are guided by it; the tree and the documents stay as they are. `save` does so too.
        """
        with self._lock.writing() as interruptible, interruptible():
            self._check_open()
            self._guide.settle(self._tree.arrays)

    @property
    def settled(self) -> bool:
        """Whether a guided search would find everything ready."""
        return self._guide.is_settled(self._tree.arrays)

    def close(self) -> None:
        """Give the memory back; any later call raises `ClosedError`."""
        with self._one_writer.alone(), self._lock.writing():
            self._state = "closed"
            self._tree = CobwebTree(1)
            self._path_sum, self._guide = PathSum(), Guide(links=False)
            self._ids, self._raw = IdMap(), None

    @contextmanager
    def _writer(self) -> Iterator[None]:
        """One change at a time; searches go on until the change itself is made."""
        with self._one_writer.alone():
            self._check_open()
            yield

    def _staged(self, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None = None) -> Staged:
        size = len(self) - len(removed) + len(E)
        try:
            if len(E) and self._raw is not None and self._should_fit(size):
                return self._stage_fit(E, ids, removed, size, progress)
            return self._stage_insertion(E, ids, removed, progress)
        except MemoryError as error:
            raise OutOfMemoryError(
                f"there is too little memory to add {len(E)} vectors to {len(self)}: nothing was changed; add fewer at "
                "once, or free some"
            ) from error

    def _stage_insertion(self, E: Floats, ids: list[DocId], removed: list[DocId], progress: Progress | None) -> Staged:
        X = self._project(E)
        _warn_if_far_out(self._whitener, E, ids)
        due = self._should_refine(self._tree.n_documents + len(X))
        grown = self._agglomerated(X, progress) if due else None
        if grown is None:
            with self._lock.writing():
                self._tree.reserve(len(X))
            if progress is not None:
                progress(len(X), len(X))

        def apply() -> Callable[[Guide], None]:
            first = self._tree.next_document
            if grown is None:
                self._tree.insert_reserved(X)
                if due:  # memory was too small: tried again once it has grown by a tenth
                    self._refined_for = int(0.55 * self._tree.n_documents)
            else:
                self._tree.replace_arrays(grown)
                self._refined_for = self._tree.n_documents
            numbers = np.arange(first, first + len(X))
            rows, beside = self._drop(removed)
            self._ids.assign(ids, numbers)
            if self._raw is not None:
                self._raw.update(zip(numbers.tolist(), E, strict=True))

            def follow(guide: Guide) -> None:
                if grown is not None:
                    guide.follow(self._tree.arrays)
                if len(X):
                    guide.take_in(self._tree.arrays, numbers)
                if removed:
                    guide.forget(self._tree.arrays, rows, beside)

            return follow

        return Staged(self, apply)

    def _agglomerated(self, X: Floats, progress: Progress | None) -> TreeArrays | None:
        """The tree with the rows of X, agglomerated anew beside the one in use; None where memory is too small for two.

        The documents then go into the tree that is there. Replay, with more memory, may give another tree.
        """
        try:
            with self._lock.writing():
                self._tree.reserve(len(X))
            return self._tree.grown(X, **self._shape(self._whitener), progress=progress)
        except MemoryError as error:
            size = self._tree.n_documents + len(X)
            _log.warning(
                "too little memory to agglomerate %d documents anew: the tree grows on as it is (%s)", size, error
            )
            return None

    def _shape(self, whitener: Whitening | None) -> dict[str, Any]:
        """How the tree is put together: by the size that dimensions had before whitening, and flat if context counts.

        Whitening is for search: it changes which documents are near each other, and agrees less with what people call
        a topic. The tree finds as many of the nearest either way.
        """
        return {"scale": None if whitener is None else whitener.sizes_before(), "flat": self._context != 0.0}

    def _should_refine(self, size: int) -> bool:
        return self._refine == "auto" and size >= self._enough and size >= 2 * self._refined_for

    def _drop(self, ids: list[DocId]) -> tuple[Ints, Ints]:
        """Take documents out of the tree; returns the rows of their leaves, and leaves that stood beside them."""
        numbers = np.array([self._ids.number(id) for id in ids], np.int64)
        arrays = self._tree.arrays
        leaves = arrays.leaf[numbers]
        rows, beside = arrays.row[leaves], one_beside_each(arrays, leaves)
        if len(numbers):
            self._tree.remove(numbers.tolist())
        self._ids.forget(ids)
        if self._raw is not None:
            for number in numbers.tolist():
                del self._raw[number]
        return rows, beside

    # -- fitting -----------------------------------------------------------------------------------

    @property
    def _enough(self) -> int:
        return max(1000, 4 * self._dim)

    def _should_fit(self, size: int) -> bool:
        """Whether it is time to choose the whitener (once) or the acuity (each time the index doubles)."""
        if size >= self._enough:
            return True
        return self._acuity == "auto" and size >= 2 * self._sized_for

    def _stage_fit(
        self, E: Floats, ids: list[DocId], removed: list[DocId], size: int, progress: Progress | None
    ) -> Staged:
        """Fit on everything there is, and grow the tree again, beside the one in use."""
        assert self._raw is not None
        gone = set(removed)
        kept = [number for number in sorted(self._raw) if self._ids.of(np.array([number]))[0] not in gone]
        everything = np.concatenate([np.array([self._raw[n] for n in kept], np.float32).reshape(-1, self._dim), E])
        final = size >= self._enough
        whitener = self._whitener
        if final and self._to_fit is not None:
            # In an order of their own: the order of arrival would show in the last bits, and through them in the tree.
            whitener = type(self._to_fit)(**self._to_fit.get_params()).fit(everything[content_order(everything)])
        X = everything if whitener is None else _finite(whitener.project(everything))
        tree, guide = self._new_tree(X), Guide(links=self._links)
        refined = self._should_refine(size)
        if refined:
            numbers = tree.grow(X, **self._shape(whitener), keep=guide.wanted(len(X)), progress=progress)
        else:
            numbers = tree.insert_many(X, progress=progress)
        renumbered = self._ids.renumbered(np.array(kept, np.int64))
        renumbered.assign(ids, np.arange(len(kept), len(X)))
        _warn_if_far_out(whitener, everything, renumbered.of(np.arange(len(X))).tolist())
        raw = None if final else dict(enumerate(everything))

        def apply() -> Callable[[Guide], None]:
            self._tree, self._ids, self._whitener, self._path_sum = tree, renumbered, whitener, PathSum()
            self._raw, self._sized_for = raw, size
            if refined:
                self._refined_for = size
            if final:
                self._to_fit = None
            return lambda guide: guide.take_in(tree.arrays, numbers, tree.take_neighbours())

        return Staged(self, apply, guide)

    def _new_tree(self, X: Floats) -> CobwebTree:
        """An empty tree for vectors such as X."""
        return CobwebTree(X.shape[1], auto_acuity(X) if self._acuity == "auto" else self._acuity)

    def _project(self, E: Floats) -> Floats:
        """Vectors as the tree sees them."""
        return E if self._whitener is None else _finite(self._whitener.project(E))

    # -- searching ---------------------------------------------------------------------------------

    def search(
        self,
        Q: npt.ArrayLike,
        k: int = 10,
        method: Method = "guided",
        *,
        budget: int | None = None,
        recall: float | None = None,
        aggregate: Aggregate | None = None,
        context: float | None = None,
        allowed: Iterable[DocId] | None = None,
        within: int | None = None,
    ) -> SearchResult:
        """The k best documents for each row of Q; fewer if there are fewer.

        method="guided"      finds nearly all of the best by looking at a small part of the tree, and scores what
                             it finds exactly. `recall` is the share of the true best to aim for (default 0.98;
                             1.0 looks at everything); `budget` instead limits the nodes it scores.
        method="path-sum"    every document scored. `aggregate` "sum" (default) or "mean" over the path.
        method="best-first"  the paper's traversal; `budget` is the number of nodes it may open.

        `context` (guided, path-sum) goes from 0, the pure path gain, to 1, the paper's sum over the path.
        `allowed` (ids) and `within` (a node of the tree) restrict the answers: k of those if there are so many.
        """
        start = time.perf_counter()
        Q = as_vectors(Q, self._dim, what="queries")
        request = Request.checked(
            k, method, budget, recall, aggregate, context, self._context, allowed=allowed, within=within
        )
        self._settle_for(request)
        with self._lock.reading():
            self._check_open()
            ranked = self._ranked(request, self._project(Q), allowed, within)
            ids = self._ids.of(ranked.documents)
        _order_ties_by_id(ids, ranked.scores)
        return SearchResult(ids, ranked.scores, ranked.visited, time.perf_counter() - start)

    def nearest(
        self,
        q: npt.ArrayLike,
        k: int = 10,
        *,
        recall: float | None = None,
        allowed: Iterable[DocId] | None = None,
        within: int | None = None,
    ) -> SearchResult:
        """What `search` finds for one query, in the order it finds it, with cosines, see `similarity`, as scores."""
        start = time.perf_counter()
        Q = self._one(q, "nearest")
        request = Request.checked(k, "guided", None, recall, None, None, self._context, allowed=allowed, within=within)
        self._settle_for(request)
        with self._lock.reading():
            self._check_open()
            X = self._project(Q)
            ranked = self._ranked(request, X, allowed, within)
            ids, found = self._ids.of(ranked.documents), ranked.documents[0] >= 0
            cosines = np.full(ids.shape, np.nan)
            cosines[0, found] = self._cosines(X[0], ranked.documents[0, found])
        return SearchResult(ids, cosines, ranked.visited, time.perf_counter() - start)

    def _settle_for(self, request: Request) -> None:
        """Whoever asks first after much has changed makes what guides the answer; others wait for it."""
        known = self._guide.is_known_to_be_settled(self._tree.arrays)
        if request.method == "guided" and request.recall < 1.0 and not known:
            with self._lock.writing() as interruptible, interruptible():
                self._check_open()
                self._guide.settle(self._tree.arrays)

    def _ranked(self, request: Request, X: Floats, allowed: Iterable[DocId] | None, within: int | None) -> Ranked:
        documents = self._restriction(allowed, within)
        return request.rank(self._tree.arrays, X, self._guide, self._path_sum, documents, together=within is not None)

    def _restriction(self, allowed: Iterable[DocId] | None, within: int | None) -> npt.NDArray[np.int64] | None:
        """The documents a search is restricted to, in ascending order; None for no restriction."""
        if allowed is None and within is None:
            return None
        below = None if within is None else self._tree.documents_below(within)
        if allowed is None:
            return below
        named = np.unique(np.array([self._ids.number(id) for id in allowed], np.int64))
        return named if below is None else np.intersect1d(named, below, assume_unique=True)

    def explain(self, q: npt.ArrayLike, id: DocId) -> VectorExplanation:
        """Why document `id` scores as it does for the query `q`: the concepts of its path, with the gain of each."""
        Q = self._one(q, "explain")
        with self._lock.reading():
            self._check_open()
            x, t = self._project(Q)[0], self._tree.arrays
            path = self._tree.path(self._ids.number(id))
            seen = evidence(t, x, path)
            densities = [seen[node].log_p for node in path]
            steps = tuple(
                PathStep(node, int(t.size[node]), seen[node].log_p, gain, seen[node].margin, seen[node].rival)
                for node, gain in zip(path, gains(densities), strict=True)
            )
            axes = self._axes(x, path[-1]) if getattr(self._whitener, "ica", False) else ()
            return VectorExplanation(id=id, score=densities[-1] - densities[0], path=steps, axes=axes)

    def _axes(self, x: Floats, leaf: int) -> tuple[Axis, ...]:
        """The axes that count most, each with the documents furthest out on the side of the leaf."""
        t = self._tree.arrays
        by_axis, place = gains_by_axis(t, x, leaf), t.vectors[t.row[leaf]]
        alive = np.flatnonzero(t.leaf[: self._tree.next_document] != NONE)
        rows = t.row[t.leaf[alive]]
        found = []
        for axis in np.argsort(-np.abs(by_axis), kind="stable")[:_AXES].tolist():
            along = t.vectors[rows, axis] * (1.0 if place[axis] >= 0 else -1.0)
            furthest = alive[np.argsort(-along, kind="stable")[:_EXTREMES]]
            ends = tuple(self._ids.of(furthest).tolist())
            found.append(Axis(axis, float(by_axis[axis]), float(x[axis]), float(place[axis]), ends))
        return tuple(found)

    def similarity(self, q: npt.ArrayLike, ids: Iterable[DocId]) -> npt.NDArray[np.float64]:
        """The cosine between the query and each document, as the tree sees them."""
        Q = self._one(q, "similarity")
        with self._lock.reading():
            self._check_open()
            numbers = np.array([self._ids.number(id) for id in ids], np.int64)
            return self._cosines(self._project(Q)[0], numbers)

    def _cosines(self, x: Floats, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        t, wide = self._tree.arrays, x.astype(np.float64)
        rows = t.row[t.leaf[documents]]
        lengths = np.sqrt(t.norm[rows]) * np.linalg.norm(wide)
        cosines: npt.NDArray[np.float64] = (t.vectors[rows] @ wide) / np.maximum(lengths, 1e-300)
        return cosines

    def as_seen(self, q: npt.ArrayLike) -> Floats:
        """A query as the tree sees it: whitened, where the whitener is fitted."""
        seen: Floats = self._project(self._one(q, "as_seen"))[0]
        return seen

    def _one(self, q: npt.ArrayLike, who: str) -> Floats:
        Q = as_vectors(q, self._dim, what="the query")
        if len(Q) != 1:
            raise DimensionError(f"{who} takes one query, got {len(Q)}")
        return Q

    # -- looking -----------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Dimensions of the vectors that go in."""
        return self._dim

    @property
    def tree(self) -> CobwebTree:
        """The concept tree, to look at; change it through the index alone."""
        self._check_open()
        return self._tree

    @property
    def whitener(self) -> Whitening | None:
        """The whitener, once it is fitted; None before, and where vectors are taken as they are."""
        return self._whitener

    def node_of(self, id: DocId) -> int:
        """The leaf of a document."""
        return self.path(id)[-1]

    def path(self, id: DocId) -> tuple[int, ...]:
        """The nodes from the root to a document's leaf."""
        return self.paths([id])[0]

    def paths(self, ids: Iterable[DocId]) -> list[tuple[int, ...]]:
        """The same for several documents."""
        with self._lock.reading():
            self._check_open()
            t = self._tree.arrays
            return paths_to(t, t.leaf[[self._ids.number(id) for id in ids]].tolist())

    def ids_of(self, documents: npt.ArrayLike) -> list[DocId]:
        """The ids of documents as the tree numbers them."""
        with self._lock.reading():
            self._check_open()
            found: list[DocId] = self._ids.of(np.asarray(documents, np.int64)).tolist()
            return found

    def documents_below(self, node: int) -> list[DocId]:
        """The ids of the documents below a node."""
        with self._lock.reading():
            self._check_open()
            found: list[DocId] = self._ids.of(self._tree.documents_below(node)).tolist()
            return found

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, id: object) -> bool:
        return id in self._ids

    def __reduce__(self) -> Any:
        raise StateError("a VectorIndex cannot be pickled: save it to a folder, and load it in the other process")

    def __repr__(self) -> str:
        return f"VectorIndex(dim={self._dim}, preset={self._preset!r}, documents={len(self)})"

    def check(self) -> None:
        """Raise `InvariantError` if the index is inconsistent with itself."""
        with self._lock.reading():
            self._check_open()
            self._tree.check()
            if self._tree.n_documents != len(self._ids):
                raise StateError(f"{self._tree.n_documents} documents in the tree but {len(self._ids)} ids")

    def _check_open(self) -> None:
        if self._state == "closed":
            raise ClosedError("this index was closed: create or load another")
        if self._state == "broken":
            raise StateError("a change failed half way and could not be undone: load the index from disk again")

    # -- disk --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index into the folder `path`; an index that is there is replaced in one step."""
        self.settle()
        with self._lock.reading():
            self._check_open()
            # The bundle holds views of the arrays, so changes wait until it is written.
            write_bundle(path, "vectors", self._bundle())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an index back: the same answers, the same tree, and it grows on as before."""
        return cls.from_bundle(read_bundle(path, "vectors"))

    def to_bundle(self) -> Bundle:
        """The index as settings and arrays, settled or not."""
        with self._lock.reading():
            return self._bundle()

    def _bundle(self) -> Bundle:
        parts = {"tree": self._tree.to_bundle(), "guide": self._guide.to_bundle(self._tree.arrays)}
        if self._whitener is not None:
            parts["whitener"] = self._whitener.to_bundle()
        arrays = self._ids.to_arrays()
        if self._raw is not None:
            arrays["raw_numbers"] = np.array(list(self._raw), np.int64)
            arrays["raw"] = np.array(list(self._raw.values()), np.float32).reshape(-1, self._dim)
        params: dict[str, Any] = {
            "dim": self._dim,
            "preset": self._preset,
            "acuity": self._acuity,
            "context": self._context,
            "refine": self._refine,
            "sized_for": self._sized_for,
            "refined_for": self._refined_for,
            "to_be_fitted": None if self._to_fit is None else _plain(self._to_fit.get_params()),
        }
        return fold(parts, params, arrays)

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The index that `to_bundle` described; `CorruptError` if its parts do not belong together."""
        params = bundle.params
        try:
            tree = CobwebTree.from_bundle(bundle.part("tree"))
            whitener = None
            if "whitener" in params:
                whitener = Whitening.from_bundle(bundle.part("whitener"))
            elif params["to_be_fitted"] is not None:
                whitener = Whitening(**params["to_be_fitted"])
            guide = bundle.part("guide")
            index = cls(
                bundle.whole("dim", 1, _MOST_DIMENSIONS), params["preset"],
                whitener=whitener, acuity=params["acuity"], context=params["context"],
                refine=params["refine"], links=guide.flag("links"),
            )  # fmt: skip
        except KeyError as error:
            raise CorruptError(f"the saved index lacks {error}: {CURE}") from error
        except (
            TypeError,
            ValueError,
            OverflowError,
        ) as error:  # InputError among them: settings that no index can have
            raise CorruptError(f"the settings of the saved index cannot be used ({error}): {CURE}") from error
        if index._tree.dim != tree.dim:
            raise CorruptError(f"the saved tree has {tree.dim} dimensions, not {index._tree.dim}: {CURE}")
        documents = np.flatnonzero(tree.arrays.leaf != NONE)
        index._tree = tree
        index._ids = IdMap.from_bundle(bundle, documents)
        index._guide = Guide.from_bundle(guide, tree.arrays)
        index._sized_for, index._refined_for = bundle.whole("sized_for"), bundle.whole("refined_for")
        index._raw = None
        if "raw" in bundle.arrays:
            numbers = bundle.array("raw_numbers", np.int64, len(documents))
            raw = bundle.numbers("raw", np.float32, len(documents), index._dim, least=-LARGEST, most=LARGEST)
            if not np.array_equal(np.sort(numbers), documents):
                raise CorruptError(f"the saved vectors are those of other documents: {CURE}")
            index._raw = dict(zip(numbers.tolist(), raw, strict=True))
        elif index._to_fit is not None:
            raise CorruptError(f"the saved index lacks 'raw', the vectors that a whitener is still fitted on: {CURE}")
        return index


def _finite(X: Floats) -> Floats:
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


def _warn_if_far_out(whitener: Whitening | None, E: Floats, ids: list[DocId]) -> None:
    """Say so where a vector is far from all that the whitener was fitted on: often it was not normalised."""
    if whitener is None or not len(E):
        return
    away = whitener.distances(E)
    far = np.flatnonzero(away > _FAR_OUT)
    if len(far):
        _log.warning(
            "%d of %d vectors are more than %g times as far from the mean as is usual (id %r: %.3g times): they are "
            "kept, but see whether they should be normalised",
            len(far), len(E), _FAR_OUT, ids[int(far[0])], away[far[0]],
        )  # fmt: skip


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON can hold them."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}


def _order_ties_by_id(ids: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> None:
    """Documents with equal scores stand in order of arrival; put them in order of their ids."""
    tied = scores[:, 1:] == scores[:, :-1]
    if not tied.any():
        return
    for row in np.flatnonzero(tied.any(axis=1)):
        order = np.lexsort((_sort_keys(ids[row]), -scores[row]))
        ids[row] = ids[row][order]


def _sort_keys(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return ids if ids.dtype != object else np.array([str(id) for id in ids])
