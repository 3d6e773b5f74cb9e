"""Naming concepts ahead of the first questions, so that these need not wait for it.

A few at a time, whole branches one after the other, and after each few a rest: no writer waits longer than for these,
and those who ask meanwhile have most of the machine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError, UnknownIdError
from gossamer.server.catalog import Catalog

if TYPE_CHECKING:
    from gossamer.index import Index

_log = logging.getLogger("gossamer.server")

_MOST: Final = 100_000
"""Concepts looked at, leaves among them, largest first: a quarter of a minute. Others are named when they are shown."""

_BATCH: Final = 32
"""Concepts named in one call: about 10 milliseconds."""

_REST: Final = 0.5
"""Of the time that a call took."""


class Warming:
    """A thread that names the concepts of all indexes, until it is done or stopped."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._stop = Event()
        self._thread = Thread(target=self._run, name="gossamer-warming", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the few at hand; an index that is closed meanwhile ends it too."""
        self._stop.set()

    def _run(self) -> None:
        for served in self._catalog:
            try:
                self._name_all(served.index)
            except GossamerError as error:  # closed, or changed so that a concept is gone: nothing depends on this
                _log.info("concepts of %s are named when they are shown: %s", served.name, error)

    def _name_all(self, index: Index) -> None:
        shown = index.outline(most=_MOST)
        inner = [id for id, children in zip(shown.ids, shown.children, strict=True) if children]
        for at in range(0, len(inner), _BATCH):
            start = time.perf_counter()
            _name(index, inner[at : at + _BATCH])
            if self._stop.wait(_REST * (time.perf_counter() - start)):
                return


def _name(index: Index, ids: Sequence[int]) -> None:
    try:
        index.labels(ids)
    except UnknownIdError:  # a change has done away with one of them
        for id in ids:
            with suppress(UnknownIdError):
                index.labels([id])
