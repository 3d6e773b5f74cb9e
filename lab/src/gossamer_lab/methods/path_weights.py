"""Path-sum with a weight for each level, as the authors' program offers it, and over concepts alone.

    score(x, d) = Σ_i w_i · log p(x|c_i) / n      over the n nodes c_1 (the root) ... c_n (the leaf) of the path of d

With all weights 1 this is the mean over the path. Over concepts alone the leaf is left out of sum and mean; documents
of one concept then have equal scores, and come in the order of their rows, which is random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from gossamer_lab.engine import Doubles, Floats, Longs, Nodes, id_of_each, nodes_of
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import Found, best, method
from gossamer_lab.timing import clock

_BLOCK: Final = 128
"""Queries whose densities of all nodes are in memory at once."""

Weights = Callable[[Doubles, int], Doubles]
"""The weights of nodes by their depth (0 for the root) in a tree of some depth."""

_WEIGHTS: Final[dict[str, tuple[str, Weights]]] = {
    "path-sum-linear": ("weights from 0 at the root to 1 at the deepest level", lambda i, depth: i / max(1, depth)),
    "path-sum-quadratic": ("weights 1/(i+1)²", lambda i, depth: 1.0 / (i + 1.0) ** 2),
    "path-sum-decay": ("weights ½ⁱ", lambda i, depth: 0.5**i),
    "path-sum-increase": ("weights 2ⁱ", lambda i, depth: 2.0**i),
}
"""By ranker, with i the depth of a node."""


def _ranker(weigh: Weights, *, leaf: bool = True, mean: bool = True) -> Callable[[Prepared, str, int], Found]:
    def rank(task: Prepared, space: str, k: int) -> Found:
        tree = task.tree(space)
        nodes = task.last("nodes", (space, task.order), lambda: nodes_of(tree.index))
        paths = _paths(nodes, weigh, leaf=leaf, mean=mean)
        column = id_of_each(tree.index, np.arange(len(task.data.E), dtype=np.int64))
        Y = task.vectors(space).Y
        seconds, rows = clock(lambda: _best(nodes, paths, column, Y, k))
        return Found(rows, tree.seconds, seconds)

    return rank


def _paths(nodes: Nodes, weigh: Weights, *, leaf: bool, mean: bool) -> csr_matrix:
    """Documents × nodes: the weight of each node in the score of each document."""
    depth = np.zeros(len(nodes.parent), np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[nodes.parent[node]] + 1
    documents, steps = np.arange(len(nodes.leaf)), nodes.leaf.copy()
    rows, columns = [], []
    while len(steps):
        rows.append(documents)
        columns.append(steps)
        above = nodes.parent[steps]
        documents, steps = documents[above >= 0], above[above >= 0]
    row, column = np.concatenate(rows), np.concatenate(columns)
    if not leaf:
        inner = column != nodes.leaf[row]
        row, column = row[inner], column[inner]
    values = weigh(depth[column].astype(np.float64), int(depth.max()))
    if mean:
        values = values / np.bincount(row, minlength=len(nodes.leaf))[row]
    return csr_matrix((values, (row, column)), shape=(len(nodes.leaf), len(nodes.parent)))


def _best(nodes: Nodes, paths: csr_matrix, column: Longs, Y: Floats, k: int) -> Longs:
    """The k best documents for each query, by row of the collection."""
    order = np.argsort(column)
    rows = np.empty((len(Y), min(k, len(order))), np.int64)
    for start in range(0, len(Y), _BLOCK):
        scores = (paths @ _densities(nodes, Y[start : start + _BLOCK])).T
        rows[start : start + _BLOCK] = best(np.ascontiguousarray(scores[:, order]), k)
    return rows


def _densities(nodes: Nodes, Y: Floats) -> Doubles:
    """log p(y|c), less what is the same for all nodes: (nodes, queries)."""
    inverse = 1.0 / nodes.variance.astype(np.float64)
    scaled = nodes.mean * inverse
    constant = np.log(nodes.variance.astype(np.float64)).sum(axis=1) + (nodes.mean * scaled).sum(axis=1)
    products = inverse @ (Y.astype(np.float64) ** 2).T - 2.0 * scaled @ Y.T.astype(np.float64)
    return np.asarray(-0.5 * (products + constant[:, None]))


for _name, (_about, _weigh) in _WEIGHTS.items():
    method(_name, f"path-sum, mean over the path, {_about}", trees=True)(_ranker(_weigh))

for _name, _about, _mean in (
    ("path-sum-concepts", "path-sum, mean over the concepts of the path, without the leaf", True),
    ("path-sum-sum-concepts", "path-sum, sum over the concepts of the path, without the leaf", False),
):
    method(_name, _about, trees=True)(_ranker(lambda i, depth: np.ones_like(i), leaf=False, mean=_mean))
