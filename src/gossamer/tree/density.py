"""log p(x|c): the density of a diagonal Gaussian, exact in double precision."""

from __future__ import annotations

import math

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats
from gossamer.runtime.jit import subkernel
from gossamer.tree.arrays import Limit, TreeArrays


@subkernel
def log_p(t: TreeArrays, node: int, x: Floats) -> float:
    """log p(x|c) = −½ Σ_d [log 2πσ²_d + (x_d − μ_d)²/σ²_d], with σ² = M2/n + a; of a leaf, σ² = a."""
    row = t.row[node]
    if t.n_children[node] == 0:
        return leaf_log_p(t, row, x)
    acuity = t.limits[Limit.ACUITY]
    squares = _scaled_distance(t.mean[row], t.m2[row], 1.0 / t.size[node], acuity, x)
    return -0.5 * (x.shape[0] * math.log(2.0 * math.pi * acuity) + t.h[node] + squares)


@subkernel
def leaf_log_p(t: TreeArrays, row: int, x: Floats) -> float:
    """The same of the leaf with this row of `vectors`."""
    acuity = t.limits[Limit.ACUITY]
    squares = squared_distance(t.vectors[row], x) / acuity
    return -0.5 * (x.shape[0] * math.log(2.0 * math.pi * acuity) + squares)


@subkernel
def squared_distance(y: Floats | Doubles, x: Floats | Doubles) -> float:
    """Σ (x − y)², in double precision."""
    total = 0.0
    for d in range(x.shape[0]):
        delta = np.float64(x[d]) - y[d]
        total += delta * delta
    return total


@subkernel
def _scaled_distance(mean: Doubles, m2: Doubles, share: float, acuity: float, x: Floats) -> float:
    total = 0.0
    for d in range(x.shape[0]):
        delta = x[d] - mean[d]
        total += delta * delta / (m2[d] * share + acuity)
    return total


@subkernel
def blend(leaf: float, ancestors: float, root: float, length: int, mean: bool, context: float) -> float:
    """The score of a document from the log densities along its path of `length` nodes (DESIGN 1.3).

    mean:  the mean over the path, leaf included, as in the authors' program.
    sum:   (1 − α)·(leaf − root) + α·(leaf + Σ ancestors): from the pure path gain (α = 0) to the paper's
           sum (α = 1). Adding α·Σ over the ancestors to the gain differs by a constant for each query.
    """
    if mean:
        return (leaf + ancestors) / length
    if length == 1:
        root = leaf
    return leaf + context * ancestors - (1.0 - context) * root


@subkernel
def path_score(
    t: TreeArrays,
    leaf: int,
    x: Floats,
    mean: bool,
    context: float,
    known: Doubles,
    stamps: Doubles,
    stamp: float,
) -> float:
    """The exact score of a leaf. `known` keeps the densities of ancestors; `stamps` says of which query."""
    ancestors, length, root = 0.0, 1, 0.0
    node = t.parent[leaf]
    whole_path = mean or context != 0.0
    while node != NONE:
        above = t.parent[node]
        if whole_path or above == NONE:
            row = t.row[node]
            if stamps[row] != stamp:
                stamps[row] = stamp
                known[row] = log_p(t, node, x)
            root = known[row]
            ancestors += root
            length += 1
        node = above
    return blend(log_p(t, leaf, x), ancestors if whole_path else 0.0, root, length, mean, context)
