"""The nearest others of every leaf, by comparing each with each.

For as many as there are in most collections that takes no longer than to search for them, and it misses none: what a
search misses is hard to find for queries, too, and needs links most. (With links chosen among all pairs, searches score
a fifth fewer nodes than with links chosen from what walks found, though that was 98 of 100 of the sixteen nearest.)

Leaves are taken in blocks, and blocks in rounds: in round r, block b meets block b XOR r. So in a round no block meets
two others, and threads share nothing; and neighbours in the tree meet first, so that what comes later is seldom nearer.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.jit import kernel, subkernel
from gossamer.rank.threads import in_threads
from gossamer.simd import ABREAST, FOUR, TILE, distances, lowest
from gossamer.tree.arrays import NONE, Floats, Ints, Longs
from gossamer.tree.codes import Bytes, Codes
from gossamer.tree.kernels import copy

_BLOCK: Final = 512
"""Leaves a block: the codes of two fit into a core's own cache. (256: a tenth slower; 1,024: the same.)"""

_ROOM: Final = 128
"""How many more than it is asked for a leaf may note down, before the nearest of them are picked out."""

_OFFSET: Final = 128
"""What makes codes unsigned: one side of every product has to be."""

_WHICH: Final = (1 << 32) - 1
"""The half of a note that says which leaf it is about; the other says how far that is."""

_Unsigned: TypeAlias = npt.NDArray[np.uint8]


def nearest_of_all(codes: Codes, rows: Ints, width: int) -> tuple[Ints, Floats]:
    """For each of some leaf rows, the `width` nearest others and their squared distances by codes, nearest first.

    Where there are fewer, the rest are NONE, and infinitely far. It is fastest if rows are in the order of the tree.
    """
    blocks, step = -(-len(rows) // _BLOCK), float(codes.step[0])
    padded = blocks * _BLOCK
    signed = np.zeros((padded, -(-len(codes.centre) // FOUR) * FOUR), np.int8)
    signed[: len(rows)] = codes.leaf[rows, : signed.shape[1]]
    unsigned = (signed.view(np.uint8) + np.uint8(_OFFSET)).astype(np.uint8)  # wraps around
    abreast = signed.reshape(padded // ABREAST, ABREAST, -1, FOUR).transpose(0, 2, 1, 3).reshape(padded // ABREAST, -1)
    norms = np.full(padded, np.inf, np.float32)  # of codes, in steps
    norms[: len(rows)] = np.einsum("ij,ij->i", signed, signed, dtype=np.int64)[: len(rows)]
    # Products with unsigned rows are larger, by as much for every one of them.
    raised = norms + (2 * _OFFSET * signed.sum(axis=1, dtype=np.int64)).astype(np.float32)
    notes, noted = np.zeros((padded, width + _ROOM), np.int64), np.zeros(padded, np.int64)
    farthest = np.full(padded, np.inf, np.float32)
    every = np.arange(blocks, dtype=np.int32)
    for distance in range(1 << (blocks - 1).bit_length()):
        others = every ^ distance
        first = every[(every <= others) & (others < blocks)]

        def meet(start: int, stop: int, first: Ints = first, distance: int = distance) -> None:
            _meet(unsigned, abreast, norms, raised, first[start:stop], distance, width, notes, noted, farthest)

        in_threads(meet, len(first))
    return _read(notes, noted, rows, width, step)


@kernel
def _meet(
    unsigned: _Unsigned, abreast: Bytes, norms: Floats, raised: Floats, blocks: Ints, distance: int, width: int,
    notes: Longs, noted: Longs, farthest: Floats,
) -> None:  # fmt: skip
    """Let blocks meet those at a distance: each leaf notes who is nearer than what it knows."""
    away, near = np.empty((TILE, ABREAST), np.float32), np.empty(TILE, np.int32)
    desk = np.empty((2, notes.shape[1]), np.int64)
    for block in blocks:
        for first in range(block * _BLOCK, (block + 1) * _BLOCK, TILE):
            a = slice(first, first + TILE)
            for other in range((block ^ distance) * _BLOCK, ((block ^ distance) + 1) * _BLOCK, ABREAST):
                b = slice(other, other + ABREAST)
                theirs = abreast[other // ABREAST]
                distances(unsigned[a], theirs, norms[a], farthest[a], raised[b], farthest[b], away, near)
                for i in range(TILE):
                    bits = near[i]
                    while bits != 0:
                        j = lowest(bits)
                        bits &= bits - np.int32(1)
                        if away[i, j] < farthest[first + i] and first + i != other + j:
                            _note(notes, noted, farthest, width, first + i, away[i, j], other + j, desk)
                        if away[i, j] < farthest[other + j] and distance != 0:
                            _note(notes, noted, farthest, width, other + j, away[i, j], first + i, desk)


@subkernel
def _note(
    notes: Longs, noted: Longs, farthest: Floats, width: int, mine: int, away: float, theirs: int, desk: Longs
) -> None:
    """Note a leaf down, as one number that says how far and which; on a full page only the nearest stay."""
    page, n = notes[mine], noted[mine]
    page[n] = (np.int64(away) << 32) | theirs
    n += 1
    if n == page.shape[0]:
        n, last = _smallest_first(page, width, (width + n) // 2, desk)
        farthest[mine] = np.float32(last >> 32)
    noted[mine] = n


@subkernel
def _smallest_first(numbers: Longs, least: int, most: int, desk: Longs) -> tuple[int, int]:
    """Move the smallest to the front, at least and at most so many; returns how many, and the largest of them.

    Quickselect (Hoare 1961) that stops early, and without branches on numbers: nobody can foresee which way they go.
    There must be a few more between `least` and `most`, and no two the same.
    """
    front, count = 0, numbers.shape[0]
    while True:
        a, b, c = numbers[front], numbers[front + (count >> 1)], numbers[front + count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        n = 0
        for i in range(count):
            number = numbers[front + i]
            desk[0, n], desk[1, i - n] = number, number
            n += number <= pivot
        copy(desk[0, :n], numbers[front : front + n])
        copy(desk[1, : count - n], numbers[front + n : front + count])
        if front + n > most:
            count = n
        elif front + n < least:
            front += n
            count -= n
        else:
            return front + n, pivot


def _read(notes: Longs, noted: Longs, rows: Ints, width: int, step: float) -> tuple[Ints, Floats]:
    """What was noted down, nearest first."""
    found, near = np.empty((len(rows), width), np.int32), np.empty((len(rows), width), np.float32)
    nobody = np.iinfo(np.int64).max

    def read(first: int, last: int) -> None:
        pages = notes[first:last]
        pages[np.arange(pages.shape[1]) >= noted[first:last, None]] = nobody
        pages.partition(width - 1, axis=1)
        pages = pages[:, :width]
        pages.sort(axis=1)
        found[first:last] = np.where(pages == nobody, NONE, rows[np.where(pages == nobody, 0, pages & _WHICH)])
        near[first:last] = np.where(pages == nobody, np.inf, (pages >> 32) * step * step)

    in_threads(read, len(rows))
    return found, near
