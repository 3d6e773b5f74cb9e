"""Whitener: `Whitening` as scikit-learn knows transformers, for pipelines and searches over parameters.

Importing scikit-learn takes about a second, so an index uses `Whitening` and only those who ask for this class pay.
"""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import validate_data

from gossamer.array_types import Floats
from gossamer.errors import StateError
from gossamer.whitening.whitening import Whitening


class NotFittedError(StateError, SklearnNotFittedError):
    """The whitener was asked for something that only a fitted one has."""


class Whitener(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Whitening):
    """Decorrelate embeddings: a scikit-learn transformer. See `Whitening` for parameters and attributes.

    >>> import numpy as np
    >>> E = np.random.default_rng(0).normal(size=(500, 8)) * np.arange(1, 9)
    >>> X = Whitener(n_components=5, strength=1.0, sphere=False).fit_transform(E)
    >>> np.cov(X.T, ddof=0).round(3).tolist() == np.eye(5).tolist()
    True
    """

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the transformation from the rows of `X`; `y` is ignored."""
        Whitening.fit(self, X)
        validate_data(self, X, reset=True, skip_check_array=True)
        return self

    def transform(self, X: Any) -> Floats:
        """`X` decorrelated: C-contiguous float32, a row for a row. `X` is checked."""
        out = Whitening.transform(self, X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return out

    @property
    def _n_features_out(self) -> int:
        """For scikit-learn's get_feature_names_out."""
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError("This Whitener is not fitted yet: call fit(X) first")
