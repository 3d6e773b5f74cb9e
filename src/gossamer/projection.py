"""The product of rows with a matrix, such that a row's result never depends on the rows beside it.

BLAS adds up in another order for one row than for many, so a vector whitened alone would differ in its last
bits from the same vector in a batch: duplicates would not be equal, and an index built in other batches
would be another index. Here every row goes through the same instructions in the same order.
"""

from __future__ import annotations

import math

import numpy as np

from gossamer.checks import Floats
from gossamer.jit import ordered_kernel, ordered_subkernel


def project(X: Floats, mean: Floats, matrix: Floats, sphere: bool) -> Floats:
    """(X − mean) @ matrix, each row scaled to length √columns if `sphere`."""
    out = np.empty((len(X), matrix.shape[1]), np.float32)
    _project(np.ascontiguousarray(X), mean, np.ascontiguousarray(matrix), sphere, out)
    return out


@ordered_kernel
def _project(X: Floats, mean: Floats, matrix: Floats, sphere: bool, out: Floats) -> None:
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
        if sphere:
            _onto_sphere(y)


@ordered_subkernel
def _onto_sphere(y: Floats) -> None:
    """Scale to length √D; a zero vector has no direction and stays where it is."""
    total = 0.0
    for j in range(y.shape[0]):
        total += np.float64(y[j]) * y[j]
    if total > 0.0:
        scale = np.float32(math.sqrt(y.shape[0] / total))
        for j in range(y.shape[0]):
            y[j] *= scale
