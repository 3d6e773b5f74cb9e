"""Whitening from its formula, in float64: eigenpairs of the mean squares, powers of the eigenvalues, the sphere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def whitened(
    X: npt.NDArray[np.float32], n_components: int, strength: float, *, sphere: bool, centering: float = 1.0
) -> Matrix:
    """y = s·diag(λ^(−γ/2))·Vᵀ·(x − β·mean), with s such that the mean square of a dimension is 1; then ‖y‖ = √D.

    Each dimension has the sign that makes its largest weight positive.
    """
    centred = X.astype(np.float64) - centering * X.mean(axis=0, dtype=np.float64)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(X))
    variances, axes = variances[::-1][:n_components], axes[:, ::-1][:, :n_components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_components)])
    Y = centred @ axes * variances ** (-strength / 2)
    Y /= np.sqrt(np.mean(variances ** (1 - strength)))
    if sphere:
        Y *= np.sqrt(n_components) / np.linalg.norm(Y, axis=1, keepdims=True)
    return np.asarray(Y)
