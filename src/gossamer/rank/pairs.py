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
from gossamer.simd import ABREAST, FOUR, TILE, distances
from gossamer.tree.arrays import NONE, Floats, Ints, Longs
from gossamer.tree.codes import Bytes, Codes

_BLOCK: Final = 512
"""Leaves a block: the codes of two fit into a core's own cache. (256: a tenth slower; 1,024: the same.)"""

_ROOM: Final = 160
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
    abreast = np.ascontiguousarray(signed.reshape(padded // ABREAST, ABREAST, -1, FOUR).transpose(0, 2, 1, 3))
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
    for block in blocks:
        for first in range(block * _BLOCK, (block + 1) * _BLOCK, TILE):
            a = slice(first, first + TILE)
            for other in range((block ^ distance) * _BLOCK, ((block ^ distance) + 1) * _BLOCK, ABREAST):
                b = slice(other, other + ABREAST)
                theirs = abreast[other // ABREAST].reshape(-1)
                distances(unsigned[a], theirs, norms[a], farthest[a], raised[b], farthest[b], away, near)
                for i in range(TILE):
                    if near[i] == 0:
                        continue
                    for j in range(ABREAST):
                        if away[i, j] < farthest[first + i] and first + i != other + j:
                            _note(notes, noted, farthest, width, first + i, away[i, j], other + j)
                        if away[i, j] < farthest[other + j] and distance != 0:
                            _note(notes, noted, farthest, width, other + j, away[i, j], first + i)


@subkernel
def _note(notes: Longs, noted: Longs, farthest: Floats, width: int, mine: int, away: float, theirs: int) -> None:
    """Note a leaf down, as one number that says how far and which; on a full page only the `width` nearest stay."""
    page, n = notes[mine], noted[mine]
    page[n] = (np.int64(away) << 32) | theirs
    n += 1
    if n == page.shape[0]:
        _smallest_first(page, width)
        farthest[mine] = np.float32(page[width - 1] >> 32)
        n = width
    noted[mine] = n


@subkernel
def _smallest_first(numbers: Longs, n: int) -> None:
    """Move the n smallest to the front, the largest of them last (Hoare's quickselect)."""
    low, high = 0, numbers.shape[0] - 1
    while low < high:
        pivot, i, j = numbers[(low + high) >> 1], low, high
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while numbers[j] > pivot:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i += 1
                j -= 1
        if n - 1 <= j:
            high = j
        elif n - 1 >= i:
            low = i
        else:
            return


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
