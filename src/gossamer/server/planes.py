"""The planes that a server has sent lately, so that a page can ask for the documents of its points.

A page names points by their number in the plane it has loaded. While others add documents the newest plane has other
numbers, so the last few are kept.
"""

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gossamer.errors import UnknownIdError
from gossamer.results import Plane
from gossamer.server.catalog import Served
from gossamer.server.workers import Workers

_KEPT: Final = 4
"""Planes of each index that are kept. One of 76,000 documents takes 2 MB beside its ids."""


@dataclass(frozen=True)
class SentPlane:
    """A plane without labels, and what is looked up in it."""

    plane: Plane

    @cached_property
    def tag(self) -> str:
        """Names the content: the operation alone would not, since places may be computed again."""
        places = zlib.crc32(self.plane.positions.tobytes())
        return f"{self.plane.operation}-{zlib.crc32(self.plane.concepts.tobytes(), places):08x}"

    @cached_property
    def points(self) -> dict[str, int]:
        """The point of each document."""
        return {id: at for at, id in enumerate(self.plane.ids)}


class Planes:
    """The planes of all indexes. For the event loop."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._sent: dict[str, dict[int, SentPlane]] = {}

    async def current(self, served: Served) -> SentPlane:
        """The plane as it is now. To lay it out takes seconds, in a thread of its own: nothing else waits for it."""
        plane = await self._workers.lay_out(lambda: served.index.plane(labels=False))
        kept = self._sent.setdefault(served.name, {})
        found = kept.get(plane.operation)
        if found is None or found.plane.positions is not plane.positions:
            kept.pop(plane.operation, None)
            found = kept[plane.operation] = SentPlane(plane)
            while len(kept) > _KEPT:
                del kept[next(iter(kept))]
        return found

    async def at(self, served: Served, operation: int) -> SentPlane:
        """The plane as it was after an operation; `UnknownIdError` if it is not kept."""
        found = self._sent.get(served.name, {}).get(operation)
        if found is None:
            newest = await self.current(served)
            if newest.plane.operation != operation:
                raise UnknownIdError(
                    f"the plane of operation {operation} is not kept any more: load the newest, of operation "
                    f"{newest.plane.operation}"
                )
            found = newest
        return found
