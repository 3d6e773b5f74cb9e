"""The vectors as they came, by id: on these a whitener is fitted again, when the corpus has moved away from its fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.files import scratch
from gossamer.results import DocId

Source: TypeAlias = Callable[[Sequence[DocId]], Floats]
"""Reads vectors by id from where the owner of an index keeps them."""

_CHUNK = 2048
"""Rows that are gathered without letting another thread run."""


Kept: TypeAlias = npt.NDArray[np.float32 | np.float16]


class RawVectors:
    """Vectors by id, kept in memory, or read from a source that has them anyway."""

    def __init__(self, source: Source | None = None, vectors: dict[DocId, Kept] | None = None) -> None:
        self._source = source
        self._vectors = {} if vectors is None else vectors

    @property
    def is_kept(self) -> bool:
        """Whether the vectors are kept here."""
        return self._source is None

    def to_keep(self, E: Floats) -> Kept:
        """What to give to `add` for the rows of E: a copy where they are kept, of half the size if that is exact."""
        if self._source is not None:
            return E
        return scratch.copied(E, np.float16 if _fits_halves(E) else np.float32)

    def add(self, ids: Iterable[DocId], E: Kept) -> None:
        """Keep the rows of E."""
        if self._source is None:
            self._vectors.update(zip(ids, E, strict=True))

    def forget(self, ids: Iterable[DocId]) -> None:
        """Drop the vectors of documents that were removed."""
        if self._source is None:
            for id in ids:
                del self._vectors[id]

    def of(self, ids: Sequence[DocId]) -> Floats:
        """The vectors of some documents, a row each."""
        parts = [self._part(ids[start : start + _CHUNK]) for start in range(0, len(ids), _CHUNK)]
        return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)

    def _part(self, ids: Sequence[DocId]) -> Floats:
        if self._source is not None:
            return self._source(ids)
        return np.array([self._vectors[id] for id in ids], np.float32)

    def frozen(self) -> RawVectors:
        """The vectors as they are now; a source has those of removed documents for as long as this may be asked."""
        return RawVectors(self._source, None if self._source is not None else self._vectors.copy())


def _fits_halves(E: Floats) -> bool:
    """Whether each number of E is one of 16 bits."""
    with np.errstate(over="ignore"):
        parts = (E[first : first + _CHUNK] for first in range(0, len(E), _CHUNK))
        return all(np.array_equal(part.astype(np.float16), part) for part in parts)
