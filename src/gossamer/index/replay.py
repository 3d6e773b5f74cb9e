"""The tree and the words of a store, computed from its snapshots and log, and kept in step with the log.

In: a `Store` (documents, an ordered log of operations, snapshots). Out: a `VectorIndex` over the vectors of all
passages and the `Words` of all documents, at the newest operation. A live operation and a replayed one go through the
same `stage`, with the same rows in the same batches, so both give the same tree. Staging does everything that can fail;
applying what was staged cannot fail, so it is done after the commit.

Opening tries, in this order: a snapshot and the log after it; the whole log since the last refit; a new tree over all
passages (`regrown`); and where even that fails, exact search without a tree (`degraded`).
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gossamer.array_types import Floats
from gossamer.checks import LARGEST
from gossamer.errors import CorruptError, DiskError, GossamerError, LockedError, NotAnIndexError
from gossamer.files.bundle import Bundle
from gossamer.index.words import catch_up, check_words, load_words, make_words
from gossamer.lexical.words import Words
from gossamer.store import Step, Store, log, rows
from gossamer.store.schema import GIVEN, read_space
from gossamer.store.snapshots import Snapshot
from gossamer.vector_index import Source, Staged, VectorIndex
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.index")

_ATTEMPTS = 5
"""How often loading starts again when another process removes the snapshot that it was about to read."""

_LOADED_SOONER = 0.05
"""Share of the index: for so much work in the log, reading a whole snapshot takes about as long as replaying it."""


@dataclass(frozen=True)
class StagedStep:
    """A step of the log that is ready to be applied: `apply` cannot fail."""

    vectors: VectorIndex | None
    change: Staged | None
    seq: int

    def apply(self) -> VectorIndex | None:
        """Apply the step. Returns the tree after it: the same one, changed, or a new one."""
        if self.change is not None:
            self.change.operation = self.seq
            self.change.apply()
        return self.vectors


def stage(step: Step, vectors: VectorIndex | None, store: Store) -> StagedStep:
    """Do everything of `step` that can fail. `vectors` must not be changed until the step is applied."""
    if step.kind == "settle":
        settling = None if vectors is None or not vectors.renewing else vectors.stage_settling()
        return StagedStep(vectors, settling, step.seq)
    if step.kind == "refit":
        vectors = None
    if vectors is None:
        if len(step.removed):
            raise CorruptError(f"operation {step.seq} removes passages where there are none")
        if not len(step.added):
            return StagedStep(None, None, step.seq)
        vectors = _new_tree(step.vectors.shape[1], store)
        vectors.read_raw_from(raw_source(store))
    elif not len(step.added) and not len(step.removed):
        return StagedStep(vectors, None, step.seq)
    elif len(step.added) and step.vectors.shape[1] != vectors.dim:
        raise CorruptError(
            f"operation {step.seq} adds vectors of {step.vectors.shape[1]} dimensions to an index of {vectors.dim}"
        )
    change = vectors.stage(step.vectors, step.added.tolist(), step.removed.tolist())
    return StagedStep(vectors, change, step.seq)


def _new_tree(dim: int, store: Store) -> VectorIndex:
    """An empty tree for vectors of this dimension, as the settings of a store have it."""
    if store.settings.preset != GIVEN:
        return VectorIndex(dim, "paper" if store.settings.preset == "paper" else "default")
    with store.reading() as db:
        space = read_space(db)
    whitener = Whitening.from_bundle(space.part("whitener")) if "whitener" in space.params else None
    acuity = space.number("acuity", 0.0, LARGEST) if "acuity" in space.params else None
    return VectorIndex(dim, whitener=whitener, acuity=acuity)


def apply(step: Step, vectors: VectorIndex | None, store: Store) -> VectorIndex | None:
    """The tree after `step`: the same one, changed, or a new one."""
    return stage(step, vectors, store).apply()


def raw_source(store: Store) -> Source | None:
    """Reads vectors as the encoder made them, for fitting the whitener again; None where they are kept in memory."""
    if store.layout is None:
        return None  # its one connection belongs to the writer, who waits for the thread that would read

    def read(passages: Sequence[Any]) -> Floats:
        with store.reading() as db:
            return rows.vectors_in_order(db, passages)

    return read


class LoggedTree:
    """The tree and the words of a store, and the operation they stand at.

    vectors     the tree with its vectors; None while the index is empty
    words       of all documents
    seq         the newest operation that the tree contains; -1 where the tree has to be loaded again
    regrown     the tree was built from all passages, not by the log; a refit is logged before the next change
    degraded    why there are no concepts and searches are exact; None in the normal case
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending = 0  # work in the log since the last snapshot
        self._saved = 0  # the operation of that
        self._settled = True  # whether the last snapshot contains links for all leaves, and words
        self._damaged: list[int] = []  # operations whose snapshot could not be read
        self._failure: Exception | None = None  # why the last attempt to compute the tree failed
        self.vectors: VectorIndex | None = None
        self.words = Words.empty("none")
        self.seq = 0
        self.regrown = False
        self.degraded: str | None = None

    # -- reading -----------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the newest usable snapshot and replay the log after it, or build the tree again."""
        store = self._store
        self.degraded, self.regrown = None, False
        for _ in range(_ATTEMPTS):
            with store.reading() as db:
                store.read_settings(db)
                last = log.last_seq(db)
                seen = store.snapshots()
                ahead = next((seq for seq in seen if seq > last and store.has_snapshot(seq)), None)
                if ahead is None:
                    if self._load_snapshot(db, seen, last):
                        return
                    if store.snapshots() == seen:
                        self.vectors = self._rebuild(db, last)
                        self._load_words(db, None, last)
                        return
        if ahead is None:
            raise LockedError(f"{store.where} changed {_ATTEMPTS} times while it was read: try again")
        raise store.lost_operations(last, ahead)

    def catch_up(self) -> None:
        """Bring the tree to the newest operation: replay what another process has written, or load what it saved."""
        with self._store.reading() as db:
            settings = self._store.read_settings(db)
            replayable = 0 <= self.seq >= settings.forgotten and self.degraded is None
            if replayable and not self._is_loaded_sooner(db):
                since = self.seq
                self.vectors = self._replay(db, self.vectors)
                self.words = catch_up(db, self.words, settings, since) or make_words(db, settings)
                return
        self.load()

    def _is_loaded_sooner(self, db: sqlite3.Connection) -> bool:
        """Whether another process has saved the tree so much later that reading that takes less time than a replay."""
        store, last = self._store, log.last_seq(db)
        newest = next((seq for seq in store.snapshots() if self.seq < seq <= last and store.has_snapshot(seq)), None)
        if newest is None:
            return False
        skipped = log.work_after(db, self.seq) - log.work_after(db, newest)
        return skipped > max(store.policy.snapshot_after, _LOADED_SOONER * self._size())

    def _size(self) -> int:
        return 0 if self.vectors is None else len(self.vectors)

    def is_behind(self, db: sqlite3.Connection) -> bool:
        """Whether another process has written since the tree was brought up to date."""
        if self._store.layout is None:
            return False
        self._store.check_is_current()
        return log.last_seq(db) != self.seq

    def invalidate(self) -> None:
        """Drop a tree that may contain half of an operation; the next call loads it again."""
        self.seq, self.vectors = -1, None

    def _load_snapshot(self, db: sqlite3.Connection, snapshots: list[int], last: int) -> bool:
        """Load the newest snapshot that can be read, with the log after it; False where there is none."""
        for seq in snapshots:
            if not self._store.settings.forgotten <= seq <= last:
                continue
            try:
                with self._store.reading_snapshot(seq) as saved:
                    vectors = VectorIndex.from_bundle(saved.vectors, raw_source(self._store))
            except (GossamerError, MemoryError) as error:
                _log.warning("snapshot %d of %s cannot be used, trying an older one: %s", seq, self._store.where, error)
                if isinstance(error, CorruptError | NotAnIndexError):
                    self._damaged.append(seq)
                continue
            self.seq, self._settled, self._pending, self._saved = seq, vectors.settled, 0, seq
            with self._contained("replaying the log after a snapshot"):
                self.vectors = self._replay(db, vectors)
                self._load_words(db, saved.words, seq)
                return True
        return False

    def _load_words(self, db: sqlite3.Connection, saved: Bundle | None, seq: int) -> None:
        """Set the words to those of a snapshot, caught up, or make them again."""
        words = load_words(db, saved, self._store.settings, seq)
        self.words = make_words(db, self._store.settings) if words is None else words
        self._settled = self._settled and words is not None

    def _rebuild(self, db: sqlite3.Connection, last: int) -> VectorIndex | None:
        """The tree without a snapshot: from the log since the last refit, else from all passages, else degraded."""
        start = max(0, log.last_refit(db) - 1)
        if start >= self._store.settings.forgotten:
            if last:
                _log.info("growing the tree of %s by the log from operation %d on", self._store.where, start + 1)
            self.seq, self._pending, self._saved = start, 0, 0
            with self._contained("replaying the log"):
                return self._replay(db, None)
        _log.warning("no snapshot of %s can be used: growing its tree again from all documents", self._store.where)
        self.seq, self.regrown = last, True
        step = log.read_step(db, last, "refit")
        with self._contained("growing the tree from all documents"):
            return apply(step, None, self._store)
        self.regrown = False
        self.degraded = f"its tree could not be made ({self._failure})"
        _log.error(
            "%s is degraded: %s. Searches look at everything; run gossamer repair", self._store.where, self.degraded
        )
        return VectorIndex.flat(step.vectors, step.added.tolist()) if len(step.added) else None

    @contextmanager
    def _contained(self, doing: str) -> Iterator[None]:
        """Log a failure to compute the tree and go on. Failures to read the database, and Ctrl-C, are raised."""
        try:
            yield
        except (DiskError, sqlite3.Error):
            raise
        except Exception as error:
            self._failure = error
            _log.warning("%s failed for %s, trying another way: %r", doing, self._store.where, error)

    def _replay(self, db: sqlite3.Connection, vectors: VectorIndex | None) -> VectorIndex | None:
        for step in log.steps_after(db, self.seq):
            vectors = apply(step, vectors, self._store)
            self.committed(step)
        return vectors

    def committed(self, step: Step) -> None:
        """Note an operation that was committed, and that is applied to the tree now or right after this call."""
        self.seq = step.seq
        self._pending += step.work
        if step.kind == "refit":
            self.regrown = False

    # -- snapshots ---------------------------------------------------------------------------------

    def snapshot_due(self, *, closing: bool = False) -> bool:
        """Whether a snapshot pays: the log is long or, when closing, links are not saved (see `Policy`)."""
        if not closing and self.vectors is not None and self.vectors.renewing:
            return False  # a snapshot has no place for a tree that is being made; soon that is in use
        if not self._is_long(closing):
            return False
        return not self._was_saved_elsewhere() or self._is_long(closing)

    def _is_long(self, closing: bool) -> bool:
        size, policy = self._size(), self._store.policy
        if closing:
            return (self._pending if self._settled else self._pending + size) > policy.closing_share * size
        return self._pending > max(policy.snapshot_after, policy.snapshot_share * size)

    def _was_saved_elsewhere(self) -> bool:
        """Whether another process has taken a newer snapshot; then work is counted from that one."""
        store = self._store
        newer = (seq for seq in store.snapshots() if self._saved < seq <= self.seq and seq not in self._damaged)
        found = next((seq for seq in newer if store.has_snapshot(seq)), None)
        if found is None:
            return False
        with store.reading() as db:
            self._saved, self._pending = found, log.work_after(db, found)
        return True

    def snapshot(self) -> None:
        """Save the tree and drop the history it replaces. Where that fails, the log is kept and nothing is lost."""
        try:
            if self._store.layout is None:
                self._store.drop_history(self.seq)  # nothing in memory is ever replayed
            elif self.vectors is not None:
                settled = self.vectors.settled  # before: a search may build links meanwhile
                content = Snapshot(self.vectors.to_bundle(), self.words.to_bundle())
                self._store.write_snapshot(self.seq, content, self._damaged)
                self._settled, self._saved = settled, self.seq
                self._damaged.clear()
                self._store.drop_history(self._store.remove_old_snapshots(self.seq))
        except (DiskError, MemoryError) as error:
            _log.warning("no snapshot of %s was written, the log is kept instead: %s", self._store.where, error)
        self._pending = 0

    def compact(self) -> None:
        """Save the tree, and drop all other snapshots and the history before it. Errors are raised.

        An empty tree is not saved: its last operation must be a refit, by which it is replayed.
        """
        store, through = self._store, self.seq
        if self.vectors is None:
            store.remove_snapshots(but=None)
            through -= 1
        elif store.layout is not None:
            if not store.has_snapshot(self.seq):
                settled = self.vectors.settled
                store.write_snapshot(self.seq, Snapshot(self.vectors.to_bundle(), self.words.to_bundle()), ())
                self._settled, self._saved = settled, self.seq
            store.remove_snapshots(but=self.seq)
            self._damaged.clear()
        store.drop_history(through)
        self._pending = 0

    # -- checking ----------------------------------------------------------------------------------

    def check(self, db: sqlite3.Connection) -> None:
        """Raise `CorruptError` unless the tree is consistent and contains exactly the passages that `db` sees."""
        if self.vectors is not None:
            self.vectors.check()
        self._store.check_content(db)
        check_words(db, self.words, self._store.settings)
        numbers, _ = rows.vectors_where(db, "gone IS NULL", ())
        held = [] if self.vectors is None else [number for number in numbers.tolist() if number in self.vectors]
        if not self._size() == len(held) == len(numbers):
            raise CorruptError(
                f"the tree has {self._size()} passages, the database {len(numbers)} or other ones: open it again"
            )
