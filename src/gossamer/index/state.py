"""The state of one open index: store, tree and encoder, and the locks that keep them consistent.

A read goes through `reading`, which yields a connection that sees exactly the documents in the tree. A change goes
through `writer` and `write`, in this order: write it into an open transaction; stage it for the tree, after which
nothing can fail; commit; apply it to the tree. So a change that returned is durable, and one that failed left nothing.

Other processes may read and write the same index. Both `reading` and `writer` first replay what these have committed.
`writer` holds the write lock: what is planned in it is planned on the newest state, and nobody commits in between.
Texts are encoded before it (`Index.add`), so that others do not wait for a model.
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.encoders import Encoder, check_texts
from gossamer.errors import (
    ClosedError,
    DegradedError,
    GossamerError,
    LockedError,
    ReadOnlyError,
    StateError,
    UnknownIdError,
    enough_memory,
)
from gossamer.explain.concepts import Concepts
from gossamer.explain.meaning import Meaning
from gossamer.explain.naming import Labeller, is_labelling
from gossamer.explain.novelty import Baseline
from gossamer.explain.passages import Texts
from gossamer.explain.sampling import TreeState
from gossamer.index.document_table import DocumentTable
from gossamer.index.encoding import Unloaded, encode, reload_encoder
from gossamer.index.labelling import SMALL, Frozen, Labelling, frozen, passage_texts
from gossamer.index.places import PlaneCache
from gossamer.index.query import Query, View, check_query, query_vectors
from gossamer.index.renaming import anchored, renamed
from gossamer.index.replay import LoggedTree, StagedStep, stage
from gossamer.index.words import change_words
from gossamer.lexical.scores import Corpus, Weight
from gossamer.results import Compaction
from gossamer.runtime import deadline
from gossamer.runtime.interrupts import uninterrupted
from gossamer.runtime.locks import ReadWriteLock, Turn
from gossamer.runtime.process import OpenedIn
from gossamer.store import Change, NameRow, Settings, Step, Store, rows
from gossamer.vector_index import VectorIndex

_log = logging.getLogger("gossamer.index")

_CLOSING_WAIT: Final = 5.0
"""Seconds that closing waits for another writer, to save the tree. Else the next opening replays the log."""


class IndexState:
    """Store, tree and encoder of an open index. Many threads may read it at once; one at a time changes it."""

    def __init__(self, store: Store, encoder: Encoder, labeller: Labeller | None) -> None:
        self.store = store
        self.tree = LoggedTree(store)
        self.encoder = encoder
        self.concepts = Concepts()
        self.table = DocumentTable()
        self.baseline: tuple[VectorIndex, Baseline] | None = None
        self.planes = PlaneCache()
        self._labeller = labeller
        self.process = OpenedIn()
        self.closed = False
        self._lock = ReadWriteLock()
        self._one_writer = Turn()
        self._broken: BaseException | None = None
        self.labelling = Labelling(store, labeller, self._freeze, self._texts_of, self._meaning)
        self.tree.load()
        self._follow_encoder()
        self.labelling.load()
        self._label_later()

    @property
    def settings(self) -> Settings:
        """The settings of the index: encoder, dimension, how texts are split."""
        return self.store.settings

    @property
    def vectors(self) -> VectorIndex | None:
        """The tree over all passages; None while there are none."""
        return self.tree.vectors

    # -- reading -----------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that sees the documents in the tree, after replaying what another process has written."""
        self.check_process()
        while True:
            with self._lock.reading():
                self.check_usable()
                with self.store.reading() as db:
                    if not self.tree.is_behind(db):
                        yield db
                        return
            self.refresh()

    @contextmanager
    def view(self, concept: int | None = None) -> Iterator[View | None]:
        """One state of the index, which does not change meanwhile: see `view_of`."""
        with self.reading() as db:
            yield self.view_of(db, concept, labelled=True)

    def view_of(self, db: sqlite3.Connection, concept: int | None = None, *, labelled: bool = False) -> View | None:
        """The state that `db` reads; None while it is empty. `UnknownIdError` if it is empty and a concept is named.

        `labelled`: labels that are missing are made, which a search does not wait for unless there are few.
        """
        if self.vectors is None or not len(self.vectors):
            if concept is not None:
                raise UnknownIdError(f"there is no concept {concept!r}: the index is empty")
            return None
        labelled = labelled or len(self.vectors) <= SMALL
        self.table.follow(db, self.vectors, self.tree.seq)
        words, table = self.tree.words, self.table
        return View(db, self.vectors, self.concepts, words, table, self.labelling, self.tree.seq, labelled)

    @contextmanager
    def view_for_query(
        self, text: str | None, vector: npt.ArrayLike | None, weight: Weight = 0.0
    ) -> Iterator[tuple[View, Query] | None]:
        """One state of the index and a query in it, whose words count with `weight`; None while the index is empty."""
        with self.view_for_queries([text], vector, weight=weight) as asked:
            yield None if asked is None else (asked[0], asked[1][0])

    @contextmanager
    def view_for_queries(
        self,
        texts: Sequence[str | None],
        vectors: npt.ArrayLike | None,
        within: int | None = None,
        weight: Weight = 0.0,
        corpora: Sequence[Corpus] | None = None,
    ) -> Iterator[tuple[View, list[Query]] | None]:
        """One state of the index and queries in it, each with a text or a row of `vectors`; None while it is empty.

        Their words count with `weight`, by the corpora of which the index is a part, where it is one.

        Encoding may take long, so it is done before the state is held; should the encoder learn again meanwhile, the
        queries are encoded again.
        """
        for text in texts:
            check_query(text, vectors)
        self.check_process()
        Q: Floats | None = None
        while True:
            encoder = self.encoder
            if self.vectors is not None:
                Q = query_vectors(encoder, self.settings, texts, vectors, weight)
            with self.reading() as db:
                if encoder is self.encoder and (Q is not None or self.vectors is None):
                    view = self.view_of(db, within)
                    yield None if view is None or Q is None else (view, Query.of(view, texts, Q, weight, corpora))
                    return

    @contextmanager
    def view_for_vectors(self, texts: Sequence[str]) -> Iterator[tuple[View | None, Floats]]:
        """One state of the index, None while it is empty, and the vectors of texts as its documents have them."""
        self.check_process()
        while True:
            encoder, E = self.encoder, np.empty((len(texts), 0), np.float32)
            if self.vectors is not None and texts:
                E = encode(encoder, check_texts(texts), self.settings, "document")
            with self.reading() as db:
                view = self.view_of(db)
                if encoder is self.encoder and (view is None or E.shape[1] or not texts):
                    yield view, E
                    return

    def refresh(self) -> int:
        """Replay what another process has written; returns the number of operations."""
        self.check_process()
        with self._lock.writing() as interruptible, interruptible():
            self.check_usable()
            if not self._is_behind():
                return 0
            before, tree = self.tree.seq, self.vectors
            try:
                with deadline.suspended():  # other threads wait for the result, too; a retry would take as long
                    self.tree.catch_up()
                    self._follow_encoder()
            except BaseException:
                self.tree.invalidate()
                raise
            if self.vectors is not tree:  # built again, perhaps to erase: nothing made of the old one may be saved
                self.planes.clear()
                self.labelling.outdate()
            self._label_later()
            return self.tree.seq - max(before, 0)

    def _is_behind(self) -> bool:
        with self.store.reading() as db:
            return self.tree.is_behind(db)

    def _follow_encoder(self) -> None:
        """Load the encoder again where another process let it learn, or replaced it."""
        if self.settings.fingerprint == self.encoder.fingerprint or isinstance(self.encoder, Unloaded):
            return
        given = self.encoder if self.encoder.name == self.settings.encoder else None
        with self.store.reading() as db:
            self.encoder = reload_encoder(self.settings, rows.read_encoder_state(db), given)

    def settle(self) -> None:
        """Let a tree that is being renewed take effect now, and build the links that are missing."""
        self.refresh()
        if self.store.writable and self.vectors is not None and self.vectors.renewing:
            with self.writer():
                if self.vectors is not None and self.vectors.renewing:  # still, after catching up
                    self.write(Change("settle"))
        with self._lock.reading():
            self.check_usable()
            if self.vectors is not None:
                self.vectors.build_links()
        self.finish_labels()

    # -- labels ------------------------------------------------------------------------------------

    def finish_labels(self) -> None:
        """Make all labels of the tree as it is now, and let the labeller name concepts."""
        self.check_process()
        if not self.tree.degraded:
            self.labelling.finish()

    def _label_later(self) -> None:
        if self.labelling.current.operation != self.tree.seq and self.vectors is not None and not self.tree.degraded:
            self.labelling.wake()

    def _freeze(self) -> Frozen | None:
        """A copy of the tree as it is now; None where there is none."""
        with self._lock.reading():
            self.check_usable()
            if self.vectors is None or not len(self.vectors):
                return None
            with self.store.reading() as db:
                finish = frozen(self.vectors, self.tree.seq, db)
        return finish()

    def _texts_of(self, tree: TreeState) -> Texts:
        """Reads the passages of a tree. In memory there is one connection, which shows what is not committed yet."""
        return passage_texts(tree, self.reading if self.store.layout is None else self.store.reading)

    def _meaning(self) -> Meaning:
        """The encoder as labels use it, where it is quick enough to encode thousands of terms."""
        encoder, settings = self.encoder, self.settings
        quick = getattr(encoder, "quick", False) is True
        return Meaning(
            encoder.fingerprint, (lambda texts: encode(encoder, texts, settings, "document")) if quick else None
        )

    def check(self) -> None:
        """Raise `CorruptError` or `InvariantError` if anything on disk or in the tree is not as it should be."""
        with self.reading() as db, enough_memory("to check the index"):
            self.tree.check(db)

    # -- changing ----------------------------------------------------------------------------------

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Take a turn at writing, at the newest state of the index; reads go on. Raises where it cannot be changed.

        Other threads are waited for without a limit, other processes as long as the timeout of the index says.
        """
        self.check_process()
        with self._one_writer.alone():
            self.check_writable()
            with self.store.turn(), deadline.suspended(), enough_memory("for this change"):
                if self.store.layout is not None:
                    self._follow_others()
                if self.tree.regrown:
                    self.write(Change("refit"))  # so that replaying the log gives the tree that is in memory
                yield

    def _follow_others(self) -> None:
        """Bring tree and settings up to date; the caller has the turn, so that they stay so."""
        with self.store.reading() as db:
            self.store.read_settings(db)
            behind = self.tree.is_behind(db)
        if behind:
            self.refresh()
            self.check_writable()

    def check_writable(self) -> None:
        """Raise where the index cannot be changed."""
        self.check_process()
        self.check_usable()
        if not self.store.writable:
            raise ReadOnlyError(f'{self.store.where} was opened with mode="r": open it with mode="w" to change it')
        if self.tree.degraded:
            raise DegradedError(
                f"{self.store.where} is degraded, {self.tree.degraded}: it can be searched, but not changed. "
                "Repair it with Index.repair or gossamer repair"
            )

    def write(self, change: Change, encoder: Encoder | None = None) -> None:
        """Make a change durable, then visible. `encoder` replaces the one in use, where it learned again.

        Ids of concepts do not outlive a rebuild, names do: their concepts are noted before it, and found after it.
        """
        names = self._names() if change.kind == "refit" else []
        if not names:
            self._write(change, encoder)
        else:
            self._write(replace(change, names=names), encoder)
            self._write(Change("rename", names=self._names()))
        self._label_later()

    def _names(self) -> list[NameRow]:
        """The names that were given to concepts, with what these have now."""
        with self.view() as view:
            return [] if view is None else anchored(view)

    def rename_concept(self, id: int, name: str | None) -> None:
        """Name a concept, or take its name away by None."""
        with self.writer():
            with self.view(id) as view:
                assert view is not None
                names = renamed(view, id, name)
            self.write(Change("rename", names=names))
            if name is not None:
                self.labelling.rename(id, names[-1].name)

    def _write(self, change: Change, encoder: Encoder | None = None) -> None:
        # An index in memory has one connection, which shows uncommitted rows: searches have to wait from the start.
        in_memory = self.store.layout is None
        with self._lock.writing() if in_memory else nullcontext(nullcontext) as interruptible, interruptible():
            try:
                words = change_words(self.tree.words, self.store, change)
                step = self.store.prepare(change)
                if step.seq != self.tree.seq + 1:
                    raise StateError(f"another program wrote to {self.store.where} without its lock: open it again")
                staged = stage(step, self.vectors, self.store)
                with uninterrupted() if in_memory else self._lock.writing():
                    self._commit(step, change)
                    self._apply(staged)
                    self.tree.words = words
                    self.encoder = encoder or self.encoder
            finally:
                self.store.rollback()  # does nothing after a commit
            self.store.checkpoint_if_due()
            if self.tree.snapshot_due():
                self.tree.snapshot()

    def _commit(self, step: Step, change: Change) -> None:
        try:
            self.store.commit(step, change.settings)
        except StateError as error:  # whether it is on disk is not known, so nothing may build on it
            self._broken = error
            raise
        self.tree.committed(step)

    def _apply(self, staged: StagedStep) -> None:
        """Apply a committed change. Should that fail against expectation, the tree is loaded again."""
        try:
            self.tree.vectors = staged.apply()
        except BaseException as error:
            _log.warning("reading %s again after an error: %r", self.store.where, error)
            try:
                self.tree.load()
                self.labelling.outdate()
            except BaseException as second:
                self._broken = second
                raise

    # -- compacting --------------------------------------------------------------------------------

    def compact(self, *, erase: bool) -> Compaction:
        """Give back what deletions left on disk. After each step the folder is a whole index.

        `erase`: also remove what was made of the texts and is not made again by a rebuild, which comes before this.
        """
        before = sum(self.store.bytes().values())
        with self.writer():
            if self.vectors is None and self.tree.seq:
                self.write(Change("refit"))
            elif self.vectors is not None:
                if self.vectors.renewing:
                    self.write(Change("settle"))
                self.vectors.build_links()
            self.tree.compact()
            if erase:
                self.store.remove_derived()
                self.planes.clear()
                self.labelling.outdate()
            with self._lock.writing() if self.store.layout is None else nullcontext():
                done = self.store.vacuum()
        if erase and not done:
            raise LockedError(
                f"{self.store.where} is compact, but another process that reads it keeps deleted texts on disk: close "
                "that one, and compact with erase=True again"
            )
        self.labelling.finish(names=False)
        return Compaction(before, sum(self.store.bytes().values()), erase)

    # -- closing -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Save the tree if it changed much, then close the files.

        Ctrl-C stops the saving, never the closing. In a child process that was forked this does nothing.
        """
        if not self.process.is_current():
            return
        with deadline.suspended(), uninterrupted() as interruptible, self._one_writer.alone():
            if self.closed:
                return
            try:
                with interruptible():
                    self._save_what_changed()
            finally:  # every document is in SQLite, whatever went wrong
                self.labelling.stop()
                with self._lock.writing():
                    self.closed = True
                    if self.vectors is not None:
                        self.vectors.close()
                    self.store.close()
                    self.tree.vectors = self.baseline = None
                    self.concepts.clear()
                    self.table.clear()
                    self.planes.clear()

    def _save_what_changed(self) -> None:
        """Save tree and labels. Where another process has written since, it is left to that one."""
        on_disk = self.store.writable and self.store.layout is not None
        if not on_disk or self._broken or self.tree.degraded or not self.store.database.is_current():
            return
        if self.tree.snapshot_due(closing=True):
            try:
                with self.store.turn(_CLOSING_WAIT):
                    if not self._is_behind():
                        self._save_tree()
            except (LockedError, MemoryError) as error:
                _log.warning("%s is closed without a snapshot, the log is kept instead: %s", self.store.where, error)
        if self.vectors is not None:
            try:
                if self._is_behind():
                    return
                self.labelling.finish(names=False)  # names that a model has given are kept, others are not waited for
            except (GossamerError, MemoryError) as error:
                _log.warning("%s is closed without all labels, they are made later: %s", self.store.where, error)

    def _save_tree(self) -> None:
        if self.vectors is not None:
            if self.vectors.renewing:
                self.write(Change("settle"))
            self.vectors.build_links()  # once here, not once in each process that opens it
        self.tree.snapshot()

    # -- checks ------------------------------------------------------------------------------------

    def check_process(self) -> None:
        """Raise in a forked child and within a labeller: both could wait for ever for a lock."""
        self.process.check()
        if is_labelling(self._labeller):
            raise StateError("a labeller cannot use the index whose concepts it names: all it gets is its request")

    def check_usable(self) -> None:
        """Raise unless the index is open, in this process, and in a known state."""
        self.check_process()
        if self.closed:
            raise ClosedError("this index was closed: open it again with Index.open")
        if self._broken is not None:
            raise StateError(f"the index could not be read back after an error ({self._broken}): open it again")
