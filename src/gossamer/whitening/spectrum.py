"""A corpus → its mean, its principal axes with their variances, and the rotation of ICA.

A corpus is a matrix of finite numbers of any real dtype; `Whitener` and `VectorIndex` have checked it. Rows are read in
chunks and converted to float32: memory beyond the corpus is a chunk, a few D × D matrices, and the sample of ICA.

All but ICA is the same to the last bit on every machine, whatever its processor and its number of threads: coordinates
are rounded to whole numbers whose products BLAS adds up exactly, in any order, and eigenvectors are our own (`eigen`).
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats, Longs

CHUNK_ROWS: Final = 4096
"""Rows of a chunk at most: 12 MB of float64 at 384 dimensions, and enough for BLAS to run at full speed."""

_BITS: Final = 20
"""Bits of a coordinate in products. A sum of 4,096 = 2¹² of them has 2·20 + 12 bits, and float64 holds 53."""

ICA_ROWS: Final = 20_000
"""Rows of the sample that ICA is fitted on, at most."""

ICA_ITERATIONS: Final = 500
"""Of FastICA at most. Seven of eight fits of real embeddings (four sets, two seeds) converged after 144 to 254."""

_LONGEST: Final = 4.0
"""Rows longer than so many times the median length are shortened by `winsorised`."""

_RELATIVE_FLOOR: Final = 1e-6
"""Eigenvalues below this share of the largest are dropped: float32 products leave noise of about 1e-7."""

_SMALLEST_REACH: Final = 1e-30
"""A corpus whose values are all nearer to the mean counts as constant: their inverse must fit in float32."""


def chunks(n_rows: int, most: int = CHUNK_ROWS) -> Iterator[slice]:
    """Slices of at most `most` rows that cover all, of nearly the same size.

    A short last chunk may be multiplied by another BLAS kernel and differ in the last bit: then two equal rows of one
    call would not stay equal.
    """
    n_chunks = -(-n_rows // most)
    for start, stop in pairwise(n_rows * i // n_chunks for i in range(n_chunks + 1) if n_chunks):
        yield slice(start, stop)


class Table(Protocol):
    """Rows of numbers: an array, or something that reads rows when they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> npt.NDArray[Any]: ...

    def astype(self, dtype: Any, /) -> npt.NDArray[Any]:
        """All rows, in another type."""


T = TypeVar("T", bound=Table)


@dataclass(frozen=True)
class Reordered:
    """The rows of a matrix in another order, without a copy of all of them."""

    rows: Floats
    order: Longs

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.rows.shape

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, some: Any, /) -> Floats:
        gathered: Floats = self.rows[self.order[some]]
        return gathered

    def astype(self, dtype: Any, /) -> npt.NDArray[Any]:
        """All rows, in another type."""
        return self[:].astype(dtype)


@dataclass(frozen=True)
class Moments:
    """Statistics of a corpus from one pass over its rows."""

    n_rows: int
    mean: Floats
    least: Floats
    most: Floats
    """The smallest and the largest value of each coordinate."""
    mean_square: float
    """The mean of ‖x‖²."""
    mean_cosine: float
    """Over all pairs of two different rows."""

    @property
    def reach(self) -> float:
        """How far a coordinate is from the mean at most."""
        mean = self.mean.astype(np.float64)
        return float(np.maximum(self.most - mean, mean - self.least).max())


def corpus_moments(table: Table) -> Moments:
    """The moments of a corpus.

    The mean cosine needs no sample: with unit vectors u_i, Σ_{i≠j} u_i·u_j = ‖Σ u_i‖² − m. Rows of zeros have no
    direction and do not count; with fewer than two others it is 0.
    """
    n, dim = table.shape
    total, directions = np.zeros(dim), np.zeros(dim)
    squares, m = 0.0, 0
    least, most = np.full(dim, np.inf), np.full(dim, -np.inf)
    for rows in chunks(n):
        X = table[rows].astype(np.float32).astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
        total += X.sum(axis=0)
        squares += float(np.einsum("i,i->", norms, norms))
        least, most = np.minimum(least, X.min(axis=0)), np.maximum(most, X.max(axis=0))
        X, norms = X[norms > 0], norms[norms > 0]
        directions += np.einsum("i,ij->j", 1 / norms, X)
        m += len(X)
    mean_cosine = float(np.einsum("i,i->", directions, directions) - m) / (m * (m - 1)) if m > 1 else 0.0
    mean = (total / n).astype(np.float32)
    return Moments(n, mean, least.astype(np.float32), most.astype(np.float32), squares / n, mean_cosine)


def winsorised(table: T) -> T | Floats:
    """The rows, those longer than four times the median length shortened to that.

    One row that was not normalised would otherwise dominate the covariance. No row of the embeddings at hand (MiniLM,
    T5, SmolLM2) is longer than twice the median, so they are returned as they are.
    """
    norms = np.concatenate([np.zeros(0), *(_norms(table[rows]) for rows in chunks(len(table)))])
    longest = _LONGEST * float(np.median(norms[norms > 0])) if (norms > 0).any() else 0.0
    long = norms > longest
    if not long.any():
        return table
    shortened = table.astype(np.float32)
    shortened[long] *= (longest / norms[long])[:, None]
    return shortened


def _norms(rows: npt.NDArray[Any]) -> Doubles:
    wide = rows.astype(np.float64)
    norms: Doubles = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return norms


def mean_variance(X: Floats) -> tuple[float, float]:
    """The variance and the squared mean of a dimension, averaged over the dimensions; (0, 0) without rows."""
    if not len(X):
        return 0.0, 0.0
    mean = X.mean(axis=0, dtype=np.float64)
    squares = 0.0
    for rows in chunks(len(X)):
        away = (X[rows] - mean).reshape(-1)
        squares += float(np.einsum("i,i->", away, away))  # not by BLAS, whose last bits depend on its threads
    return squares / X.size, float(np.einsum("i,i->", mean, mean)) / len(mean)


def spectrum(table: Table, moments: Moments) -> tuple[Doubles, Doubles]:
    """Variances, falling, and unit axes, one a column: the eigenpairs of the covariance.

    Directions are left out whose variance is below 1e-6 of the largest, or could come from rounding to float32 (which
    moves a row by about ε·‖x‖). If none is left: the coordinate axes, with variance 0.
    """
    dim = len(moments.mean)
    if moments.reach > _SMALLEST_REACH:
        few = moments.n_rows < dim
        variances, axes = (eigenpairs_by_gram if few else eigenpairs_by_covariance)(table, moments)
        rounding = float(np.finfo(np.float32).eps) ** 2 * moments.mean_square
        real = variances > max(_RELATIVE_FLOOR * variances.max(), rounding)
        if real.any():
            # eigh sorts rising.
            axes = axes[:, real] / np.linalg.norm(axes[:, real], axis=0)
            return variances[real][::-1], axes[:, ::-1]
    return np.zeros(dim), np.eye(dim)


def eigenpairs_by_covariance(table: Table, moments: Moments) -> tuple[Doubles, Doubles]:
    """Variances, rising, and axes of (1/n)·Σ (x − mean)(x − mean)ᵀ."""
    from gossamer.whitening.eigen import eigenpairs  # imports Numba

    dim = len(moments.mean)
    exponent = _exponent(moments)
    scatter = np.zeros((dim, dim))
    for rows in chunks(moments.n_rows):
        X = _whole(table[rows], moments, exponent)
        scatter += X.T @ X
    variances, axes = eigenpairs(scatter / moments.n_rows)
    return np.ldexp(variances, 2 * exponent), axes


def eigenpairs_by_gram(table: Table, moments: Moments) -> tuple[Doubles, Doubles]:
    """The same from the n × n matrix (1/n)·Xc·Xcᵀ, which is smaller where rows are fewer than dimensions.

    Its eigenvectors u give the axes Xcᵀ·u, which are not of unit length.
    """
    from gossamer.whitening.eigen import eigenpairs  # imports Numba

    exponent = _exponent(moments)
    X = _whole(table, moments, exponent)
    gram = np.zeros((len(X), len(X)))
    for columns in chunks(X.shape[1]):
        gram += X[:, columns] @ X[:, columns].T
    variances, u = eigenpairs(gram / moments.n_rows)
    return np.ldexp(variances, 2 * exponent), np.einsum("ij,ik->jk", X, u)


def _exponent(moments: Moments) -> int:
    """The unit of the whole numbers, as a power of two: what is furthest from the mean fits into the bits."""
    return math.frexp(moments.reach)[1] - _BITS


def _whole(rows: Any, moments: Moments, exponent: int) -> Doubles:
    """Rows, less the mean, in whole units."""
    away = rows[:].astype(np.float32).astype(np.float64) - moments.mean
    whole: Doubles = np.rint(np.ldexp(away, -exponent, out=away), out=away)
    return whole


def count_components(variances: Doubles, n_components: float | int) -> int:
    """How many leading axes to keep: a number, or as few as hold a share of the variance."""
    if isinstance(n_components, Integral):
        return min(int(n_components), len(variances))
    total = variances.sum()
    if total == 0:
        return len(variances)
    return min(int(np.searchsorted(np.cumsum(variances) / total, n_components)) + 1, len(variances))


def component_scales(variances: Doubles, strength: float) -> Doubles:
    """s·λ_j^(−γ/2), with s such that the resulting variances, s²·λ_j^(1−γ), have mean 1; ones if nothing varies."""
    if variances[0] == 0:
        return np.ones_like(variances)
    # Relative to the largest, so that no power leaves the range of float64; the factor corrects for it.
    relative = variances / variances[0]
    factor = 1 / math.sqrt(variances[0] * np.mean(relative ** (1 - strength)))
    scales: Doubles = factor * relative ** (-strength / 2)
    return scales


def ica_rotation(
    table: Table,
    mean: Floats,
    whitening: Doubles,
    seed: int,
    *,
    most_rows: int = ICA_ROWS,
    iterations: int = ICA_ITERATIONS,
) -> Doubles:
    """The orthogonal matrix that rotates whitened vectors to independent axes (FastICA, log cosh)."""
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    n = len(table)
    sample: Any = slice(None)
    if n > most_rows:
        sample = np.sort(np.random.default_rng(seed).choice(n, most_rows, replace=False))
    Z = _whitened_again((table[sample].astype(np.float32) - mean) @ whitening.T.astype(np.float32))
    ica = FastICA(whiten=False, max_iter=iterations, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # replaced by the one below
        ica.fit(Z)
    if ica.n_iter_ >= iterations:
        warnings.warn(
            f"ICA did not converge in {iterations} iterations over {len(Z)} rows: its rotation changes no distance, "
            "but the axes may not be the most independent. Try another random_state, or more rows, or set ica=False",
            ConvergenceWarning,
            stacklevel=4,
        )
    # The nearest orthogonal matrix: FastICA's own is orthogonal only to float32 precision.
    left, _, right = np.linalg.svd(ica.components_.astype(np.float64))
    rotation: Doubles = left @ right
    return rotation


def _whitened_again(Z: Floats) -> Floats:
    """A sample of whitened rows, whitened by its own covariance: Z·C^(−1/2), the least change that does it.

    FastICA assumes it: on 20,000 of 76,000 rows of MiniLM it had not converged after 1,000 iterations without, and took
    150 with it. A direction that the sample misses (a few outliers can carry one) is not scaled up.
    """
    Z = Z - Z.mean(axis=0)
    wide = Z.astype(np.float64)
    variances, axes = np.linalg.eigh(wide.T @ wide / len(Z))
    variances = np.maximum(variances, 0.01)
    again: Floats = (wide @ (axes / np.sqrt(variances)) @ axes.T).astype(np.float32)
    return again


def with_fixed_signs(components: Doubles) -> Doubles:
    """Each row with the sign that makes its entry of largest magnitude positive: eigenvectors come with either sign."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    fixed: Doubles = components * signs[:, None]
    return fixed
