"""The answer to a search as JSON. Ten hits name a hundred concepts, most of them again and again: these are kept.

That takes a third of the time of writing all of it anew. The text is the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from gossamer.results import Concept, Hit, Hits
from gossamer.server.answers import as_json, of_why

_MOST: Final = 1 << 14
"""Concepts kept, the newest: 10 to 20 megabytes, beside the concepts themselves."""


class HitList:
    """Writes answers. For one thread."""

    def __init__(self) -> None:
        # By where it is in memory, which tells a concept from all others as long as it is kept.
        self._kept: dict[int, tuple[Concept, orjson.Fragment]] = {}

    def as_json(self, hits: Hits, seconds: float) -> bytes:
        """Hits, and what they cost; explanations among them with their sentences."""
        answer = _answer(hits, seconds, self._written)
        try:
            return orjson.dumps(answer)
        except TypeError:  # someone's metadata, see `as_json`: only these are written the slow way
            for hit in answer["hits"]:
                hit["metadata"] = orjson.Fragment(as_json(hit["metadata"]))
            return orjson.dumps(answer)

    def _written(self, concept: Concept) -> orjson.Fragment:
        found = self._kept.get(id(concept))
        if found is None:
            # A copy, for what orjson returns has room for much more behind it.
            found = self._kept[id(concept)] = concept, orjson.Fragment(bytes(memoryview(as_json(concept))))
            if len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
        return found[1]


def _answer(hits: Hits, seconds: float, of_concept: Callable[[Concept], Any]) -> dict[str, Any]:
    return {"hits": [_hit(hit, of_concept) for hit in hits], "seconds": seconds, "visited": hits.visited}


def _hit(hit: Hit, of_concept: Callable[[Concept], Any]) -> dict[str, Any]:
    why = None if hit.explanation is None else of_why(hit.explanation)
    return {**vars(hit), "path": [of_concept(concept) for concept in hit.path], "explanation": why}
