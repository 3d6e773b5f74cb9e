"""Codes → the nearest others of each, by comparing all pairs with PyTorch: `all_pairs` for a GPU.

Distances are the same whole numbers as those of `all_pairs`, so a tree built from them is the same but for others at
exactly the same distance. By

    ‖x − y‖² = ‖x‖² − key(x, y),    key(x, y) = 2·x·y − ‖y‖²

the nearest of x have the largest keys. To choose them among all takes longer than to compute the keys, so columns are
divided into groups of GROUP. The `width` largest keys lie in the `width` groups with the largest maxima, whatever the
data: only the members of these are compared. `fused` does the same in Triton, where no key is written to memory.

Columns are in a random order. Then what a row has yet to see is no nearer than what it has seen, and no two columns of
one group are likely to be near the same row.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Bytes
from gossamer.neighbours.all_pairs import Comparison, Nearest

GROUP: Final = 8
"""Columns of a group."""

STRIDE: Final = 16
"""Groups of a tile: group g of it holds the columns g, g + STRIDE, g + 2·STRIDE ... A thread of a tensor core's result
then holds whole groups."""

TILE: Final = GROUP * STRIDE

_CHUNK: Final = 128
"""Codes are padded to a multiple of this: the depth of one step of the matrix product."""

_ROWS: Final = {"cpu": 1024, "cuda": 8192}
_COLUMNS: Final = {"cpu": 8192, "cuda": 65_536}
"""Rows and columns that are compared at a time, by PyTorch alone."""

_FUSED_ROWS: Final = 1 << 20
"""The same of rows, by the fused kernels."""

_EXACT: Final = 1024
"""Coordinates over which products of codes add up exactly in float32: 1024·127² < 2²⁴."""

NEVER: Final = -(1 << 30)
"""Below every key: that of columns that hold no code. (For codes of up to 16,384 coordinates.)"""

LARGEST_DIM: Final = 16_384

PLACE: Final = (1 << 31) - 1
"""The low bits of a packed candidate, which hold PLACE less a place, so that of equal keys the first is the largest."""

Tensor: TypeAlias = Any


class Problem(NamedTuple):
    """What is compared, on the device."""

    rows: Tensor  # codes, padded to a multiple of _CHUNK coordinates
    norms: Tensor  # their squared lengths
    columns: Tensor  # the same codes in random order, padded to whole tiles
    column_norms: Tensor  # −NEVER where there is no code
    places: Tensor  # of the columns among the rows


def on_device(device: str) -> Comparison:
    """Comparing on a device, each with each as many codes as fit: 16 million take some 30 GB there."""
    return Comparison(
        lambda codes, width, progress: nearest_on_device(device, codes, width, progress),
        largest_group=1 << 24,
        linked=1 << 24,
    )


def nearest_on_device(
    device: str, codes: Bytes, width: int, progress: Callable[[float], None] = lambda share: None,
    *, fused: bool | None = None,
) -> Nearest:  # fmt: skip
    """The `width` nearest others of each code, as `all_pairs.nearest_of_all` finds them.

    Of others at the same distance, any may be kept; those that are, are in order. `fused` tells whether Triton is used:
    by default where it is installed and the GPU is one that its kernels were written for.
    """
    import torch

    count, dim = codes.shape
    nearest = Nearest(np.full((count, width), NONE, np.int32), np.full((count, width), np.inf, np.float32))
    there = min(width, count - 1)
    if there <= 0:
        return nearest
    if dim > LARGEST_DIM:
        raise ValueError(f"codes of {dim} coordinates: at most {LARGEST_DIM} can be compared on a device")
    if fused is None:
        fused = runs_fused(device)
    with torch.inference_mode():
        problem = lay_out(codes, device)
        search, step = nearest_plain, _ROWS[torch.device(device).type]
        if fused:
            from gossamer.neighbours.fused import nearest_fused

            search, step = nearest_fused, _FUSED_ROWS
        for first in range(0, count, step):
            last = min(count, first + step)
            places, distances = search(problem, first, last, there)
            nearest.places[first:last, :there] = places.cpu().numpy()
            nearest.distances[first:last, :there] = distances.cpu().numpy()
            progress(last / count)
    return nearest


def runs_fused(device: str) -> bool:
    """Whether the kernels of `fused` fit: data-centre GPUs of compute capability 9 and 10 (H100, H200, B200).

    Others have less shared memory than its tiles take.
    """
    import torch

    if torch.device(device).type != "cuda" or find_spec("triton") is None:
        return False
    return torch.cuda.get_device_capability(device)[0] in (9, 10)


def lay_out(codes: Bytes, device: str) -> Problem:
    """Codes on the device, as they are and in random order."""
    import torch

    count, dim = codes.shape
    rows = torch.nn.functional.pad(torch.from_numpy(np.ascontiguousarray(codes)).to(device), (0, -dim % _CHUNK))
    norms = torch.cat([part.int().square().sum(1, dtype=torch.int32) for part in rows.split(1 << 20)])
    places = torch.from_numpy(np.random.default_rng(0).permutation(count).astype(np.int32)).to(device)
    padding = (0, -count % TILE)
    return Problem(
        rows=rows,
        norms=norms,
        columns=torch.nn.functional.pad(rows[places], (0, 0, *padding)),
        column_norms=torch.nn.functional.pad(norms[places], padding, value=-NEVER),
        places=torch.nn.functional.pad(places, padding, value=NONE),
    )


# -- by PyTorch alone ----------------------------------------------------------------------------------


def nearest_plain(p: Problem, first: int, last: int, width: int) -> tuple[Tensor, Tensor]:
    """The places and distances of the `width` nearest of the rows from `first` to `last`."""
    import torch

    wanted = width + 1  # each row is also nearest to itself
    step = _COLUMNS[p.rows.device.type]
    best = torch.empty((last - first, 0), dtype=torch.int64, device=p.rows.device)
    for start in range(0, len(p.columns), step):
        part = slice(start, start + step)
        keys = 2 * products(p.rows[first:last], p.columns[part]) - p.column_norms[part]
        maxima = keys.unflatten(1, (-1, GROUP, STRIDE)).amax(2).flatten(1)
        groups = torch.arange(maxima.shape[1], device=maxima.device) + start // GROUP
        best = torch.cat([best, (maxima.long() << 32) | (PLACE - groups)], 1)
        best = best.topk(min(wanted, best.shape[1])).values
    found = [_finish(p, first + at, part, width) for at, part in _parts(best)]
    return torch.cat([places for places, _ in found]), torch.cat([distances for _, distances in found])


def products(rows: Tensor, columns: Tensor) -> Tensor:
    """rows · columnsᵀ of codes, exact, as int32."""
    import torch

    total = None
    for a, b in zip(rows.split(_EXACT, 1), columns.split(_EXACT, 1), strict=True):
        if rows.device.type == "cuda":
            part = torch.mm(a.bfloat16(), b.bfloat16().T, out_dtype=torch.float32).int()
        else:
            part = (a.float() @ b.float().T).int()
        total = part if total is None else total + part
    return total


def _parts(best: Tensor) -> list[tuple[int, Tensor]]:
    step = 256 if best.device.type == "cpu" else 1024
    return [(first, best[first : first + step]) for first in range(0, len(best), step)]


def _finish(p: Problem, first: int, best: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The nearest of some rows from `first` on, by their best groups."""
    import torch

    groups = PLACE - (best & PLACE)
    members = groups // STRIDE * TILE + groups % STRIDE
    members = (members[:, :, None] + STRIDE * torch.arange(GROUP, device=best.device)).flatten(1)
    rows = torch.arange(first, first + len(best), device=best.device)
    dots = torch.zeros(members.shape, dtype=torch.int32, device=best.device)
    for start in range(0, p.rows.shape[1], _EXACT):
        part = slice(start, start + _EXACT)
        a, b = p.rows[rows, part].float(), p.columns[:, part][members].float()
        dots += torch.bmm(b, a[:, :, None])[:, :, 0].int()
    keys = 2 * dots - p.column_norms[members]
    places = p.places[members].long()
    keys[places == rows[:, None]] = NEVER * 2 + 1
    chosen = ((keys.long() << 32) | (PLACE - places)).topk(width).values
    return (PLACE - (chosen & PLACE)).int(), (p.norms[rows][:, None] - (chosen >> 32)).float()
