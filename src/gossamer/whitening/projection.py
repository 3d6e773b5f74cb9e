"""(X − mean) @ matrix, then the sphere; the result for a row never depends on the rows beside it, bit for bit.

BLAS adds up in another order for one row than for many: a vector whitened alone would differ in its last bits from the
same vector in a batch, duplicates would not be equal, and the same documents added in other batches would give another
index. Here every row goes through the same instructions in the same order.

A row that is very far from the mean or very near to it leaves the range of float32 on the way, and is projected in
float64. On the sphere the result is finite for every finite row.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import Floats
from gossamer.runtime.jit import ordered_kernel, ordered_subkernel

_SHORTEST: Final = 1e-50
_LONGEST: Final = 1e60
"""Squared lengths of projected rows between which float32 is enough, also for the factor to the sphere."""


class Projection(NamedTuple):
    """What is subtracted from a row, and what it is multiplied with."""

    mean: Floats
    matrix: Floats


def project(X: Floats, mean: Floats, matrix: Floats, sphere: bool) -> Floats:
    """(X − mean) @ matrix, each row scaled to length √columns if `sphere`."""
    out = np.empty((len(X), matrix.shape[1]), np.float32)
    project_rows(np.ascontiguousarray(X), mean, np.ascontiguousarray(matrix), sphere, out)
    return out


@ordered_kernel
def project_rows(X: Floats, mean: Floats, matrix: Floats, sphere: bool, out: Floats) -> None:
    """Write the projection of each row."""
    dim = X.shape[1]
    for row in range(X.shape[0]):
        x, y = X[row], out[row]
        y[:] = 0.0
        whole = dim - dim % 8
        for d in range(0, whole, 8):  # eight at a time, so that y is read and written an eighth as often
            a0, a1, a2, a3 = x[d] - mean[d], x[d + 1] - mean[d + 1], x[d + 2] - mean[d + 2], x[d + 3] - mean[d + 3]
            a4, a5, a6, a7 = (
                x[d + 4] - mean[d + 4],
                x[d + 5] - mean[d + 5],
                x[d + 6] - mean[d + 6],
                x[d + 7] - mean[d + 7],
            )
            p0, p1, p2, p3 = matrix[d], matrix[d + 1], matrix[d + 2], matrix[d + 3]
            p4, p5, p6, p7 = matrix[d + 4], matrix[d + 5], matrix[d + 6], matrix[d + 7]
            for j in range(y.shape[0]):
                first = (((y[j] + a0 * p0[j]) + a1 * p1[j]) + a2 * p2[j]) + a3 * p3[j]
                y[j] = (((first + a4 * p4[j]) + a5 * p5[j]) + a6 * p6[j]) + a7 * p7[j]
        for d in range(whole, dim):
            a, p = x[d] - mean[d], matrix[d]
            for j in range(y.shape[0]):
                y[j] += a * p[j]
        total = 0.0
        for j in range(y.shape[0]):
            total += np.float64(y[j]) * y[j]
        if not _SHORTEST < total < _LONGEST:  # also where it is NaN
            _project_wide(x, mean, matrix, sphere, y)
        elif sphere:
            scale = np.float32(math.sqrt(y.shape[0] / total))
            for j in range(y.shape[0]):
                y[j] *= scale


@ordered_subkernel
def _project_wide(x: Floats, mean: Floats, matrix: Floats, sphere: bool, y: Floats) -> None:
    """Project one row in float64. A row that equals the mean has no direction, and becomes 0 on the sphere."""
    total = 0.0
    for j in range(y.shape[0]):
        value = _coordinate(x, mean, matrix, j)
        total += value * value
    scale = 1.0
    if sphere and total > 0.0:
        scale = math.sqrt(y.shape[0] / total)
    for j in range(y.shape[0]):
        y[j] = np.float32(_coordinate(x, mean, matrix, j) * scale)


@ordered_subkernel
def _coordinate(x: Floats, mean: Floats, matrix: Floats, j: int) -> float:
    value = 0.0
    for d in range(x.shape[0]):
        value += (np.float64(x[d]) - np.float64(mean[d])) * np.float64(matrix[d, j])
    return value
