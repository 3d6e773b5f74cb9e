"""Records into an index, batch by batch: what is there already as it should be is not touched.

Every batch is durable once it is in, so that stopping at any moment loses no more than the batch being
written and the one being encoded, and the next run goes on from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from gossamer.cli.encode_ahead import encoding_ahead
from gossamer.errors import GossamerError, InputError

if TYPE_CHECKING:
    from gossamer.cli.encode_ahead import Progress
    from gossamer.index import Index
    from gossamer.index.encoding import Encoded
    from gossamer.readers import Record
    from gossamer.readers.record import OnError

_CHARACTERS = 2**26
"""Of texts taken at a time, at most: a batch is held in memory."""

Report: TypeAlias = Callable[[int], None]
"""Called with the number of documents dealt with so far."""


@dataclass
class Tally:
    """What became of the documents so far."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    repeated: int = 0
    """Documents whose id came before in the same sources: the first one counts."""
    pruned: int = 0

    @property
    def seen(self) -> int:
        """Documents dealt with."""
        return self.added + self.replaced + self.unchanged + self.repeated


@dataclass(frozen=True)
class Chosen:
    """A batch, and what of it has to be written."""

    before: int
    """Records that were read before it."""
    records: int
    unchanged: int
    changed: list[Record]
    stored: Mapping[str, tuple[str, str]]
    """What the index holds under their ids now."""

    @property
    def texts(self) -> list[str]:
        """Those that have to be encoded: of the rest only metadata changed."""
        return [record.text for record in self.changed if self.stored.get(record.id, ("",))[0] != record.text]


class Ingest:
    """One run over some sources."""

    def __init__(self, ix: Index, tally: Tally, *, on_error: OnError = "raise", learns: bool = False) -> None:
        """`learns`: the encoder learns from the corpus, and so encodes nothing ahead."""
        self._ix = ix
        self._tally = tally
        self._on_error = on_error
        self._learns = learns
        self._known = set(ix.ids())
        self._seen: dict[str, int] = {}
        self._read = 0
        self._failure: Exception | None = None

    def add(self, records: Iterator[Record], pace: Pace, report: Report = lambda seen: None) -> None:
        """Add all records, batch by batch: of each all that is new or changed, in one durable step.

        While one batch is written, the next is encoded. Where reading fails, what was read before is written first.
        """
        waiting: Chosen | None = None
        start = time.perf_counter()
        with encoding_ahead(self._ix.encode, learns=self._learns) as ahead:
            for chosen in self._chosen(records, pace):
                if chosen is None:
                    self._settle_before(waiting)
                encoded = ahead.take()
                if chosen is not None:
                    ahead.start(chosen.texts, _progress(chosen, report))
                if waiting is not None:
                    self._write(waiting, encoded, _progress(waiting, report))
                    start, before = time.perf_counter(), start
                    pace.learn(waiting.records, start - before)
                waiting = chosen
        if self._failure is not None:
            raise self._failure
        report(self._tally.seen)

    def _settle_before(self, last: Chosen | None) -> None:
        """Link what is in while the last batch is encoded, if that is so small that its links can then be added."""
        if last is not None and 4 * len(last.changed) <= len(self._known):
            self._ix.settle()

    def _chosen(self, records: Iterator[Record], pace: Pace) -> Iterator[Chosen | None]:
        """Batch after batch of the size that fits, and None when there is nothing more, or a batch cannot be read."""
        try:
            while batch := _some(records, pace.size):
                yield self._choose(batch)
        except Exception as error:
            self._failure = error
        yield None

    def _choose(self, records: list[Record]) -> Chosen:
        """What has to be written of a batch."""
        before, self._read = self._read, self._read + len(records)
        batch = [record for record in records if self._first_time(record)]
        stored = self._stored(record.id for record in batch if record.id in self._known)
        changed = [record for record in batch if stored.get(record.id) != _content(record)]
        return Chosen(before, len(records), len(batch) - len(changed), changed, stored)

    def _write(self, chosen: Chosen, encoded: Encoded | None, progress: Progress) -> None:
        self._tally.unchanged += chosen.unchanged
        changed = chosen.changed
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
                self._count(changed, chosen.stored)  # it came too late to stop this batch
            raise
        self._count(changed, chosen.stored)

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
        return bool(records) and all(stored[record.id] == _content(record) for record in records)

    def prune(self) -> None:
        """Remove the documents that none of the sources holds."""
        gone = [id for id in self._ix.ids() if id not in self._seen]
        if not self._seen and gone:
            raise InputError(
                f"the sources hold no document, so nothing was pruned: that would have removed all {len(gone):,}. "
                "Check the paths"
            )
        self._tally.pruned = self._ix.delete(gone)

    def _first_time(self, record: Record) -> bool:
        content = hash(_content(record))
        if record.id not in self._seen:
            self._seen[record.id] = content
            return True
        if self._seen[record.id] != content and self._on_error == "raise":
            raise InputError(
                f"{record.source}: the id {record.id!r} came before with another text or metadata. "
                "Choose another id_field, or keep the first of each with on_error='skip'"
            )
        self._tally.repeated += 1
        return False

    def _stored(self, ids: Iterator[str]) -> dict[str, tuple[str, str]]:
        documents = self._ix.get(list(ids))
        return {document.id: (document.text, _canonical(document.metadata)) for document in documents}


class Pace:
    """How many records to take at a time: as many as take about five seconds, since stopping loses a batch or two."""

    _SECONDS, _FIRST, _LEAST, _MOST = 5.0, 250, 50, 2_000

    def __init__(self, fixed: int | None = None) -> None:
        self._fixed = fixed
        self.size = fixed or self._FIRST

    def learn(self, records: int, seconds: float) -> None:
        """Choose the next size by how long this many took; an encoder may do ten a second, or a thousand."""
        if self._fixed is None:
            fitting = int(self._SECONDS * records / max(seconds, 1e-3))
            self.size = max(self._LEAST, min(self._MOST, fitting))


def _some(records: Iterator[Record], most: int) -> list[Record]:
    """The next records, at most so many, and fewer where they are long."""
    taken, characters = [], 0
    for record in islice(records, most):
        taken.append(record)
        characters += len(record.text)
        if characters > _CHARACTERS:
            break
    return taken


def _progress(chosen: Chosen, report: Report) -> Progress:
    """Documents dealt with, by the share of a batch that is encoded."""
    return lambda done, total: report(chosen.before + chosen.records * done // total)


def _content(record: Record) -> tuple[str, str]:
    return record.text, _canonical(record.metadata)


def _canonical(metadata: dict[str, Any]) -> str:
    """Text, since 1, 1.0 and true are equal to Python but not to a filter."""
    return json.dumps(metadata, sort_keys=True)
