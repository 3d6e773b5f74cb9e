"""Eigenvalues and eigenvectors of a symmetric matrix, the same to the last bit on every machine.

LAPACK's last bits depend on the processor and on the number of threads. Nearly equal distances between documents are
decided by such bits, so the same documents would become another tree on another machine. Here everything is added up in
a fixed order: Householder's reduction to tridiagonal form, then implicit QL (Golub and Van Loan, *Matrix Computations*,
8.3). All inner loops run along rows, so that they are vectorised without adding in another order.

Seconds, one core, beside LAPACK's `eigh` on two: 384 dimensions 0.07 and 0.01, 1,024 dimensions 1.4 and 0.1.
"""

import math

import numpy as np

from gossamer.array_types import Doubles
from gossamer.runtime.jit import ordered_kernel, ordered_subkernel

_SWEEPS = 64
"""QL steps for one eigenvalue at most; two are usual."""


def eigenpairs(matrix: Doubles) -> tuple[Doubles, Doubles]:
    """Eigenvalues, rising, and unit eigenvectors, one a column, of a symmetric matrix of finite numbers."""
    dim = len(matrix)
    work = np.array(matrix, np.float64, order="C")
    diagonal, beside, vectors = np.empty(dim), np.zeros(dim), np.eye(dim)
    _eigenpairs(work, diagonal, beside, vectors)
    order = np.argsort(diagonal, kind="stable")
    return diagonal[order], np.ascontiguousarray(vectors[order].T)


@ordered_kernel
def _eigenpairs(work: Doubles, diagonal: Doubles, beside: Doubles, vectors: Doubles) -> None:
    """Write the eigenvalues into `diagonal` and the eigenvectors into the rows of `vectors`, the identity."""
    dim = work.shape[0]
    factors, product = np.zeros(dim), np.empty(dim)
    for k in range(dim - 2):
        factors[k] = _reflect(work, k, product)
    for k in range(dim - 1):
        beside[k] = work[k, k + 1]
    for k in range(dim):
        diagonal[k] = work[k, k]
    for k in range(dim - 3, -1, -1):  # row k of `work` holds the reflection of step k from column k + 2 on, 1 before it
        if factors[k] != 0.0:
            work[k, k + 1] = 1.0
            _turn_back(vectors, work[k], factors[k], k + 1)
    _diagonalise(diagonal, beside, vectors)


@ordered_subkernel
def _reflect(work: Doubles, k: int, product: Doubles) -> float:
    """Step k of the reduction: make row k zero beyond column k + 1 by a reflection H = 1 − f·v·vᵀ of what is below.

    The entry beside the diagonal is left at [k, k + 1] and v, whose first entry is 1, behind it. Returns f.

        A ← H·A·H = A − v·wᵀ − w·vᵀ,     p = f·A·v,     w = p − (f/2)·(pᵀv)·v
    """
    dim = work.shape[0]
    row = work[k]
    squares = 0.0
    for j in range(k + 2, dim):
        squares += row[j] * row[j]
    if squares == 0.0:
        return 0.0
    first = row[k + 1]
    length = math.sqrt(first * first + squares)
    image = -length if first > 0.0 else length
    factor = (image - first) / image
    scale = 1.0 / (first - image)
    for j in range(k + 2, dim):
        row[j] *= scale
    row[k + 1] = 1.0
    for j in range(k + 1, dim):
        product[j] = 0.0
    for i in range(k + 1, dim):
        v, below = row[i] * factor, work[i]
        for j in range(k + 1, dim):
            product[j] += v * below[j]
    along = 0.0
    for j in range(k + 1, dim):
        along += product[j] * row[j]
    along *= 0.5 * factor
    for j in range(k + 1, dim):
        product[j] -= along * row[j]
    for i in range(k + 1, dim):
        v, w, below = row[i], product[i], work[i]
        for j in range(k + 1, dim):
            below[j] -= v * product[j] + w * row[j]
    row[k + 1] = image
    return factor


@ordered_subkernel
def _turn_back(vectors: Doubles, v: Doubles, factor: float, first: int) -> None:
    """Apply a reflection to the columns of `vectors` from `first` on; its rows are the vectors."""
    dim = vectors.shape[0]
    for i in range(first, dim):
        row = vectors[i]
        along = 0.0
        for j in range(first, dim):
            along += row[j] * v[j]
        along *= factor
        for j in range(first, dim):
            row[j] -= along * v[j]


@ordered_subkernel
def _diagonalise(diagonal: Doubles, beside: Doubles, vectors: Doubles) -> None:
    """QL steps with Wilkinson's shift until nothing is left beside the diagonal; `vectors` are rotated along."""
    dim = diagonal.shape[0]
    for k in range(dim):
        for _ in range(_SWEEPS):
            m = k
            while m < dim - 1:
                near = abs(diagonal[m]) + abs(diagonal[m + 1])
                if near + abs(beside[m]) == near:
                    break
                m += 1
            if m == k:
                break
            g = (diagonal[k + 1] - diagonal[k]) / (2.0 * beside[k])
            r = math.sqrt(g * g + 1.0)
            g = diagonal[m] - diagonal[k] + beside[k] / (g + (r if g >= 0.0 else -r))
            s, c, p, i = 1.0, 1.0, 0.0, m - 1
            while i >= k:
                f, b = s * beside[i], c * beside[i]
                r = math.sqrt(f * f + g * g)
                beside[i + 1] = r
                if r == 0.0:
                    diagonal[i + 1] -= p
                    beside[m] = 0.0
                    break
                s, c = f / r, g / r
                g = diagonal[i + 1] - p
                r = (diagonal[i] - g) * s + 2.0 * c * b
                p = s * r
                diagonal[i + 1] = g + p
                g = c * r - b
                lower, upper = vectors[i], vectors[i + 1]
                for j in range(dim):
                    one, other = lower[j], upper[j]
                    upper[j] = s * one + c * other
                    lower[j] = c * one - s * other
                i -= 1
            if i < k:
                diagonal[k] -= p
                beside[k] = g
                beside[m] = 0.0
