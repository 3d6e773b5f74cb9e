"""Label concepts after the server has started, so that the first requests do not wait for it.

Concepts are labelled in small batches, the largest concepts first, with a pause after each batch: a writer waits for
one batch at most, and requests have most of the machine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError, UnknownIdError
from gossamer.server.catalog import Catalog

if TYPE_CHECKING:
    from gossamer.index import Index

_log = logging.getLogger("gossamer.server")

_MOST: Final = 100_000
"""Nodes considered, leaves included, largest first; this takes about 15 s. Others are labelled when they are shown."""

_PAUSE: Final = 0.5
"""Length of a pause, as a share of the time that the batch took."""


class BackgroundLabelling:
    """A thread that labels the concepts of all indexes.

    `batch`: concepts labelled in one call; 32 take about 10 ms. `wait(seconds)`: pauses, and returns whether to stop.
    """

    def __init__(self, catalog: Catalog, *, batch: int = 32, wait: Callable[[float], bool] | None = None) -> None:
        self._catalog = catalog
        self._batch = batch
        self._stop = Event()
        self._wait = wait or self._stop.wait
        self._thread = Thread(target=self._run, name="gossamer-labelling", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current batch. Closing an index ends the labelling of that index, too."""
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end at most `seconds`; returns whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        for served in self._catalog:
            try:
                self._label_all(served.index)
            except GossamerError as error:  # the index was closed, for example; nothing depends on this
                _log.info("concepts of %s are labelled when they are shown: %s", served.name, error)

    def _label_all(self, index: Index) -> None:
        shown = index.outline(most=_MOST)
        inner = [id for id, children in zip(shown.ids, shown.children, strict=True) if children]
        for at in range(0, len(inner), self._batch):
            start = time.perf_counter()
            _label(index, inner[at : at + self._batch])
            if self._wait(_PAUSE * (time.perf_counter() - start)):
                return


def _label(index: Index, ids: Sequence[int]) -> None:
    try:
        index.labels(ids)
    except UnknownIdError:  # a change has deleted one of them
        for id in ids:
            with suppress(UnknownIdError):
                index.labels([id])
