"""A projected query and documents of the tree → their cosines: the dense part of a text index's scores."""

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Longs
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Meta, TreeArrays

_SMALLEST: Final = 1e-300
"""In place of a length of 0, whose cosine is 0."""


class Nearest(NamedTuple):
    """The documents nearest to some queries, a row each, best first; NONE and NaN past the end."""

    documents: Longs
    """As the tree numbers them."""
    cosines: Doubles
    visited: Longs
    """Nodes scored for each query."""


class RoughCosines(NamedTuple):
    """Cosines in single precision, and by how much they may be wrong at most."""

    cosines: Doubles
    """By document number; those of documents that are not in the tree mean nothing."""
    error: float


@kernel
def write_cosines(t: TreeArrays, X: Floats, documents: Longs, out: Doubles) -> None:
    """Write the cosine between each query and each of its documents, in double precision; NaN where that is NONE.

    cos(x, y) = Σ x·y / (‖x‖·‖y‖)
    """
    for q in range(X.shape[0]):
        x, squares = X[q], 0.0
        for d in range(x.shape[0]):
            squares += np.float64(x[d]) * np.float64(x[d])
        for i in range(documents.shape[1]):
            if documents[q, i] == NONE:
                out[q, i] = np.nan
                continue
            row, product = t.row[t.leaf[documents[q, i]]], 0.0
            y = t.vectors[row]
            for d in range(x.shape[0]):
                product += np.float64(x[d]) * np.float64(y[d])
            out[q, i] = product / max(math.sqrt(t.norm[row]) * math.sqrt(squares), _SMALLEST)


def cosines(t: TreeArrays, X: Floats, documents: Longs) -> Doubles:
    """The cosine between each row of X and each document in the same row of `documents`."""
    out = np.empty(documents.shape)
    write_cosines(t, X, documents, out)
    return out


def rough_cosines(t: TreeArrays, x: Floats, documents: int) -> RoughCosines:
    """The cosine between a query and every document numbered below `documents`, by one product in single precision.

    A sum of D products is off by at most (D + 2)·2⁻²⁴ times the sum of their sizes (Higham 2002, section 3.1), which
    is at most the product of the lengths; the bound is doubled for what the rounding of lengths adds.
    """
    leaf_rows = int(t.meta[Meta.LEAF_ROWS])
    wide = x.astype(np.float64)
    direction = (wide / max(float(np.linalg.norm(wide)), _SMALLEST)).astype(np.float32)
    by_row = (t.vectors[:leaf_rows] @ direction) / np.maximum(np.sqrt(t.norm[:leaf_rows]), _SMALLEST)
    rows = t.row[t.leaf[:documents]]
    return RoughCosines(by_row.take(rows, mode="clip"), (len(x) + 2) * 2.0**-23)
