"""Vectors → decorrelated vectors: PCA, partial or full whitening, and a sphere.

An embedding x becomes

    y = s · Rᵀ · diag(λ_j^(−γ/2)) · Vᵀ · (x − β·mean)        then, on the sphere,   y · √D_out / ‖y‖

with β the share of the mean that is subtracted, λ, V the leading eigenpairs of (1/n)·Σ (x − β·mean)(x − β·mean)ᵀ (the
covariance where β = 1), γ the strength of whitening from 0 to 1, R the rotation of ICA (the identity without it), and
s = (D_out / Σ_j λ_j^(1−γ))^(1/2), which makes the mean square of an output dimension 1. All but the sphere is one
matrix, `components_`.

Figures by strength: exact ranking on the sphere, 0.96 of the variance kept, nDCG@10 / recall@5 in percent.

    documents, queries        mean cosine   γ=0         0.25        0.5         0.75        1
    MS MARCO MiniLM 31k, 1k4  0.01          76.3/87.2   76.4/87.2   76.2/86.6   75.5/86.1   75.1/85.2
    QQP MiniLM 40k, 4k        0.05          68.3/77.1   68.3/77.4   68.3/77.4   68.1/77.3   68.0/77.4
    QQP MiniLM 10k, 1k        0.05          78.5/86.7   78.4/86.2   78.5/86.3   78.5/86.6   78.4/87.0
    QQP T5 encoder 10k, 1k    0.52          53.5/60.2   59.6/68.2   63.7/71.8   65.5/73.4   66.3/74.0
    QQP SmolLM2 10k, 1k       0.80          50.1/55.9   58.0/64.7   63.7/71.8   66.1/74.6   67.4/75.3

So `strength="auto"` tells good encoders from weak ones by the mean cosine c of two rows: 0.15 up to c = 0.3, 1 from 0.5
on, and a ramp between. Collections of MiniLM have c from 0.01 (MS MARCO) to 0.26 (banking77, which is about one
subject), and 0 to 0.25 are as good as each other there. The same space shapes the tree, and groups agree with what
people call a topic where dimensions keep nearly the size they had: the more strength, the less. No neural model between
0.3 and 0.5 was at hand. TF-IDF with SVD (c = 0.13 to 0.15) is better with more (SciFact: 48.5 at γ=0.5, 50.4 at 1) or
with less (Cranfield: 36.0 and 34.5).

Centring is decided by the same sign (`center="auto"`, the default of an index). The mean of a good encoder's vectors is
the subject of the corpus; to subtract it, and to scale what is left to one length, makes small differences between
documents large. nDCG@10 over the raw dot product's, MiniLM, γ=0.15, all directions kept:

    β     QQP 40k   MS MARCO   SciFact   Cranfield   CACM
    0     +0.13     +0.33      +0.20     +0.53       +1.39
    1     +0.19     +0.36      −1.13     −0.71       +0.57

With weak encoders all vectors have one direction in common, which γ=1 makes as small as any other: T5 and SmolLM2 gain
44.7 and 64.4 with either. There β=1 keeps that direction from counting as variance to be kept.
"""

import math
import os
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats
from gossamer.checks import as_vectors
from gossamer.errors import CorruptError, ParameterError, StateError
from gossamer.files.bundle import CURE, Bundle, read_bundle, write_bundle
from gossamer.whitening.spectrum import (
    Table,
    chunks,
    component_scales,
    corpus_moments,
    count_components,
    ica_rotation,
    spectrum,
    winsorised,
    with_fixed_signs,
)

KIND: Final = "whitener"
"""The kind that the manifest of a saved whitener names."""

_PARAMETERS: Final = ("n_components", "strength", "sphere", "ica", "random_state", "center")

_AUTO_LEAST: Final = 0.15
_AUTO_FROM, _AUTO_TO = 0.3, 0.5
"""The strength up to the first mean cosine; it is 1 from the second on: see the module's table. So is the share of the
mean that is subtracted, which is 0 up to the first."""

_DRIFT_OUTSIDE: Final = 0.01
_DRIFT_MEAN: Final = 0.05
"""See `Whitening.has_drifted`."""

_ALWAYS_CENTRED: Final = {"center": True, "fitted_centering": 1.0}
"""What whiteners stand for that were saved before centring was a choice."""


class Whitening:
    """Decorrelate embeddings. `fit` and `project` take vectors that are checked already.

    `gossamer.Whitener` is the same as a scikit-learn transformer, which checks them.

    Parameters, checked by `fit`:

    n_components: the share of variance to keep, a float in (0, 1], or a number of components, an int. Directions
        without variance are always dropped, so fewer may remain.
    strength: γ in [0, 1]. 0 only rotates (PCA), 1 gives every component variance 1, and "auto" chooses it by the mean
        cosine of the rows (see the module's table); with ICA "auto" means 1.
    sphere: scale every row to length √D_out, so that distances rank as cosines do and the mean variance of a dimension
        is about 1. Without it that mean is exactly 1 over the fitted rows: each dimension has variance 1 at strength 1,
        and below that the leading ones have more and the last ones less.
    ica: rotate to independent axes (FastICA). It changes no distance, takes some ten seconds, and needs strength 1,
        since axes are independent only where all variances are equal.
    random_state: the seed of ICA's sample and start. Nothing else is random.
    center: subtract the mean of the rows, and "auto" the share of it that the mean cosine calls for: nothing for a good
        encoder, all of it for a weak one. Axes and variances are then about the point that is subtracted.

    Fitted attributes: `components_` (n_components_ × n_features_in_, as in scikit-learn's PCA but with the
    scaling folded in: without the sphere, transform is `(X − mean_) @ components_.T`), `mean_` (what is subtracted: the
    mean of the rows, or the share `centering_` of it), `explained_variance_` (of the kept principal directions, divisor
    n, falling), `strength_`, `mean_cosine_` (of two different rows), `n_components_`, `n_features_in_`.

    A corpus without variance (one row, or copies of one) has no principal axes: the components are then the coordinate
    axes, unscaled.
    """

    mean_: Floats
    components_: Floats
    explained_variance_: Doubles
    strength_: float
    centering_: float
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
        center: bool | Literal["auto"] = True,
    ) -> None:
        self.n_components = n_components
        self.strength = strength
        self.sphere = sphere
        self.ica = ica
        self.random_state = random_state
        self.center = center

    @classmethod
    def paper(cls) -> Self:
        """The paper's recipe: 0.96 of the variance, full whitening, ICA, no sphere.

        >>> Whitening.paper().strength, Whitening.paper().ica
        (1.0, True)
        """
        return cls(n_components=0.96, strength=1.0, sphere=False, ica=True)

    def get_params(self) -> dict[str, Any]:
        """The parameters, by name."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def fit(self, X: Table) -> Self:
        """Learn the transformation from the rows of `X`: at least one row of finite real numbers.

        Reads `X` twice in chunks, so memory beyond `X` is a chunk, a few D × D matrices, and the sample of ICA.
        """
        self.check_parameters(X.shape[1])
        if self.sphere:  # the length of a row does not count, so long rows should not count for more
            X = winsorised(X)
        moments = corpus_moments(X)
        centering = self._resolve_centering(moments.mean_cosine)
        moments = replace(moments, mean=np.float32(centering) * moments.mean)
        variances, axes = spectrum(X, moments)
        kept = count_components(variances, self.n_components)
        variances, axes = variances[:kept], axes[:, :kept]
        strength = self._resolve_strength(moments.mean_cosine)
        components = (axes * component_scales(variances, strength)).T
        if self.ica and variances[0] > 0:
            components = ica_rotation(X, moments.mean, components, int(self.random_state)) @ components
        # Attributes are set at the end: a fit that fails leaves the whitener as it was.
        self.mean_cosine_ = moments.mean_cosine
        self.strength_, self.centering_ = strength, centering
        self.explained_variance_ = variances
        self._set_transformation(moments.mean, with_fixed_signs(components))
        return self

    def transform(self, X: Any) -> Floats:
        """`X` decorrelated, a row for a row; `X` is checked."""
        self._check_fitted()
        return self.project(as_vectors(X, self.n_features_in_, what="X"))

    def project(self, X: Floats) -> Floats:
        """`transform` for rows that are checked already: a finite float32 matrix with n_features_in_ columns.

        The result for a row is the same bit for bit whatever rows are beside it.
        """
        from gossamer.whitening.projection import project

        return project(X, self.mean_, self.components_.T, self.on_sphere)

    @property
    def on_sphere(self) -> bool:
        """Whether rows are scaled to one length. A sphere of one dimension has two points only, so they are not."""
        return bool(self.sphere) and self.n_components_ > 1

    def relative_distances(self, X: Floats) -> Doubles:
        """Distances of rows from `mean_`, divided by the root mean square of those of the fitted rows."""
        usual = math.sqrt(self.explained_variance_.sum())
        if not usual > 0.0:
            return np.zeros(len(X))
        distances = np.empty(len(X))
        for rows in chunks(len(X)):
            away = X[rows].astype(np.float64) - self.mean_
            distances[rows] = np.sqrt(np.einsum("ij,ij->i", away, away)) / usual
        return distances

    def may_exceed(self, X: Floats, distance: float) -> bool:
        """Whether a row may have a relative distance above `distance`; quick, and seldom true for a few usual rows.

        No row is further from `mean_` than its length and that of `mean_`, and no row longer than all together.
        """
        longest = math.sqrt(np.vdot(X, X)) + math.sqrt(np.vdot(self.mean_, self.mean_))
        return not longest <= distance * math.sqrt(self.explained_variance_.sum())

    def has_drifted(self, X: Floats) -> bool:
        """Whether rows of a corpus are no longer what the whitener was fitted on, so that it should be fitted again.

        With m the mean of X, or the share of it that was subtracted when fitting: more of X − m is outside the kept
        directions than twice the share that fitting left out, or m has moved by more than a twentieth of the spread:

            1 − ‖P(X − m)‖² / ‖X − m‖²  >  2·(1 − kept) + 0.01        ‖m − mean_‖²  >  0.05 · ‖X − m‖²/n
        """
        X = winsorised(X) if self.sphere else X
        mean = self.centering_ * X.mean(axis=0, dtype=np.float64)
        away = X - mean
        total = float(np.einsum("ij,ij->", away, away)) / len(X)
        if not total > 0.0:
            return False
        axes = self.components_ / np.linalg.norm(self.components_, axis=1, keepdims=True)
        inside = away.astype(np.float32) @ axes.T.astype(np.float32)
        left_out = 1.0 - float(np.einsum("ij,ij->", inside, inside, dtype=np.float64)) / len(X) / total
        kept = float(self.n_components) if not isinstance(self.n_components, Integral) else 1.0 - left_out
        moved = float(np.square(mean - self.mean_).sum())
        return left_out > 2.0 * (1.0 - kept) + _DRIFT_OUTSIDE or moved > _DRIFT_MEAN * total

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted whitener into the folder `path`; names of the columns of a DataFrame are not saved.

        >>> Whitening(n_components=2).fit(np.eye(4)).save("whitener")
        """
        write_bundle(path, KIND, self.to_bundle())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a whitener that `save` wrote: it transforms as the saved one did, bit for bit.

        >>> Whitening(n_components=2).fit(np.eye(4)).save("whitener")
        >>> Whitening.load("whitener").n_components_
        2
        """
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
                "center": self.center if isinstance(self.center, str) else bool(self.center),
                "fitted_strength": self.strength_,
                "fitted_centering": self.centering_,
                "fitted_mean_cosine": self.mean_cosine_,
            },
            arrays={"mean": self.mean_, "components": self.components_, "explained_variance": self.explained_variance_},
        )

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Self:
        """The whitener that `to_bundle` described."""
        bundle = Bundle({**_ALWAYS_CENTRED, **bundle.params}, bundle.arrays)
        for name in (*_PARAMETERS, "fitted_strength", "fitted_mean_cosine"):
            if name not in bundle.params:
                raise CorruptError(f"a saved whitener lacks {name!r}: {CURE}")
        components = bundle.numbers("components", np.float32, None, None)
        mean = bundle.array("mean", np.float32, None)
        if mean.shape != components.shape[1:] or not components.size:
            raise CorruptError(
                f"a saved whitener has a mean of shape {mean.shape} and components of shape {components.shape}: {CURE}"
            )
        whitener = cls(**{name: bundle.params[name] for name in _PARAMETERS})
        try:
            whitener.check_parameters(len(mean))
        except ParameterError as error:
            raise CorruptError(f"a saved whitener cannot be used, because {error}: {CURE}") from error
        whitener.strength_ = bundle.number("fitted_strength", 0.0, 1.0)
        whitener.centering_ = bundle.number("fitted_centering", 0.0, 1.0)
        whitener.mean_cosine_ = bundle.number("fitted_mean_cosine", -1.001, 1.001)  # rounding may exceed 1
        whitener.explained_variance_ = bundle.numbers("explained_variance", np.float64, len(components), least=0.0)
        whitener._set_transformation(bundle.numbers("mean", np.float32, None), components)
        return whitener

    def _set_transformation(self, mean: npt.NDArray[Any], components: npt.NDArray[Any]) -> None:
        self.mean_ = np.ascontiguousarray(mean, dtype=np.float32)
        # By column, so that the transpose, which `project` multiplies with, is laid out by row.
        self.components_ = np.asfortranarray(components, dtype=np.float32)
        self.n_components_, self.n_features_in_ = self.components_.shape

    def _resolve_strength(self, mean_cosine: float) -> float:
        if not isinstance(self.strength, str):
            return float(self.strength)
        return 1.0 if self.ica else auto_strength(mean_cosine)

    def _resolve_centering(self, mean_cosine: float) -> float:
        return auto_centering(mean_cosine) if isinstance(self.center, str) else float(self.center)

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise StateError("this whitening is not fitted yet: call fit(X) first")

    def check_parameters(self, dim: int) -> None:
        """Raise `ParameterError` if vectors of `dim` dimensions could not be fitted with these parameters.

        >>> Whitening(n_components=2).check_parameters(4)
        """
        _check_n_components(self.n_components, dim)
        _check_strength(self.strength, ica=self.ica)
        if not isinstance(self.center, bool | np.bool_) and self.center != "auto":
            raise ParameterError(f"center must be True, False or 'auto', got {self.center!r}")
        for name in ("sphere", "ica"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ParameterError(f"{name} must be True or False, got {getattr(self, name)!r}")
        seed = self.random_state
        if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**32:
            raise ParameterError(f"random_state must be a whole number from 0 to 2**32 − 1, got {seed!r}: use 0")


def auto_strength(mean_cosine: float) -> float:
    """What `strength="auto"` means for a corpus of mean cosine c: 0.15 up to c = 0.3, 1 from 0.5 on, a ramp between."""
    return _AUTO_LEAST + (1.0 - _AUTO_LEAST) * auto_centering(mean_cosine)


def auto_centering(mean_cosine: float) -> float:
    """The share of the mean that `center="auto"` subtracts: 0 up to c = 0.3, 1 from 0.5 on, a ramp between."""
    return min(1.0, max(0.0, (mean_cosine - _AUTO_FROM) / (_AUTO_TO - _AUTO_FROM)))


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
