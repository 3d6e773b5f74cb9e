"""Products of float32 matrices on tensor cores, nearly as exact as in float32.

A number of 24 bits is split into two of float16, which have 22 together: x = hi + lo. Then

    x·w ≈ hi(x)·hi(w) + hi(x)·lo(w) + lo(x)·hi(w)

is one product with three times the coordinates. On an H200 tensor cores take a quarter of the time of a float32
product for it. (After Ootomo and Yokota 2022, *Recovering single precision accuracy from tensor cores*; they scale
lo by 2¹¹ because float16 has few exponents. Here all is scaled by powers of two to a largest number of 2¹³ to 2¹⁴,
so what is lost below float16's range is 2⁻³⁸ of the largest.)

Tensor cores do not round, they cut bits off (Fasi et al. 2021, *Numerical behavior of NVIDIA tensor cores*; Khattak and
Mikaitis 2025, *Accurate models of NVIDIA tensor cores*). A step aligns n products and the sum so far to the largest of
them, with b bits beyond float32's 24, and cuts off what is below; then it cuts the new sum off after 24 bits. In
units of 2⁻²⁴ of Σ|x·w| it loses at most 2·2⁻ᵇ for each of the n that are not the largest, and 2 for the sum: 10 units
on Volta (n = 4, b = 0), Ampere (8, 1) and Hopper (16, 2). `rounding` adds up all steps. Errors partly cancel, and most
sums are far below Σ|x·w|: with 273 coordinates an H200 was off by 5.1·10⁻⁴ at most, about a thirtieth of the bound.
This model, computed with such numbers, is off by 4.4·10⁻⁴ for Hopper and 7.1·10⁻⁴ for Ampere; float32 is by 0.7·10⁻⁴.
The part `sums` of `benchmarks/gpu.py` measures n and b of a card: 16 and 2 on an H200.

On a device other than a GPU the same parts are multiplied in float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

Tensor: TypeAlias = Any

_HIGHEST: Final = 14
"""The largest number of a block is scaled to at most 2 to the power of this."""

_ALIGNED: Final = 8
"""Coordinates are padded to a multiple of this, as tensor cores read them."""

_AT_ONCE: Final = {8: 8, 9: 16, 10: 16}
"""Products that a tensor core adds in a step, by the major number of CUDA's compute capability."""

_FEWEST: Final = 4
"""The same of older and unknown ones: as many steps as on any."""

_ROUNDING_OF_STEP: Final = 10.0
_ROUNDING_OF_PARTS: Final = 16.0
"""In units of float32's rounding, 2⁻²⁴, of Σ|x·w|: what a step may lose, and what is lost by splitting (3·2⁻²² for the
two parts and lo·lo, and 4 for float32 numbers that are rounded before and after)."""


class Block(NamedTuple):
    """Coordinates that are scaled by one power of two, since they are of one size."""

    width: int
    largest: float  # no number of the right side is larger, by its absolute value


class Layout(NamedTuple):
    """How the rows of both sides are laid out."""

    scales: tuple[float, ...]  # by block: what the right side is multiplied by
    widths: tuple[int, ...]

    @property
    def width(self) -> int:
        """Coordinates, with padding."""
        return -(-sum(self.widths) // _ALIGNED) * _ALIGNED


def layout(blocks: Sequence[Block]) -> Layout:
    """A layout for a right side of these blocks."""
    return Layout(tuple(_scale(block.largest) for block in blocks), tuple(block.width for block in blocks))


def _scale(largest: float) -> float:
    """The power of two that brings a number to at most 2^_HIGHEST, and above half of that."""
    return 2.0 ** (_HIGHEST - math.ceil(math.log2(largest))) if largest > 0.0 else 1.0


def right_side(at: Layout, blocks: Sequence[Tensor]) -> Tensor:
    """Rows of the right side in parts [hi, lo, hi]; `blocks` are their coordinates by block."""
    import torch

    scaled = [block * scale for block, scale in zip(blocks, at.scales, strict=True)]
    high, low = _split(_padded(torch.cat(scaled, 1), at))
    return torch.cat([high, low, high], 1)


def left_side(at: Layout, blocks: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Rows of the left side in parts [hi, hi, lo], and by row what their products are to be multiplied by."""
    import torch

    scaled = [block / scale for block, scale in zip(blocks, at.scales, strict=True)]
    rows = _padded(torch.cat(scaled, 1), at)
    largest = rows.abs().amax(1, keepdim=True)
    exponents = torch.where(largest > 0.0, largest.log2().ceil(), torch.zeros_like(largest))
    factor = torch.exp2(exponents - _HIGHEST)
    high, low = _split(rows / factor)
    return torch.cat([high, high, low], 1), factor


def _padded(rows: Tensor, at: Layout) -> Tensor:
    import torch

    return torch.nn.functional.pad(rows, (0, at.width - rows.shape[1]))


def _split(rows: Tensor) -> tuple[Tensor, Tensor]:
    high = rows.half()
    return high, (rows - high.float()).half()


def product(left: Tensor, right: Tensor) -> Tensor:
    """left · rightᵀ in float32, of rows in parts."""
    import torch

    if left.device.type == "cuda":
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left.float() @ right.float().T


def added_at_once(device: str) -> int:
    """Products that are added in a step of `product` there, at least."""
    import torch

    if device.partition(":")[0] != "cuda":
        return _FEWEST
    return _AT_ONCE.get(torch.cuda.get_device_capability(device)[0], _FEWEST)


def rounding(coordinates: int, at_once: int) -> float:
    """How far a product of so many coordinates may be off, as a share of Σ|x·w|."""
    steps = math.ceil(3 * (coordinates + _ALIGNED) / at_once)
    return (_ROUNDING_OF_STEP * steps + _ROUNDING_OF_PARTS) * 2.0**-24
