"""Documents and their passages as arrays in memory: whose passage is whose, and which documents a filter lets through.

A document has a *row*: its place in the order of arrival. A passage has the number that the tree gives it. The table is
derived from the database and the tree, and follows both when it is used. Removed documents keep their rows; their
passages are not in the tree any more.
"""

import sqlite3
from collections.abc import Sequence
from threading import Lock
from weakref import ReferenceType, ref

import numpy as np

from gossamer.array_types import NONE, DocumentNumber, Ints, Longs
from gossamer.errors import CorruptError
from gossamer.filters import Node
from gossamer.index.metadata_columns import MetadataColumns
from gossamer.runtime import deadline
from gossamer.store import rows
from gossamer.tree.scoring import Flags
from gossamer.vector_index.vector_index import VectorIndex


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
        self._metadata = MetadataColumns()

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
            self._vectors, self._operation = ref(vectors), operation

    def _add_passages(self, db: sqlite3.Connection, vectors: VectorIndex) -> None:
        """Take in the passages that the tree has numbered since."""
        known, now = len(self._row_of), vectors.tree.next_document
        came = known + np.flatnonzero(vectors.tree.arrays.leaf[known:now] != NONE)
        owners = _owners(db, np.array(vectors.ids_of(came), np.int64))
        documents = np.unique(owners)
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
        owners: Longs = self._numbers[self._row_of[passages]]
        return owners

    def passages(self, documents: Longs | Sequence[DocumentNumber]) -> Longs:
        """All passages of some documents that are in the index."""
        order, row_of = None, self._row_of
        if not self._ascending:
            order = np.argsort(row_of, kind="stable")
            row_of = row_of[order]
        wanted = self.rows_of(documents)
        starts = np.searchsorted(row_of, wanted)
        counts = np.searchsorted(row_of, wanted, "right") - starts
        places = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        if order is not None:
            places = order[places]
        alive: Longs = places[self._leaves()[places] != NONE]
        return alive

    def all_passages(self) -> Longs:
        """All passages that are in the index, ascending."""
        return np.flatnonzero(self._leaves() != NONE)

    def _leaves(self) -> Ints:
        """The leaf of each passage; NONE where it is gone."""
        vectors = None if self._vectors is None else self._vectors()
        assert vectors is not None
        leaves: Ints = vectors.tree.arrays.leaf[: len(self._row_of)]
        return leaves

    def owning(self, passages: Flags) -> Longs:
        """The numbers of the documents that own a passage with a flag, ascending."""
        having = np.zeros(len(self._numbers), np.bool_)
        having[self._row_of[np.flatnonzero(passages)]] = True
        return self._numbers[having]

    # -- filters -----------------------------------------------------------------------------------

    def matching(self, db: sqlite3.Connection, where: Node) -> Flags:
        """A flag for each passage, set where its document matches a filter."""
        flags = self._metadata.matching(db, self._numbers, where).view(np.uint8)
        one_each = self._ascending and len(self._row_of) == len(self._numbers)
        return flags if one_each else flags.take(self._row_of)

    def unknown_fields(self, db: sqlite3.Connection, where: Node) -> tuple[str, ...]:
        """A sentence for each field that a filter compares and no document has."""
        return tuple(self._metadata.unknown_fields(db, self._numbers, where))


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
