"""Vectors → decorrelated vectors: PCA, a dial from none to full whitening, and a sphere.

An embedding `x` becomes

    y = s · Rᵀ · diag(λ_j^(−γ/2)) · Vᵀ · (x − mean)          then, on the sphere,   y · √D_out / ‖y‖

with `λ, V` the leading eigenpairs of the covariance (divisor n), `γ` the strength of whitening, `R` the
rotation of ICA (the identity without it), and `s = (D_out / Σ_j λ_j^(1−γ))^(1/2)`, which makes the mean
variance of an output dimension 1. Everything but the sphere is one matrix, `components_`.

How strong? Exact ranking on the sphere, 0.96 of the variance kept, nDCG@10 / recall@5 in percent:

    documents, queries        mean cosine   γ=0         0.25        0.5         0.75        1
    MS MARCO MiniLM 31k, 1k4  0.01          76.3/87.2   76.4/87.2   76.2/86.6   75.5/86.1   75.1/85.2
    QQP MiniLM 40k, 4k        0.05          68.3/77.1   68.3/77.4   68.3/77.4   68.1/77.3   68.0/77.4
    QQP MiniLM 10k, 1k        0.05          78.5/86.7   78.4/86.2   78.5/86.3   78.5/86.6   78.4/87.0
    QQP T5 encoder 10k, 1k    0.52          53.5/60.2   59.6/68.2   63.7/71.8   65.5/73.4   66.3/74.0
    QQP SmolLM2 10k, 1k       0.80          50.1/55.9   58.0/64.7   63.7/71.8   66.1/74.6   67.4/75.3

So `strength="auto"` is `γ = min(1, 0.25 + 1.5·max(0, c))` with `c` the mean cosine of two rows: a quarter
where rows point every way, all of it from c = 0.5 on. Between 0.05 and 0.5 no neural model was at hand.
There, TF-IDF with SVD wants more (SciFact, c = 0.15: 48.5 at γ=0.5, 50.4 at 1) or less (Cranfield, c = 0.13:
36.0 and 34.5), and MiniLM joined to T5 or SmolLM2 (c = 0.24 to 0.38) hardly cares from 0.5 to 1.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import validate_data

from gossamer.bundle import Bundle, read_bundle, write_bundle
from gossamer.checks import Floats, as_vectors
from gossamer.errors import (
    CorruptError,
    DimensionError,
    DtypeError,
    InputError,
    ParameterError,
    StateError,
)

Doubles: TypeAlias = npt.NDArray[np.float64]

KIND = "whitener"
"""What a saved whitener's manifest calls itself."""

_CHUNK_ROWS = 4096
"""Rows looked at together: 6 MB of float32 at 384 dimensions, and enough for BLAS to run at full speed."""

_ICA_ROWS = 20_000
_ICA_ITERATIONS = 500
"""Seven of eight fits of real embeddings (four sets, two seeds) settled after 144 to 254."""

_AUTO_LEAST = 0.25
_AUTO_SLOPE = 1.5

_RELATIVE_FLOOR = 1e-6
"""Eigenvalues below this share of the largest are dropped: float32 products leave noise of about 1e-7."""

_SMALLEST_SPREAD = 1e-30
"""A corpus whose values are all smaller counts as constant: 1/spread must fit in float32."""


class NotFittedError(StateError, SklearnNotFittedError):
    """The whitener was asked for something that only a fitted one has."""


class Whitener(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Decorrelate embeddings: a scikit-learn transformer.

    Parameters, checked by `fit`:

    n_components: the share of variance to keep, a float in (0, 1], or a number of components, an int.
        Directions without variance are dropped whatever is asked, so fewer may remain.
    strength: γ in [0, 1]. 0 only rotates (PCA), 1 gives every component variance 1, and "auto" tells it from
        the mean cosine of the rows (see the module's table); with ICA "auto" means 1.
    sphere: scale every row to length √D_out, so that distances rank as cosines do and the mean variance of a
        dimension is about 1. Without it that mean is 1 exactly over the fitted rows: each dimension has
        variance 1 at strength 1, and below that the leading ones have more, the last ones less.
    ica: rotate to independent axes (FastICA). It changes no distance, takes some ten seconds, and needs
        strength 1, since axes are independent only where all variances are equal.
    random_state: the seed of ICA's sample and start. Nothing else is random.

    Fitted attributes: `components_` (n_components_ × n_features_in_, as in scikit-learn's PCA but with the
    scaling folded in: without the sphere, transform is `(X − mean_) @ components_.T`), `mean_`,
    `explained_variance_` (of the kept principal directions, divisor n, falling), `strength_`, `mean_cosine_`
    (of two different rows), `n_components_`, `n_features_in_`.

    A corpus without any spread (one row, or copies of one) has no directions to prefer: the components are
    then the coordinate axes, unscaled.

    >>> E = np.random.default_rng(0).normal(size=(500, 8)) * np.arange(1, 9)
    >>> X = Whitener(n_components=5, strength=1.0, sphere=False).fit_transform(E)
    >>> np.cov(X.T, ddof=0).round(3).tolist() == np.eye(5).tolist()
    True
    """

    mean_: Floats
    components_: Floats
    explained_variance_: Doubles
    strength_: float
    mean_cosine_: float
    n_components_: int
    n_features_in_: int

    def __init__(
        self,
        n_components: float | int = 0.96,
        strength: float | Literal["auto"] = "auto",
        sphere: bool = True,
        ica: bool = False,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.strength = strength
        self.sphere = sphere
        self.ica = ica
        self.random_state = random_state

    @classmethod
    def paper(cls) -> Self:
        """The paper's recipe: 0.96 of the variance, full whitening, ICA, no sphere."""
        return cls(n_components=0.96, strength=1.0, sphere=False, ica=True)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the transformation from the rows of `X`; `y` is ignored.

        Reads `X` twice in chunks, so memory beyond `X` is a chunk, a few D × D matrices, and ICA's sample.
        """
        table = _as_table(X)
        if not len(table):
            raise InputError("X has 0 rows; fitting needs at least 1")
        self._check_parameters(table.shape[1])
        moments = _first_look(table)
        variances, axes = _spectrum(table, moments)
        kept = _n_kept(variances, self.n_components)
        variances, axes = variances[:kept], axes[:, :kept]
        strength = self._resolve_strength(moments.mean_cosine)
        components = (axes * _scales(variances, strength)).T
        if self.ica and variances[0] > 0:
            components = _ica_rotation(table, moments.mean, components, int(self.random_state)) @ components
        # Nothing is set before here: a fit that fails leaves the whitener as it was.
        validate_data(self, X, reset=True, skip_check_array=True)
        self.mean_cosine_ = moments.mean_cosine
        self.strength_ = strength
        self.explained_variance_ = variances
        self._set_transformation(moments.mean, _with_fixed_signs(components))
        return self

    def transform(self, X: Any) -> Floats:
        """`X` decorrelated: C-contiguous float32, a row for a row. `X` is checked."""
        self._check_fitted()
        table = _as_table(X)
        if table.shape[1] != self.n_features_in_:
            # Opens as scikit-learn's own message does: its users, and its checks, look for that.
            raise DimensionError(
                f"X has {table.shape[1]} features, but Whitener is expecting {self.n_features_in_} features "
                "as input: use vectors of the model it was fitted on"
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        out = np.empty((len(table), self.n_components_), dtype=np.float32)
        for rows in _chunks(len(table)):
            out[rows] = self.project(_checked(table, rows))
        return out

    def project(self, X: Floats) -> Floats:
        """`transform` without its checks: `X` must be a finite float32 matrix with n_features_in_ columns.

        The fast path for a query. A row's result is the same bit for bit whatever rows stand beside it.
        """
        from gossamer.projection import project

        # On a sphere of one dimension there are two points.
        return project(X, self.mean_, self.components_.T, bool(self.sphere) and self.n_components_ > 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted whitener into the folder `path`. Names of a DataFrame's columns are not kept."""
        write_bundle(path, KIND, self.to_bundle())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The whitener saved at `path`: it transforms as the saved one did, bit for bit."""
        return cls.from_bundle(read_bundle(path, KIND))

    def to_bundle(self) -> Bundle:
        """The fitted whitener as settings and arrays."""
        self._check_fitted()
        auto = isinstance(self.strength, str)
        whole = isinstance(self.n_components, Integral)
        return Bundle(
            params={
                "n_components": int(self.n_components) if whole else float(self.n_components),
                "strength": self.strength if auto else float(self.strength),
                "sphere": bool(self.sphere),
                "ica": bool(self.ica),
                "random_state": int(self.random_state),
                "fitted_strength": self.strength_,
                "fitted_mean_cosine": self.mean_cosine_,
            },
            arrays={
                "mean": self.mean_,
                "components": self.components_,
                "explained_variance": self.explained_variance_,
            },
        )

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The whitener that `to_bundle` described."""
        try:
            params, arrays = bundle.params, bundle.arrays
            names = ("n_components", "strength", "sphere", "ica", "random_state")
            whitener = cls(**{name: params[name] for name in names})
            whitener.strength_ = float(params["fitted_strength"])
            whitener.mean_cosine_ = float(params["fitted_mean_cosine"])
            whitener.explained_variance_ = arrays["explained_variance"]
            mean, components = arrays["mean"], arrays["components"]
        except KeyError as error:
            raise CorruptError(f"a saved whitener lacks {error}: restore it from a copy or fit it again") from error
        if components.ndim != 2 or mean.shape != components.shape[1:]:
            raise CorruptError(
                f"a saved whitener has a mean of shape {mean.shape} and components of shape "
                f"{components.shape}: restore it from a copy or fit it again"
            )
        whitener._set_transformation(mean, components)
        return whitener

    @property
    def _n_features_out(self) -> int:
        """For scikit-learn's get_feature_names_out."""
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _set_transformation(self, mean: npt.NDArray[Any], components: npt.NDArray[Any]) -> None:
        self.mean_ = np.ascontiguousarray(mean, dtype=np.float32)
        # Laid out by column, so that its transpose, which `project` multiplies with, is laid out by row.
        self.components_ = np.asfortranarray(components, dtype=np.float32)
        self.n_components_, self.n_features_in_ = self.components_.shape

    def _resolve_strength(self, mean_cosine: float) -> float:
        if not isinstance(self.strength, str):
            return float(self.strength)
        return 1.0 if self.ica else auto_strength(mean_cosine)

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError("This Whitener is not fitted yet: call fit(X) first")

    def _check_parameters(self, dim: int) -> None:
        _check_n_components(self.n_components, dim)
        _check_strength(self.strength, ica=self.ica)
        for name in ("sphere", "ica"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ParameterError(f"{name} must be True or False, got {getattr(self, name)!r}")
        seed = self.random_state
        if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**32:
            raise ParameterError(f"random_state must be a whole number from 0 to 2**32 − 1, got {seed!r}: use 0")


def auto_strength(mean_cosine: float) -> float:
    """What `strength="auto"` means for a corpus of mean cosine c: γ = min(1, 0.25 + 1.5·max(0, c))."""
    return min(1.0, _AUTO_LEAST + _AUTO_SLOPE * max(0.0, mean_cosine))


def _check_n_components(value: Any, dim: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(
            f"n_components must be a share of variance in (0, 1] or a number of components, got {value!r}"
        )
    if isinstance(value, Integral):
        if not 1 <= int(value) <= dim:
            raise ParameterError(
                f"n_components={value} is out of range: the vectors have {dim} dimensions, so choose 1 to "
                f"{dim}, or a share of variance such as 0.96"
            )
    elif not 0 < float(value) <= 1:
        raise ParameterError(
            f"n_components={value} is out of range: as a float it is a share of variance in (0, 1]; "
            "use an int for a number of components"
        )


def _check_strength(value: Any, *, ica: bool) -> None:
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"strength must be a number in [0, 1] or 'auto', got {value!r}")
    if not 0 <= float(value) <= 1:
        raise ParameterError(f"strength={value} is out of range: choose 0 (PCA only) to 1 (full), or 'auto'")
    if ica and float(value) != 1:
        raise ParameterError(
            f"ica=True needs strength=1, got strength={value}: independent axes exist only in fully "
            "whitened vectors; set strength=1 or ica=False"
        )


def _as_table(X: Any) -> npt.NDArray[Any]:
    """`X` as a matrix of numbers in the dtype it came in. Values are checked later, a chunk at a time.

    Stricter than `as_vectors` where scikit-learn is: one vector is not taken for a row.
    """
    if issparse(X):
        raise DtypeError("X is sparse, and centring would fill it: pass X.toarray()")
    try:
        table = np.asarray(X)
    except ValueError as error:
        raise DimensionError(f"X must be a matrix, but the rows differ in length ({error})") from error
    if table.dtype.kind == "c":
        raise DtypeError(f"Complex data not supported: X has dtype {table.dtype}; pass real numbers")
    if table.dtype.kind not in "fiu":
        raise DtypeError(f"X must be real numbers, got dtype {table.dtype}: convert it with .astype('float32')")
    if table.ndim != 2:
        raise DimensionError(
            f"X must be a matrix (rows × dimensions), got shape {table.shape}. Reshape your data: "
            "X.reshape(1, -1) makes one vector a row"
        )
    if table.shape[1] == 0:
        raise DimensionError(f"X has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    return table


def _chunks(n_rows: int) -> Iterator[slice]:
    """Slices that cover the rows, all of nearly the same size.

    Evenly, because a short last chunk may be multiplied by another BLAS kernel and come out different in the
    last bit, and then two equal rows of one call would not stay equal.
    """
    n_chunks = -(-n_rows // _CHUNK_ROWS)
    for start, stop in pairwise(n_rows * i // n_chunks for i in range(n_chunks + 1) if n_chunks):
        yield slice(start, stop)


def _checked(table: npt.NDArray[Any], rows: slice) -> Floats:
    try:
        return as_vectors(table[rows], what="X")
    except InputError:
        as_vectors(table, what="X")  # raises again, and numbers the row as the caller does
        raise


@dataclass(frozen=True)
class _Moments:
    """What one look at a corpus tells."""

    n_rows: int
    mean: Floats
    peak: float
    """The largest magnitude."""
    mean_square: float
    """The mean of ‖x‖²."""
    mean_cosine: float


def _first_look(table: npt.NDArray[Any]) -> _Moments:
    """Check every row; sum what `_Moments` holds.

    The mean cosine is over all pairs of two different rows, not a sample: with unit vectors u_i,
    Σ_{i≠j} u_i·u_j = ‖Σ u_i‖² − m, so the m·(m−1) pairs cost one pass. Zero rows have no direction and sit
    out; with fewer than two others it is 0.
    """
    n, dim = table.shape
    total, directions = np.zeros(dim), np.zeros(dim)
    squares, peak, m = 0.0, 0.0, 0
    for rows in _chunks(n):
        X = _checked(table, rows).astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
        total += X.sum(axis=0)
        squares += float(norms @ norms)
        peak = max(peak, float(np.abs(X).max()))
        X, norms = X[norms > 0], norms[norms > 0]
        directions += (1 / norms) @ X
        m += len(X)
    mean_cosine = float(directions @ directions - m) / (m * (m - 1)) if m > 1 else 0.0
    return _Moments(n, (total / n).astype(np.float32), peak, squares / n, mean_cosine)


def _spectrum(table: npt.NDArray[Any], moments: _Moments) -> tuple[Doubles, Doubles]:
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


def _from_covariance(table: npt.NDArray[Any], moments: _Moments) -> tuple[Doubles, Doubles]:
    """Eigenpairs of (1/n)·Σ (x − mean)(x − mean)ᵀ: products in float32, their sum in float64."""
    dim = len(moments.mean)
    # Scaling by a power of two is exact, and keeps the squares of 1e18 or of 1e-25 in float32's range.
    exponent = math.frexp(moments.peak)[1]
    unit = np.float32(math.ldexp(1.0, -exponent))
    scatter = np.zeros((dim, dim))
    for rows in _chunks(moments.n_rows):
        X = (table[rows].astype(np.float32) - moments.mean) * unit
        scatter += X.T @ X
    variances, axes = np.linalg.eigh(scatter / moments.n_rows)
    return np.ldexp(variances, 2 * exponent), axes


def _from_gram(table: npt.NDArray[Any], moments: _Moments) -> tuple[Doubles, Doubles]:
    """The same eigenpairs by way of the n × n matrix (1/n)·Xc·Xcᵀ, the smaller one when rows are few.

    Its eigenvectors u give the axes Xcᵀ·u, not yet of unit length. Few rows can afford float64.
    """
    X = table.astype(np.float32).astype(np.float64) - moments.mean
    variances, u = np.linalg.eigh(X @ X.T / moments.n_rows)
    return variances, X.T @ u


def _unit_columns(A: Doubles) -> Doubles:
    unit: Doubles = A / np.linalg.norm(A, axis=0)
    return unit


def _n_kept(variances: Doubles, n_components: float | int) -> int:
    """How many of the leading directions to keep: a count, or as few as hold the share of variance."""
    if isinstance(n_components, Integral):
        return min(int(n_components), len(variances))
    total = variances.sum()
    if total == 0:
        return len(variances)
    return min(int(np.searchsorted(np.cumsum(variances) / total, n_components)) + 1, len(variances))


def _scales(variances: Doubles, strength: float) -> Doubles:
    """λ_j^(−γ/2), times what makes the mean of the resulting variances λ_j^(1−γ) one; 1 if nothing varies."""
    if variances[0] == 0:
        return np.ones_like(variances)
    # Relative to the largest, so that no power leaves the range; the factor makes up for it.
    relative = variances / variances[0]
    factor = 1 / math.sqrt(variances[0] * np.mean(relative ** (1 - strength)))
    scales: Doubles = factor * relative ** (-strength / 2)
    return scales


def _ica_rotation(table: npt.NDArray[Any], mean: Floats, whitening: Doubles, seed: int) -> Doubles:
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
            stacklevel=3,
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


def _with_fixed_signs(components: Doubles) -> Doubles:
    """Each row with its entry of largest magnitude positive: eigenvectors come with either sign."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    fixed: Doubles = components * signs[:, None]
    return fixed
