"""VectorIndex: whitening, tree, links and ranking together, for people who bring vectors.

Vectors are checked here, once. `state` holds the parts and their form on disk, `staging` changes them.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Floats, Longs
from gossamer.checks import as_vectors, positive
from gossamer.errors import DimensionError, StateError
from gossamer.files.bundle import Bundle, read_bundle, write_bundle
from gossamer.graph import search_graph
from gossamer.graph.search_graph import SearchGraph
from gossamer.rank.cosines import Nearest, cosines
from gossamer.rank.path_sum import PathSum
from gossamer.rank.ranking import rank
from gossamer.rank.request import Aggregate, Method, Restriction, SearchRequest, as_flags
from gossamer.rank.single import as_one_query
from gossamer.results import DocId, Refinement, SearchResult, VectorExplanation
from gossamer.results.progress import ProgressOption, watched
from gossamer.runtime.device import as_device
from gossamer.runtime.locks import Turn
from gossamer.tree.arrays import Meta
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.insertion import descents
from gossamer.tree.placement import landings
from gossamer.tree.rebuild import single_level_arrays, total_utility
from gossamer.tree.scoring import Ranked
from gossamer.tree.views import paths_to
from gossamer.vector_index.core import auto_acuity
from gossamer.vector_index.explaining import explained
from gossamer.vector_index.ids import IdMap, as_several, cut_ties, order_ties_by_id
from gossamer.vector_index.raw_vectors import RawVectors, Source
from gossamer.vector_index.reader import VectorReader
from gossamer.vector_index.staging import Staged, end_renewal, is_renewing, stage, stage_rebuild, stage_settling
from gossamer.vector_index.state import VectorSettings, VectorState
from gossamer.whitening.whitening import Whitening

_Answers: TypeAlias = tuple[npt.NDArray[Any], Doubles, Longs]
"""The ids of documents with their scores, a row for each query, and nodes visited."""

_SCANNED: Final = 2048
"""Leaves up to which searches of a living tree look at everything until the first renewal has built a graph."""


class VectorIndex(VectorReader):
    """Vectors in, explained neighbours out.

    The whitener is fitted when enough vectors have arrived (a thousand, or four for each dimension if that
    is more); until then vectors are taken as they are, and an index of 0, 1 or 3 documents works. Safe for
    use from many threads: searches run side by side, a change waits for them and is seen as a whole.

    >>> index = VectorIndex(dim=3)
    >>> index.add([[1, 0, 0], [0, 1, 0], [0.9, 0.1, 0]], ids=["sun", "moon", "star"])
    ['sun', 'moon', 'star']
    >>> index.search([1, 0, 0], k=2).ids.tolist()
    [['sun', 'star']]
    >>> index.delete(["sun"])
    1
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
        structure: Literal["preset", "living", "cobweb"] = "preset",
        links: bool = True,
        device: str | None = None,
    ) -> None:
        """An empty index for vectors of `dim` dimensions.

        `preset` chooses whitening, acuity, context and structure; each can be set by itself: a whitener of your own,
        fitted or not, or None for vectors that are taken as they are; an `acuity`, or "auto" for five times the
        mean variance; the `context` of scores unless a search says otherwise. Of structure "living" (the default), the
        tree is agglomerated, takes in documents beside those nearest to them, and is agglomerated again in the
        background as it grows. Of structure "cobweb" it is the paper's: grown top-down, by four operators.
        `links=False` keeps no links between leaves: guided searches then use the tree alone, and building takes a
        third less time.
        `device="cuda"` builds and ranks exhaustively with PyTorch on a GPU (extra `gpu`); None, on the processor. It is
        no part of the index: one that was built on a GPU opens and searches without it.
        """
        settings = VectorSettings.checked(dim, preset, acuity, context, structure, links)
        self.state = VectorState.create(settings, whitener)
        self.state.use_device(as_device(device))
        self._one_writer = Turn()

    @classmethod
    def _of(cls, state: VectorState) -> Self:
        index = cls.__new__(cls)
        index.state, index._one_writer = state, Turn()
        return index

    @classmethod
    def flat(cls, E: Floats, ids: Iterable[DocId]) -> Self:
        """An index without concepts or whitening, searched exactly: for vectors over which no tree could be built.

        `E` was checked by `as_vectors`.
        """
        index = cls(E.shape[1], whitener=None, structure="cobweb", links=False)
        index.state.tree.replace_arrays(single_level_arrays(E, auto_acuity(E)))
        index.state.ids.assign(list(ids), np.arange(len(E)))
        return index

    # -- changing ----------------------------------------------------------------------------------

    def add(
        self, E: npt.ArrayLike, ids: Iterable[DocId] | None = None, *, progress: ProgressOption = None
    ) -> list[DocId]:
        """Add the rows of E; returns their ids. An id that is there already is replaced.

        Without `ids` documents are numbered. All rows are added, or none: after an error, and after Ctrl-C until the
        last moment. As many rows as there are documents, or more, are agglomerated at once with these.
        `progress(done, total)` counts rows; True shows a bar, False none. At a prompt one appears after two seconds.

        >>> vx.add([[0.9, 0.1, 0.0], [0.0, 0.0, 1.0]], ids=["wolf", "whale"])
        ['wolf', 'whale']
        """
        E = as_vectors(E, self.dim, copy=False)
        with watched(progress, "building the tree", "vectors") as told, self._writer() as state:
            checked = state.ids.check_new(ids, len(E))
            if checked:
                stage(state, E, checked, [id for id in checked if id in state.ids], told).apply()
            return checked

    def delete(self, ids: DocId | Iterable[DocId]) -> int:
        """Delete documents by id; returns how many went. Ids that are not there are no error, as for an `Index`.

        >>> vx.delete(["fox", "owl", "unicorn"]), len(vx)
        (2, 1)
        """
        several = [ids] if isinstance(ids, int | str | np.integer) else as_several(ids)
        with self._writer() as state:
            known = state.ids.known(several)
            if known:
                stage(state, np.empty((0, self.dim), np.float32), [], known).apply()
            return len(known)

    def remove(self, ids: DocId | Iterable[DocId]) -> int:
        """The old name of `delete`.

        >>> vx.remove("owl")
        1
        """
        return self.delete(ids)

    def stage(self, E: Floats, ids: Iterable[DocId], removed: Iterable[DocId]) -> Staged:
        """Prepare to delete some documents and add others as one change, for whoever logs it before it is applied.

        Everything that can fail is done here, and nothing is changed; no other change may be made before this one.
        `E` was checked by `as_vectors`, and has `dim` columns unless it is empty.
        """
        E = E if len(E) else np.empty((0, self.dim), np.float32)
        with self._writer() as state:
            checked = state.ids.check_new(ids, len(E))
            gone = dict.fromkeys([*removed, *(id for id in checked if id in state.ids)])
            for id in gone:
                state.ids.number(id)
            return stage(state, E, checked, list(gone))

    def rebuild(self, passes: int = 1, *, progress: ProgressOption = None) -> Refinement:
        """Build a new tree over all documents; returns the utility before and after.

        Of structure "living", all documents are agglomerated, and the whitener is fitted again if the corpus has
        drifted. Of structure "cobweb", all are inserted again in order of arrival, by the four operators: the tree is
        the one of an index that they came to just now, with the whitener that was fitted. One pass is all that there
        is to do, whatever `passes` says.

        >>> vx.rebuild().passes
        1
        """
        positive(passes, "passes")
        with watched(progress, "building the tree", "vectors") as told, self._writer() as state:
            before = total_utility(state.tree.arrays)
            stage_rebuild(state, told).apply()
            return Refinement(1, before, total_utility(state.tree.arrays))

    def refine(self, passes: int = 1, *, progress: ProgressOption = None) -> Refinement:
        """The old name of `rebuild`.

        >>> vx.refine().passes
        1
        """
        return self.rebuild(passes, progress=progress)

    def settle(self) -> None:
        """Do now what is still to be done: end a renewal that is under way, and build links that are missing.

        `save` does so too. It counts as an operation: an index that was settled goes on like any other that was
        settled at the same point.

        >>> vx.settle()
        """
        with self._writer() as state:
            if is_renewing(state):
                stage_settling(state).apply()
        self.build_links()

    def stage_settling(self) -> Staged:
        """Prepare to end the renewal that is under way, for whoever logs it before it is applied."""
        with self._writer() as state:
            return stage_settling(state)

    def read_raw_from(self, source: Source | None) -> None:
        """Keep no vectors as they came, but read them from `source` when the whitener is fitted again."""
        if source is not None and self.state.raw is not None:
            self.state.raw = RawVectors(source)

    def build_links(self) -> None:
        """Build now the links that the next guided search would wait for; the tree stays as it is.

        >>> vx.build_links()
        """
        with self.state.lock.writing() as interruptible, interruptible():
            self.state.check_open()
            self.state.prepare_graph()

    @property
    def renewing(self) -> bool:
        """Whether a new tree is due or is being made in the background."""
        return is_renewing(self.state)

    @property
    def settled(self) -> bool:
        """Whether a guided search would find all links built."""
        return not self.renewing and search_graph.is_current(self.state.graph, self.state.tree.skeleton)

    def close(self) -> None:
        """Free the memory; any later call raises `ClosedError`.

        >>> vx.close()
        """
        state = self.state
        with self._one_writer.alone(), state.lock.writing():
            state.status = "closed"
            state.whitener, state.tree, state.graph, state.path_sum = None, CobwebTree(1), None, PathSum()
            state.ids, state.raw = IdMap(), None
            state.forget_single_search()
            end_renewal(state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _writer(self) -> Iterator[VectorState]:
        """One change at a time; searches go on until the change is applied."""
        with self._one_writer.alone():
            self.state.check_open()
            yield self.state

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
                             it finds exactly. `recall` is the share of the true best to aim for (default 0.98, in
                             an index of at most 20,000 documents 0.999; 1.0 looks at everything); `budget` instead
                             says how many nodes to score: a goal and no limit. The walk ends after the step that
                             reaches it, and where everything has to be scored, as in small indexes, it does not count.
        method="path-sum"    every document scored. `aggregate` "sum" (default) or "mean" over the path.
        method="best-first"  the paper's traversal; `budget` is the number of nodes it may open.

        `context` (guided, path-sum) goes from 0, the pure path gain, to 1, the paper's sum over the path.
        `allowed` (ids) and `within` (a node of the tree) restrict the answers: k of those if there are so many. Equal
        scores are in order of id.

        >>> vx.search([1, 0, 0], k=2).ids.tolist()
        [['fox', 'owl']]
        >>> vx.search([[1, 0, 0], [0, 0, 1]], k=1, allowed=["owl", "fish"]).ids.tolist()
        [['owl'], ['fish']]
        """
        start = time.perf_counter()
        unrestricted = budget is None and aggregate is None and context is None and allowed is None and within is None
        if unrestricted and isinstance(method, str) and method == "guided":
            one = self._search_one(Q, k, recall)
            if one is not None:
                return SearchResult(*one, time.perf_counter() - start)
        Q = as_vectors(Q, self.dim, what="queries")
        request = SearchRequest.checked(
            k, method, self.state.settings.context,
            budget=budget, recall=recall, aggregate=aggregate, context=context, allowed=allowed, within=within,
        )  # fmt: skip
        self._prepare_for(request)
        state = self.state
        with state.lock.reading():
            state.check_open()
            # Rankers take equal scores in order of arrival. Where ids came in another order, one more document tells
            # whether those of the last score are all there; to score everything costs the same for one more.
            scans = request.method != "best-first" and not (request.is_guided and state.graph is not None)
            wanted = request._replace(k=request.k + 1) if scans and not state.ids.in_order else request
            found = self._answers(wanted, state.project(Q), self._restriction(allowed, within), request.k)
        return SearchResult(*found, time.perf_counter() - start)

    def _search_one(self, Q: npt.ArrayLike, k: int, recall: float | None) -> _Answers | None:
        """The answers to one raw query by one compiled call; None where there are several, or a walk is not enough."""
        state = self.state
        q = as_one_query(Q, state.settings.dim)
        if q is None or type(k) is not int or type(recall) not in (float, type(None)):
            return None
        with state.lock.reading():
            state.check_open()
            single = state.single_search()
            found = None if single is None else single.best(q, k, recall)
            if found is None:
                return None
            (documents, scores, visited), tied = found
            t = state.tree.skeleton
            if not state.ids.in_order and documents[0, -1] != NONE and t.size[t.leaf[documents[0, -1]]] > 1:
                return None  # documents of the last one's leaf may have lower ids
            ids = state.ids.of(documents)
        if tied:
            order_ties_by_id(ids, scores)
        return ids, scores, visited

    def nearest(
        self, X: Floats, k: int = 10, *, recall: float | None = None, restriction: Restriction | None = None
    ) -> Nearest:
        """What `search` finds for queries that `project` made, in the order it finds it, with cosines.

        Documents are numbered as the tree numbers them.
        """
        request = SearchRequest.checked(k, "guided", self.state.settings.context, recall=recall)
        self._prepare_for(request)
        with self._reading() as state:
            ranked = self._ranked(request, X, restriction)
            return Nearest(ranked.documents, cosines(state.tree.skeleton, X, ranked.documents), ranked.visited)

    def rank(self, X: Floats, k: int, method: Method, restriction: Restriction | None = None) -> Ranked:
        """What a method of the paper finds for queries that `project` made; path-sum is its sum over the path.

        Documents are numbered as the tree numbers them.
        """
        request = SearchRequest.checked(k, method, 1.0)
        with self._reading():
            return self._ranked(request, X, restriction)

    @property
    def ranks_by_cosine(self) -> bool:
        """Whether the tree's distances rank as cosines do: its vectors are on a sphere, and context does not count."""
        whitener = self.state.whitener
        return whitener is not None and whitener.on_sphere and self.state.settings.context == 0.0

    def _prepare_for(self, request: SearchRequest) -> None:
        """Build a graph that is due, and that no renewal will make soon; other searches wait for it."""
        t = self.state.tree.skeleton
        if not request.is_guided or search_graph.is_current(self.state.graph, t):
            return
        soon = self.state.settings.structure == "living" and t.meta[Meta.LEAVES] <= _SCANNED
        if not soon and not self._is_usable(self.state.graph):
            self.build_links()

    def _is_usable(self, graph: SearchGraph | None) -> bool:
        """Whether a graph of a living tree serves until it is renewed."""
        usable = graph is not None and graph.complete and graph.calibration is not None
        return usable and self.state.settings.structure == "living"

    def _ranked(self, request: SearchRequest, X: Floats, restriction: Restriction | None = None) -> Ranked:
        state = self.state
        t = state.tree.arrays if request.reads_concepts else state.tree.skeleton
        return rank(t, X, request, state.graph, state.path_sum, restriction)

    def _answers(self, request: SearchRequest, X: Floats, restriction: Restriction | None, k: int) -> _Answers:
        """The ids of the k best of the documents that `request` is for, with scores and nodes visited."""
        state = self.state
        ranked = self._ranked(request, X, restriction)
        ids, scores, visited = state.ids.of(ranked.documents), ranked.scores, ranked.visited
        order_ties_by_id(ids, scores)
        if not state.ids.in_order and request.k < len(state.ids):
            cut = cut_ties(state.tree.skeleton, ranked, k)
            if len(cut):
                more = request._replace(k=min(2 * request.k, len(state.ids)))
                ids[cut, :k], scores[cut, :k], others = self._answers(more, X[cut], restriction, k)
                visited[cut] += others
        return ids[:, :k], scores[:, :k], visited

    def _restriction(self, allowed: Iterable[DocId] | None, within: int | None) -> Restriction | None:
        """What a search is restricted to; None for no restriction."""
        state, t = self.state, self.state.tree.skeleton
        flags = None if allowed is None else as_flags(t, state.numbers(as_several(allowed, "allowed")))
        return Restriction.to(t, flags, None if within is None else state.tree.documents_below(within))

    def assign(self, E: npt.ArrayLike) -> list[tuple[int, ...]]:
        """The concepts that each row of E would lie in if it were added, from the root down; nothing is added.

        A row is put where `add` would put it now: beside the document nearest to it, at the height where it fits. Of
        structure "cobweb", it goes down from the root as documents do, and nothing is merged or split for it. In an
        empty index every path is empty.

        >>> vx.assign([[1, 0, 0]])[0][0] == vx.tree.root
        True
        """
        X = as_vectors(E, self.dim)
        request = SearchRequest.checked(1, "guided", 0.0)
        living = self.state.settings.structure == "living"
        if living:
            self._prepare_for(request)
        with self._reading() as state:
            t = state.tree.arrays
            if not t.meta[Meta.DOCUMENTS]:
                return [() for _ in X]
            projected, found = state.project(X), np.empty(len(X), np.int32)
            if living:
                landings(t, t.leaf[self._ranked(request, projected).documents[:, 0]], projected, found)
            else:
                descents(t, projected, found)
            return paths_to(t, found.tolist())

    def explain(self, q: npt.ArrayLike, id: DocId) -> VectorExplanation:
        """Why document `id` scores as it does for the query `q`: the concepts of its path, with the gain of each.

        The score is that of `search`, and the sum of the gains. In an index with a context α above 0 (1 in the preset
        "paper") the gain of a step is (1 − α) times the rise of the log density, and α times the log density itself.

        >>> why = vx.explain([1, 0, 0], "owl")
        >>> abs(sum(step.gain for step in why.path) - why.score) < 1e-9
        True
        """
        Q = self._one(q, "explain")
        with self._reading() as state:
            return explained(state, state.project(Q)[0], id)

    def _one(self, q: npt.ArrayLike, who: str) -> Floats:
        Q = as_vectors(q, self.dim, what="the query")
        if len(Q) != 1:
            raise DimensionError(f"{who} takes one query, got {len(Q)}")
        return Q

    def __reduce__(self) -> Any:
        raise StateError("a VectorIndex cannot be pickled: save it to a folder, and load it in the other process")

    def __repr__(self) -> str:
        return f"VectorIndex(dim={self.dim}, preset={self.state.settings.preset!r}, documents={len(self.state.ids)})"

    # -- disk --------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index into the folder `path`; an index that is there is replaced in one step.

        >>> vx.save("vectors")
        """
        self.settle()
        with self._reading() as state:
            # The bundle holds views of the arrays, so changes wait until it is written.
            write_bundle(path, "vectors", state.to_bundle())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str | None = None) -> Self:
        """Read an index back: the same answers, the same tree, and it grows on as before.

        `device`: as in `VectorIndex`.

        >>> vx.save("vectors")
        >>> len(VectorIndex.load("vectors"))
        3
        """
        device = as_device(device)
        index = cls.from_bundle(read_bundle(path, "vectors"))
        index.state.use_device(device)
        return index

    def to_bundle(self) -> Bundle:
        """The index as settings and arrays, whether or not all links are built."""
        with self.state.lock.reading():
            return self.state.to_bundle()

    @classmethod
    def from_bundle(cls, bundle: Bundle, source: Source | None = None) -> Self:
        """The index that `to_bundle` described; `CorruptError` if its parts do not belong together.

        `source` reads vectors as they came, by id, where the caller keeps them: they are then not part of a bundle.
        """
        return cls._of(VectorState.from_bundle(bundle, source))
