"""Repair: a healthy index from whatever a damaged one still holds.

Documents whose row is as it was written are kept, with their numbers, and with their vectors where these are too;
others are encoded again, if the encoder is at hand. The tree is made anew. Everything is built beside the index, which
is then renamed, never removed: what could not be saved is listed, and is still there for someone to look at.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np

from gossamer.array_types import Floats
from gossamer.encoders import Encoder, Progress, is_fitted_encoder, load_encoder
from gossamer.errors import CorruptError, DiskError, FormatVersionError, GossamerError, LockedError, NotAnIndexError
from gossamer.files.file_lock import LockFile
from gossamer.index.encoding import EncoderSpec, encode, reload_encoder, twin
from gossamer.index.upsert import spans_of
from gossamer.results import LostDocument, Repair
from gossamer.store import Change, DocumentRow, PassageRow, Settings, Store, rows
from gossamer.store.backup import put_in_place
from gossamer.store.database import is_open_here, opening
from gossamer.store.layout import Layout
from gossamer.store.pages import PageSums
from gossamer.store.salvage import Salvage, mend_header, put_frames, salvage
from gossamer.store.wal import read_wal

_BATCH = 5_000
"""Documents in one operation of the new log."""


def repair(path: str | os.PathLike[str], encoder: EncoderSpec | None, progress: Progress | None) -> Repair:
    """See `Index.repair`."""
    layout = Layout(Path(path).resolve())
    if not layout.folder.is_dir() or not layout.folder.name:
        raise NotAnIndexError(f"there is no index at {layout.folder}")
    documents = _documents_if_sound(layout)
    if documents is not None:
        return Repair(str(layout.folder), documents)
    lock = LockFile(layout.lock)
    draft = Layout(layout.folder.with_name(f".{layout.folder.name}.repair-{os.getpid()}"))
    try:
        lock.acquire()
        with opening:  # the files are copied, which must not be while this process has them open
            if is_open_here(layout.documents):
                raise LockedError(f"{layout.folder} is open in this process: close it before it is repaired")
            found = _salvaged(layout)
        saved = _Rebuilt(found, encoder, progress)
        saved.write(draft)
        kept = _exchange(layout, draft)
    except OSError as error:
        if isinstance(error, GossamerError):
            raise
        raise DiskError(f"{layout.folder} could not be repaired: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft.folder, ignore_errors=True)
        lock.release()
    return Repair(str(layout.folder), len(found.documents), saved.encoded, tuple(found.lost), str(kept))


def _documents_if_sound(layout: Layout) -> int | None:
    """How many documents an index without damage holds; None where there is something to repair."""
    try:
        store = Store.open(layout.folder, "w")
    except (LockedError, FormatVersionError):
        raise
    except GossamerError:
        return None
    try:
        vectors = store.load()
        if store.degraded or store.regrown:
            return None
        if vectors is not None:
            vectors.check()
        store.check(vectors)
        with store.reading() as db:
            return rows.count_documents(db)
    except GossamerError:
        return None
    finally:
        store.close()


def _salvaged(layout: Layout) -> Salvage:
    """What can be read from a copy, so that the damaged files stay as they are."""
    with TemporaryDirectory(prefix=".repair-", dir=layout.folder.parent) as folder:
        copy = Layout(Path(folder))
        if not layout.documents.exists():
            raise CorruptError(f"{layout.documents} is missing, and nothing can be repaired without it")
        shutil.copyfile(layout.documents, copy.documents)
        if layout.wal.exists():
            shutil.copyfile(layout.wal, copy.wal)
        known = PageSums(layout.documents).acknowledged()
        try:
            mend_header(copy.documents, None if known is None else known.page_size)
            if read_wal(copy.wal).cut:
                put_frames(copy.documents, copy.wal)
            found = salvage(copy.documents)
        except sqlite3.Error as error:
            raise CorruptError(f"{layout.documents} cannot be read at all ({error}): restore it from a copy") from error
    if known is not None and known.seq > found.last_operation and found.documents:
        what = f"operations {found.last_operation + 1} to {known.seq}"
        found.lost.append(LostDocument(what, "they were acknowledged, and are not in SQLite's log any more"))
    if found.settings is None and not found.documents:
        raise CorruptError(f"nothing can be read from {layout.documents}: restore it from a copy")
    return found


class _Rebuilt:
    """The rows of the new index, made from those of the old one."""

    def __init__(self, found: Salvage, encoder: EncoderSpec | None, progress: Progress | None) -> None:
        self._found = found
        self._given = encoder
        self._progress = progress
        self.encoded = 0
        self._settings = self._settings_of(found)
        self._passages = {row.document: self._usable(row) for row in found.documents}
        missing = [row for row in found.documents if self._passages[row.document] is None]
        if self._settings.encoder.partition("?")[0] == "lsa" and (missing or found.learnt is None) and found.documents:
            self._learn_again()
        elif missing:
            self._encode(missing)
        found.documents = [row for row in found.documents if self._passages[row.document]]

    def write(self, draft: Layout) -> None:
        """Make the new index in a folder, with its tree."""
        store = Store.create(draft.folder, self._settings)
        try:
            for change in self._changes():
                store.commit(store.prepare(change), change.settings)
                store.checkpoint_if_due()
            store.number_from(self._found.last_document)
        finally:
            store.close()
        store = Store.open(draft.folder, "w")
        try:
            vectors = store.load()
            if vectors is not None and not store.degraded:
                vectors.settle()
                store.snapshot(vectors)
        finally:
            store.close()

    def _changes(self) -> Iterator[Change]:
        """Batches of documents, and at the end the tree over all of them."""
        passage = 1
        first = True
        for batch in _batches(self._found.documents):
            places: list[PassageRow] = []
            vectors: list[Floats] = []
            for document in batch:
                for start, stop, vector in self._passages[document.document] or ():
                    places.append(PassageRow(passage, document.document, start, stop))
                    vectors.append(vector)
                    passage += 1
            change = Change("add", documents=batch, passages=places, vectors=np.stack(vectors))
            yield replace(change, settings=self._settings, learnt=self._found.learnt) if first else change
            first = False
        if not first:
            yield Change("refit")

    def _usable(self, document: DocumentRow) -> list[tuple[int, int, Floats]] | None:
        """The passages of a document with their vectors, if all are there."""
        there = self._found.passages.get(document.document, [])
        spans = [(row.start, row.stop) for row, _ in there]
        if any(vector is None for _, vector in there) or not _cover(spans, document.text):
            return None
        return [(row.start, row.stop, vector) for row, vector in there if vector is not None]

    def _settings_of(self, found: Salvage) -> Settings:
        """Those of the old index, under another identity: its snapshots are not of this one."""
        if found.settings is not None:
            return replace(found.settings, identity=uuid4().hex, forgotten=0)
        if self._given is None:
            raise CorruptError("the settings of the index are lost: repair it with the encoder it was built with")
        encoder = load_encoder(self._given)
        dims = {len(vector) for passages in found.passages.values() for _, vector in passages if vector is not None}
        found.lost.append(LostDocument("the settings", "they could not be read, and are those of a new index"))
        settings = Settings.new(encoder.name, encoder.fingerprint, 200, 30)
        return replace(settings, dim=dims.pop() if len(dims) == 1 else None)

    def _encode(self, missing: list[DocumentRow]) -> None:
        """Encode documents whose vectors are lost; where that cannot be done, the documents are."""
        try:
            encoder = reload_encoder(self._settings, self._found.learnt, self._given)
        except GossamerError as error:
            for row in missing:
                why = f"its vectors are damaged, and it could not be encoded again ({error}): give the encoder"
                self._found.lost.append(LostDocument(row.id, why))
            return
        self._fill(missing, encoder)

    def _learn_again(self) -> None:
        """An encoder that learns from the corpus learns from what is left of it, and all is encoded again."""
        encoder = load_encoder(self._given or self._settings.encoder)
        assert is_fitted_encoder(encoder)
        encoder = twin(encoder)
        documents = self._found.documents
        encoder.fit([row.text[start:stop] for row in documents for start, stop in spans_of(row.text, self._settings)])
        self._found.learnt = encoder.state()
        self._settings = replace(
            self._settings, dim=encoder.dim, fingerprint=encoder.fingerprint, fitted_on=len(documents)
        )
        self._fill(documents, encoder)

    def _fill(self, documents: list[DocumentRow], encoder: Encoder) -> None:
        spans = {row.document: spans_of(row.text, self._settings) for row in documents}
        texts = [row.text[start:stop] for row in documents for start, stop in spans[row.document]]
        vectors = iter(encode(encoder, texts, self._settings, "document", self._progress))
        for row in documents:
            self._passages[row.document] = [(start, stop, next(vectors)) for start, stop in spans[row.document]]
        if self._settings.dim is None:
            self._settings = replace(self._settings, dim=encoder.dim)
        self.encoded += len(documents)


def _cover(spans: list[tuple[int, int]], text: str) -> bool:
    """Whether passages hold all of a text but the space between them."""
    at = 0
    for start, stop in sorted(spans):
        if not 0 <= start < stop <= len(text) or text[at:start].strip():
            return False
        at = max(at, stop)
    return bool(spans) and not text[at:].strip()


def _batches(documents: Iterable[DocumentRow]) -> Iterator[list[DocumentRow]]:
    waiting = iter(documents)
    while batch := list(islice(waiting, _BATCH)):
        yield batch


def _exchange(layout: Layout, draft: Layout) -> Path:
    """Put the new folder in the place of the old one; returns where the old one is."""
    number = 1
    while (kept := layout.folder.with_name(f"{layout.folder.name}.damaged-{number}")).exists():
        number += 1
    put_in_place(draft, layout, kept)
    return kept
