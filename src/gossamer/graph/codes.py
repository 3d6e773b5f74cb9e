"""Tree → one-byte codes of all vectors, by which a walk estimates distances.

    code(y) = clip(round((y − centre)/step), −127, 127)        ‖x − y‖² ≈ ‖x‖² + ‖y‖² − f·(x' · code(y))

with lengths from the centre, and x' the query in 16-bit integers. The dot product is one of integers: a quarter of the
memory of float32, in the widest instructions. Distances by codes only guide a search; what it finds is scored exactly.

Leaves have a row each. Where there are no links, walks descend the tree: then internal nodes have a row for their mean,
too, with what the estimate of their best leaf needs (the expected smallest of n normal values; the formula is in
`walk`). Where there are links these arrays have no rows.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Bytes, Floats, Ints, Longs, Shorts, aligned
from gossamer.files.scratch import release
from gossamer.neighbours.ordering import copy
from gossamer.neighbours.quantise import Grid, choose_grid, encode
from gossamer.runtime.jit import kernel, subkernel
from gossamer.runtime.simd import LANES, integer_dot
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta, TreeArrays, leaf_vectors

_QUERY_LENGTH: Final = 32_000.0
"""The length of a query in integers: each coordinate fits in 16 bits, and the dot product with a code, at most
_QUERY_LENGTH·127·√D, in 32."""

_LONGEST_QUERY: Final = 1e30
"""Queries are shorter (`checks.LARGEST`). At this length the scale would be 0 and its inverse infinite."""

_ROUNDED_UP: Final = 1.0 + 2.0**-20
"""More than rounding to single precision takes away."""

_OUTSIDE: Final = 140.0
"""Steps from the centre beyond which a coordinate is outside the grid: a tenth more than codes reach, where clipping
changes more than rounding does."""

_DEVIATIONS: Final = 0.85
"""Factor on √(2 ln n), the deviations by which the best of n is below the mean; real concepts are not quite Gaussian.
Of factors from 0.5 to 1.1 for this and 0.8 to 1.2 for the variance (see `walk`), 0.85 and 0.9 are in the middle of what
is good for both QQP and MS MARCO: at 1,000 nodes scored half a point to a point more recall than 0.9 and 1."""


class Codes(NamedTuple):
    """Codes by the rows of the tree that they are made from."""

    centre: Floats
    step: float
    leaf: Bytes
    leaf_norm: Floats  # squared length of the code from the centre; infinite where the row holds no leaf
    leaf_error: Floats  # distance of the vector from what its code stands for, centre + step·code; rounded up
    inner: Bytes
    inner_norm: Floats
    variance: Floats  # Σσ², the mean squared distance of a member from the mean
    quartic: Floats  # 2Σσ⁴, the part of the variance of that distance that does not depend on the query
    deviations: Floats  # how many standard deviations the best of n is below the mean
    seen: Longs  # value of TreeArrays.changed when an inner row was encoded


class Scale(NamedTuple):
    """What turns dot products of a coded query with codes into distances: ‖x − y‖² ≈ norm + ‖y‖² − factor·product."""

    factor: float
    norm: float


def code_width(dim: int) -> int:
    """Bytes in a row of codes: a multiple of what one step of `integer_dot` reads."""
    return -(-dim // LANES) * LANES


def grid_of(t: TreeArrays) -> Grid:
    """The grid for the leaves of a tree."""
    return choose_grid(leaf_vectors(t))


def encode_tree(t: TreeArrays, grid: Grid, *, concepts: bool) -> tuple[Codes, int]:
    """The codes of all leaves, and of internal nodes if `concepts`; and how many leaves are outside the grid."""
    width = code_width(len(grid.centre))
    floats = np.zeros(0, np.float32)
    empty = Codes(
        centre=grid.centre,
        step=grid.step,
        leaf=np.zeros((0, width), np.int8),
        leaf_norm=floats,
        leaf_error=floats,
        inner=np.zeros((0, width), np.int8),
        inner_norm=floats,
        variance=floats,
        quartic=floats,
        deviations=floats,
        seen=np.zeros(0, np.int64),
    )
    codes = with_room(empty, t, concepts=concepts)
    outside = encode_changed(t, codes)
    release(t.mean, t.m2)
    return codes, outside


def with_room(codes: Codes, t: TreeArrays, *, concepts: bool) -> Codes:
    """`codes` with as many rows as the tree has room for. Empty leaf rows are infinitely far, inner ones never seen."""
    leaves, inners = len(t.vectors), len(t.mean) if concepts else 0
    if len(codes.leaf) >= leaves and len(codes.inner) >= inners:
        return codes
    need: dict[str, tuple[int, float]] = {
        "leaf": (leaves, 0), "leaf_norm": (leaves, np.inf), "leaf_error": (leaves, 0),
        "inner": (inners, 0), "inner_norm": (inners, 0), "variance": (inners, 0), "quartic": (inners, 0),
        "deviations": (inners, 0), "seen": (inners, -1),
    }  # fmt: skip
    grown: dict[str, Any] = {name: _longer(getattr(codes, name), *wanted) for name, wanted in need.items()}
    return codes._replace(**grown)


def _longer(array: npt.NDArray[Any], rows: int, fill: float) -> Any:
    """`array`, or a copy with at least `rows` and half as many again, so that copying stays cheap in all."""
    if len(array) >= rows:
        return array
    longer = aligned((max(rows, len(array) * 3 // 2), *array.shape[1:]), array.dtype, fill)
    longer[: len(array)] = array
    return longer


def rows_outside(t: TreeArrays, codes: Codes) -> Ints:
    """The rows of leaves that are outside the grid, so that their codes say little."""
    rows = np.arange(min(int(t.meta[Meta.LEAF_ROWS]), len(codes.leaf)), dtype=np.int32)
    parts = np.array_split(rows, 1 + len(rows) // 8192)
    far = [np.abs(t.vectors[part] - codes.centre).max(axis=1) > (_OUTSIDE + 0.5) * codes.step for part in parts]
    return rows[np.concatenate(far) & np.isfinite(t.norm[rows])]


@kernel
def encode_added(t: TreeArrays, codes: Codes, leaves: Ints) -> int:
    """Encode leaves that have no code yet, and what changed above all of these leaves; returns how many of the new ones
    are outside the grid."""
    outside = 0
    for i in range(leaves.shape[0]):
        row = t.row[leaves[i]]
        if codes.leaf_norm[row] == np.inf:
            outside += encode_leaf(t, codes, row)
        encode_path(t, codes, leaves[i])
    return outside


@subkernel
def encode_path(t: TreeArrays, codes: Codes, leaf: int) -> None:
    """Encode what changed above a leaf: its ancestors, and children of these that an insertion made."""
    node = t.parent[leaf] if codes.seen.shape[0] > 0 else NONE
    while node != NONE:
        _encode_inner(t, codes, node)
        child = t.first_child[node]
        while child != NONE:
            if t.n_children[child] > 0:
                _encode_inner(t, codes, child)
            child = t.next_sibling[child]
        node = t.parent[node]


def encode_changed(t: TreeArrays, codes: Codes) -> int:
    """Encode every leaf that came, went or is new, and every internal node that changed; returns how many of the leaves
    that came are outside the grid."""
    outside: list[int] = []
    if len(codes.seen):
        in_threads(lambda first, last: _encode_inners(t, codes, first, last), int(t.meta[Meta.SLOTS]))
    in_threads(lambda first, last: outside.append(_encode_leaves(t, codes, first, last)), int(t.meta[Meta.LEAF_ROWS]))
    return sum(outside)


@kernel
def _encode_inners(t: TreeArrays, codes: Codes, first: int, last: int) -> None:
    for node in range(first, last):
        if t.n_children[node] > 0:
            _encode_inner(t, codes, node)


@kernel
def encode_nodes(t: TreeArrays, nodes: Ints, codes: Codes, out: Bytes, norms: Floats) -> None:
    """Write the codes and norms of some nodes: of their means, or of leaves."""
    for i in range(nodes.shape[0]):
        row = t.row[nodes[i]]
        if t.n_children[nodes[i]] > 0:
            norm, _ = encode(t.mean[row], codes.centre, codes.step, out[i])
            norms[i] = norm
        else:
            copy(codes.leaf[row], out[i])
            norms[i] = codes.leaf_norm[row]


@kernel
def _encode_leaves(t: TreeArrays, codes: Codes, first: int, last: int) -> int:
    outside = 0
    for row in range(first, last):
        if (t.norm[row] == np.inf) != (codes.leaf_norm[row] == np.inf):
            outside += encode_leaf(t, codes, row)
    return outside


@subkernel
def encode_leaf(t: TreeArrays, codes: Codes, row: int) -> int:
    """Encode a leaf row; returns 1 if it is outside the grid, else 0."""
    if t.norm[row] == np.inf:
        codes.leaf_norm[row] = np.inf
        return 0
    norm, extent = encode(t.vectors[row], codes.centre, codes.step, codes.leaf[row])
    codes.leaf_norm[row] = norm
    x, code, squares = t.vectors[row], codes.leaf[row], 0.0
    for d in range(x.shape[0]):
        away = np.float64(x[d]) - codes.centre[d] - codes.step * code[d]
        squares += away * away
    codes.leaf_error[row] = np.float32(math.sqrt(squares) * _ROUNDED_UP)
    return 1 if extent > _OUTSIDE else 0


@subkernel
def _encode_inner(t: TreeArrays, codes: Codes, node: int) -> None:
    """Encode the row of an internal node, if it changed."""
    row = t.row[node]
    if codes.seen[row] == t.changed[row]:
        return
    codes.seen[row] = t.changed[row]
    norm, _ = encode(t.mean[row], codes.centre, codes.step, codes.inner[row])
    codes.inner_norm[row] = norm
    share = 1.0 / t.size[node]
    total, squares = 0.0, 0.0
    m2 = t.m2[row]
    for d in range(m2.shape[0]):
        variance = m2[d] * share
        total += variance
        squares += variance * variance
    codes.variance[row] = total
    codes.quartic[row] = 2.0 * squares
    codes.deviations[row] = _DEVIATIONS * math.sqrt(2.0 * math.log(t.size[node]))


@subkernel
def encode_query(x: Floats, codes: Codes, out: Shorts) -> Scale:
    """Write x as 16-bit integers into `out`, and return what turns dot products with it into distances."""
    dim = x.shape[0]
    norm = 0.0
    for d in range(dim):
        delta = np.float64(x[d]) - codes.centre[d]
        norm += delta * delta
    scale = _QUERY_LENGTH / min(_LONGEST_QUERY, max(1e-30, math.sqrt(norm)))
    narrow = np.float32(scale)
    for d in range(dim):
        # Clipped before conversion: NaN, or a number that 16 bits cannot hold, would be converted to anything.
        whole = np.rint((x[d] - codes.centre[d]) * narrow)
        out[d] = np.int16(min(np.float32(_QUERY_LENGTH), max(np.float32(-_QUERY_LENGTH), whole)))
    return Scale(2.0 * codes.step / scale, norm)


@subkernel
def query_distance(codes: Codes, row: int, query: Shorts, scale: Scale) -> float:
    """Squared distance between a coded query and a leaf."""
    return scale.norm + codes.leaf_norm[row] - scale.factor * integer_dot(query, codes.leaf[row])


@subkernel
def code_distance(codes: Codes, a: int, b: int) -> float:
    """Squared distance between two leaves."""
    product = integer_dot(codes.leaf[a], codes.leaf[b])
    return codes.leaf_norm[a] + codes.leaf_norm[b] - np.float32(2.0 * codes.step * codes.step) * product
