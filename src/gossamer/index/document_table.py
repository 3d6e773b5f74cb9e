"""Documents and their passages as arrays in memory: whose passage is whose, and which documents a filter lets through.

A document has a *row*: its place in the order of arrival. A passage has the number that the tree gives it. The table is
derived from the database and the tree, and follows both when it is used. Removed documents keep their rows; their
passages are not in the tree any more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final, NamedTuple
from weakref import ReferenceType, ref

import numpy as np

from gossamer.array_types import NONE, Bools, DocumentNumber, Ints, Longs
from gossamer.errors import CorruptError
from gossamer.filters import Condition, Node, Path
from gossamer.index.metadata_columns import MetadataColumns
from gossamer.rank.request import Restriction
from gossamer.results import Document
from gossamer.runtime import deadline
from gossamer.store import rows
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.scoring import Flags
from gossamer.vector_index.vector_index import VectorIndex

_KEPT: Final = 8
"""Filters whose documents are kept: two bytes a passage for each."""


class _Places(NamedTuple):
    """Where documents stand in another list of documents; both are ascending."""

    numbers: Longs
    of: Longs
    places: Longs | None
    """None where both lists are the same."""
    there: Bools | None
    """Which of them are there; None where all are."""

    @classmethod
    def of_each(cls, numbers: Longs, of: Longs) -> _Places:
        """The place of each of `numbers` in `of`."""
        if np.array_equal(numbers, of):
            return cls(numbers, of, None, None)
        places = np.minimum(np.searchsorted(of, numbers), len(of) - 1)
        there = of[places] == numbers
        return cls(numbers, of, places, None if there.all() else there)

    def take_from(self, flags: Bools) -> Bools:
        """The flags of the documents; False where one is not in the other list."""
        found = flags if self.places is None else flags[self.places]
        return found if self.there is None else found & self.there


class DocumentTable:
    """The documents of an index by row. Threads that read the same state of the index share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.clear()

    def clear(self) -> None:
        """Forget everything; the next use reads it again."""
        self._vectors: ReferenceType[VectorIndex] | None = None
        self._operation = -1
        self._numbers: Longs = np.empty(0, np.int64)  # of documents, by row; ascending
        self._row_of: Ints = np.empty(0, np.int32)  # by number of a passage
        self._ascending = True  # whether the passages are in order of their rows
        self._one_each = True  # whether row n is that of passage n
        self._places: _Places | None = None
        self._metadata = MetadataColumns()
        self._matching: dict[str, Restriction] = {}  # by filter

    def follow(self, db: sqlite3.Connection, vectors: VectorIndex, operation: int) -> None:
        """Take in what changed up to `operation`, which `db` and `vectors` stand at."""
        if operation == self._operation and self._vectors is not None and self._vectors() is vectors:
            return
        with deadline.holding(self._lock):
            if self._vectors is None or self._vectors() is not vectors:
                self.clear()
            self._add_passages(db, vectors)
            if len(self._metadata):
                updated = rows.updated_since(db, self._operation)
                self._metadata.note_changes(None if updated is None else self.rows_of(updated).tolist())
            self._matching = {}
            self._vectors, self._operation = ref(vectors), operation

    def _add_passages(self, db: sqlite3.Connection, vectors: VectorIndex) -> None:
        """Take in the passages that the tree has numbered since."""
        known, now = len(self._row_of), vectors.tree.next_document
        came = known + np.flatnonzero(vectors.tree.skeleton.leaf[known:now] != NONE)
        owners = _owners(db, np.array(vectors.ids_of(came), np.int64))
        rising = bool((np.diff(owners) >= 0).all())  # as documents come; then sorting is not needed
        documents = owners[np.diff(owners, prepend=-1) > 0] if rising else np.unique(owners)
        new = documents[~np.isin(documents, self.numbers(self.rows_of(documents)))]
        if len(new) and len(self._numbers) and new[0] < self._numbers[-1]:  # the rows of others would change
            self.clear()
            self._add_passages(db, vectors)
            return
        self._numbers = np.concatenate([self._numbers, new])
        row_of = np.zeros(now, np.int32)
        row_of[:known] = self._row_of
        row_of[came] = np.searchsorted(self._numbers, owners)
        # Passages that are gone again get the row of the one before them, so that the order is kept.
        gaps = np.setdiff1d(np.arange(known, now), came, assume_unique=True)
        for gap in np.split(gaps, np.flatnonzero(np.diff(gaps) > 1) + 1) if len(gaps) else []:
            row_of[gap] = row_of[gap[0] - 1] if gap[0] else 0
        start = max(0, known - 1)
        self._ascending = self._ascending and bool((np.diff(row_of[start:]) >= 0).all())
        self._row_of = row_of
        self._one_each = self._ascending and len(row_of) == len(self._numbers)

    # -- documents ---------------------------------------------------------------------------------

    def rows_of(self, documents: Longs | Sequence[DocumentNumber]) -> Longs:
        """The rows of those of some documents that have one."""
        wanted = np.asarray(documents, np.int64)
        if not len(self._numbers):
            return np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        found: Longs = places[self._numbers[places] == wanted]
        return found

    def numbers(self, found: Longs) -> Longs:
        """The numbers of the documents in some rows."""
        return self._numbers[found]

    def owners(self, passages: Longs) -> Longs:
        """The number of the document of each passage."""
        owners: Longs = self._numbers[passages if self._one_each else self._row_of[passages]]
        return owners

    def passages(self, documents: Longs | Sequence[DocumentNumber]) -> Longs:
        """All passages of some documents that are in the index."""
        wanted = self.rows_of(documents)
        if self._one_each:
            there: Longs = wanted[self._leaves()[wanted] != NONE]
            return there
        order, row_of = None, self._row_of
        if not self._ascending:
            order = np.argsort(row_of, kind="stable")
            row_of = row_of[order]
        starts = np.searchsorted(row_of, wanted)
        counts = np.searchsorted(row_of, wanted, "right") - starts
        places = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        if order is not None:
            places = order[places]
        alive: Longs = places[self._leaves()[places] != NONE]
        return alive

    @property
    def one_each(self) -> bool:
        """Whether every document has one passage."""
        return self._one_each

    def first_passages(self, documents: Longs) -> Longs:
        """The first passage of each of some documents, which are there."""
        order = np.argsort(documents)
        passages = self.passages(documents[order])
        first = np.empty(len(documents), np.int64)
        first[order] = passages[np.unique(self._row_of[passages], return_index=True)[1]]
        return first

    def all_passages(self) -> Longs:
        """All passages that are in the index, ascending."""
        return np.flatnonzero(self._leaves() != NONE)

    def _leaves(self) -> Ints:
        """The leaf of each passage; NONE where it is gone."""
        vectors = None if self._vectors is None else self._vectors()
        assert vectors is not None
        leaves: Ints = vectors.tree.skeleton.leaf[: len(self._row_of)]
        return leaves

    def owning(self, passages: Flags) -> Longs:
        """The numbers of the documents that own a passage with a flag, ascending."""
        return self._numbers[self._owning(passages)]

    def which_own(self, numbers: Longs, passages: Flags) -> Bools:
        """Whether each of some documents, given in ascending order, owns a passage with a flag."""
        return self._places_of(numbers).take_from(self._owning(passages))

    def _owning(self, passages: Flags) -> Bools:
        """By row: whether the document owns a passage with a flag."""
        if self._one_each:
            return passages.view(np.bool_)
        having = np.zeros(len(self._numbers), np.bool_)
        having[self._row_of[np.flatnonzero(passages)]] = True
        return having

    def _places_of(self, numbers: Longs) -> _Places:
        """The rows of documents. Those of the last array asked for are kept: the words of an index ask again."""
        known = self._places
        if known is None or known.numbers is not numbers or known.of is not self._numbers:
            known = self._places = _Places.of_each(numbers, self._numbers)
        return known

    # -- filters -----------------------------------------------------------------------------------

    def matching(self, db: sqlite3.Connection, t: TreeArrays, where: Node) -> Restriction:
        """The passages of the documents that match a filter. Those of the last few filters are kept."""
        key, known = repr(where), self._matching  # not the node itself: of those, 1 and True are equal
        found = known.get(key)
        if found is None:
            found = self._restriction(t, self._metadata.matching(db, self._numbers, where))
            self._matching = dict([*known.items(), (key, found)][-_KEPT:])
        return found

    def wanted(self, db: sqlite3.Connection, t: TreeArrays, predicate: Callable[[Document], bool]) -> Restriction:
        """The passages of the documents for which a function is true. Every document is read and asked for."""
        matching = np.zeros(len(self._numbers), np.bool_)
        for row in rows.all_documents(db):
            deadline.check()
            if predicate(Document(row.id, row.text, row.read_metadata())):
                matching[self.rows_of([row.document])] = True
        return self._restriction(t, matching)

    def _restriction(self, t: TreeArrays, matching: Bools) -> Restriction:
        """The passages of documents, which are given by row."""
        flags = matching.view(np.uint8)
        found = Restriction.to(t, flags if self._one_each else flags.take(self._row_of), None)
        assert found is not None
        return found

    def doubts(
        self, db: sqlite3.Connection, paths: Sequence[Path], asked: Sequence[Condition], dated: Sequence[Path] = ()
    ) -> tuple[str, ...]:
        """A sentence for each of some fields that no document has, for each condition that fits no value, and for each
        of `dated`, which are among the fields, without a date."""
        return tuple(self._metadata.doubts(db, self._numbers, paths, asked, dated)) if paths else ()


def _owners(db: sqlite3.Connection, passages: Longs) -> Longs:
    """The documents of passages that are in the tree."""
    if not len(passages):
        return np.empty(0, np.int64)
    found, documents = rows.owners(db, int(passages.min()))
    places = np.minimum(np.searchsorted(found, passages), max(0, len(found) - 1))
    if not len(found) or not np.array_equal(found[places], passages):
        raise CorruptError(f"passages of the tree are missing from documents.sqlite: {rows.CURE}")
    owners: Longs = documents[places]
    return owners
