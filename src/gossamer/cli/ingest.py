"""Add records to an index, batch by batch; records that the index holds unchanged are skipped.

One batch is encoded while the one before is written. A written batch is durable, so stopping at any moment loses no
more than the batch being written and the one being encoded, and the next run goes on from there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gossamer.errors import GossamerError, InputError, UnknownIdError
from gossamer.results.progress import Progress

if TYPE_CHECKING:
    from gossamer.index import Encoded, Index
    from gossamer.readers import OnError, Record
    from gossamer.results import Document

BATCH: Final = 500
"""Records in a batch, if they are short: about a second with the default encoder. Stopping loses up to two batches."""

_CHARACTERS: Final = 2**18
"""Characters of text in a batch: a few seconds with the default encoder. A longer text is a batch of its own."""

_LEARNT: Final = 2**26
"""The same for an encoder that learns from the batch, which is held in memory."""

_COMPARED: Final = 5
"""Documents, and fields of metadata, that are compared to find out whether the ids are from another field."""

_SWITCH_INTERVAL: Final = 0.0005
"""Seconds a thread may hold the interpreter while another waits. The model's threads need it briefly for every text:
with Python's own 0.005, encoding beside a busy thread took 1.5 to 2 times as long; with this, 1.1 times."""

Report: TypeAlias = Callable[[int], None]
"""Called with the number of documents processed so far."""


@dataclass
class Tally:
    """How many documents were added, replaced, unchanged, repeated and pruned."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    repeated: int = 0
    """Documents with an id that came before in the same sources; the first one is kept."""
    pruned: int = 0

    @property
    def seen(self) -> int:
        """Documents processed."""
        return self.added + self.replaced + self.unchanged + self.repeated


@dataclass(frozen=True)
class _Batch:
    """The records of a batch that have to be written."""

    before: int
    """Records read before this batch."""
    records: int
    """Records in this batch."""
    unchanged: int
    changed: list[Record]
    stored: Mapping[str, Document]
    """What the index holds under these ids, by id."""

    @property
    def texts(self) -> list[str]:
        """Texts that have to be encoded; of the other records only the metadata changed."""
        return [record.text for record in self.changed if not self._holds_text(record)]

    def _holds_text(self, record: Record) -> bool:
        return record.id in self.stored and self.stored[record.id].text == record.text


class Ingest:
    """One run over some sources.

    `on_error`: what to do about an id that comes again with other content: "skip" keeps the first, others raise.
    `learns`: the encoder learns from the corpus, so nothing can be encoded before it is added.
    """

    def __init__(self, ix: Index, tally: Tally, *, on_error: OnError = "raise", learns: bool = False) -> None:
        self._ix = ix
        self._tally = tally
        self._on_error = on_error
        self._learns = learns
        self._known = set(ix.ids())
        self._seen: dict[str, int] = {}
        self._read = 0
        self._failure: Exception | None = None

    def add(self, records: Iterator[Record], size: int = BATCH, report: Report = lambda seen: None) -> None:
        """Add all records that are new or changed, `size` records read at a time, or fewer that are long.

        The tree depends on the batches, so their size does not depend on the speed of the machine.

        If reading fails, what was read before is written, and then the error is raised.
        """
        waiting: _Batch | None = None
        report = _ascending(report)
        with _encoding_ahead(self._ix.encode, share_cores=not self._learns) as ahead:
            for batch in self._batches(records, size):
                encoded = ahead.take()
                if batch is not None:
                    ahead.start(batch.texts, _progress(batch, report))
                if waiting is not None:
                    self._write(waiting, encoded, _progress(waiting, report))
                    report(waiting.before + waiting.records)
                waiting = batch
        if self._failure is not None:
            raise self._failure
        report(self._tally.seen)

    def _batches(self, records: Iterator[Record], size: int) -> Iterator[_Batch | None]:
        """All batches, then None. An error while reading ends them and is kept in `_failure`."""
        try:
            while some := _some(records, size, _LEARNT if self._learns else _CHARACTERS):
                yield self._choose(some)
        except Exception as error:
            self._failure = error
        yield None

    def _choose(self, records: list[Record]) -> _Batch:
        """Find the records of a batch that are new or changed."""
        before, self._read = self._read, self._read + len(records)
        batch = [record for record in records if self._first_time(record)]
        stored = self._stored(record.id for record in batch if record.id in self._known)
        changed = [record for record in batch if not _is_held(record, stored.get(record.id))]
        if self._known and not stored and before == 0:
            self._refuse_other_ids(changed)
            self._refuse_other_folder(changed[:_COMPARED])
        return _Batch(before, len(records), len(batch) - len(changed), changed, stored)

    def _refuse_other_ids(self, records: list[Record]) -> None:
        """Raise if the first documents are in the index already, under ids from another field.

        The field of the ids then is missing from the metadata, and the other one is there: a new id is found in
        the metadata of the old document, or the old id in the metadata of the new one.
        """
        for record in records[:_COMPARED]:
            for field, value in record.own_metadata.items():
                found = self._stored(
                    iter([str(value)] if isinstance(value, str | int) and str(value) in self._known else [])
                )
                if any(document.text == record.text for document in found.values()):
                    raise _other_ids(record, str(value), f"--id-field {field}")
            for document in self._ix.get(self._with_value(record.id)):
                if document.text == record.text:
                    raise _other_ids(record, document.id, "the --id-field of before, or none")

    def _refuse_other_folder(self, records: list[Record]) -> None:
        """Raise if the first documents are all there already, since a folder above or below theirs was read before."""
        before = ""
        for record in records:
            alike = [id for id in self._known if id.endswith(f"/{record.id}") or record.id.endswith(f"/{id}")]
            found = self._stored(iter(alike[:_COMPARED]))
            there = [id for id, document in found.items() if document.text == record.text]
            if not there:
                return
            before = before or there[0]
        if records:
            raise _other_ids(records[0], before, "the folder that was read before: ids are paths within it")

    def _with_value(self, value: str) -> list[str]:
        """Ids of documents with `value` in their metadata, under a name that the first of them by id has."""
        (example,) = self._ix.get([min(self._known)])
        named = [name for name, held in example.metadata.items() if isinstance(held, str | int)]
        names = [name for name in named if not name.startswith("$")]  # an operator in a filter
        numbers: list[str | int] = (
            [value, int(value)] if value.isascii() and value.isdigit() and len(value) < 18 else [value]
        )
        conditions = [{name: {"$in": numbers}} for name in names[:_COMPARED]]
        return self._ix.ids(where={"$or": conditions})[:_COMPARED] if conditions else []

    def _write(self, batch: _Batch, encoded: Encoded | None, progress: Progress) -> None:
        self._tally.unchanged += batch.unchanged
        changed = batch.changed
        if not changed:
            return
        try:
            self._ix.add(
                [record.text for record in changed],
                [record.id for record in changed],
                [record.metadata for record in changed],
                encoded=encoded,
                progress=progress,
            )
        except KeyboardInterrupt:
            if self._are_in(changed[:1]):
                self._count(changed, batch.stored)  # Ctrl-C came too late to stop this batch
            raise
        self._count(changed, batch.stored)

    def _count(self, changed: list[Record], stored: Mapping[str, object]) -> None:
        replaced = sum(record.id in stored for record in changed)
        self._known.update(record.id for record in changed)
        self._tally.added += len(changed) - replaced
        self._tally.replaced += replaced

    def _are_in(self, records: list[Record]) -> bool:
        try:
            stored = self._stored(record.id for record in records)
        except GossamerError:
            return False
        return bool(records) and all(_is_held(record, stored.get(record.id)) for record in records)

    def others(self) -> list[str]:
        """The ids of documents that none of the sources holds: of other sources, or of files that are gone."""
        return [id for id in self._ix.ids() if id not in self._seen]

    def prune(self) -> None:
        """Delete the documents that none of the sources holds."""
        gone = self.others()
        if not self._seen and gone:
            raise InputError(
                f"the sources hold no document, so nothing was pruned: that would have removed all {len(gone):,}. "
                "Check the paths"
            )
        self._tally.pruned = self._ix.delete(gone)

    def _first_time(self, record: Record) -> bool:
        content = hash((record.text, _canonical(record.own_metadata)))
        if record.id not in self._seen:
            self._seen[record.id] = content
            return True
        if self._seen[record.id] != content and self._on_error != "skip":
            raise InputError(
                f"{record.source}: the id {record.id!r} came before with another text or metadata. "
                "Choose another --id-field, or keep the first of each with --on-error skip"
            )
        self._tally.repeated += 1
        return False

    def _stored(self, ids: Iterator[str]) -> dict[str, Document]:
        wanted = list(ids)
        while True:
            try:
                documents = self._ix.get(wanted)
                break
            except UnknownIdError:  # another process has deleted it meanwhile
                wanted = [id for id in wanted if id in self._ix]
        return {document.id: document for document in documents}


def _other_ids(record: Record, id: str, before: str) -> InputError:
    return InputError(
        f"{record.source}: the document with the id {record.id!r} is in the index as {id!r}, and would be there twice. "
        f"Use {before}, or make a new index"
    )


def _some(records: Iterator[Record], most: int, most_characters: int) -> list[Record]:
    """The next records: at most `most`, and fewer if they are long."""
    taken, characters = [], 0
    for record in islice(records, most):
        taken.append(record)
        characters += len(record.text)
        if characters >= most_characters:
            break
    return taken


def _ascending(report: Report) -> Report:
    """Leave out numbers below one that was reported: a batch is written while the next one is encoded."""
    lock, highest = Lock(), 0

    def told(seen: int) -> None:
        nonlocal highest
        with lock:
            highest = max(highest, seen)
            report(highest)

    return told


def _progress(batch: _Batch, report: Report) -> Progress:
    """Report documents processed, from the share of a batch that is encoded."""
    return lambda done, total: report(batch.before + batch.records * done // total)


def _is_held(record: Record, document: Document | None) -> bool:
    """Whether the index holds a record as it is. When its file was modified does not matter: a mere touch is no change,
    and the time that is kept is that of the content."""
    if document is None or document.text != record.text:
        return False
    ignored = record.of_file & {"modified"}
    return _canonical(_without(document.metadata, ignored)) == _canonical(_without(record.metadata, ignored))


def _without(metadata: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name not in names} if names else metadata


def _canonical(metadata: dict[str, Any]) -> str:
    """Metadata as JSON text: 1, 1.0 and true are equal in Python but not in a filter."""
    return json.dumps(metadata, sort_keys=True)


# -- encoding one batch while another is written: model, SQLite and tree work outside the interpreter ------------------


class _StoppedError(Exception):
    """The vectors are not wanted any more."""


class EncodeAhead:
    """Encodes one batch at a time with `Index.encode` in a thread of its own."""

    def __init__(self, encode: Callable[..., Encoded]) -> None:
        self._encode = encode
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-encode-ahead")
        self._batch: Future[Encoded] | None = None
        self._stopped = False

    def start(self, texts: list[str], progress: Progress) -> None:
        """Begin to encode; `progress` is called from the other thread."""

        def watched(done: int, total: int) -> None:
            if self._stopped:
                raise _StoppedError  # ends the encoder's work
            progress(done, total)

        self._batch = self._thread.submit(self._encode, texts, progress=watched)

    def take(self) -> Encoded | None:
        """Wait for the batch that was started; None if there is none."""
        batch, self._batch = self._batch, None
        return None if batch is None else batch.result()

    def stop(self) -> None:
        """Abandon the batch that is being encoded."""
        self._stopped = True
        self._thread.shutdown(cancel_futures=True)


@contextmanager
def _encoding_ahead(encode: Callable[..., Encoded], *, share_cores: bool) -> Iterator[EncodeAhead]:
    """An `EncodeAhead` that is stopped at the end. `share_cores`: settings under which it disturbs the writer least."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    ahead, interval = EncodeAhead(encode), sys.getswitchinterval()
    try:
        if share_cores:
            sys.setswitchinterval(_SWITCH_INTERVAL)
        # BLAS threads wait by spinning, which takes the cores from the model; they have little to do here.
        with threadpool_limits(1 if share_cores else None, user_api="blas"):
            yield ahead
    finally:
        sys.setswitchinterval(interval)
        ahead.stop()
