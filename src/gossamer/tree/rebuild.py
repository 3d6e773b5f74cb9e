"""Rebuilding: a new tree over all documents of a tree, and some more, built from below by `agglomeration`.

A tree that is grown one document at a time depends on their order: the first were sorted into a tree that knew little.
A rebuilt tree depends on the documents alone. Documents and leaves keep their numbers and rows; the concepts above them
are new.

What did not help: to remove documents one by one and insert each again from the root (Fisher 1996). Of the ten nearest,
the tree alone found 0.86 with 2,000 nodes on MS MARCO, 0.90 after two such passes in an order made for it, and 0.95
rebuilt; a pass after rebuilding loses some of that again (0.89).
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Bytes, Floats, Ints, Longs
from gossamer.files.scratch import zeros
from gossamer.neighbours.all_pairs import ON_PROCESSOR, Comparison, Nearest
from gossamer.neighbours.quantise import choose_robust_grid, pull_in, to_steps
from gossamer.runtime.jit import kernel
from gossamer.tree.agglomeration import add_concepts, agglomerate, codes_of, dendrogram, nearest_neighbours
from gossamer.tree.arrays import (
    DOCUMENT_FIELDS,
    INNER_FIELDS,
    LEAF_FIELDS,
    NODE_FIELDS,
    RESERVE,
    Limit,
    Meta,
    TreeArrays,
    empty_arrays,
    with_room,
)
from gossamer.tree.insertion import widen
from gossamer.tree.structure import add_document, find_leaf, hash_rows, leaf_rows, new_leaf, rehash

_CONCEPTS_PER_LEAF: Final = 0.32
"""Internal nodes that room is made for, by the number of leaves: MS MARCO has 0.3. With too little, all are copied."""

_COLUMNS: Final = 16
"""Columns of vectors that are reordered together: a cache line of each row."""

_COMPARISON: Final = 0.8
"""The share of the time that comparing leaves takes, for the report of progress."""


class Neighbours(NamedTuple):
    """The nearest others of each leaf, for the links between leaves."""

    leaves: Ints
    places: Ints  # in `leaves`, nearest first; NONE where there are no more
    distances: Floats  # squared, by codes
    changes: int  # Meta.CHANGES of the tree whose leaves they are


class BuildOptions(NamedTuple):
    """How a tree is rebuilt."""

    keep: int = 0  # nearest neighbours of each leaf that are returned, or more
    by_tree: bool = False  # leaves too many to compare all are grouped as in the old tree, not by pivots
    largest_group: int | None = None  # leaves that are compared each with each; None: as many as `comparison` can
    comparison: Comparison = ON_PROCESSOR


KnownNeighbours: TypeAlias = Callable[[Ints], tuple[Nearest, Ints]]
"""The nearest neighbours of leaves, and those that each is linked to, where they are known without comparing all:
places among the leaves given."""


Anchor: TypeAlias = Callable[[Ints, Floats, Ints], Floats]
"""Leaves, their vectors, which may be overwritten, and the places of their neighbours → points to agglomerate instead:
see `anchoring`."""


def rebuild_arrays(
    t: TreeArrays, X: Floats, options: BuildOptions, progress: Callable[[float], None]
) -> tuple[TreeArrays, Neighbours]:
    """A new tree of the documents of `t`, which stays as it is, and the rows of X, for which `t` must have room.

    Both trees share the array of vectors. `progress` is called with the share that is done.
    """
    new = without_concepts(t, len(X))
    add_leaves(new, X)
    order = _positions(t) if options.by_tree else None
    return agglomerate_leaves(new, options, progress, order=order)


def agglomerate_leaves(
    t: TreeArrays, options: BuildOptions, progress: Callable[[float], None],
    *, order: Longs | None = None, known: KnownNeighbours | None = None, anchor: Anchor | None = None,
) -> tuple[TreeArrays, Neighbours]:  # fmt: skip
    """`t`, whose leaves have no parents, with concepts over them; and the nearest neighbours of its leaves.

    `order` has a number for each leaf row, by which leaves too many to compare all are grouped. `anchor` moves points
    so that concepts of an earlier tree are preferred.
    """
    leaves = _sorted_by_content(t, _leaves_by_row(t))
    rows, links, step = t.row[leaves], None, 1.0
    if known is not None:
        nearest, links = known(leaves)
    else:
        codes, step = _codes(t, rows)
        nearest = nearest_neighbours(
            codes,
            options.keep,
            lambda share: progress(_COMPARISON * share),
            order=None if order is None else np.argsort(order[rows]),
            largest_group=options.largest_group,
            comparison=options.comparison,
        )
        del codes
    points = t.vectors[rows]
    if len(leaves):
        pull_in(points, choose_robust_grid(points))
        if anchor is not None:
            points = anchor(leaves, points, nearest.places)
        merges = agglomerate(points, t.size[leaves], nearest, links=links, comparison=options.comparison)
        del points
        t = _with_concepts(t, leaves, merges)
    factor = max(np.float32(step * step), np.finfo(np.float32).tiny)  # infinity times 0 would be NaN
    return t, Neighbours(leaves, nearest.places, nearest.distances * factor, int(t.meta[Meta.CHANGES]))


def _codes(t: TreeArrays, rows: Ints) -> tuple[Bytes, float]:
    """The codes of leaves on one grid, and its step."""
    points = t.vectors[rows]
    if not len(points):
        return codes_of(points), 1.0
    grid = choose_robust_grid(points)
    to_steps(points, grid)
    return codes_of(points), grid.step


def _with_concepts(t: TreeArrays, leaves: Ints, merges: Ints) -> TreeArrays:
    """`t` with its leaves below the concepts that merges make."""
    plan = dendrogram(leaves, merges)
    t.meta[Meta.ROOT] = leaves[0]
    done = add_concepts(t, plan, 0)
    while done < len(plan.order):
        t = with_room(t, 0, len(plan.order) // 8 + RESERVE)
        done = add_concepts(t, plan, done)
    return t


def without_concepts(t: TreeArrays, more: int) -> TreeArrays:
    """A copy of `t` whose leaves have no parents, with room for the concepts over these leaves and `more`.

    The vectors, which are large, are shared: rows in use hold the same in both.
    """
    changing = (*NODE_FIELDS, *LEAF_FIELDS[1:], *DOCUMENT_FIELDS, "bucket", "meta", "limits")
    arrays = {name: getattr(t, name).copy() for name in changing}
    wanted = int(_CONCEPTS_PER_LEAF * (t.meta[Meta.LEAVES] + more))
    inners = max(int(t.meta[Meta.INNER_ROWS]), wanted) + 2 * RESERVE
    for name in INNER_FIELDS:
        old = getattr(t, name)
        arrays[name] = zeros(inners, old.shape[1]) if old.ndim == 2 else np.zeros(inners, old.dtype)
    new = t._replace(**arrays)
    free_concepts(new)
    return new


def free_concepts(t: TreeArrays) -> None:
    """Free all internal nodes, the lowest to be used again first; leaves keep their slots, rows and documents."""
    slots = int(t.meta[Meta.SLOTS])
    inner = np.flatnonzero(t.n_children[:slots] > 0)
    t.parent[:slots] = NONE
    t.size[inner] = t.n_children[inner] = 0
    if len(inner):
        t.next_sibling[inner] = np.append(inner[1:], t.meta[Meta.FREE_INNER])
        t.meta[Meta.FREE_INNER] = inner[0]
    t.meta[Meta.NODES] -= len(inner)
    t.meta[Meta.ROOT] = NONE
    t.meta[Meta.CHANGES] += 1


@kernel
def add_leaves(t: TreeArrays, X: Floats) -> None:
    """Add the rows of X, for which there must be room, as documents of leaves without a parent."""
    for i in range(X.shape[0]):
        widen(t.limits, X[i])
        leaf = find_leaf(t, X[i])
        if leaf == NONE:
            leaf = new_leaf(t, X[i])
        add_document(t, leaf, t.meta[Meta.NEXT_DOCUMENT])
        t.meta[Meta.NEXT_DOCUMENT] += 1


# -- orders --------------------------------------------------------------------------------------------


def _leaves_by_row(t: TreeArrays) -> Ints:
    owners = t.owner[: t.meta[Meta.LEAF_ROWS]]
    return owners[t.size[owners] > 0]


def _positions(t: TreeArrays) -> Longs:
    """By leaf row, how many leaves come before it, depth first."""
    positions = np.zeros(len(t.vectors), np.int64)
    positions[leaf_rows(t)] = np.arange(t.meta[Meta.LEAVES])
    return positions


def _sorted_by_content(t: TreeArrays, leaves: Ints) -> Ints:
    """Leaves in an order that looks random but depends on their vectors alone."""
    rows = t.row[leaves]
    return leaves[_content_order(t.key[rows], lambda some: t.vectors[rows[some]])]


def content_order(X: Floats) -> Longs:
    """The rows of X in an order that looks random but depends on their content alone, not on the order they came in."""
    keys = np.empty(len(X), np.int64)
    hash_rows(X, keys)
    return _content_order(keys, lambda some: X[some])


def _content_order(keys: Longs, vectors: Callable[[Longs], Floats]) -> Longs:
    """By hash, and those of one hash (there are many where coordinates have few values) by their bytes."""
    order = np.argsort(keys, kind="stable")
    same = np.diff(keys[order]) == 0
    if same.any():
        alike = np.append(same, False) | np.append(False, same)
        some = order[alike]
        rows = np.ascontiguousarray(vectors(some))
        by_bytes = np.argsort(np.argsort(rows.view(f"V{rows.strides[0]}")[:, 0], kind="stable"))
        order[alike] = some[np.lexsort((by_bytes, keys[some]))]
    return order


def in_tree_order(t: TreeArrays) -> TreeArrays:
    """`t` with the rows of its leaves depth first, so that near leaves are near in memory.

    Searches of a batch take 4 to 8 % less time. Every row must hold a leaf, and nothing else may refer to rows. The
    arrays are changed in place, the vectors a few columns at a time: a copy of them would take much memory.
    """
    rows = int(t.meta[Meta.LEAF_ROWS])
    order = leaf_rows(t)
    for name in LEAF_FIELDS:
        array = getattr(t, name)[:rows]
        for first in range(0, array.shape[1] if array.ndim == 2 else 1, _COLUMNS):
            columns = array[:, first : first + _COLUMNS] if array.ndim == 2 else array
            columns[:] = columns[order]
    t.row[t.owner[:rows]] = np.arange(rows, dtype=np.int32)
    return t


@kernel
def total_utility(t: TreeArrays) -> float:
    """Σ over internal nodes p of P(p) · (h(p) − Σ P(c|p)·h(c)) / K: the utility of each partition, weighted by size."""
    total = 0.0
    for node in range(t.meta[Meta.SLOTS]):
        if t.n_children[node] > 0:
            total += (t.size[node] * t.h[node] - t.s[node]) / t.n_children[node]
    return total / max(1, t.meta[Meta.DOCUMENTS])


# -- a tree without concepts ---------------------------------------------------------------------------


def single_level_arrays(X: Floats, acuity: float) -> TreeArrays:
    """A tree of depth one over the rows of X, which must be finite; equal rows share a leaf.

    Made by little more than NumPy, for vectors that no other tree can be made of.
    """
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
    _fill_documents(t, leaf_of.astype(np.int32), leaves)
    t.meta[[Meta.ROOT, Meta.SLOTS, Meta.LEAF_ROWS, Meta.NODES, Meta.LEAVES]] = 0, leaves, leaves, leaves, leaves
    t.meta[[Meta.DOCUMENTS, Meta.NEXT_DOCUMENT, Meta.CHANGES]] = n, n, 1
    t.limits[[Limit.LOWEST, Limit.HIGHEST]] = X.min(), X.max()
    if leaves > 1:
        _add_root(t, nodes, acuity)
    t = t._replace(bucket=np.empty(1 << (leaves - 1).bit_length(), np.int32))
    rehash(t)
    return t


def _fill_documents(t: TreeArrays, leaf_of: Ints, leaves: int) -> None:
    """Put document i into leaf leaf_of[i]; those of one leaf are linked in order."""
    n = len(leaf_of)
    t.leaf[:n] = leaf_of
    order = np.argsort(leaf_of, kind="stable")
    same = np.diff(leaf_of[order]) == 0
    t.next_document[order] = np.append(np.where(same, order[1:], NONE), NONE)
    t.prev_document[order] = np.append(NONE, np.where(same, order[:-1], NONE))
    t.first_document[:leaves] = order[np.append(True, ~same)]


def _add_root(t: TreeArrays, nodes: Ints, acuity: float) -> None:
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
