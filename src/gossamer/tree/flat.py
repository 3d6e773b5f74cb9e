"""A tree without concepts: all leaves below one root. It is made by little more than NumPy, where no other can be."""

from __future__ import annotations

import numpy as np

from gossamer.array_types import NONE, Floats
from gossamer.tree.arrays import RESERVE, Limit, Meta, TreeArrays, empty_arrays, with_room
from gossamer.tree.rebuild import hash_rows
from gossamer.tree.structure import rehash


def flat_arrays(X: Floats, acuity: float) -> TreeArrays:
    """The arrays of a tree of depth one over the rows of X, which must be finite; equal rows share a leaf."""
    n, dim = X.shape
    t = with_room(empty_arrays(dim, acuity), n + RESERVE, RESERVE)
    if not n:
        return t
    whole = np.ascontiguousarray(X).view(f"V{X.strides[0]}")[:, 0]
    _, first, leaf_of = np.unique(whole, return_index=True, return_inverse=True)
    leaves = len(first)
    nodes = np.arange(leaves, dtype=np.int32)
    t.vectors[:leaves] = X[first]
    t.norm[:leaves] = np.einsum("ij,ij->i", X[first], X[first], dtype=np.float64)
    t.owner[:leaves], t.row[:leaves] = nodes, nodes
    hash_rows(t.vectors[:leaves], t.key[:leaves])
    t.size[:leaves] = np.bincount(leaf_of, minlength=leaves)
    for name in ("parent", "first_child", "next_sibling", "prev_sibling"):
        getattr(t, name)[:leaves] = NONE
    for name in ("n_children", "h", "s"):
        getattr(t, name)[:leaves] = 0
    _hang_documents(t, leaf_of.astype(np.int32), leaves)
    t.meta[[Meta.ROOT, Meta.SLOTS, Meta.LEAF_ROWS, Meta.NODES, Meta.LEAVES]] = 0, leaves, leaves, leaves, leaves
    t.meta[[Meta.DOCUMENTS, Meta.NEXT_DOCUMENT, Meta.CHANGES]] = n, n, 1
    t.limits[[Limit.LOWEST, Limit.HIGHEST]] = X.min(), X.max()
    if leaves > 1:
        _add_root(t, nodes, acuity)
    t = t._replace(bucket=np.empty(1 << (leaves - 1).bit_length(), np.int32))
    rehash(t)
    return t


def _hang_documents(t: TreeArrays, leaf_of: np.ndarray[tuple[int], np.dtype[np.int32]], leaves: int) -> None:
    """Document i is in leaf leaf_of[i]; those of one leaf are linked in order."""
    n = len(leaf_of)
    t.leaf[:n] = leaf_of
    order = np.argsort(leaf_of, kind="stable")
    same = np.diff(leaf_of[order]) == 0
    t.next_document[order] = np.append(np.where(same, order[1:], NONE), NONE)
    t.prev_document[order] = np.append(NONE, np.where(same, order[:-1], NONE))
    t.first_document[:leaves] = order[np.append(True, ~same)]


def _add_root(t: TreeArrays, nodes: np.ndarray[tuple[int], np.dtype[np.int32]], acuity: float) -> None:
    leaves, root = len(nodes), len(nodes)
    t.parent[:leaves] = root
    t.next_sibling[:leaves] = np.append(nodes[1:], NONE)
    t.prev_sibling[:leaves] = np.append(NONE, nodes[:-1])
    t.parent[root] = t.next_sibling[root] = t.prev_sibling[root] = t.first_document[root] = NONE
    t.first_child[root], t.n_children[root], t.row[root], t.s[root] = 0, leaves, 0, 0.0
    weights = t.size[:leaves].astype(np.float64)
    t.size[root] = n = int(weights.sum())
    t.mean[0] = weights @ t.vectors[:leaves] / n
    t.m2[0] = sum(
        weights[part] @ (t.vectors[part] - t.mean[0]) ** 2 for part in np.array_split(nodes, 1 + leaves // 4096)
    )
    t.h[root] = np.log1p(t.m2[0] / (n * acuity)).sum()
    t.changed[0] = 1
    t.meta[[Meta.ROOT, Meta.SLOTS, Meta.INNER_ROWS, Meta.NODES]] = root, leaves + 1, 1, leaves + 1
