"""A projected query and documents of the tree → their cosines: the dense part of a text index's scores."""

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Longs, Shorts
from gossamer.graph.codes import Codes
from gossamer.runtime.jit import kernel
from gossamer.runtime.simd import integer_dot
from gossamer.tree.arrays import Meta, TreeArrays

_SMALLEST: Final = 1e-300
"""In place of a length of 0, whose cosine is 0."""

_QUERY: Final = 32_000.0
"""The length of a query in whole numbers: each coordinate fits into 16 bits."""

_NOISE: Final = 1e-6
"""More than rounding adds: norms of codes are in single precision."""


class Nearest(NamedTuple):
    """The documents nearest to some queries, a row each, best first; NONE and NaN past the end."""

    documents: Longs
    """As the tree numbers them."""
    cosines: Doubles
    visited: Longs
    """Nodes scored for each query."""


class CosineBounds(NamedTuple):
    """Between what the cosines of documents are, by document number; those of documents that are gone mean nothing."""

    least: Doubles
    most: Doubles


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


def cosine_bounds(t: TreeArrays, codes: Codes | None, x: Floats, documents: int) -> CosineBounds:
    """Bounds of the cosine between a query and every document numbered below `documents`.

    By codes, where all leaves have one: a quarter of the memory of the vectors is read, in a third of the time. With ŷ
    what the code of y stands for and e = ‖y − ŷ‖, x·y is within ‖x‖·e of x·ŷ, of which rounding x to whole numbers in
    units of ‖x‖/_QUERY changes at most √D/2 units by ‖ŷ − centre‖. Without codes by a product in single precision: a
    sum of D products is off by at most (D + 2)·2⁻²⁴ times the sum of their sizes (Higham 2002, section 3.1), which is
    at most the product of the lengths; the bound is doubled for what the rounding of lengths adds.
    """
    rows, leaf_rows = t.row[t.leaf[:documents]], int(t.meta[Meta.LEAF_ROWS])
    wide = x.astype(np.float64)
    direction = wide / max(float(np.linalg.norm(wide)), _SMALLEST)
    middle, error = np.empty(leaf_rows), np.empty(leaf_rows)
    if codes is None:
        middle = (t.vectors[:leaf_rows] @ direction.astype(np.float32)) / np.maximum(
            np.sqrt(t.norm[:leaf_rows]), _SMALLEST
        )
        error[:] = (len(x) + 2) * 2.0**-23
    else:
        query = np.zeros(codes.leaf.shape[1], np.int16)
        query[: len(x)] = np.rint(direction * _QUERY)
        _write_bounds(t, codes, query, direction, middle, error)
    middle, error = middle.take(rows, mode="clip"), error.take(rows, mode="clip")
    return CosineBounds(middle - error, middle + error)


def narrower_bounds(t: TreeArrays, x: Floats, documents: Longs) -> CosineBounds:
    """Bounds of the cosine between a query and some documents, as those without codes are."""
    wide = x.astype(np.float64)
    direction = (wide / max(float(np.linalg.norm(wide)), _SMALLEST)).astype(np.float32)
    middle = np.empty(len(documents))
    _write_products(t, direction, documents, middle)
    error = (len(x) + 2) * 2.0**-23
    return CosineBounds(middle - error, middle + error)


@kernel
def _write_products(t: TreeArrays, direction: Floats, documents: Longs, middle: Doubles) -> None:
    """Write the cosine between a unit vector and each document, added up in single precision."""
    for i in range(documents.shape[0]):
        row, product = t.row[t.leaf[documents[i]]], np.float32(0.0)
        y = t.vectors[row]
        for d in range(direction.shape[0]):
            product += direction[d] * y[d]
        middle[i] = product / max(math.sqrt(t.norm[row]), _SMALLEST)


@kernel
def _write_bounds(
    t: TreeArrays, codes: Codes, query: Shorts, direction: Doubles, middle: Doubles, error: Doubles
) -> None:
    """Write by leaf row the cosine by codes, and by how much it may be wrong."""
    unit, at_centre = codes.step / _QUERY, 0.0
    for d in range(direction.shape[0]):
        at_centre += direction[d] * codes.centre[d]
    rounding = math.sqrt(direction.shape[0]) / (2.0 * _QUERY)
    for row in range(middle.shape[0]):
        inverse = 1.0 / max(math.sqrt(t.norm[row]), _SMALLEST)
        middle[row] = (at_centre + unit * integer_dot(query, codes.leaf[row])) * inverse
        away = codes.leaf_error[row] + rounding * math.sqrt(codes.leaf_norm[row])
        error[row] = away * inverse + _NOISE
        if not error[row] < 1.0:  # a vector that is short beside a step of the codes
            middle[row], error[row] = 0.0, 1.0 + _NOISE
