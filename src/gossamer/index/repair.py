"""Repair: a new, sound index from what can be read of a damaged one.

Documents whose row has the right checksum keep their numbers, and their vectors where those are undamaged; the others
are encoded again, if the encoder can be loaded. The tree is built again. The new index is written beside the damaged
one, which is then renamed, never removed. What could not be read is listed in the result.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from uuid import uuid4

import numpy as np

from gossamer.array_types import DocumentNumber, Floats, PassageNumber
from gossamer.encoders import Encoder, Progress, is_fitted_encoder, load_encoder
from gossamer.errors import CorruptError, FormatVersionError, GossamerError, LockedError
from gossamer.files.file_lock import LockFile, Presence
from gossamer.index.encoding import EncoderSpec, encode, reload_encoder
from gossamer.index.replay import LoggedTree
from gossamer.index.upsert import spans_of
from gossamer.index.words import with_language
from gossamer.results import LostDocument, Repair
from gossamer.store import Change, DocumentRow, PassageRow, Settings, Store, rows
from gossamer.store.backup import replace_folder
from gossamer.store.database import is_open_here, opening_lock
from gossamer.store.inspection import check_is_index
from gossamer.store.layout import Layout, disk_errors, remove_folder
from gossamer.store.pages import PageSums
from gossamer.store.salvage import Salvage, apply_frames, restore_header, salvage
from gossamer.store.wal import read_wal

_BATCH = 5_000
"""Documents that one operation of the new log adds."""

_Passages: TypeAlias = list[tuple[int, int, Floats]]
"""Start, end and vector of each passage of one document."""


def repair(path: str | os.PathLike[str], encoder: EncoderSpec | None, progress: Progress | None) -> Repair:
    """See `Index.repair`."""
    layout = Layout(Path(path).resolve())
    check_is_index(layout)
    documents = _documents_if_sound(layout)
    if documents is not None:
        return Repair(str(layout.folder), documents)
    with disk_errors(f"{layout.folder} could not be repaired"):
        return _repair(layout, encoder, progress)


def _repair(layout: Layout, encoder: EncoderSpec | None, progress: Progress | None) -> Repair:
    presence, lock = Presence(layout.folder), LockFile(layout.lock)
    draft = Layout(layout.folder.with_name(f".{layout.folder.name}.repair-{os.getpid()}"))
    try:
        presence.enter_alone()
        lock.acquire()
        with opening_lock:  # the files are copied, which this process must not do while it has them open
            if is_open_here(layout.documents):
                raise LockedError(f"{layout.folder} is open in this process: close it before it is repaired")
            found = _salvaged(layout)
        rebuilt = _Rebuilt(found, encoder, progress)
        rebuilt.write(draft)
        kept = _damaged_name(layout)
        replace_folder(draft, layout, kept)
    finally:
        lock.release()
        presence.leave()
        remove_folder(draft.folder)
    return Repair(str(layout.folder), len(found.documents), rebuilt.encoded, tuple(found.lost), str(kept))


def _documents_if_sound(layout: Layout) -> int | None:
    """The number of documents in an index without damage; None where there is something to repair."""
    try:
        store = Store.open(layout.folder, "w", alone=True)
    except (LockedError, FormatVersionError):
        raise
    except GossamerError:
        return None
    try:
        tree = LoggedTree(store)
        tree.load()
        if tree.degraded or tree.regrown:
            return None
        with store.reading() as db:
            tree.check(db)
            return rows.count_documents(db)
    except GossamerError:
        return None
    finally:
        store.close()


def _salvaged(layout: Layout) -> Salvage:
    """What can be read of the index. Works on a copy, so that the damaged files stay as they are."""
    with TemporaryDirectory(prefix=".repair-", dir=layout.folder.parent) as folder:
        copy = Layout(Path(folder))
        shutil.copyfile(layout.documents, copy.documents)
        if layout.wal.exists():
            shutil.copyfile(layout.wal, copy.wal)
        known = PageSums(layout.documents).acknowledged()
        try:
            restore_header(copy.documents, None if known is None else known.page_size)
            if read_wal(copy.wal).truncated:
                apply_frames(copy.documents, copy.wal)
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
    """The rows of the new index, computed from those of the damaged one. `encoded` counts documents encoded again."""

    def __init__(self, found: Salvage, encoder: EncoderSpec | None, progress: Progress | None) -> None:
        self._found = found
        self._given = encoder
        self._progress = progress
        self.encoded = 0
        self._settings = self._settings_of(found)
        usable = {row.document: self._usable(row) for row in found.documents}
        self._passages: dict[DocumentNumber, _Passages] = {number: own for number, own in usable.items() if own}
        missing = [row for row in found.documents if row.document not in self._passages]
        if (
            self._settings.encoder.partition("?")[0] == "lsa"
            and (missing or found.encoder_state is None)
            and found.documents
        ):
            self._learn_again()
        elif missing:
            self._encode(missing)
        found.documents = [row for row in found.documents if self._passages.get(row.document)]

    def write(self, draft: Layout) -> None:
        """Write the new index into a folder, with a snapshot of its tree."""
        store = Store.create(draft.folder, self._settings, space=self._found.space)
        try:
            for change in self._changes():
                store.commit(store.prepare(change), None)
                store.checkpoint_if_due()
            store.number_from(self._found.last_document)
            tree = LoggedTree(store)
            tree.load()
            if tree.vectors is not None and not tree.degraded:
                tree.vectors.build_links()
                tree.snapshot()
        finally:
            store.close()

    def _changes(self) -> Iterator[Change]:
        """Operations that add the documents in batches, and one at the end that builds the tree over all of them."""
        passage = 1
        documents = self._found.documents
        for batch in (documents[at : at + _BATCH] for at in range(0, len(documents), _BATCH)):
            places: list[PassageRow] = []
            vectors: list[Floats] = []
            for document in batch:
                for start, stop, vector in self._passages[document.document]:
                    places.append(PassageRow(PassageNumber(passage), document.document, start, stop))
                    vectors.append(vector)
                    passage += 1
            yield Change("add", documents=batch, passages=places, vectors=np.stack(vectors))
        if documents:
            yield Change("refit", encoder_state=self._found.encoder_state)

    def _usable(self, document: DocumentRow) -> _Passages:
        """The passages of a document with their vectors; none where a passage or a vector is missing."""
        found = self._found.passages.get(document.document, [])
        usable = [(row.start, row.stop, vector) for row, vector in found if vector is not None]
        complete = len(usable) == len(found) and _cover([(start, stop) for start, stop, _ in usable], document.text)
        return usable if complete else []

    def _settings_of(self, found: Salvage) -> Settings:
        """The settings of the damaged index with a new identity, since its snapshots do not fit the new one."""
        if found.settings is not None:
            return replace(found.settings, identity=uuid4().hex, forgotten=0)
        if self._given is None:
            raise CorruptError("the settings of the index are lost: repair it with the encoder it was built with")
        encoder = load_encoder(self._given)
        dims = {len(vector) for passages in found.passages.values() for _, vector in passages if vector is not None}
        found.lost.append(LostDocument("the settings", "they could not be read, and are those of a new index"))
        settings = with_language(Settings.new(encoder.name, encoder.fingerprint, 200, 30), found.documents)
        return replace(settings, dim=dims.pop() if len(dims) == 1 else None)

    def _encode(self, missing: list[DocumentRow]) -> None:
        """Encode documents whose vectors are lost; where the encoder cannot be loaded, the documents are lost."""
        try:
            encoder = reload_encoder(self._settings, self._found.encoder_state, self._given)
        except GossamerError as error:
            for row in missing:
                why = f"its vectors are damaged, and it could not be encoded again ({error}): give the encoder"
                self._found.lost.append(LostDocument(row.id, why))
            return
        self._fill(missing, encoder)

    def _learn_again(self) -> None:
        """Fit an encoder that learns from the corpus on the documents that are left, and encode all of them again."""
        encoder = deepcopy(load_encoder(self._given or self._settings.encoder))
        assert is_fitted_encoder(encoder)
        documents = self._found.documents
        encoder.fit([row.text[start:stop] for row in documents for start, stop in spans_of(row.text, self._settings)])
        self._found.encoder_state = encoder.state()
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
    """Whether passages cover all of a text but white space."""
    at = 0
    for start, stop in sorted(spans):
        if not 0 <= start < stop <= len(text) or text[at:start].strip():
            return False
        at = max(at, stop)
    return bool(spans) and not text[at:].strip()


def _damaged_name(layout: Layout) -> Path:
    """A free path beside the index for the damaged folder."""
    names = (layout.folder.with_name(f"{layout.folder.name}.damaged-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
