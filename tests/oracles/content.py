"""Leaves by content: the hash of a vector in Python's unbounded integers, and documents that share a leaf."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_WORD = (1 << 64) - 1


def content_hash(x: npt.NDArray[np.float32]) -> int:
    """Σ bits_d · (2d + 1) · φ mod 2⁶⁴, mixed by shifts and one product; the sign bit is cleared."""
    total = sum(bits * (2 * d + 1) * 0x9E3779B97F4A7C15 for d, bits in enumerate(x.view(np.uint32).tolist())) & _WORD
    total ^= total >> 29
    total = total * 0xBF58476D1CE4E5B9 & _WORD
    total ^= total >> 32
    return total & (_WORD >> 1)


def groups_of_equals(X: npt.NDArray[np.float32]) -> set[frozenset[int]]:
    """The rows of X that have the same bytes."""
    groups: dict[bytes, set[int]] = {}
    for row, x in enumerate(X):
        groups.setdefault(x.tobytes(), set()).add(row)
    return {frozenset(group) for group in groups.values()}


def content_order(X: npt.NDArray[np.float32]) -> list[int]:
    """The rows by hash, then by bytes, then as they came."""
    return sorted(range(len(X)), key=lambda row: (content_hash(X[row]), X[row].tobytes(), row))
