"""Index: text in, explained answers out. Read this first.

    with Index.create("news.gsm", encoder="minilm") as ix:
        ix.add(texts, ids, metadata)
        hits = ix.search("a question", k=10, where={"year": {"$gte": 2020}})

An index is three things kept in step: documents and a log of changes in SQLite (`store`), a concept tree over
the vectors of their passages (`vectors`), and the encoder that makes vectors of texts (`encoding`). A change is
encoded, written into an open transaction and staged for the tree, which is all that can fail; then committed, then
applied to the tree, which cannot. What returned is durable, and what is in the log can be applied again.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import as_vectors, one_of, positive
from gossamer.encoders import Encoder, FittedEncoder, Progress, is_fitted_encoder, load_encoder
from gossamer.errors import (
    ClosedError,
    DegradedError,
    DimensionError,
    ParameterError,
    ReadOnlyError,
    StateError,
    UnknownIdError,
    enough_memory,
)
from gossamer.explain.concepts import Concepts
from gossamer.explain.naming import Labeller, is_labelling
from gossamer.explain.novelty import Usual
from gossamer.filters import compile_where
from gossamer.index import overview
from gossamer.index.batch import Batch, as_ids, check_batch
from gossamer.index.chunking import split
from gossamer.index.encoding import (
    Encoded,
    EncoderSpec,
    encode,
    encode_ahead,
    encode_rest,
    encoder_dim,
    reload_encoder,
    twin,
)
from gossamer.index.explanations import Asked, explain_document, texts_of
from gossamer.index.fusion import rank
from gossamer.index.hits import hits_of
from gossamer.index.query import (
    as_concept,
    as_weight,
    check_confidence,
    check_depth,
    check_query,
    lexical_scores,
    scope_of,
)
from gossamer.index.repair import repair
from gossamer.index.upsert import Plan, spans_of
from gossamer.results import (
    Concept,
    ConceptMatch,
    Document,
    Explanation,
    Hits,
    IndexInfo,
    Novelty,
    Outline,
    Repair,
    Topics,
)
from gossamer.runtime import deadline
from gossamer.runtime.interrupts import uninterrupted
from gossamer.runtime.locks import ReadWriteLock, Turn
from gossamer.store import Change, DocumentRow, Settings, Store, rows
from gossamer.store.backup import back_up
from gossamer.store.database import forked
from gossamer.store.encoder_state import read_learnt
from gossamer.store.layout import Layout
from gossamer.store.log import StagedStep, Step, stage
from gossamer.store.store import Mode
from gossamer.tree.cuts import nested_cuts
from gossamer.tree.paths import outline, path_to, paths_to, top_paths
from gossamer.vector_index.vector_index import VectorIndex

_log = logging.getLogger("gossamer.index")

_LEARN_AGAIN_BELOW = 20_000
"""An encoder that learns from the corpus learns again each time the corpus has doubled, up to here."""


class Index:
    """Documents that can be searched by meaning, in memory or in a folder.

    Safe for use from many threads: searches run side by side, a change waits for them and is seen as a whole.
    One process may write to a folder, any number may read it.

    >>> import numpy as np
    >>> vowels = lambda texts: np.array([[text.count(vowel) for vowel in "aeiou"] for text in texts])
    >>> with Index(encoder=vowels) as ix:
    ...     ix.add(["a banana", "the queen", "moon rock"], ids=["fruit", "person", "thing"])
    ...     [hit.id for hit in ix.search("a papaya too", k=2)]
    ['fruit', 'person', 'thing']
    ['fruit', 'thing']
    """

    def __init__(
        self,
        encoder: EncoderSpec = "minilm",
        *,
        max_tokens: int | None = 200,
        overlap: int | None = None,
        labeller: Labeller | None = None,
    ) -> None:
        """An empty index in memory.

        `encoder`: a name (see `gossamer.encoders.known_encoders`) or any callable ``list[str] -> array``.
        Texts longer than `max_tokens` are split into passages that share up to `overlap` tokens (30, or less where
        passages are short); None never splits.
        `labeller`: names concepts in your words, see `LabelRequest`; called once for each that is shown, and again
        when it has changed much. Where it fails, the concept's own terms are its label.
        """
        loaded = load_encoder(encoder)
        self._begin(Store.in_memory(_new_settings(loaded, max_tokens, overlap)), loaded, labeller)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec = "minilm",
        *,
        max_tokens: int | None = 200,
        overlap: int | None = None,
        labeller: Labeller | None = None,
    ) -> Self:
        """An empty index in the new folder `path`, open for writing."""
        loaded = load_encoder(encoder)
        with enough_memory(f"to make {path}"):
            return cls._on(Store.create(path, _new_settings(loaded, max_tokens, overlap)), loaded, labeller)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        encoder: EncoderSpec | None = None,
        *,
        mode: Mode = "w",
        labeller: Labeller | None = None,
    ) -> Self:
        """The index at `path`, to write and search, or with mode="r" to search alone.

        The index names its encoder. minilm and lsa are loaded by that name alone. Others can bring code, so name them
        yourself, as in encoder="st:all-mpnet-base-v2" (else `UntrustedEncoderError`); a callable must be passed again.
        A reader sees at each call what others have written up to then.
        """
        one_of(mode, "mode", ("w", "r"))
        with enough_memory(f"to open {path}"):
            store = Store.open(path, mode)
            try:
                with store.reading() as db:
                    learnt = read_learnt(db)
                return cls._on(store, reload_encoder(store.settings, learnt, encoder), labeller)
            except BaseException:
                store.close()
                raise

    @staticmethod
    def repair(
        path: str | os.PathLike[str], encoder: EncoderSpec | None = None, *, progress: Progress | None = None
    ) -> Repair:
        """Make a healthy index at `path` from whatever its documents.sqlite still holds, and say what is lost.

        The damaged folder is kept beside it, under the name that is returned. An index without damage is left alone.
        Documents whose vectors are lost are encoded again: by the encoder the index names, or the one given.
        """
        return repair(path, encoder, progress)

    @classmethod
    def _on(cls, store: Store, encoder: Encoder, labeller: Labeller | None) -> Self:
        index = cls.__new__(cls)
        try:
            index._begin(store, encoder, labeller)
        except BaseException:
            store.close()
            raise
        return index

    def _begin(self, store: Store, encoder: Encoder, labeller: Labeller | None) -> None:
        self._store = store
        self._encoder = encoder
        self._process = os.getpid()
        self._lock = ReadWriteLock()
        self._one_writer = Turn()
        self._broken: BaseException | None = None
        self._closed = False
        self._labeller = labeller
        self._concepts = Concepts(labeller)
        self._usual: tuple[VectorIndex, Usual] | None = None
        self._vectors = store.load()
        self._write_down_if_regrown()

    def close(self) -> None:
        """Save the tree if it changed much, ready to be searched, and let go of the folder. Again does nothing.

        Ctrl-C stops the saving, never the letting go. In a child process, which shares the files with the one that
        opened the index, it does nothing.
        """
        if self._process != os.getpid():
            return
        with deadline.suspended(), uninterrupted() as interruptible, self._one_writer.alone():
            if self._closed:
                return
            try:
                with interruptible():
                    self._save_what_changed()
            finally:  # whatever went wrong or was stopped there: every document is in SQLite, and the lock must go
                with self._lock.writing():
                    self._closed = True
                    self._store.close()
                    self._vectors = self._usual = None
                    self._concepts.clear()

    def _save_what_changed(self) -> None:
        on_disk = self._store.writable and self._store.layout is not None
        usable = not self._broken and not self._store.degraded
        if on_disk and usable and self._store.snapshot_due(self._vectors, closing=True):
            try:
                if self._vectors is not None:
                    self._vectors.settle()  # once for all, not once for each that opens it
                self._store.snapshot(self._vectors)
            except MemoryError as error:
                _log.warning(
                    "%s is closed without a snapshot, for which memory is too small: %s", self._store.where, error
                )

    def __reduce__(self) -> Any:
        raise StateError(
            "an open index cannot be pickled: pass its path to the other process, and open it there with Index.open"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- changing ----------------------------------------------------------------------------------

    def add(
        self,
        texts: str | Iterable[str],
        ids: str | Iterable[str] | None = None,
        metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
        encoded: Encoded | None = None,
        progress: Progress | None = None,
    ) -> list[str]:
        """Add documents; returns their ids. An id that is there already is replaced, metadata included.

        All of them are in and durable when this returns; after an error, none is. Without `ids` documents are
        numbered. A text that is there already under its id is not encoded again. `vectors` brings one prepared
        vector for each text, which is then neither encoded nor split. `encoded` is what `encode` made of these texts
        ahead. `progress(done, total)` counts encoded texts.
        """
        with enough_memory("for so many documents"):
            batch = check_batch(texts, ids, metadata, vectors)
        with self._writer():
            if not batch.texts:
                return []
            with self._store.reading() as db:
                plan = Plan(db, batch)
            if batch.vectors is not None:
                self._add_prepared(plan, batch.vectors)
            elif self._must_learn(plan):
                self._learn(plan, progress)
            else:
                self._add_encoded(plan, encoded, progress)
            return plan.ids

    def encode(self, texts: str | Iterable[str], *, progress: Progress | None = None) -> Encoded:
        """Make the vectors of texts ahead of `add`, in any thread: one batch is encoded while another is written.

        What they are used for is up to `add`, which makes those that are missing or are not the encoder's any more.
        """
        batch = check_batch(texts, None, None, None)
        self._check_usable()
        encoder = self._encoder
        texts = [] if is_fitted_encoder(encoder) else batch.texts
        passages = [text[start:stop] for text in texts for start, stop in spans_of(text, self._store.settings)]
        return encode_ahead(encoder, passages, self._store.settings, progress)

    def delete(self, ids: str | Iterable[str]) -> int:
        """Remove documents; returns how many went. Ids that are not there are no error."""
        wanted = as_ids(ids)
        with self._writer():
            with self._store.reading() as db:
                found = [row.document for row in rows.documents_by_id(db, wanted).values()]
            if found:
                self._write(Change("delete", removed=sorted(found)))
            return len(found)

    def refit(self, *, progress: Progress | None = None) -> None:
        """Fit the whitener to all documents there are now, and grow the tree again.

        An encoder that learns from the corpus (lsa) learns again first, and all texts are encoded anew.
        """
        with self._writer():
            with self._store.reading() as db:
                plan = Plan(db, Batch([], [], [], None))
                empty = not rows.count_documents(db)
            if is_fitted_encoder(self._encoder) and not empty:
                self._learn(plan, progress)
            else:
                self._write(Change("refit"))

    def refresh(self) -> int:
        """See now what another process has written, which the next search does by itself; returns how many operations.

        An index that is open for writing sees everything already.
        """
        self._check_process()
        with self._one_writer.alone(), self._lock.writing() as interruptible, interruptible():
            self._check_usable()
            if self._store.writable:
                return 0
            before, known = self._store.seq, self._store.settings
            try:
                with deadline.suspended():  # others wait for it too, and begun again it would take as long again
                    self._vectors = self._store.catch_up(self._vectors)
                    if self._store.settings.fingerprint != known.fingerprint:
                        with self._store.reading() as db:
                            self._encoder = reload_encoder(self._store.settings, read_learnt(db), self._encoder)
            except BaseException:  # half of a step may be in the tree: the next call reads it anew
                self._store.forget_tree()
                self._vectors = None
                raise
            return self._store.seq - max(before, 0)

    def settle(self) -> None:
        """Make now what the next search would wait for, where much was added or removed since the last one.

        `close` does so too; nobody has to.
        """
        self._check_process()
        with self._lock.reading():
            self._check_usable()
            if self._vectors is not None:
                self._vectors.settle()

    def _add_prepared(self, plan: Plan, vectors: Floats) -> None:
        """One passage a text, whatever its length: its vector speaks for all of it."""
        settings = self._store.settings
        if is_fitted_encoder(self._encoder):
            raise ParameterError(
                f"the encoder {self._encoder.name!r} learns from the corpus, so prepared vectors cannot stand beside "
                "its own: leave vectors out, or create the index with the encoder they come from"
            )
        as_vectors(vectors[:0], settings.dim)
        if settings.dim is None and (dim := encoder_dim(self._encoder)) not in (None, vectors.shape[1]):
            raise DimensionError(
                f"vectors have {vectors.shape[1]} dimensions, but the index's encoder {self._encoder.name!r} gives "
                f"{dim}: bring vectors of that encoder, or create the index with the encoder they come from"
            )
        plan.replace_all()
        passages = plan.passages([[(0, len(text))] for text in plan.new_texts])
        self._write(plan.change(passages, vectors, self._with_dim(vectors)))

    def _add_encoded(self, plan: Plan, ahead: Encoded | None, progress: Progress | None) -> None:
        settings = self._store.settings
        passages = plan.passages([spans_of(text, self._store.settings) for text in plan.new_texts])
        if not passages:
            if plan.relabelled:
                self._write(plan.change([], None, None))
            return
        vectors = encode_rest(self._encoder, plan.texts_of(passages), settings, ahead, progress)
        self._write(plan.change(passages, vectors, self._with_dim(vectors)))

    def _must_learn(self, plan: Plan) -> bool:
        fitted_on = self._store.settings.fitted_on
        if not is_fitted_encoder(self._encoder):
            return False
        return fitted_on < min(_LEARN_AGAIN_BELOW, plan.size_after / 2) or not self._encoder.fitted

    def _learn(self, plan: Plan, progress: Progress | None) -> None:
        """Fit the encoder on everything there is and will be, and encode all of it again."""
        assert is_fitted_encoder(self._encoder)
        encoder: FittedEncoder = twin(self._encoder)
        with self._store.reading() as db:
            texts, passages = plan.everything(db, [spans_of(text, self._store.settings) for text in plan.new_texts])
        encoder.fit(texts)
        settings = replace(
            self._store.settings, dim=encoder.dim, fingerprint=encoder.fingerprint, fitted_on=plan.size_after
        )
        vectors = encode(encoder, texts, settings, "document", progress)
        change = plan.change(passages, vectors, settings)
        self._write(replace(change, kind="refit", anew=True, learnt=encoder.state()), encoder)

    def _with_dim(self, vectors: Floats) -> Settings | None:
        settings = self._store.settings
        return replace(settings, dim=vectors.shape[1]) if settings.dim is None else None

    # -- the order of a change: commit, then apply -------------------------------------------------

    @contextmanager
    def _writer(self) -> Iterator[None]:
        self._check_process()
        with self._one_writer.alone(), deadline.suspended():
            self._check_usable()
            if not self._store.writable:
                raise ReadOnlyError(f'{self._store.where} was opened with mode="r": open it with mode="w" to change it')
            if self._store.degraded:
                raise DegradedError(
                    f"{self._store.where} is degraded, {self._store.degraded}: it can be searched, but not changed. "
                    "Repair it with Index.repair or gossamer repair"
                )
            with enough_memory("for this change"):
                yield

    def _write(self, change: Change, encoder: Encoder | None = None) -> None:
        # In memory there is one connection, and what is being written would be seen: searches are kept out early.
        in_memory = self._store.layout is None
        with self._lock.writing() if in_memory else nullcontext(nullcontext) as interruptible, interruptible():
            try:
                step = self._store.prepare(change)
                staged = stage(step, self._vectors)
                with uninterrupted() if in_memory else self._lock.writing() as interruptible:
                    self._commit(step, change)
                    self._apply(staged)
                    self._encoder = encoder or self._encoder
                    with interruptible():
                        staged.follow()
            finally:
                self._store.rollback()  # where it failed or was interrupted before the commit; nothing otherwise
            self._store.checkpoint_if_due()
            if self._store.snapshot_due(self._vectors):
                self._store.snapshot(self._vectors)

    def _commit(self, step: Step, change: Change) -> None:
        try:
            self._store.commit(step, change.settings)
        except StateError as error:  # whether it is on disk is not known, so nothing more may be built on it
            self._broken = error
            raise

    def _apply(self, staged: StagedStep) -> None:
        """Make a committed change. It cannot fail; should it all the same, memory goes back to what the disk says."""
        try:
            self._vectors = staged.apply()
        except BaseException as error:
            _log.warning("reading %s back after an error: %r", self._store.where, error)
            with self._rebuilding():
                self._vectors = self._store.load()

    @contextmanager
    def _rebuilding(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._broken = error
            raise

    def _write_down_if_regrown(self) -> None:
        """Log a refit where the tree had to be made anew, so that replay yields the tree that is in memory."""
        if self._store.regrown and self._store.writable:
            self._write(Change("refit"))
            self._store.regrown = False

    # -- searching ---------------------------------------------------------------------------------

    def search(
        self,
        query: str | None = None,
        k: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        within: int | None = None,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
        recall: float | None = None,
        explain: bool = False,
        min_confidence: float = 0.0,
    ) -> Hits:
        """The k best documents, best first; fewer only where fewer match. An empty index has none: [].

        where           metadata filter, see `gossamer.filters`
        within          id of a concept: only passages below it
        hybrid          adds BM25 to the cosine: True with the usual weight, False not at all, a number as the weight
        vector          the query's vector, which is then not encoded; with a `query` beside it, that one's words count
        recall          the share of the true nearest to aim for, see `VectorIndex.search`; 1.0 looks at everything
        explain         fills `Hit.explanation`; ranks are those among the answers
        min_confidence  no answers to a query that is less at home here, see `novelty`: 0.05 is a good start
        """
        k = positive(k, "k")
        weight = as_weight(hybrid)
        check_confidence(min_confidence)
        condition = None if where is None else compile_where(where)
        with self._asking(query, vector) as (db, vectors, q):
            if vectors is None or not len(vectors) or q is None:
                if within is not None:
                    raise UnknownIdError(f"there is no concept {within!r}: the index is empty")
                return Hits()
            scope = scope_of(db, vectors, condition, within)
            if scope.passages is not None and not scope.passages:
                return Hits()
            if min_confidence > 0.0 and self._confidence(db, vectors, q) < min_confidence:
                return Hits()
            asked = Asked(db, vectors, self._concepts, q, query, lexical_scores(db, query, weight), weight)
            ranked = rank(db, vectors, q, k, asked.lexical, replace(scope, recall=recall))
            return hits_of(asked, ranked, k, explain=explain)

    def explain(
        self,
        query: str | None,
        id: str,
        *,
        k: int = 10,
        hybrid: bool | float = True,
        vector: npt.ArrayLike | None = None,
    ) -> Explanation:
        """Why document `id`, any document, scores as it does for `query`; the score is the one `search` gives.

        Its rank among all documents is exact. Of one that is not among the first `k`: where its branch lost, to
        which concept and document, and by how much.
        """
        weight, k = as_weight(hybrid), positive(k, "k")
        (wanted,) = as_ids(id)
        with self._asking(query, vector) as (db, vectors, q):
            row = self._document(db, wanted)
            assert vectors is not None
            assert q is not None
            asked = Asked(db, vectors, self._concepts, q, query, lexical_scores(db, query, weight), weight)
            return explain_document(asked, row, k)

    def novelty(self, query: str | None = None, *, vector: npt.ArrayLike | None = None) -> Novelty:
        """How unusual a query is, measured on how like each other the documents of the index are."""
        with self._asking(query, vector) as (db, vectors, q):
            if vectors is None or not len(vectors) or q is None:
                return Novelty(100.0, 0.0, 0.0, None, "unlike anything here: the index is empty")
            return overview.novelty(db, vectors, self._concepts, q, self._what_is_usual(db, vectors))

    def find_concepts(
        self, query: str | None = None, k: int = 10, *, vector: npt.ArrayLike | None = None
    ) -> list[ConceptMatch]:
        """At most k concepts that a query fits, each at the level of generality that fits it best; best first."""
        k = positive(k, "k")
        with self._asking(query, vector) as (db, vectors, q):
            if vectors is None or not len(vectors) or q is None:
                return []
            return overview.matches(db, vectors, self._concepts, q, k)

    def _confidence(self, db: sqlite3.Connection, vectors: VectorIndex, q: Floats) -> float:
        return self._what_is_usual(db, vectors).confidence(overview.likeness(db, vectors, q))

    def _what_is_usual(self, db: sqlite3.Connection, vectors: VectorIndex) -> Usual:
        """Found when first asked for, and again once the index has grown by a tenth."""
        known = self._usual
        if known is None or known[0] is not vectors or not known[1].holds(vectors.tree):
            known = self._usual = (vectors, overview.usual(db, vectors))
        return known[1]

    @contextmanager
    def _asking(
        self, query: str | None, vector: npt.ArrayLike | None
    ) -> Iterator[tuple[sqlite3.Connection, VectorIndex | None, Floats | None]]:
        """A state to search that does not change meanwhile, and the query as a vector of it.

        Encoding may take long, so it is done before; should the encoder learn anew meanwhile, it is done again.
        """
        check_query(query, vector)
        self._check_process()
        q: Floats | None = None
        while True:
            encoder = self._encoder
            if self._vectors is not None:
                q = self._as_query(query, vector, encoder)
            with self._reading() as db:
                if encoder is self._encoder and (q is not None or self._vectors is None):
                    yield db, self._vectors, q
                    return

    def _as_query(self, query: str | None, vector: npt.ArrayLike | None, encoder: Encoder) -> Floats:
        settings = self._store.settings
        if vector is None:
            return encode(encoder, [query or ""], settings, "query")
        checked = as_vectors(vector, settings.dim, what="the query's vector")
        if len(checked) != 1:
            raise ParameterError(f"vector must be one vector, got {len(checked)}: search once for each")
        return checked

    # -- looking -----------------------------------------------------------------------------------

    @overload
    def get(self, ids: str) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, ids: Iterable[str]) -> list[Document]: ...
    def get(self, ids: str | Iterable[str]) -> Document | list[Document]:
        """The document of an id, or those of several in their order; `UnknownIdError` where one is not there."""
        wanted = as_ids(ids)
        with self._reading() as db:
            found = rows.documents_by_id(db, wanted)
            for id in wanted:
                if id not in found:
                    raise _unknown_document(db, id)
        documents = [Document(row.id, row.text, row.read_metadata()) for row in (found[id] for id in wanted)]
        return documents[0] if isinstance(ids, str) else documents

    def ids(self, *, where: Mapping[str, Any] | None = None, within: int | None = None) -> list[str]:
        """The ids of all documents, or of those that match, or that lie below a concept, in order of arrival."""
        condition = None if where is None else compile_where(where)
        with self._reading() as db:
            if condition is None and within is None:
                return [row[0] for row in db.execute("SELECT id FROM documents ORDER BY document")]
            vectors = self._grown(within)
            if vectors is None:
                return []
            numbers = sorted(set((scope_of(db, vectors, condition, within).passages or {}).values()))
            found = rows.documents_by_number(db, numbers)
            return [found[number].id for number in numbers]

    def concepts(self, depth: int | None = 2) -> list[Concept]:
        """The tree from the root (depth 0) down to `depth`, or to the leaves: every concept before those below it,
        large ones first."""
        check_depth(depth)
        with self._reading() as db:
            vectors = self._grown(None)
            if vectors is None:
                return []
            return self._concepts.last_of(vectors.tree, texts_of(db, vectors), top_paths(vectors.tree, depth))

    def concept(self, id: int) -> Concept:
        """One concept by its id, as found in a hit's path. An id keeps its meaning as long as the concept lives."""
        with self._reading() as db:
            vectors = self._grown(id)
            assert vectors is not None
            path = path_to(vectors.tree, as_concept(vectors, id))
            return self._concepts.last_of(vectors.tree, texts_of(db, vectors), [path])[0]

    def labels(self, ids: Iterable[int] | None = None) -> dict[int, str]:
        """The label of every concept that is no single document, by its id: all at once, or what changed since.

        With `ids`, the labels of these concepts, whatever they are; `UnknownIdError` where one is not there.
        """
        wanted = None if ids is None else list(ids)
        with self._reading() as db:
            vectors = self._grown(next(iter(wanted or ()), None))
            if vectors is None:
                return {}
            paths = None
            if wanted is not None:
                paths = paths_to(vectors.tree.arrays, [as_concept(vectors, id) for id in wanted])
            return self._concepts.labels(vectors.tree, texts_of(db, vectors), paths)

    def outline(
        self, root: int | None = None, *, depth: int | None = None, min_size: int = 1, most: int | None = None
    ) -> Outline:
        """The tree, or the part below a concept, without a word: ids and sizes, for a map of it.

        Concepts are opened from the largest on: down to `depth` levels, those with `min_size` passages, and as long as
        all together are no more than `most`.
        """
        check_depth(depth)
        min_size, most = positive(min_size, "min_size"), most if most is None else positive(most, "most")
        with self._reading():
            vectors = self._grown(root)
            if vectors is None:
                return Outline((), (), (), (), ())
            tree = vectors.tree
            path = (tree.root,) if root is None else path_to(tree, as_concept(vectors, root))
            return outline(tree.arrays, path, depth, min_size, most)

    @overload
    def topics(self, n: int, *, assignments: bool = True) -> Topics: ...
    @overload
    def topics(self, *, levels: Sequence[int], assignments: bool = True) -> list[Topics]: ...
    def topics(
        self, n: int | None = None, *, levels: Sequence[int] | None = None, assignments: bool = True
    ) -> Topics | list[Topics]:
        """The corpus in about `n` groups: the cut of the tree with the highest utility, whatever the depth.

        `levels`, as in [8, 40, 200], gives one cut for each, from coarse to fine: each group lies in one of the level
        before. `assignments=False` leaves out which document is where, which takes longer than the groups themselves.
        """
        if (n is None) == (levels is None):
            raise ParameterError("topics takes the number of groups, as in topics(8), or levels, as in [8, 40, 200]")
        wanted = [n] if n is not None else list(levels or [])
        with self._reading() as db:
            vectors = self._grown(None)
            if vectors is None:
                return Topics((), {}, 0.0) if levels is None else [Topics((), {}, 0.0) for _ in levels]
            cuts = nested_cuts(vectors.tree.arrays, wanted)
            found = [overview.topics(db, vectors, self._concepts, cut, assign=assignments) for cut in cuts]
            return found[0] if levels is None else found

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy the index into the folder `path`, as of one operation, which is returned; it can be written meanwhile.

        The copy is an index of its own: to restore is to open it, or to copy it back. An earlier copy at `path` is
        replaced at the end, and what it shares with this one is not copied again.
        """
        self._check_usable()
        with enough_memory("to copy the index"):
            return back_up(self._store.database, self._store.layout, Layout(Path(path)))

    def info(self) -> IndexInfo:
        """What the index is and what it takes."""
        with self._reading() as db:
            store, vectors = self._store, self._vectors
            return IndexInfo(
                path=None if store.layout is None else str(store.layout.folder),
                documents=rows.count_documents(db),
                passages=0 if vectors is None else len(vectors),
                concepts=0 if vectors is None else vectors.tree.n_nodes,
                encoder=store.settings.encoder,
                dim=store.settings.dim,
                whitened=vectors is not None and vectors.whitener is not None,
                operation=store.seq,
                snapshots=tuple(store.snapshots()),
                bytes=store.bytes(),
                created=store.settings.created,
                written_by=store.settings.written_by,
                degraded=store.degraded,
            )

    def check(self) -> None:
        """Raise `CorruptError` or `InvariantError` if anything on disk or in the tree is not as it should be."""
        in_memory = self._store.layout is None
        self._check_process()
        with self._one_writer.alone(), self._lock.writing() if in_memory else self._lock.reading():
            self._check_usable()
            with enough_memory("to check the index"):
                if self._vectors is not None:
                    self._vectors.check()
                self._store.check(self._vectors)

    def __len__(self) -> int:
        with self._reading() as db:
            return rows.count_documents(db)

    def __contains__(self, id: object) -> bool:
        with self._reading() as db:
            return isinstance(id, str) and bool(rows.documents_by_id(db, [id]))

    def __repr__(self) -> str:
        if self._process != os.getpid():
            state = f"opened in process {self._process}"
        else:
            state = "closed" if self._closed else f"{len(self)} documents"
        return f"Index({self._store.where}, encoder={self._store.settings.encoder!r}, {state})"

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the state the tree is of. A reader first takes in what others wrote."""
        self._check_process()
        while True:
            with self._lock.reading():
                self._check_usable()
                with enough_memory("for this"), self._store.reading() as db:
                    if not self._store.is_behind(db):
                        yield db
                        return
            self.refresh()

    def _document(self, db: sqlite3.Connection, id: str) -> DocumentRow:
        found = rows.documents_by_id(db, [id])
        if id not in found:
            raise _unknown_document(db, id)
        return found[id]

    def _grown(self, concept: int | None) -> VectorIndex | None:
        """The tree; None where there is none, unless a concept of it was named."""
        if self._vectors is None or not len(self._vectors):
            if concept is not None:
                raise UnknownIdError(f"there is no concept {concept!r}: the index is empty")
            return None
        return self._vectors

    def _check_process(self) -> None:
        """Before any lock is asked for: one that another thread held at the fork is never given back in the child,
        and one that the caller of a labeller holds is not given back before the labeller returns."""
        if self._process != os.getpid():
            raise forked(self._process)
        if is_labelling(self._labeller):
            raise StateError("a labeller cannot use the index whose concepts it names: all it gets is its request")

    def _check_usable(self) -> None:
        self._check_process()
        if self._closed:
            raise ClosedError("this index was closed: open it again with Index.open")
        if self._broken is not None:
            raise StateError(f"the index could not be read back after an error ({self._broken}): open it again")


def _new_settings(encoder: Encoder, max_tokens: int | None, overlap: int | None) -> Settings:
    if max_tokens is not None:
        overlap = min(30, positive(max_tokens, "max_tokens") // 4) if overlap is None else overlap
        split("", max_tokens=max_tokens, overlap=overlap)  # says what is wrong with them
    return Settings.new(encoder.name, encoder.fingerprint, max_tokens, overlap or 0)


def _unknown_document(db: sqlite3.Connection, id: str) -> UnknownIdError:
    return UnknownIdError(f"id {id!r} is not in the index, which holds {rows.count_documents(db)} documents")
