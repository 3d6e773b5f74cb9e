"""A corpus → its moments, the directions in which it varies, and the matrix that evens them out.

Reads the rows in chunks, so memory beyond them is a chunk, a few D × D matrices, and ICA's sample.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import as_vectors
from gossamer.errors import InputError

Doubles: TypeAlias = npt.NDArray[np.float64]

_CHUNK_ROWS = 4096
"""Rows looked at together: 6 MB of float32 at 384 dimensions, and enough for BLAS to run at full speed."""

_ICA_ROWS = 20_000
_ICA_ITERATIONS = 500
"""Seven of eight fits of real embeddings (four sets, two seeds) settled after 144 to 254."""

_LONGEST = 4.0
"""Times the median length: longer rows are shortened before a whitener for the sphere is fitted."""

_RELATIVE_FLOOR = 1e-6
"""Eigenvalues below this share of the largest are dropped: float32 products leave noise of about 1e-7."""

_SMALLEST_SPREAD = 1e-30
"""A corpus whose values are all smaller counts as constant: 1/spread must fit in float32."""


def chunks(n_rows: int) -> Iterator[slice]:
    """Slices that cover the rows, all of nearly the same size.

    Evenly, because a short last chunk may be multiplied by another BLAS kernel and come out different in the
    last bit, and then two equal rows of one call would not stay equal.
    """
    n_chunks = -(-n_rows // _CHUNK_ROWS)
    for start, stop in pairwise(n_rows * i // n_chunks for i in range(n_chunks + 1) if n_chunks):
        yield slice(start, stop)


def checked(table: npt.NDArray[Any], rows: slice) -> Floats:
    """Some rows as vectors; what is wrong with one is said with its number among all."""
    try:
        return as_vectors(table[rows], what="X")
    except InputError:
        as_vectors(table, what="X")  # raises again, and numbers the row as the caller does
        raise


@dataclass(frozen=True)
class Moments:
    """What one look at a corpus tells."""

    n_rows: int
    mean: Floats
    peak: float
    """The largest magnitude."""
    mean_square: float
    """The mean of ‖x‖²."""
    mean_cosine: float


def first_look(table: npt.NDArray[Any]) -> Moments:
    """Check every row; sum what `Moments` holds.

    The mean cosine is over all pairs of two different rows, not a sample: with unit vectors u_i,
    Σ_{i≠j} u_i·u_j = ‖Σ u_i‖² − m, so the m·(m−1) pairs cost one pass. Zero rows have no direction and sit
    out; with fewer than two others it is 0.
    """
    n, dim = table.shape
    total, directions = np.zeros(dim), np.zeros(dim)
    squares, peak, m = 0.0, 0.0, 0
    for rows in chunks(n):
        X = checked(table, rows).astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
        total += X.sum(axis=0)
        squares += float(norms @ norms)
        peak = max(peak, float(np.abs(X).max()))
        X, norms = X[norms > 0], norms[norms > 0]
        directions += (1 / norms) @ X
        m += len(X)
    mean_cosine = float(directions @ directions - m) / (m * (m - 1)) if m > 1 else 0.0
    return Moments(n, (total / n).astype(np.float32), peak, squares / n, mean_cosine)


def winsorised(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rows, where none is longer than four times the median row: longer ones are shortened to that.

    One row that was not normalised would otherwise be all that a covariance sees. Of the embeddings at hand (MiniLM,
    T5, SmolLM2) none has a row longer than twice the median, so they are returned as they are.
    """
    norms = np.concatenate([np.zeros(0), *(_norms(table[rows]) for rows in chunks(len(table)))])
    longest = _LONGEST * float(np.median(norms[norms > 0])) if (norms > 0).any() else 0.0
    long = norms > longest
    if not long.any() or not np.isfinite(norms).all():  # what is not finite is for the caller to refuse
        return table
    shortened = table.astype(np.float32)
    shortened[long] *= (longest / norms[long])[:, None]
    return shortened


def _norms(rows: npt.NDArray[Any]) -> Doubles:
    wide = rows.astype(np.float64)
    norms: Doubles = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return norms


def mean_variance(X: Floats) -> tuple[float, float]:
    """The variance and the squared mean of a dimension, averaged over all; (0, 0) without rows."""
    if not len(X):
        return 0.0, 0.0
    mean = X.mean(axis=0, dtype=np.float64)
    squares = 0.0
    for rows in chunks(len(X)):
        away = (X[rows] - mean).reshape(-1)
        squares += float(np.einsum("i,i->", away, away))  # not by BLAS, whose last bits depend on its threads
    return squares / X.size, float(mean @ mean) / len(mean)


def spectrum(table: npt.NDArray[Any], moments: Moments) -> tuple[Doubles, Doubles]:
    """Variances, falling, and unit axes (one a column) of the directions in which the rows differ.

    Left out are directions whose variance is below 1e-6 of the largest, and spread that rounding to float32
    could have made (it moves a row by about ε·‖x‖). If nothing is left: the coordinate axes, variance 0.
    """
    dim = len(moments.mean)
    if moments.peak > _SMALLEST_SPREAD:
        few = moments.n_rows < dim
        variances, axes = _from_gram(table, moments) if few else _from_covariance(table, moments)
        rounding = float(np.finfo(np.float32).eps) ** 2 * moments.mean_square
        real = variances > max(_RELATIVE_FLOOR * variances.max(), rounding)
        if real.any():
            # eigh sorts rising.
            return variances[real][::-1], _unit_columns(axes[:, real])[:, ::-1]
    return np.zeros(dim), np.eye(dim)


def _from_covariance(table: npt.NDArray[Any], moments: Moments) -> tuple[Doubles, Doubles]:
    """Eigenpairs of (1/n)·Σ (x − mean)(x − mean)ᵀ: products in float32, their sum in float64."""
    dim = len(moments.mean)
    # Scaling by a power of two is exact, and keeps the squares of 1e18 or of 1e-25 in float32's range.
    exponent = math.frexp(moments.peak)[1]
    unit = np.float32(math.ldexp(1.0, -exponent))
    scatter = np.zeros((dim, dim))
    for rows in chunks(moments.n_rows):
        X = (table[rows].astype(np.float32) - moments.mean) * unit
        scatter += X.T @ X
    variances, axes = np.linalg.eigh(scatter / moments.n_rows)
    return np.ldexp(variances, 2 * exponent), axes


def _from_gram(table: npt.NDArray[Any], moments: Moments) -> tuple[Doubles, Doubles]:
    """The same eigenpairs by way of the n × n matrix (1/n)·Xc·Xcᵀ, the smaller one when rows are few.

    Its eigenvectors u give the axes Xcᵀ·u, not yet of unit length. Few rows can afford float64.
    """
    X = table.astype(np.float32).astype(np.float64) - moments.mean
    variances, u = np.linalg.eigh(X @ X.T / moments.n_rows)
    return variances, X.T @ u


def _unit_columns(A: Doubles) -> Doubles:
    unit: Doubles = A / np.linalg.norm(A, axis=0)
    return unit


def n_kept(variances: Doubles, n_components: float | int) -> int:
    """How many of the leading directions to keep: a count, or as few as hold the share of variance."""
    if isinstance(n_components, Integral):
        return min(int(n_components), len(variances))
    total = variances.sum()
    if total == 0:
        return len(variances)
    return min(int(np.searchsorted(np.cumsum(variances) / total, n_components)) + 1, len(variances))


def scales_of(variances: Doubles, strength: float) -> Doubles:
    """λ_j^(−γ/2), times what makes the mean of the resulting variances λ_j^(1−γ) one; 1 if nothing varies."""
    if variances[0] == 0:
        return np.ones_like(variances)
    # Relative to the largest, so that no power leaves the range; the factor makes up for it.
    relative = variances / variances[0]
    factor = 1 / math.sqrt(variances[0] * np.mean(relative ** (1 - strength)))
    scales: Doubles = factor * relative ** (-strength / 2)
    return scales


def ica_rotation(table: npt.NDArray[Any], mean: Floats, whitening: Doubles, seed: int) -> Doubles:
    """The orthogonal matrix that turns whitened vectors to independent axes (FastICA, log cosh)."""
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    n = len(table)
    sample: Any = slice(None)
    if n > _ICA_ROWS:
        sample = np.sort(np.random.default_rng(seed).choice(n, _ICA_ROWS, replace=False))
    Z = _whitened_again((table[sample].astype(np.float32) - mean) @ whitening.T.astype(np.float32))
    ica = FastICA(whiten=False, max_iter=_ICA_ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, in our words
        ica.fit(Z)
    if ica.n_iter_ >= _ICA_ITERATIONS:
        warnings.warn(
            f"ICA did not settle in {_ICA_ITERATIONS} iterations over {len(Z)} rows: no distance changes by "
            "its rotation, but the axes may not be the most independent ones. Try another random_state, "
            "or more rows, or set ica=False",
            ConvergenceWarning,
            stacklevel=4,
        )
    # The nearest orthogonal matrix: FastICA's own is orthogonal only to float32 precision.
    left, _, right = np.linalg.svd(ica.components_.astype(np.float64))
    rotation: Doubles = left @ right
    return rotation


def _whitened_again(Z: Floats) -> Floats:
    """A sample of whitened rows made exactly white itself, by the least change: Z·C^(−1/2).

    FastICA's step assumes it: MiniLM's 20,000 of 76,000 rows had not settled after 1,000 iterations as they
    were, and took 150 so. A direction that the sample missed (a few outliers can carry one) is not blown up.
    """
    Z = Z - Z.mean(axis=0)
    wide = Z.astype(np.float64)
    variances, axes = np.linalg.eigh(wide.T @ wide / len(Z))
    variances = np.maximum(variances, 0.01)
    again: Floats = (wide @ (axes / np.sqrt(variances)) @ axes.T).astype(np.float32)
    return again


def with_fixed_signs(components: Doubles) -> Doubles:
    """Each row with its entry of largest magnitude positive: eigenvectors come with either sign."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    fixed: Doubles = components * signs[:, None]
    return fixed
