"""The labels of an open index: made in the background when the tree has changed, kept on disk, read by every search.

`Labelling.current` is one immutable value. A thread makes the next one from a copy of the tree, while searches and
changes go on, and puts it in place as a whole; the thread ends when there is nothing left to do. A search takes what is
there and never waits. Calls that are about concepts (`Index.concepts`, `labels`, `topics`) make the labels that they
show, where these are missing: the same ones, since a label depends on the tree and its texts alone.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from threading import Condition, Lock, RLock, Thread, current_thread
from typing import Any, Final, NamedTuple
from weakref import WeakMethod

import numpy as np

from gossamer.array_types import NONE, DocumentNumber, Floats, Longs, PassageNumber
from gossamer.errors import DiskError, GossamerError
from gossamer.explain.background import Background
from gossamer.explain.labelling import Family, Labels, Name, make
from gossamer.explain.meaning import Meaning
from gossamer.explain.naming import Labeller, Renamed, ask, names_that_fit, renamed_concepts, request_for
from gossamer.explain.passages import READ, SHOWN, Passage, Pause, Texts
from gossamer.explain.proposals import Proposals
from gossamer.explain.sampling import Members, TreeState
from gossamer.explain.saved_labels import from_text, to_text
from gossamer.plain_text import beginning
from gossamer.runtime import deadline
from gossamer.runtime.threads import stop_at_exit
from gossamer.store import NameRow, Store, log, rows
from gossamer.store.label_file import SavedLabels, read_labels, write_labels
from gossamer.store.names import read_names
from gossamer.tree.arrays import DOCUMENT_FIELDS, NODE_FIELDS, Meta, rows_in_use
from gossamer.tree.browsing import shown_concepts, top_paths
from gossamer.vector_index import VectorIndex
from gossamer.whitening.whitening import Whitening

_log = logging.getLogger("gossamer.index")

SMALL: Final = 256
"""Passages up to which a search makes missing labels itself: it takes a few milliseconds, and scripts that add a few
documents and search at once see labels."""

_QUIET: Final = 0.2
"""Seconds without a change before labels are made: changes that follow each other closely are labelled together."""
_LONGEST: Final = 5.0
"""Seconds after the first change of which the labels are not made yet, at most."""
_SELDOM: Final = 4.0
"""... or so many times what making them took, if that is more."""
_REST: Final = 1e-4
"""Seconds that the thread sleeps after each concept, so that searches need not wait for the interpreter."""
_JOIN: Final = 0.1
"""Seconds between two looks at a thread that is to end."""
_TRIES: Final = 3
"""How often `finish` starts again because documents came while a labeller was at work."""
_TOP: Final = 2
"""Levels that are labelled first where there are no labels yet."""
_SAVED_FROM: Final = 1 / 16
"""Share of the labels that have changed before the file is written; `settle` and `close` write it in any case."""


class Frozen(NamedTuple):
    """A copy of the tree at an operation, as far as labels need it, and the names that were given by hand.

    Vectors are shared: rows are not overwritten while their documents are there, and a label of a document that is gone
    is made again.
    """

    operation: int
    tree: TreeState
    renamed: tuple[Renamed, ...]
    rebuilt: int
    """The operation that built the tree."""


class _StoppedError(Exception):
    """The index is being closed."""


class _ChangedError(Exception):
    """The tree has changed: its labels come before further names."""


def frozen(vectors: VectorIndex, operation: int, db: sqlite3.Connection | None = None) -> Callable[[], Frozen]:
    """Copy what further changes would change; the caller keeps them away. The rest is done by what is returned."""
    t, settled, ids = vectors.tree.skeleton, vectors.state.settled, vectors.state.ids.numbers()
    used = rows_in_use(t.meta)
    copied: dict[str, Any] = {name: getattr(t, name)[: used[name]].copy() for name in (*NODE_FIELDS, *DOCUMENT_FIELDS)}
    arrays = t._replace(**copied, key=t.key[: used["key"]].copy(), meta=t.meta.copy())
    project = partial(_projected, vectors.whitener)
    renamed = () if db is None else tuple(_renamed(db, row) for row in read_names(db))
    rebuilt = log.last_refit(db) if db is not None and renamed else 0

    def finished() -> Frozen:
        passages: Longs = np.full(int(arrays.meta[Meta.NEXT_DOCUMENT]), NONE, np.int64)
        numbers = np.fromiter(ids.values(), np.int64, len(ids))
        passages[numbers] = np.fromiter(ids, np.int64, len(ids))
        return Frozen(operation, TreeState(arrays, passages, settled, project), renamed, rebuilt)

    return finished


def _projected(whitener: Whitening | None, E: Floats) -> Floats:
    return E if whitener is None else whitener.project(E)


def _renamed(db: sqlite3.Connection, row: NameRow) -> Renamed:
    """A name with passages of its concept. Stored are documents, which stay when all texts are encoded again."""
    passages = rows.passages_of(db, [DocumentNumber(document) for document in row.members])
    return Renamed(row.concept, row.name, row.operation, row.size, tuple(passages))


class Labelling:
    """The labels of one index. Safe for threads."""

    def __init__(
        self,
        store: Store,
        labeller: Labeller | None,
        freeze: Callable[[], Frozen | None],
        texts: Callable[[TreeState], Texts],
        meaning: Callable[[], Meaning],
    ) -> None:
        """`freeze` copies the tree as it is, None where there is none; `texts` reads the passages of such a copy.

        `meaning` is the encoder as labels use it. All are bound methods; their object is not kept alive.
        """
        self.current = Labels()
        self._store = store
        self._labeller = labeller
        self._given_by = str(getattr(labeller, "name", ""))  # a model is known again by its name
        self._freeze, self._texts, self._meaning = WeakMethod(freeze), WeakMethod(texts), WeakMethod(meaning)
        self._one_pass, self._one_naming, self._one_save, self._publishing = Lock(), Lock(), Lock(), Lock()
        self._mutex = RLock()
        self._waiting = Condition(self._mutex)  # entering the lock itself cannot be interrupted half-way
        self._thread: Thread | None = None
        self._changed = 0.0  # when the first change came that is not labelled; 0 without one
        self._latest = 0.0
        self._took = 0.0  # seconds of the last pass
        self._asking = False
        self._stopped = False
        self._saved: Labels | None = None  # what is in the file
        self._members: tuple[Frozen, Members] | None = None  # of the operation that labels were last asked for
        self._encoder: Meaning | None = None
        self._background: Background | None = None  # of the corpus that labels were last made against
        stop_at_exit(self.stop)

    # -- what others call --------------------------------------------------------------------------

    def load(self) -> None:
        """Read the labels from disk, for a tree that was just loaded."""
        self.current, self._saved = Labels(), None
        found = None if self._store.layout is None else read_labels(self._store.layout, self._store.settings.identity)
        if found is None:
            return
        try:
            saved = from_text(found.text)
        except ValueError as error:
            _log.warning("the labels of %s cannot be read, they are made again: %s", self._store.where, error)
            return
        labels, copied = saved.labels, self._copy()
        if self._labeller is not None and (not self._given_by or saved.labeller != self._given_by):
            labels = replace(labels, names={})  # another labeller gave them
        elif self._labeller is None:
            self._given_by = saved.labeller
        if copied is not None and copied.operation == found.operation and copied.tree.signature() == saved.signature:
            complete = labels.names == saved.labels.names
            labels = self._saved = replace(labels, operation=found.operation if complete else -1)
        self.current = labels

    def wake(self) -> None:
        """Say that the tree has changed: its labels are made soon, in another thread."""
        with self._mutex:
            now = time.monotonic()
            self._changed, self._latest = self._changed or now, now
            if self._thread is None and not self._stopped:
                step = WeakMethod(self._step)
                thread = Thread(target=_work, args=(step,), name="gossamer-labels", daemon=True)
                with suppress(RuntimeError):  # no more threads: labels are made when they are asked for
                    thread.start()
                    self._thread = thread

    def finish(self, *, names: bool = True) -> None:
        """Make all labels of the tree as it is now, in this thread, and write them to disk.

        `names`: wait for the labeller, too.
        """
        for _ in range(_TRIES):
            with deadline.holding(self._one_pass):
                self._pass(deadline.check)
            if not names or self._labeller is None:
                break
            with suppress(_ChangedError), deadline.holding(self._one_naming):
                self._give_names(deadline.check)
                break
        with suppress(_StoppedError):
            self._save()

    def outdate(self) -> None:
        """Say that the tree is another one than that of its operation: no label is taken as made for it."""
        self._members = None
        self._publish(partial(replace, operation=-1))

    def stop(self) -> None:
        """End the thread, and wait until it has ended. Labels that are not made yet are not made any more.

        While a labeller is at work it is not waited for: when it answers, the thread ends and changes nothing.
        """
        with self._mutex:
            self._stopped = True
            self._waiting.notify_all()
            thread = self._thread
        while thread is not None and thread is not current_thread() and thread.is_alive() and not self._asking:
            thread.join(_JOIN)

    def shown_in(
        self,
        freeze: Callable[[], Frozen],
        operation: int,
        texts: Texts,
        paths: Sequence[Sequence[int]],
        inner: Set[int],
    ) -> Labels:
        """All labels there are, those of the internal nodes on some shown paths among them, made where they are not.

        The caller keeps changes away, and reads the tree at `operation`, which `freeze` copies.
        """
        known = self.current
        if known.operation == operation and inner <= known.of.keys():
            return known
        kept = self._members
        if kept is None or kept[0].operation != operation:
            copied = freeze()
            kept = self._members = copied, Members(copied.tree)
        copied, members = kept
        with self._working(members, texts, deadline.check) as work:
            found = make(work, Family.of_paths(members.arrays, paths))
        named = _named(found, copied, members, known)

        def merged(others: Labels) -> Labels:  # still complete: these are concepts that the view leaves out
            both = named.merged_into(others)
            return replace(both, operation=operation) if others.operation == operation else both

        return self._publish(merged)

    def rename(self, node: int, name: str) -> None:
        """Show the name of a concept before all labels are made again."""
        label = self.current.of.get(node)
        if label is not None:
            self._publish(Labels({node: replace(label, text=name)}).merged_into)

    # -- the thread --------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Wait until no change has come for a while, then make labels; returns whether to go on."""
        try:
            if self._wait_until_quiet():
                with self._holding(self._one_pass):
                    made = self._pass(self._rest)
                if made and made >= _SAVED_FROM * len(self.current.of):
                    self._save()
                if self._labeller is not None:
                    with self._holding(self._one_naming):
                        self._give_names(self._rest)
                    self._save()
                return True
        except _ChangedError:
            return True
        except BaseException:
            with self._mutex:
                self._thread = None
            raise
        return False

    def _wait_until_quiet(self) -> bool:
        with self._mutex:
            while not self._stopped and self._changed:
                longest = max(_LONGEST, _SELDOM * self._took)
                left = min(self._latest + _QUIET, self._changed + longest) - time.monotonic()
                if left <= 0.0:
                    return True
                self._waiting.wait(left)
            self._thread = None
            return False

    @contextmanager
    def _holding(self, lock: Lock) -> Iterator[None]:
        """``with lock``, but give up when the index is closed: Ctrl-C can make another thread leave a lock held."""
        while not lock.acquire(timeout=_JOIN):
            if self._stopped:
                raise _StoppedError
        try:
            yield
        finally:
            lock.release()

    def _rest(self) -> None:
        if self._stopped:
            raise _StoppedError
        time.sleep(_REST)

    def _pass(self, pause: Pause) -> int:
        """Make the labels of the tree as it is now; returns how many were made anew. The caller holds `_one_pass`."""
        with self._mutex:
            changed, self._changed = self._changed, 0.0
        start = time.monotonic()
        try:
            return self._made(pause)
        except BaseException:
            with self._mutex:
                self._changed = self._changed or changed
            raise
        finally:
            self._took = time.monotonic() - start

    def _made(self, pause: Pause) -> int:
        copied, read, known = self._copy(), self._texts(), self.current
        if copied is None or read is None or copied.operation == known.operation:
            return 0
        t, members = copied.tree.arrays, Members(copied.tree)
        with self._working(members, read(copied.tree), pause) as work:
            if not known.of:
                top = make(work, Family.of_paths(t, list(top_paths(t, _TOP))))
                self._publish(_named(top, copied, members, known).merged_into)
            found = make(work, Family.whole(t))
        complete = replace(_named(found, copied, members, known), operation=copied.operation)
        self._publish(lambda _: complete)
        self._members = None
        return work.made

    @contextmanager
    def _working(self, members: Members, texts: Texts, pause: Pause) -> Iterator[Proposals]:
        """Proposals to be made. Where that is ended, by a deadline for example, the next call goes on from there."""
        meaning = self._meaning()
        given = None if meaning is None else meaning()
        if self._encoder is None or given is None or given.name != self._encoder.name or not self._encoder.available:
            self._encoder = given
        work = Proposals(members, texts, self.current.proposals, pause, self._background, self._encoder)
        try:
            yield work
        except BaseException:
            self._publish(Labels(proposals=work.found).merged_into)
            raise
        if work.made:
            self._background = work.background

    def _give_names(self, pause: Pause) -> None:
        """Let the labeller name concepts that have no name: as many of the largest as it has calls, small ones first.

        The caller holds `_one_naming`.
        """
        labeller, copied, read = self._labeller, self._copy(), self._texts()
        if labeller is None or copied is None or read is None or copied.operation != self.current.operation:
            return
        t, members, texts = copied.tree.arrays, Members(copied.tree), read(copied.tree)
        parents, by_hand = shown_concepts(t), renamed_concepts(members, copied.renamed, copied.rebuilt)
        missing = [node for node in parents if node not in self.current.names and node not in by_hand]
        missing.sort(key=lambda node: (-int(t.size[node]), node))
        calls = getattr(labeller, "calls", len(missing))
        for node in reversed(missing[:calls]):
            pause()
            if self._changed:
                raise _ChangedError
            label = self.current.of[node]
            places = members.places_of(label.exemplars)
            shown = texts([int(members.documents[places[passage]]) for passage in label.exemplars])
            exemplars = [beginning(passage.text, SHOWN) for passage in shown]
            request = request_for(node, int(t.size[node]), self.current.of, parents, exemplars)
            self._asking = True
            try:
                text = ask(labeller, request)
            finally:
                self._asking = False
            if self._stopped:  # closed while the labeller was at work
                return
            name = Name(text, members.sketch(node))
            self._publish(partial(Labels.with_name, node=node, name=name))

    def _publish(self, change: Callable[[Labels], Labels]) -> Labels:
        with self._publishing:
            self.current = change(self.current)
            return self.current

    def _copy(self) -> Frozen | None:
        freeze = self._freeze()
        return None if freeze is None else freeze()

    def _save(self) -> None:
        """Write the file, unless another process is writing or has written since. Without it labels are made again."""
        with self._holding(self._one_save):
            self._write()

    def _write(self) -> None:
        labels, store = self.current, self._store
        if store.layout is None or not store.writable or labels.operation < 0 or labels is self._saved:
            return
        copied = self._copy()
        if copied is None or copied.operation != labels.operation:
            return
        text = to_text(labels, copied.tree.signature(), self._given_by)
        try:
            with store.turn_at(labels.operation) as mine:
                if mine:
                    write_labels(store.layout, store.settings.identity, SavedLabels(labels.operation, text))
                    self._saved = labels
        except (DiskError, MemoryError) as error:
            _log.warning("the labels of %s were not saved, they are made again: %s", store.where, error)


def _named(found: Labels, copied: Frozen, members: Members, known: Labels) -> Labels:
    """Labels with the names of concepts that have one: by hand, or by a labeller."""
    names = names_that_fit(members, found.of, known.names)
    texts = {node: name.text for node, name in names.items() if name.text}
    by_hand = renamed_concepts(members, copied.renamed, copied.rebuilt)
    return replace(found, names=names).renamed({**texts, **by_hand}, known.of)


def _work(step: WeakMethod[Callable[[], bool]]) -> None:
    """Call a method until it returns False, or nobody uses its object any more."""
    try:
        while (method := step()) is not None and method():
            del method
    except _StoppedError:
        pass
    except (GossamerError, MemoryError) as error:
        _log.info("labels are made later: %s", error)
    except Exception:
        _log.exception("labels could not be made")


def passage_texts(tree: TreeState, reading: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> Texts:
    """Reads the passages of documents of a tree; one that is gone meanwhile has no text."""

    def texts(documents: Sequence[int]) -> list[Passage]:
        wanted = [PassageNumber(int(id)) for id in tree.passages[list(documents)]]
        with reading() as db:
            found = rows.passage_texts(db, wanted, max(READ, 4 * SHOWN))
        return [Passage(*found.get(passage, ("", ""))) for passage in wanted]

    return texts
