"""Leaves → how strongly each is tied to the leaves nearest to it.

The weight of a neighbour at distance d falls off as exp(−(d − d₁)/σ), where d₁ is the distance of the nearest, and σ is
such that the weights of the 15 nearest add up to log₂ 15: dense and sparse parts of a corpus are tied alike (McInnes,
Healy and Melville 2018). The weights of a leaf are divided by their sum, and those of both directions are averaged.

Neighbours are looked for among the links of a leaf and the links of these, which takes about a second at 76,000 leaves.
Trees that have no links, as small ones, are compared in full.
"""

from typing import Final, NamedTuple

import numpy as np
from scipy import sparse

from gossamer.array_types import NONE, Bytes, Floats, Ints
from gossamer.graph.codes import Codes, code_distance
from gossamer.neighbours.all_pairs import nearest_of_all
from gossamer.neighbours.ordering import sorted_insert
from gossamer.neighbours.quantise import choose_grid, encode_rows, to_steps
from gossamer.plane.sketch import Sketch
from gossamer.runtime.jit import kernel

NEIGHBOURS: Final = 15
"""Nearest leaves that a leaf is tied to."""

_BISECTIONS: Final = 32


class Near(NamedTuple):
    """The nearest others of some leaves."""

    places: Ints
    """In the order of `Sketch.rows`, nearest first; NONE where there are no more."""
    distances: Floats
    """Squared; infinite where there are no more."""


class Affinities(NamedTuple):
    """A sparse matrix by rows: those of point i are at starts[i] : starts[i + 1]."""

    starts: Ints
    others: Ints
    weights: Floats


def nearest(sketch: Sketch, wanted: Ints) -> Near:
    """The nearest leaves of those at the places `wanted`."""
    if sketch.links is None:
        width = min(NEIGHBOURS, max(1, len(sketch) - 1))
        codes = _codes(sketch.vectors if sketch.vectors is not None else np.zeros((len(sketch), 1), np.float32))
        found = nearest_of_all(codes, width)
        return Near(found.places[wanted], found.distances[wanted])
    links = sketch.links
    place = np.full(len(links.degree), NONE, np.int32)
    place[sketch.rows] = np.arange(len(sketch), dtype=np.int32)
    return Near(*by_links(links.codes, links.to, links.degree, place, sketch.rows[wanted], NEIGHBOURS))


def _codes(vectors: Floats) -> Bytes:
    steps = vectors.copy()
    to_steps(steps, choose_grid(vectors))
    codes = np.empty(steps.shape, np.int8)
    encode_rows(steps, codes)
    return codes


@kernel
def by_links(codes: Codes, to: Ints, degree: Ints, place: Ints, rows: Ints, width: int) -> tuple[Ints, Floats]:
    """The nearest of the leaves that some rows link to, and of those that these link to, by distance of codes."""
    places = np.full((rows.shape[0], width), NONE, np.int32)
    distances = np.full((rows.shape[0], width), np.inf, np.float32)
    seen = np.full(place.shape[0], NONE, np.int32)
    for i in range(rows.shape[0]):
        row, n = rows[i], 0
        seen[row] = i
        for a in range(-1, degree[row]):
            via = row if a < 0 else to[row, a]
            for b in range(degree[via]):
                other = to[via, b]
                if seen[other] == i:
                    continue
                seen[other] = i
                if place[other] != NONE:
                    distance = max(0.0, code_distance(codes, row, other))
                    if sorted_insert(distances[i], places[i], n, distance, place[other]) != NONE:
                        n = min(n + 1, width)
    return places, distances


def weights_of(near: Near) -> Floats:
    """The weight of each neighbour; 0 where there is none."""
    missing = near.places == NONE
    distance = np.sqrt(np.where(missing, 0.0, near.distances), dtype=np.float64)
    beyond = np.maximum(0.0, distance - distance[:, :1])
    target = np.log2(np.maximum(2, near.places.shape[1]))
    low, high = np.zeros(len(beyond)), np.full(len(beyond), np.inf)
    scale = np.maximum(1e-12, beyond.mean(axis=1))
    for _ in range(_BISECTIONS):
        total = np.where(missing, 0.0, np.exp(-beyond / scale[:, None])).sum(axis=1)
        large = total > target
        high, low = np.where(large, scale, high), np.where(large, low, scale)
        # Where even equal weights are too few, the scale would grow without end: that is cut off below.
        scale = np.where(np.isinf(high), np.minimum(2.0 * scale, 1e12), 0.5 * (low + high))
    scale = np.maximum(scale, 1e-12)
    weights: Floats = np.where(missing, 0.0, np.exp(-beyond / scale[:, None])).astype(np.float32)
    return weights


def affinity_matrix(near: Near) -> sparse.csr_matrix:
    """The symmetric matrix of affinities of all leaves; the rows of most add up to about 1."""
    n, width = near.places.shape
    weights = weights_of(near)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    there = near.places != NONE
    rows = np.repeat(np.arange(n), width).reshape(n, width)
    one_way = sparse.coo_matrix((weights[there], (rows[there], near.places[there])), (n, n)).tocsr()
    return (0.5 * (one_way + one_way.T)).tocsr()


def joined(matrix: sparse.csr_matrix, groups: Ints) -> tuple[sparse.csr_matrix, Floats]:
    """The affinities between groups of points, and the mass of each group: its points, 1 on average."""
    n, m = len(groups), int(groups.max()) + 1
    members = sparse.coo_matrix((np.ones(n, np.float32), (groups, np.arange(n))), (m, n)).tocsr()
    between = (members @ matrix @ members.T).tocsr()
    between.setdiag(0)
    between.eliminate_zeros()
    total = np.maximum(np.asarray(between.sum(axis=1)).ravel(), 1e-12)
    between = (sparse.diags(1.0 / total) @ between).tocsr()
    masses = np.bincount(groups, minlength=m)
    return (0.5 * (between + between.T)).tocsr(), (masses / masses.mean()).astype(np.float32)


def as_affinities(matrix: sparse.csr_matrix) -> Affinities:
    """A sparse matrix as kernels read it."""
    matrix.sort_indices()
    return Affinities(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float32))
