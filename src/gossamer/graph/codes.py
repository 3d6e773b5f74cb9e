"""Small copies of all vectors for guiding a search: one byte a coordinate, a quarter of float32.

A code is round((x − centre)/step) in −127 … 127. Distances between a query and codes are integer dot
products, which fit in the cache and use the widest instructions; they guide, and what they find is then
scored exactly. Leaves have a row each, internal nodes have one for their prototype, with what the
estimate of their best leaf needs.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Bytes, Doubles, Floats, Ints, Longs, Shorts, aligned
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import LANES, integer_dot
from gossamer.tree.arrays import Meta, TreeArrays

_QUERY_LENGTH: Final = 32_000.0
"""The length of a query in whole numbers: each fits in 16 bits, and the dot product with a code, at most this times
127·√D, in 32."""

_LONGEST_QUERY: Final = 1e30
"""Real ones are shorter (`checks.LARGEST`); beyond, the scale would be 0 and its inverse infinite."""

_BEYOND: Final = 140.0
"""Steps. A tenth more than codes have: what is cut off is then more than what rounding takes."""

_USUAL: Final = 0.999
_OUTLYING: Final = 4.0
"""The share of rows that the grid reaches at least, and how far beyond them the rest must lie to be left outside."""

_REACH: Final = 0.85
"""The best of n is near z = √(2 ln n) standard deviations below the mean; real concepts are not quite Gaussian. Of
factors from 0.5 to 1.1 for this and 0.8 to 1.2 for the spread (see `walk`), 0.85 and 0.9 are in the middle of what is
good for both QQP and MS MARCO: at 1,000 nodes scored half a point to a point more than 0.9 and 1."""


class Codes(NamedTuple):
    """The copies, by the rows of the tree they are taken from."""

    centre: Floats
    step: Doubles  # one number
    leaf: Bytes
    leaf_norm: Floats  # squared length of the code from the centre; infinite where the row holds no leaf
    inner: Bytes
    inner_norm: Floats
    spread: Floats  # Σ σ², the mean squared distance of a member from the prototype
    wobble: Floats  # 2 Σ σ⁴, the part of its variance that does not depend on the query
    reach: Floats  # how many standard deviations the best of n is below the mean
    seen: Longs  # value of TreeArrays.changed that an inner row was taken at
    outside: Longs  # one number: leaves that came later and reach well beyond the grid, so that their codes say little


def choose_grid(t: TreeArrays) -> tuple[Floats, Doubles]:
    """A centre and a step for the vectors in the tree: codes reach the largest coordinate there is.

    Where the largest is of a few rows far beyond all others, it is the largest of the others that codes reach.
    """
    alive = np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]])
    vectors = t.vectors[: t.meta[Meta.LEAF_ROWS]][alive]
    centre = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    reach = np.concatenate(
        [np.abs(part - centre).max(axis=1) for part in np.array_split(vectors, 1 + len(vectors) // 8192)]
    )
    largest, usual = float(reach.max()), float(np.quantile(reach, _USUAL))
    return centre, np.array([max(usual if largest > _OUTLYING * usual > 0.0 else largest, 1e-30) / 127.0])


def beyond(t: TreeArrays, codes: Codes) -> Ints:
    """The rows of leaves that reach well beyond the grid."""
    rows = np.arange(min(int(t.meta[Meta.LEAF_ROWS]), len(codes.leaf)), dtype=np.int32)
    parts = np.array_split(rows, 1 + len(rows) // 8192)
    far = [np.abs(t.vectors[part] - codes.centre).max(axis=1) > (_BEYOND + 0.5) * codes.step[0] for part in parts]
    return rows[np.concatenate(far) & np.isfinite(t.norm[rows])]


def empty_codes(centre: Floats, step: Doubles) -> Codes:
    """Codes of no row yet, on a grid."""
    width = -(-len(centre) // LANES) * LANES
    floats = np.zeros(0, np.float32)
    return Codes(
        centre, step, np.zeros((0, width), np.int8), floats, np.zeros((0, width), np.int8),
        floats, floats, floats, floats, np.zeros(0, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


def with_rows(codes: Codes, leaves: int, inners: int) -> Codes:
    """`codes` with room for as many rows; new ones are empty: infinitely far, never seen."""
    if len(codes.leaf) >= leaves and len(codes.inner) >= inners:
        return codes
    grown = codes._asdict()
    for name, rows, nothing in (
        ("leaf", leaves, 0), ("leaf_norm", leaves, np.inf), ("inner", inners, 0), ("inner_norm", inners, 0),
        ("spread", inners, 0), ("wobble", inners, 0), ("reach", inners, 0),
        ("seen", inners, -1),
    ):  # fmt: skip
        old = grown[name]
        if len(old) < rows:
            longer = aligned((max(rows, len(old) * 3 // 2), *old.shape[1:]), old.dtype, nothing)
            longer[: len(old)] = old
            grown[name] = longer
    return Codes(**grown)


@subkernel
def _encode(x: Floats | Doubles, codes: Codes, out: Bytes) -> tuple[float, float]:
    """Write the code of x; returns the code's squared length from the centre, and how many steps x reaches.

    Of the code, not of x: distances are then those to a point next to x, off by little where they are small.
    """
    inverse = 1.0 / codes.step[0]
    norm, reach = 0.0, 0.0
    for d in range(x.shape[0]):
        steps = np.rint((x[d] - codes.centre[d]) * inverse)
        reach = max(reach, abs(steps))
        code = min(127.0, max(-127.0, steps))
        norm += code * code
        out[d] = np.int8(code)
    return norm * codes.step[0] * codes.step[0], reach


@subkernel
def encode_leaf(t: TreeArrays, codes: Codes, row: int) -> None:
    """Take a leaf's row anew."""
    if t.norm[row] == np.inf:
        codes.leaf_norm[row] = np.inf
    else:
        norm, reach = _encode(t.vectors[row], codes, codes.leaf[row])
        codes.leaf_norm[row] = norm
        if reach > _BEYOND:
            codes.outside[0] += 1


@subkernel
def encode_inner(t: TreeArrays, codes: Codes, node: int) -> None:
    """Take an internal node's row anew, if it changed."""
    row = t.row[node]
    if codes.seen[row] == t.changed[row]:
        return
    codes.seen[row] = t.changed[row]
    norm, _ = _encode(t.mean[row], codes, codes.inner[row])
    codes.inner_norm[row] = norm
    share = 1.0 / t.size[node]
    spread, wobble = 0.0, 0.0
    m2 = t.m2[row]
    for d in range(m2.shape[0]):
        variance = m2[d] * share
        spread += variance
        wobble += variance * variance
    codes.spread[row] = spread
    codes.wobble[row] = 2.0 * wobble
    codes.reach[row] = _REACH * math.sqrt(2.0 * math.log(t.size[node]))


@kernel
def encode_new(t: TreeArrays, codes: Codes, leaves: Ints) -> None:
    """Take in leaves that are new, and what changed of all above these leaves."""
    for i in range(leaves.shape[0]):
        row = t.row[leaves[i]]
        if codes.leaf_norm[row] == np.inf:
            encode_leaf(t, codes, row)
        node = t.parent[leaves[i]]
        while node != NONE:
            encode_inner(t, codes, node)
            node = t.parent[node]


@kernel
def encode_all(t: TreeArrays, codes: Codes) -> None:
    """Take anew every row that changed, wherever it hangs; leaves as well."""
    for node in range(t.meta[Meta.SLOTS]):
        if t.n_children[node] > 0:
            encode_inner(t, codes, node)
    for row in range(t.meta[Meta.LEAF_ROWS]):
        if (t.norm[row] == np.inf) != (codes.leaf_norm[row] == np.inf):
            encode_leaf(t, codes, row)


@subkernel
def encode_query(x: Floats, codes: Codes, out: Shorts) -> tuple[float, float]:
    """Write x as whole numbers of 16 bits; returns (f, ‖x‖²) such that ‖x − y‖² ≈ ‖x‖² + ‖y‖² − f·(out · code of y)."""
    dim = x.shape[0]
    norm = 0.0
    for d in range(dim):
        delta = np.float64(x[d]) - codes.centre[d]
        norm += delta * delta
    scale = _QUERY_LENGTH / min(_LONGEST_QUERY, max(1e-30, math.sqrt(norm)))
    narrow = np.float32(scale)
    for d in range(dim):
        # A number that 16 bits cannot hold, as of a query with NaN, would be converted to anything.
        whole = np.rint((x[d] - codes.centre[d]) * narrow)
        out[d] = np.int16(min(np.float32(_QUERY_LENGTH), max(np.float32(-_QUERY_LENGTH), whole)))
    return 2.0 * codes.step[0] / scale, norm


@subkernel
def code_distance(codes: Codes, a: int, b: int) -> float:
    """Squared distance between two leaves, estimated from their codes."""
    product = integer_dot(codes.leaf[a], codes.leaf[b])
    return codes.leaf_norm[a] + codes.leaf_norm[b] - np.float32(2.0 * codes.step[0] * codes.step[0]) * product
