"""Codes → the nearest others of each, by comparing all pairs: ‖x − y‖² = ‖x‖² + ‖y‖² − 2·x·y, in whole numbers.

For as many codes as most collections have, that takes no longer than an approximate search, and it misses none. What a
search misses is hard to find for queries too, and needs links most: with links chosen among all pairs, searches score a
fifth fewer nodes than with links chosen from searches that found 98 % of the sixteen nearest.

Codes are divided into blocks, and blocks are compared in rounds: in round r, block b with block b XOR r. So no block is
compared with two others in one round, and threads share nothing; and codes that are listed near each other are compared
first, so that later ones are seldom nearer than those found.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Bytes, Floats, Ints, Longs
from gossamer.neighbours.ordering import copy
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import ABREAST, FOUR, TILE, distances, lowest
from gossamer.runtime.threads import in_threads

_UNPACKED_AT_ONCE: Final = 1024
"""Rows of candidates that are sorted together: their copies are small."""

_BLOCK: Final = 512
"""Codes in a block: two blocks fit into a core's own cache. (256: a tenth slower; 1,024: the same.)"""

_SPARE: Final = 128
"""Candidates of a code beyond the number asked for that are collected before the farthest are dropped."""

_OFFSET: Final = 128
"""Added to one factor of every product: the instruction multiplies unsigned with signed bytes."""

_PLACE: Final = (1 << 32) - 1
"""The bits of a candidate that hold its place; those above hold its squared distance."""

_Unsigned: TypeAlias = npt.NDArray[np.uint8]


class Nearest(NamedTuple):
    """The nearest others of each code."""

    places: Ints  # nearest first; NONE where there are no more
    distances: Floats  # squared, in steps of the codes; infinite where there are no more


class Comparison(NamedTuple):
    """How all pairs of codes are compared: by the kernels of this module, or on a device (`on_device`)."""

    nearest: Callable[[Bytes, int, Callable[[float], None]], Nearest]
    largest_group: int
    """Codes that are compared each with each; more are divided into groups by whoever wants their neighbours."""
    linked: int
    """Leaves up to which links are chosen among all pairs."""


class _Layout(NamedTuple):
    """Codes as `distances` reads them. Rows are padded; those that hold no code have infinite norms."""

    rows: _Unsigned  # plus _OFFSET
    columns: Bytes  # ABREAST rows side by side: the first FOUR coordinates of each, the next FOUR of each ...
    norms: Floats  # squared length of the codes
    column_norms: Floats  # plus what _OFFSET adds to products with this code


class _Candidates(NamedTuple):
    """The nearest others found so far, by row; packed into one number each: squared distance << 32 | place."""

    packed: Longs
    counts: Longs
    limits: Floats  # others at this squared distance or beyond are not collected


def nearest_of_all(codes: Bytes, width: int, progress: Callable[[float], None] = lambda share: None) -> Nearest:
    """The `width` nearest others of each code, or all where there are fewer.

    It is a little faster where near codes are listed near each other. `progress` is called with the share that is done.
    """
    layout = _lay_out(codes, _BLOCK)
    padded = len(layout.norms)
    candidates = _Candidates(
        packed=np.zeros((padded, width + _SPARE), np.int64),
        counts=np.zeros(padded, np.int64),
        limits=np.full(padded, np.inf, np.float32),
    )
    blocks = np.arange(padded // _BLOCK, dtype=np.int32)
    rounds = 1 << (len(blocks) - 1).bit_length()
    for distance in range(rounds):
        others = blocks ^ distance
        first = blocks[(blocks <= others) & (others < len(blocks))]

        def compare(start: int, stop: int, first: Ints = first, distance: int = distance) -> None:
            _compare_blocks(layout, first[start:stop], distance, width, candidates)

        in_threads(compare, len(first))
        progress((distance + 1) / rounds)
    return _unpack(candidates, len(codes), width)


ON_PROCESSOR: Final = Comparison(nearest_of_all, largest_group=131_072, linked=80_000)
"""Links are chosen among all pairs of so many leaves as take no longer than a search for each, where the processor has
an instruction for it (`runtime.simd.distances`); with AVX2 alone two and a half times as long."""


def nearest_of_some(codes: Bytes, some: Bytes) -> Longs:
    """For each code the place of the nearest of `some` others; of equally near ones the first."""
    mine, theirs = _lay_out(codes, ABREAST), _lay_out(some, ABREAST)
    best = np.zeros(len(mine.norms), np.int64)

    def choose(first: int, last: int) -> None:
        part = slice(first * TILE, last * TILE)
        _choose_nearest(mine.rows[part], mine.norms[part], theirs.columns, theirs.column_norms, best[part])

    in_threads(choose, len(best) // TILE)
    return best[: len(codes)]


def _lay_out(codes: Bytes, multiple: int) -> _Layout:
    """Codes, padded to a multiple of rows and of FOUR coordinates."""
    rows, dim = codes.shape
    signed = np.pad(codes, ((0, -rows % multiple), (0, -dim % FOUR)))
    blocks = len(signed) // ABREAST
    norms = np.full(len(signed), np.inf, np.float32)
    norms[:rows] = np.einsum("ij,ij->i", codes, codes, dtype=np.int64)
    return _Layout(
        rows=(signed.view(np.uint8) + np.uint8(_OFFSET)).astype(np.uint8),  # wraps around
        columns=signed.reshape(blocks, ABREAST, -1, FOUR).transpose(0, 2, 1, 3).reshape(blocks, -1),
        norms=norms,
        column_norms=norms + (2 * _OFFSET * signed.sum(axis=1, dtype=np.int64)).astype(np.float32),
    )


@kernel
def _compare_blocks(layout: _Layout, blocks: Ints, distance: int, width: int, candidates: _Candidates) -> None:
    """Compare the codes of each block b with those of block b XOR `distance`, and collect candidates on both sides."""
    squared, near = np.empty((TILE, ABREAST), np.float32), np.empty(TILE, np.int32)
    workspace = np.empty((2, candidates.packed.shape[1]), np.int64)
    limits = candidates.limits
    for block in blocks:
        for first in range(block * _BLOCK, (block + 1) * _BLOCK, TILE):
            a = slice(first, first + TILE)
            for other in range((block ^ distance) * _BLOCK, ((block ^ distance) + 1) * _BLOCK, ABREAST):
                b = slice(other, other + ABREAST)
                distances(
                    layout.rows[a], layout.columns[other // ABREAST], layout.norms[a], limits[a],
                    layout.column_norms[b], limits[b], squared, near,
                )  # fmt: skip
                for i in range(TILE):
                    bits = near[i]
                    while bits != 0:
                        j = lowest(bits)
                        bits &= bits - np.int32(1)
                        if squared[i, j] < limits[first + i] and first + i != other + j:
                            _collect(candidates, first + i, other + j, squared[i, j], width, workspace)
                        if squared[i, j] < limits[other + j] and distance != 0:
                            _collect(candidates, other + j, first + i, squared[i, j], width, workspace)


@subkernel
def _collect(candidates: _Candidates, row: int, other: int, distance: float, width: int, workspace: Longs) -> None:
    """Add a candidate to a row; a row that is full drops all but about `width` of its nearest."""
    packed, n = candidates.packed[row], candidates.counts[row]
    packed[n] = (np.int64(distance) << 32) | other
    n += 1
    if n == packed.shape[0]:
        n, last = _select_smallest(packed, width, (width + n) // 2, workspace)
        candidates.limits[row] = np.float32(last >> 32)
    candidates.counts[row] = n


@subkernel
def _select_smallest(numbers: Longs, least: int, most: int, workspace: Longs) -> tuple[int, int]:
    """Move the smallest numbers to the front, from `least` to `most` of them; returns how many, and their largest.

    Quickselect (Hoare 1961) that stops within a range. No branch depends on the numbers: no processor could predict it.
    Where more than `most` are equal, any of them stay.
    """
    front, count = 0, numbers.shape[0]
    while True:
        a, b, c = numbers[front], numbers[front + (count >> 1)], numbers[front + count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        n = 0
        for i in range(count):
            number = numbers[front + i]
            workspace[0, n], workspace[1, i - n] = number, number
            n += number <= pivot
        copy(workspace[0, :n], numbers[front : front + n])
        copy(workspace[1, : count - n], numbers[front + n : front + count])
        if front + n > most:
            if n == count:  # so many are equal that the median of three is the largest
                return most, pivot
            count = n
        elif front + n < least:
            front += n
            count -= n
        else:
            return front + n, pivot


def _unpack(candidates: _Candidates, rows: int, width: int) -> Nearest:
    """The nearest candidates of the first rows, in order."""
    nearest = Nearest(np.empty((rows, width), np.int32), np.empty((rows, width), np.float32))
    missing = np.iinfo(np.int64).max

    def unpack(first: int, last: int) -> None:
        for start in range(first, last, _UNPACKED_AT_ONCE):
            part = slice(start, min(last, start + _UNPACKED_AT_ONCE))
            packed = candidates.packed[part]
            packed[np.arange(packed.shape[1]) >= candidates.counts[part, None]] = missing
            packed.partition(width - 1, axis=1)
            packed = packed[:, :width]
            packed.sort(axis=1)
            nearest.places[part] = np.where(packed == missing, NONE, packed & _PLACE)
            nearest.distances[part] = np.where(packed == missing, np.inf, packed >> 32)

    in_threads(unpack, rows)
    return nearest


@kernel
def _choose_nearest(rows: _Unsigned, norms: Floats, columns: Bytes, column_norms: Floats, best: Longs) -> None:
    """For each row, which of the columns is nearest."""
    squared, near = np.empty((TILE, ABREAST), np.float32), np.empty(TILE, np.int32)
    nearest, never = np.empty(TILE, np.float32), np.full(ABREAST, -np.inf, np.float32)
    for first in range(0, rows.shape[0], TILE):
        a = slice(first, first + TILE)
        nearest[:] = np.inf
        for other in range(0, column_norms.shape[0], ABREAST):
            b = slice(other, other + ABREAST)
            distances(rows[a], columns[other // ABREAST], norms[a], nearest, column_norms[b], never, squared, near)
            for i in range(TILE):
                bits = near[i]
                while bits != 0:
                    j = lowest(bits)
                    bits &= bits - np.int32(1)
                    if squared[i, j] < nearest[i]:
                        nearest[i], best[first + i] = squared[i, j], other + j
