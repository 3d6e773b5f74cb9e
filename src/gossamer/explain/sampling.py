"""Samples of a concept's members: always the same ones, nested, and nearly the same after a small change.

Every document has a fixed pseudo-random number. A sample takes the members whose number is below a bound, a power
of two chosen by the concept's size; so the sample of a concept, as far as it lies below a child, is part of the
child's own, and one document more or less changes it by one at most.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.array_types import Longs

_BITS: Final = 32


def thinned(documents: Longs, most: int, *, bound: int = 0) -> Longs:
    """Between about half of `most` and `most` documents, in their order; all where there are no more.

    Those below `bound` are taken in any case.
    """
    if len(documents) <= most:
        return documents
    numbers = _mixed(documents)
    return documents[numbers < max(bound, _bound(numbers, most))]


def bound_of(documents: Longs, most: int) -> int:
    """The bound that leaves so many."""
    return _bound(_mixed(documents), most)


def _bound(numbers: Longs, most: int) -> int:
    bound, left = 1 << _BITS, len(numbers)
    while left > most:
        bound >>= 1
        left = int((numbers < bound).sum())
    return bound if left else int(numbers.min()) + 1


def _mixed(documents: Longs) -> Longs:
    """A fixed pseudo-random number below 2³² for each document (the finaliser of SplitMix64)."""
    x = documents.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Longs = ((x ^ (x >> np.uint64(31))) >> np.uint64(32)).astype(np.int64)
    return mixed
