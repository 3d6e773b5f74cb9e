"""A projected query and documents of the tree → their cosines: the dense part of a text index's scores."""

from typing import NamedTuple

import numpy as np

from gossamer.array_types import Doubles, Floats, Longs
from gossamer.tree.arrays import Meta, TreeArrays

_SMALLEST = 1e-300
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


def cosines(t: TreeArrays, x: Floats, documents: Longs) -> Doubles:
    """The cosine between a query and each of some documents, in double precision."""
    wide, rows = x.astype(np.float64), t.row[t.leaf[documents]]
    lengths = np.sqrt(t.norm[rows]) * np.linalg.norm(wide)
    found: Doubles = (t.vectors[rows] @ wide) / np.maximum(lengths, _SMALLEST)
    return found


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
