"""Whitener: `Whitening` as a scikit-learn transformer, for pipelines and searches over parameters; it checks its input.

Importing scikit-learn takes about a second, so an index uses `Whitening`, and only users of this class wait for it.
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import validate_data

from gossamer.array_types import Floats
from gossamer.checks import as_vectors
from gossamer.errors import DimensionError, DtypeError, InputError, StateError
from gossamer.whitening.spectrum import chunks
from gossamer.whitening.whitening import Whitening


class NotFittedError(StateError, SklearnNotFittedError):
    """A method was called that needs a fitted whitener."""


class Whitener(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Whitening):
    """Decorrelate embeddings: a scikit-learn transformer. See `Whitening` for parameters and attributes.

    >>> import numpy as np
    >>> E = np.random.default_rng(0).normal(size=(500, 8)) * np.arange(1, 9)
    >>> X = Whitener(n_components=5, strength=1.0, sphere=False).fit_transform(E)
    >>> np.cov(X.T, ddof=0).round(3).tolist() == np.eye(5).tolist()
    True
    """

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the transformation from the rows of `X`; `y` is ignored.

        >>> E = np.random.default_rng(0).normal(size=(500, 8))
        >>> Whitener(n_components=5).fit(E).n_components_
        5
        """
        table = _as_table(X)
        if not len(table):
            raise InputError("X has 0 rows; fitting needs at least 1")
        for rows in chunks(len(table)):
            _checked(table, rows)
        Whitening.fit(self, table)
        validate_data(self, X, reset=True, skip_check_array=True)
        return self

    def transform(self, X: Any) -> Floats:
        """`X` decorrelated, a row for a row: C-contiguous float32.

        >>> E = np.random.default_rng(0).normal(size=(500, 8))
        >>> Whitener(n_components=5).fit(E).transform(E[:2]).shape
        (2, 5)
        """
        self._check_fitted()
        table = _as_table(X)
        if table.shape[1] != self.n_features_in_:
            # Begins as the message of scikit-learn does, which its users and its own checks look for.
            raise DimensionError(
                f"X has {table.shape[1]} features, but Whitener is expecting {self.n_features_in_} features "
                "as input: use vectors of the model it was fitted on"
            )
        out = np.empty((len(table), self.n_components_), dtype=np.float32)
        for rows in chunks(len(table)):
            out[rows] = self.project(_checked(table, rows))
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


def _checked(table: npt.NDArray[Any], rows: slice) -> Floats:
    """Some rows as vectors; an error names a row by its number in the whole table."""
    try:
        return as_vectors(table[rows], what="X")
    except InputError:
        as_vectors(table, what="X")  # raises again, with that number
        raise


def _as_table(X: Any) -> npt.NDArray[Any]:
    """`X` as a matrix of numbers in the dtype it came in; `_checked` looks at the values, a chunk at a time.

    Stricter than `as_vectors` where scikit-learn is: one vector is not taken for a row.
    """
    if hasattr(X, "toarray"):
        raise DtypeError("X is sparse, and centring would fill it: pass X.toarray()")
    try:
        table = np.asarray(X)
    except ValueError as error:
        raise DimensionError(f"X must be a matrix, but the rows differ in length ({error})") from error
    if table.dtype.kind == "c":
        raise DtypeError(f"Complex data not supported: X has dtype {table.dtype}; pass real numbers")
    if table.dtype.kind == "O":  # a table of columns of several types
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DtypeError(f"X must be real numbers: {error}") from error
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
