"""The nearest others of every leaf, or of whatever has a code, by comparing each with each.

For as many as there are in most collections that takes no longer than to search for them, and it misses none: what a
search misses is hard to find for queries, too, and needs links most. (With links chosen among all pairs, searches score
a fifth fewer nodes than with links chosen from what walks found, though that was 98 of 100 of the sixteen nearest.)

Leaves are taken in blocks, and blocks in rounds: in round r, block b meets block b XOR r. So in a round no block meets
two others, and threads share nothing; and neighbours in the tree meet first, so that what comes later is seldom nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Bytes, Floats, Ints, Longs
from gossamer.neighbours.heap import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import ABREAST, FOUR, TILE, distances, lowest
from gossamer.runtime.threads import in_threads

_BLOCK: Final = 512
"""Leaves a block: the codes of two fit into a core's own cache. (256: a tenth slower; 1,024: the same.)"""

_ROOM: Final = 128
"""How many more than it is asked for a leaf may note down, before the nearest of them are picked out."""

_OFFSET: Final = 128
"""What makes codes unsigned: one side of every product has to be."""

_WHICH: Final = (1 << 32) - 1
"""The half of a note that says which leaf it is about; the other says how far that is."""

_Unsigned: TypeAlias = npt.NDArray[np.uint8]


@kernel
def encode_rows(vectors: Floats, out: Bytes) -> None:
    """Write the codes of vectors whose coordinates are in steps from the centre."""
    for i in range(vectors.shape[0]):
        for d in range(vectors.shape[1]):
            out[i, d] = np.int8(min(np.float32(127.0), max(np.float32(-127.0), np.rint(vectors[i, d]))))


def nearest_of_all(codes: Bytes, width: int, hear: Callable[[float], None] = lambda share: None) -> tuple[Ints, Floats]:
    """For each row of codes the `width` nearest others, by place, and their squared distances in steps, nearest first.

    Where there are fewer, the rest are NONE, and infinitely far. It is a little faster if what is near stands together.
    `hear` is told what share is done.
    """
    rows = len(codes)
    unsigned, abreast, norms, raised = _laid_out(codes, _BLOCK)
    padded = len(norms)
    blocks = padded // _BLOCK
    notes, noted = np.zeros((padded, width + _ROOM), np.int64), np.zeros(padded, np.int64)
    farthest = np.full(padded, np.inf, np.float32)
    every = np.arange(blocks, dtype=np.int32)
    rounds = 1 << (blocks - 1).bit_length()
    for distance in range(rounds):
        others = every ^ distance
        first = every[(every <= others) & (others < blocks)]

        def meet(start: int, stop: int, first: Ints = first, distance: int = distance) -> None:
            _meet(unsigned, abreast, norms, raised, first[start:stop], distance, width, notes, noted, farthest)

        in_threads(meet, len(first))
        hear((distance + 1) / rounds)
    return _read(notes[:rows], noted, width)


def nearest_of_some(codes: Bytes, some: Bytes) -> Longs:
    """For each row of codes, which of some others is nearest."""
    unsigned, _, norms, _ = _laid_out(codes, ABREAST)
    _, abreast, _, raised = _laid_out(some, ABREAST)
    best = np.zeros(len(norms), np.int64)

    def choose(first: int, last: int) -> None:
        part = slice(first * TILE, last * TILE)
        _choose(unsigned[part], abreast, norms[part], raised, best[part])

    in_threads(choose, len(norms) // TILE)
    return best[: len(codes)]


def _laid_out(codes: Bytes, multiple: int) -> tuple[_Unsigned, Bytes, Floats, Floats]:
    """What `distances` reads of rows and of empty ones that make up a multiple: unsigned ones, those abreast, and norms
    for either, which are infinite where a row is empty."""
    rows, dim = codes.shape
    signed = np.pad(codes, ((0, -rows % multiple), (0, -dim % FOUR)))
    unsigned = (signed.view(np.uint8) + np.uint8(_OFFSET)).astype(np.uint8)  # wraps around
    blocks = len(signed) // ABREAST
    abreast = signed.reshape(blocks, ABREAST, -1, FOUR).transpose(0, 2, 1, 3).reshape(blocks, -1)
    norms = np.full(len(signed), np.inf, np.float32)  # of codes, in steps
    norms[:rows] = np.einsum("ij,ij->i", codes, codes, dtype=np.int64)
    # Products with unsigned rows are larger, by as much for every one of them.
    raised = norms + (2 * _OFFSET * signed.sum(axis=1, dtype=np.int64)).astype(np.float32)
    return unsigned, abreast, norms, raised


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


@kernel
def _choose(unsigned: _Unsigned, abreast: Bytes, norms: Floats, raised: Floats, best: Longs) -> None:
    """For each row, which of those abreast is nearest."""
    away, near = np.empty((TILE, ABREAST), np.float32), np.empty(TILE, np.int32)
    nearest, never = np.empty(TILE, np.float32), np.full(ABREAST, -np.inf, np.float32)
    for first in range(0, unsigned.shape[0], TILE):
        a = slice(first, first + TILE)
        nearest[:] = np.inf
        for other in range(0, raised.shape[0], ABREAST):
            b = slice(other, other + ABREAST)
            distances(unsigned[a], abreast[other // ABREAST], norms[a], nearest, raised[b], never, away, near)
            for i in range(TILE):
                bits = near[i]
                while bits != 0:
                    j = lowest(bits)
                    bits &= bits - np.int32(1)
                    if away[i, j] < nearest[i]:
                        nearest[i], best[first + i] = away[i, j], other + j


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
    There must be a few more between `least` and `most`. Where many are the same, any of them stay.
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
            if n == count:  # so many are the same that the middle of three is the largest
                return most, pivot
            count = n
        elif front + n < least:
            front += n
            count -= n
        else:
            return front + n, pivot


def _read(notes: Longs, noted: Longs, width: int) -> tuple[Ints, Floats]:
    """What was noted down, nearest first."""
    found, near = np.empty((len(notes), width), np.int32), np.empty((len(notes), width), np.float32)
    nobody = np.iinfo(np.int64).max

    def read(first: int, last: int) -> None:
        pages = notes[first:last]
        pages[np.arange(pages.shape[1]) >= noted[first:last, None]] = nobody
        pages.partition(width - 1, axis=1)
        pages = pages[:, :width]
        pages.sort(axis=1)
        found[first:last] = np.where(pages == nobody, NONE, pages & _WHICH)
        near[first:last] = np.where(pages == nobody, np.inf, pages >> 32)

    in_threads(read, len(notes))
    return found, near
