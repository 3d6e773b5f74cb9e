"""What adding a batch comes to: the step between checked input and a change of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from gossamer.array_types import Floats
from gossamer.index.batch import Batch
from gossamer.index.chunking import split
from gossamer.store import Change, DocumentRow, PassageRow, Settings, rows


class Plan:
    """Which documents are new, which are replaced, and which only change metadata."""

    def __init__(self, db: sqlite3.Connection, batch: Batch) -> None:
        self.ids = _numbered(db, len(batch.texts)) if batch.ids is None else batch.ids
        present = rows.documents_by_id(db, self.ids)
        self._next_document = rows.next_number(db, "documents")
        self._next_passage = rows.next_number(db, "passages")
        self._made_up = batch.ids is None
        self._rows = list(zip(self.ids, batch.texts, batch.metadata, strict=True))
        self._same = {id: row for (id, text, _) in self._rows if (row := present.get(id)) and row.text == text}
        self._present = present
        self._documents: list[DocumentRow] | None = None
        self.size_after = rows.count_documents(db) + len(self.ids) - len(present)

    def replace_all(self) -> None:
        """Take every text as new, also one that is there: its vector may be another."""
        self._same, self._documents = {}, None

    @property
    def new_texts(self) -> list[str]:
        """The texts that have to be encoded."""
        return [text for id, text, _ in self._rows if id not in self._same]

    @property
    def documents(self) -> list[DocumentRow]:
        """The documents that are new or have a new text."""
        if self._documents is None:
            self._documents = self._with_numbers()
        return self._documents

    def _with_numbers(self) -> list[DocumentRow]:
        new = [row for row in self._rows if row[0] not in self._same]
        # An id that we made up is its document's number, and so is never made up again.
        numbers = (int(id) for id in self.ids) if self._made_up else count(self._next_document)
        return [DocumentRow(number, *row) for number, row in zip(numbers, new, strict=False)]

    @property
    def relabelled(self) -> list[DocumentRow]:
        """The documents with other metadata and the text they had."""
        kept = ((self._same[id], metadata) for id, _, metadata in self._rows if id in self._same)
        return [replace(row, metadata=metadata) for row, metadata in kept if row.metadata != metadata]

    @property
    def removed(self) -> list[int]:
        """The documents that make place for a new text."""
        return sorted(row.document for id, row in self._present.items() if id not in self._same)

    def passages(self, spans: Sequence[Sequence[tuple[int, int]]]) -> list[PassageRow]:
        """Numbered passages for the new documents, given the parts of each."""
        places = [(row.document, *span) for row, own in zip(self.documents, spans, strict=True) for span in own]
        return [PassageRow(number, *place) for number, place in enumerate(places, self._next_passage)]

    def texts_of(self, passages: Sequence[PassageRow]) -> list[str]:
        """The texts of passages of the new documents."""
        texts = {row.document: row.text for row in self.documents}
        return [texts[row.document][row.start : row.stop] for row in passages]

    def everything(
        self, db: sqlite3.Connection, spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[list[str], list[PassageRow]]:
        """Every passage there will be, numbered anew, with its text: those that stay, then the new ones."""
        removed = set(self.removed)
        stay = [row for row in rows.all_passages(db) if row.document not in removed]
        texts = {row.document: row.text for row in rows.all_documents(db)} | {
            row.document: row.text for row in self.documents
        }
        together = [*stay, *self.passages(spans)]
        numbered = [replace(row, passage=number) for number, row in enumerate(together, self._next_passage)]
        return [texts[row.document][row.start : row.stop] for row in numbered], numbered

    def change(self, passages: Sequence[PassageRow], vectors: Floats | None, settings: Settings | None) -> Change:
        """The plan as one change of the store."""
        change = Change("add", self.removed, self.documents, self.relabelled, passages, settings=settings)
        return change if vectors is None else replace(change, vectors=vectors)


def spans_of(text: str, settings: Settings) -> list[tuple[int, int]]:
    """Where the passages of a text are."""
    if settings.max_tokens is None or (len(text) <= settings.max_tokens and not text.isspace()):
        return [(0, len(text))]  # no token is shorter than a character
    found = split(text, max_tokens=settings.max_tokens, overlap=settings.overlap)
    return [(passage.start, passage.end) for passage in found]


def _numbered(db: sqlite3.Connection, count: int) -> list[str]:
    """Ids for documents that came without: numbers on from the last document's that nobody uses."""
    first = rows.next_number(db, "documents")
    ids: list[str] = []
    while len(ids) < count:
        wanted = [str(number) for number in range(first, first + count - len(ids))]
        taken = rows.documents_by_id(db, wanted)
        ids += [id for id in wanted if id not in taken]
        first += len(wanted)
    return ids
