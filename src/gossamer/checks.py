"""Input is checked once, here, at the boundary: what passes is clean float32 and needs no second look."""

from __future__ import annotations

from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.errors import DimensionError, DtypeError, InputError, NotFiniteError, ParameterError

LARGEST = 1e17
"""Larger values are refused: their squares summed over 4,096 dimensions must stay within float32's range."""

_LARGEST_SQUARE = np.float32(LARGEST) ** 2 / 2
_ZERO = np.float32(0.0)


def as_vectors(values: Any, dim: int | None = None, *, what: str = "vectors") -> Floats:
    """`values` as a C-contiguous float32 matrix; a single vector becomes one row.

    Raises the error that names what is wrong: the kind of values, their shape, their dimension, or
    the first row that holds NaN or infinity.
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float32 and values.flags.c_contiguous:
        # The common case in a tenth of the time: a sum of squares this small has no NaN, infinity or giant in it.
        rows = values[None, :] if values.ndim == 1 else values
        if rows.ndim == 2 and rows.shape[1] == dim and np.vdot(rows, rows) < _LARGEST_SQUARE:
            plain: Floats = rows + _ZERO
            return plain
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DimensionError(f"{what} must be a matrix, but the rows differ in length ({error})") from error
    if array.dtype.kind not in "fiu":
        raise DtypeError(
            f"{what} must be real numbers (float or int), got dtype {array.dtype}: convert them with .astype('float32')"
        )
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2:
        raise DimensionError(
            f"{what} must be a matrix (rows × dimensions), got {array.ndim} axes of shape {array.shape}"
        )
    if dim is not None and array.shape[1] != dim:
        raise DimensionError(
            f"{what} have {array.shape[1]} dimensions, but {dim} are expected: use the model the index was built with"
        )
    if array.shape[1] == 0:
        raise DimensionError(f"{what} have 0 dimensions; at least 1 is needed")
    # Magnitudes are bounded before the cast, so that the cast cannot overflow (and warn).
    with np.errstate(invalid="ignore", over="ignore"):
        worst = np.abs(array).max(axis=1) if array.size else np.zeros(len(array))
        fine = worst <= LARGEST
    if not fine.all():
        row = int(np.argmin(fine))
        if np.isfinite(worst[row]):
            raise InputError(
                f"{what}: row {row} holds {worst[row]:.3g}, and values above {LARGEST:g} cannot be used: rescale them"
            )
        raise NotFiniteError(f"{what}: row {row} holds NaN or infinity: remove or repair that row")
    # Adding zero turns -0.0 into 0.0, so that equal vectors have equal bytes.
    return np.ascontiguousarray(array, dtype=np.float32) + _ZERO


def positive(value: Any, name: str) -> int:
    """`value` as an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    if value < 1:
        raise ParameterError(f"{name} must be at least 1, got {value}")
    return int(value)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)
