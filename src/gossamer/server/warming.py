"""Naming concepts ahead of the first questions, so that these need not wait for it.

A concept at a time, from the root down, each in a call of its own: no writer waits longer than for one of them.
"""

from __future__ import annotations

import logging
from collections import deque
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError
from gossamer.server.catalog import Catalog

if TYPE_CHECKING:
    from gossamer.index import Index

_log = logging.getLogger("gossamer.server")

_MOST: Final = 50_000
"""Concepts named ahead: a minute's work. The rest are named when they are first shown."""


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
        """End after the concept at hand; an index that is closed meanwhile ends it too."""
        self._stop.set()

    def _run(self) -> None:
        for served in self._catalog:
            try:
                self._name_all(served.index)
            except GossamerError as error:  # closed, or changed so that a concept is gone: nothing depends on this
                _log.info("concepts of %s are named when they are shown: %s", served.name, error)

    def _name_all(self, index: Index) -> None:
        waiting = deque(concept.id for concept in index.concepts(depth=0))
        named = 0
        while waiting and named < _MOST and not self._stop.is_set():
            concept = index.concept(waiting.popleft())
            named += 1
            if concept.size > 1:
                waiting.extend(concept.children)
