"""Records into an index, batch by batch: what is there already as it should be is not touched.

Every batch is durable once it is in, so that stopping at any moment loses no more than the batch being
encoded, and the next run goes on from there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from gossamer.errors import GossamerError, InputError

if TYPE_CHECKING:
    from gossamer.index import Index
    from gossamer.readers import Record
    from gossamer.readers.record import OnError

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


class Ingest:
    """One run over some sources."""

    def __init__(self, ix: Index, tally: Tally, *, on_error: OnError = "raise") -> None:
        self._ix = ix
        self._tally = tally
        self._on_error = on_error
        self._known = set(ix.ids())
        self._seen: dict[str, int] = {}

    def add(self, records: Iterable[Record], report: Report = lambda seen: None) -> None:
        """Add one batch: all that is new or changed, in one durable step."""
        tally = self._tally
        batch = [record for record in records if self._first_time(record)]
        stored = self._stored(record.id for record in batch if record.id in self._known)
        changed = [record for record in batch if stored.get(record.id) != _content(record)]
        tally.unchanged += len(batch) - len(changed)
        try:
            self._write(changed, report)
        except KeyboardInterrupt:
            if not self._are_in(changed[:1]):
                raise
            self._count(changed, stored)  # it came too late to stop this batch
            raise
        self._count(changed, stored)
        report(tally.seen)

    def _write(self, changed: list[Record], report: Report) -> None:
        before = self._tally.seen
        if changed:
            self._ix.add(
                [record.text for record in changed],
                [record.id for record in changed],
                [record.metadata for record in changed],
                progress=lambda done, total: report(before + len(changed) * done // total),
            )

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
    """How many records to take at a time: as many as take about five seconds, since stopping loses a batch."""

    _SECONDS, _FIRST, _LEAST, _MOST = 5.0, 500, 50, 2_000

    def __init__(self, fixed: int | None = None) -> None:
        self._fixed = fixed
        self.size = fixed or self._FIRST

    def learn(self, records: int, seconds: float) -> None:
        """Choose the next size by how long this many took; an encoder may do ten a second, or a thousand."""
        if self._fixed is None:
            fitting = int(self._SECONDS * records / max(seconds, 1e-3))
            self.size = max(self._LEAST, min(self._MOST, fitting))


def batches(records: Iterator[Record], pace: Pace) -> Iterator[list[Record]]:
    """All records, in batches of the size that fits."""
    while batch := list(islice(records, pace.size)):
        start = time.perf_counter()
        yield batch
        pace.learn(len(batch), time.perf_counter() - start)


def _content(record: Record) -> tuple[str, str]:
    return record.text, _canonical(record.metadata)


def _canonical(metadata: dict[str, Any]) -> str:
    """Text, since 1, 1.0 and true are equal to Python but not to a filter."""
    return json.dumps(metadata, sort_keys=True)
