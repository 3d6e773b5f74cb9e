"""`on_device` in Triton: the product of a tile, the maxima of its groups and the choice among them in one kernel.

Keys stay in registers. Each row has a floor, the `width`-th largest maximum of the columns seen so far; groups above it
are appended to the row's list, and now and then the lists are sorted and floors rise. Columns are in random order, so
of a stage that makes the columns seen f times as many, about width·(f − 1) groups of each row are above its floor.
Where a list is too short all the same (many near columns in one stage), the stage is done again in two halves.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import torch
import triton
import triton.language as tl

from gossamer.neighbours.on_device import GROUP, PLACE, STRIDE, TILE, Problem, Tensor

_GROUP = tl.constexpr(GROUP)
_STRIDE = tl.constexpr(STRIDE)
_TILE = tl.constexpr(TILE)
_PLACE = tl.constexpr(PLACE)
_CHUNK = tl.constexpr(128)
_STEP = tl.constexpr(32)
_LEAST = tl.constexpr(-(1 << 63))
_HIGHEST = tl.constexpr((1 << 31) - 1)

_PROGRAMS: Final = 1024
"""Programs of a launch, at least, where there is so much to do; and _SPAN tiles for each, at most."""
_SPAN: Final = 64


class Config(NamedTuple):
    """How tiles are computed."""

    rows: int  # of a tile
    tiles: int  # of TILE columns that are multiplied at once
    warps: int
    stages: int
    descriptors: bool  # columns are copied by the tensor memory accelerator


BEST: Final = Config(256, 1, 8, 2, True)
"""Of those that `benchmarks/gpu.py` tries, the fastest on an H200, with 384 coordinates."""

_NARROW: Final = BEST._replace(rows=128)
"""For as many coordinates as make tiles of BEST too large for the 227 KB of shared memory of a multiprocessor."""


def config_for(dim: int) -> Config:
    """How tiles of codes with this many (padded) coordinates are computed. Rows stay in shared memory up to 512."""
    return _NARROW if 384 < dim <= 512 else BEST


def nearest_fused(p: Problem, first: int, last: int, width: int, config: Config | None = None) -> tuple[Tensor, Tensor]:
    """The places and distances of the `width` nearest of the rows from `first` to `last`."""
    search = FusedSearch(p, first, last, width, config)
    search.run()
    return search.finish()


class FusedSearch:
    """The state of a search: for each row the best groups so far, and the list of those that came since."""

    def __init__(self, p: Problem, first: int, last: int, width: int, config: Config | None = None) -> None:
        self.p, self.first, self.rows, self.width = p, first, last - first, width
        self.config = config or config_for(p.rows.shape[1])
        self.wanted = width + 1  # each row is also nearest to itself
        self.keep = max(16, triton.next_power_of_2(self.wanted))
        self.room = 3 * self.keep
        device = p.rows.device
        self.best = torch.full((self.rows, self.keep), _LEAST.value, dtype=torch.int64, device=device)
        self.found = torch.empty((self.rows, self.room), dtype=torch.int64, device=device)
        self.counts = torch.zeros(self.rows, dtype=torch.int32, device=device)
        self.floor = torch.full((self.rows,), -(1 << 31), dtype=torch.int32, device=device)

    def run(self) -> None:
        """Look at all columns."""
        tiles, seen = len(self.p.columns) // TILE, 0
        growth = 1.0 + self.room / (2.5 * self.wanted)
        while seen < tiles:
            until = min(tiles, max(seen + self.room // STRIDE, int(seen * growth)))
            self._stage(seen, until)
            seen = until

    def _stage(self, first: int, last: int) -> None:
        self.collect(first, last)
        if (last - first) * STRIDE > self.room and int(self.counts.max()) > self.room:
            self.counts.zero_()
            middle = (first + last) // 2
            self._stage(first, middle)
            self._stage(middle, last)
        else:
            _merge[(self.rows,)](
                self.best, self.found, self.counts, self.floor, WANTED=self.wanted, KEEP=self.keep, num_warps=1
            )

    def collect(self, first: int, last: int) -> None:
        """Append the groups of the tiles from `first` to `last` that are above the floors to the lists."""
        p, config = self.p, self.config
        blocks = triton.cdiv(self.rows, config.rows)
        span = max(1, min(_SPAN, blocks * (last - first) // _PROGRAMS // config.tiles)) * config.tiles
        dim = p.rows.shape[1]
        columns = _described(p.columns, config.tiles * TILE) if config.descriptors else p.columns
        _collect[(blocks, triton.cdiv(last - first, span))](
            p.rows[self.first : self.first + self.rows], columns, p.column_norms, self.floor, self.counts, self.found,
            self.rows, first, last, span,
            DIM=dim, CHUNKS=dim // 128, ROOM=self.room, ROWS=config.rows, TILES=config.tiles,
            DESCRIBED=config.descriptors, num_warps=config.warps, num_stages=config.stages,
        )  # fmt: skip

    def finish(self) -> tuple[Tensor, Tensor]:
        """The nearest among the members of the best groups."""
        p = self.p
        places = torch.empty((self.rows, self.width), dtype=torch.int32, device=p.rows.device)
        distances = torch.empty((self.rows, self.width), dtype=torch.float32, device=p.rows.device)
        members = self.keep * GROUP
        _finish[(self.rows,)](
            p.rows, p.norms, p.columns, p.column_norms, p.places, self.best, places, distances, self.first, self.width,
            WANTED=self.wanted, KEEP=self.keep, DIM=p.rows.shape[1], MEMBERS=members,
            num_warps=4 if members <= 128 else 8 if members <= 512 else 16,
        )  # fmt: skip
        return places, distances


def _described(columns: Tensor, block: int) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(columns, [block, 128])


@triton.jit
def _load(columns, first, k, DIM: tl.constexpr, COLUMNS: tl.constexpr, DESCRIBED: tl.constexpr):
    """_CHUNK coordinates of COLUMNS columns, transposed."""
    if DESCRIBED:
        part = columns.load([first, k])
    else:
        at = (first + tl.arange(0, COLUMNS)).to(tl.int64) * DIM
        part = tl.load(columns + at[:, None] + (k + tl.arange(0, _CHUNK))[None, :])
    return part.T


@triton.jit
def _collect(
    rows, columns, column_norms, floor, counts, found, n_rows, first, last, span,
    DIM: tl.constexpr, CHUNKS: tl.constexpr, ROOM: tl.constexpr, ROWS: tl.constexpr, TILES: tl.constexpr,
    DESCRIBED: tl.constexpr,
):  # fmt: skip
    COLUMNS: tl.constexpr = TILES * _TILE
    GROUPS: tl.constexpr = TILES * _STRIDE
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < n_rows
    lowest = tl.load(floor + row, mask=inside, other=_HIGHEST)
    k = tl.arange(0, _CHUNK)
    mine = rows + tl.minimum(row, n_rows - 1).to(tl.int64)[:, None] * DIM + k[None, :]
    # Up to four chunks of the rows stay in shared memory for all columns.
    if CHUNKS <= 4:
        a0 = tl.load(mine)
        if CHUNKS > 1:
            a1 = tl.load(mine + _CHUNK)
        if CHUNKS > 2:
            a2 = tl.load(mine + 2 * _CHUNK)
        if CHUNKS > 3:
            a3 = tl.load(mine + 3 * _CHUNK)
    start = first + tl.program_id(1) * span
    for tile in tl.range(start, tl.minimum(start + span, last), TILES):
        column = tile * _TILE
        if CHUNKS <= 4:
            dots = tl.dot(a0, _load(columns, column, 0, DIM, COLUMNS, DESCRIBED), out_dtype=tl.int32)
            if CHUNKS > 1:
                dots = tl.dot(a1, _load(columns, column, 128, DIM, COLUMNS, DESCRIBED), dots, out_dtype=tl.int32)
            if CHUNKS > 2:
                dots = tl.dot(a2, _load(columns, column, 256, DIM, COLUMNS, DESCRIBED), dots, out_dtype=tl.int32)
            if CHUNKS > 3:
                dots = tl.dot(a3, _load(columns, column, 384, DIM, COLUMNS, DESCRIBED), dots, out_dtype=tl.int32)
        else:
            dots = tl.zeros([ROWS, COLUMNS], tl.int32)
            for chunk in range(CHUNKS):
                a = tl.load(mine + chunk * _CHUNK)
                dots = tl.dot(a, _load(columns, column, chunk * 128, DIM, COLUMNS, DESCRIBED), dots, out_dtype=tl.int32)
        norms = tl.load(column_norms + column + tl.arange(0, COLUMNS))
        keys = tl.reshape(2 * dots - norms[None, :], [ROWS, TILES, _GROUP, _STRIDE])
        best = tl.reshape(tl.max(keys, 2), [ROWS, GROUPS])
        group = tile * _STRIDE + tl.arange(0, GROUPS)
        above = best > lowest[:, None]
        at = tl.atomic_add(counts + row[:, None] + tl.zeros([ROWS, GROUPS], tl.int32), 1, mask=above, sem="relaxed")
        packed = (best.to(tl.int64) << 32) | (group ^ _PLACE)[None, :].to(tl.int64)
        tl.store(found + row.to(tl.int64)[:, None] * ROOM + at, packed, mask=above & (at < ROOM))


@triton.jit
def _merge(best, found, counts, floor, WANTED: tl.constexpr, KEEP: tl.constexpr):
    """The best groups of a row among those so far and those of its list, and the row's new floor."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, 4 * KEEP)
    listed = at - KEEP
    known = tl.load(best + row * KEEP + at, mask=at < KEEP, other=_LEAST)
    fresh = tl.load(
        found + row * (3 * KEEP) + listed, mask=(listed >= 0) & (listed < tl.load(counts + row)), other=_LEAST
    )
    ordered = tl.sort(tl.maximum(known, fresh), descending=True)
    tl.store(best + row * KEEP + at, ordered, mask=at < KEEP)
    last = tl.max(tl.where(at == WANTED - 1, ordered, _LEAST), 0)
    tl.store(floor + row, (last >> 32).to(tl.int32))
    tl.store(counts + row, 0)


@triton.jit
def _finish(
    rows, norms, columns, column_norms, places, best, out_places, out_distances, first, width,
    WANTED: tl.constexpr, KEEP: tl.constexpr, DIM: tl.constexpr, MEMBERS: tl.constexpr,
):  # fmt: skip
    out = tl.program_id(0).to(tl.int64)
    row = first + out
    at = tl.arange(0, MEMBERS)
    slot = at // _GROUP
    packed = tl.load(best + out * KEEP + slot)
    there = (slot < WANTED) & (packed != _LEAST)
    group = tl.where(there, (packed & _PLACE) ^ _PLACE, 0)
    column = group // _STRIDE * _TILE + group % _STRIDE + at % _GROUP * _STRIDE
    total = tl.zeros([MEMBERS, _STEP], tl.int32)
    k = tl.arange(0, _STEP)
    for start in range(0, DIM, _STEP):
        mine = tl.load(rows + row * DIM + start + k).to(tl.int32)
        theirs = tl.load(columns + column[:, None] * DIM + (start + k)[None, :], mask=there[:, None], other=0)
        total += mine[None, :] * theirs.to(tl.int32)
    keys = 2 * tl.sum(total, 1) - tl.load(column_norms + column)
    place = tl.load(places + column)
    there = there & (place != row) & (place >= 0)
    chosen = tl.where(there, (keys.to(tl.int64) << 32) | (place ^ _PLACE).to(tl.int64), _LEAST)
    chosen = tl.sort(chosen, descending=True)
    nearest = at < width
    tl.store(out_places + out * width + at, ((chosen & _PLACE) ^ _PLACE).to(tl.int32), mask=nearest)
    tl.store(out_distances + out * width + at, (tl.load(norms + row) - (chosen >> 32)).to(tl.float32), mask=nearest)
