"""Saved arrays → a tree, or an error that names the first thing that is inconsistent.

Kernels trust these arrays: a wrong number crashes the interpreter, and a list that leads back into itself never ends.
A checksum does not help against a file that was made on purpose, so everything that a kernel follows or uses as an
index is checked here once, when a tree is loaded. `check_tree` also computes all moments again from the leaves, in
NumPy: it shares no code with the kernels whose work it checks, except the order of the nodes.

Each check relies only on those before it:

shapes      dtypes and lengths, against `meta`; `meta` itself
slots       which slots are leaves and which are internal nodes, and that each has a row of its own
family      parents, children and sizes
documents   each document alive is in one leaf
free lists  hold exactly the slots that are not in use
buckets     find every leaf by its content
values      finite, within the limits, and equal to what is computed from others; of moments, when these are computed

That parents form no cycle follows without following them: an internal node has at least two children, and as many
documents as they have together, so sizes fall from parent to child, which they could not around a cycle.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.checks import LARGEST
from gossamer.errors import InvariantError
from gossamer.files.scratch import release, zeros
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Limit, Meta, TreeArrays, empty_arrays, rows_in_use, used
from gossamer.tree.moments import SavedMoments, compute_moments
from gossamer.tree.structure import content_hash, parents_first, squared_length
from gossamer.tree.utility import log_det, log_scale
from gossamer.tree.views import children_of, levels

TOLERANCE: Final = 1e-8
"""How far a stored number may differ from the one computed again, relative to the range of the data (means), its square
(variances), or one nat for each dimension (entropies)."""

_SUM_TOLERANCE: Final = 1e-9
"""How far a sum may differ from the same sum added up in another order, relative to the sum."""

_SMALLEST_ACUITY, _LARGEST_ACUITY = 1e-60, 1e60

_FIRST_META: Final = Meta.CHANGES + 1
"""Numbers in `meta` of the oldest saved trees. The later ones count operators, and are set to 0 for these trees."""

_COUNTED: Final = (Meta.SLOTS, Meta.LEAF_ROWS, Meta.INNER_ROWS, Meta.NODES, Meta.LEAVES, Meta.DOCUMENTS)

SAVED_MOMENTS: Final = "saved_moments"
"""The saved array of the rows of `mean` and `m2` that were saved, see `moments`. Format version 2 saved all rows."""

SCATTER: Final = "scatter"
"""The saved array of the scatter of concepts. Trees of format version 4 and before lack it: their moments are computed
when they are read."""

_Flags = npt.NDArray[np.bool_]


def as_tree(arrays: Mapping[str, npt.NDArray[Any]], dim: int) -> tuple[TreeArrays, SavedMoments | None]:
    """The tree that saved arrays describe; `InvariantError` if they do not describe a tree of `dim` dimensions.

    Returns with it what was saved of moments, where only those of the root are there: see `with_moments`.
    """
    for name in TreeArrays._fields:
        _hold(name in arrays, f"there is no array {name!r}")
    for name in arrays:
        _hold(name in (*TreeArrays._fields, SAVED_MOMENTS, SCATTER), f"there is an array {name!r}, which no tree has")
    saved, scatter = arrays.get(SAVED_MOMENTS), arrays.get(SCATTER)
    _hold(scatter is None or saved is not None, "it is not said which moments were saved")
    t = TreeArrays(**{name: arrays[name] for name in TreeArrays._fields})
    if t.meta.ndim == 1 and t.meta.dtype == np.int64 and _FIRST_META <= len(t.meta) < Meta.SIZE:
        t = t._replace(meta=np.concatenate([t.meta, np.zeros(Meta.SIZE - len(t.meta), np.int64)]))
    if saved is not None:
        t = _with_all_rows(t, saved, dim)
    _check_structure(t, dim)
    _check_leaf_values(t)
    _check_figures(t)
    if saved is not None and scatter is not None:
        pending = SavedMoments(saved, scatter)
        _check_pending(t, pending)
        return t, pending
    if saved is not None:
        return with_moments(t, saved), None
    _check_moments(t, np.flatnonzero(t.n_children > 0))
    return t, None


def with_moments(t: TreeArrays, rows: Ints) -> TreeArrays:
    """The tree with the moments of all concepts, of which some `rows` are there.

    `InvariantError` if they are not those of a tree.
    """
    mean, m2 = zeros(len(t.mean), t.mean.shape[1]), zeros(len(t.m2), t.m2.shape[1])
    mean[rows], m2[rows] = t.mean[rows], t.m2[rows]
    t = t._replace(mean=mean, m2=m2)
    compute_moments(t, rows)
    _check_moments(t, np.flatnonzero(t.n_children > 0))
    release(t.mean, t.m2)
    return t


def _with_all_rows(t: TreeArrays, saved: npt.NDArray[Any], dim: int) -> TreeArrays:
    """The tree with a row of moments for each internal node: zeros, which take no memory, where none was saved."""
    _hold(t.meta.shape == (Meta.SIZE,), f"meta holds {t.meta.size} numbers, not {int(Meta.SIZE)}")
    rows = int(t.meta[Meta.INNER_ROWS]) if t.meta.dtype == np.int64 else NONE
    _hold(0 <= rows <= t.changed.size, "there are more rows of moments than internal nodes")
    _hold(saved.dtype == np.int32 and saved.ndim == 1 and _within(saved, 0, rows), "a row of saved moments is none")
    _hold(bool((np.diff(saved) > 0).all()), "the rows of saved moments are not in order")
    mean, m2 = np.zeros((rows, dim)), np.zeros((rows, dim))
    for full, array in ((mean, t.mean), (m2, t.m2)):
        _hold(
            array.dtype == np.float64 and array.shape == (len(saved), dim),
            f"the moments have dtype {array.dtype} and shape {array.shape}, not {len(saved)} rows of shape ({dim},)",
        )
        full[saved] = array
    return t._replace(mean=mean, m2=m2)


def check_arrays(t: TreeArrays, dim: int) -> None:
    """Raise `InvariantError` naming the first thing that is inconsistent. Arrays hold rows in use and no others."""
    _check_structure(t, dim)
    _check_leaf_values(t)
    _check_figures(t)
    _check_moments(t, np.flatnonzero(t.n_children > 0))


def _check_structure(t: TreeArrays, dim: int) -> None:
    _check_shapes(t, dim)
    is_leaf = _check_slots(t)
    _check_family(t, is_leaf)
    _check_documents(t, is_leaf)
    _check_free_lists(t, is_leaf)
    _check_buckets(t, is_leaf)


def check_tree(t: TreeArrays) -> None:
    """Raise `InvariantError` naming the first thing that is inconsistent, statistics included."""
    check_arrays(TreeArrays(**used(t)), t.vectors.shape[1])
    if t.meta[Meta.ROOT] != NONE:
        _check_statistics(t)


# -- shapes --------------------------------------------------------------------------------------------


def _check_shapes(t: TreeArrays, dim: int) -> None:
    template = empty_arrays(dim, 1.0)
    for name in t._fields:
        array, expected = getattr(t, name), getattr(template, name)
        _hold(
            array.dtype == expected.dtype and array.ndim == expected.ndim and array.shape[1:] == expected.shape[1:],
            f"{name} has dtype {array.dtype} and shape {array.shape}, not {expected.dtype} with rows of shape "
            f"{expected.shape[1:]}",
        )
        _hold(array.flags.c_contiguous and array.flags.aligned, f"{name} is not laid out row after row")
    _hold(len(t.meta) == Meta.SIZE, f"meta holds {len(t.meta)} numbers, not {int(Meta.SIZE)}")
    _hold(len(t.limits) == Limit.SIZE, f"limits holds {len(t.limits)} numbers, not {int(Limit.SIZE)}")
    meta = t.meta
    most = int(np.iinfo(np.int32).max)  # links are int32
    for field in (*_COUNTED, Meta.NEXT_DOCUMENT):
        _hold(0 <= meta[field] < most, f"{Meta._fields[field]} is {meta[field]}")
    for field in Meta:
        if field >= Meta.CHANGES and field != Meta.SIZE:
            _hold(0 <= meta[field] < 2**62, f"{Meta._fields[field]} is {meta[field]}")
    for field in (Meta.ROOT, Meta.FREE_LEAF, Meta.FREE_INNER):
        _hold(
            NONE <= meta[field] < meta[Meta.SLOTS],
            f"{Meta._fields[field]} is {meta[field]} of {meta[Meta.SLOTS]} slots",
        )
    _hold(meta[Meta.SLOTS] == meta[Meta.LEAF_ROWS] + meta[Meta.INNER_ROWS], "a slot has no row, or a row no slot")
    for name, rows in rows_in_use(meta).items():
        _hold(len(getattr(t, name)) == rows, f"{name} has {len(getattr(t, name))} rows, not {rows}")
    _hold((meta[Meta.ROOT] == NONE) == (meta[Meta.DOCUMENTS] == 0), "only a tree without documents has no root")
    _hold(meta[Meta.CHANGES] > 0 or not meta[Meta.LEAF_ROWS], "there are vectors, but none was ever added")
    acuity, lowest, highest = t.limits
    _hold(_SMALLEST_ACUITY < acuity < _LARGEST_ACUITY, f"the acuity is {acuity}")
    if meta[Meta.LEAF_ROWS]:
        _hold(-LARGEST <= lowest <= highest <= LARGEST, f"coordinates reach from {lowest} to {highest}")
    else:
        _hold(lowest == np.inf and highest == -np.inf, f"there are no vectors, but limits {lowest} and {highest}")


# -- structure -----------------------------------------------------------------------------------------


def _check_slots(t: TreeArrays) -> _Flags:
    """Each slot has a row of its own; returns which slots are for leaves."""
    slots, meta = len(t.size), t.meta
    _hold(_within(t.owner, 0, slots), "an owner is no slot")
    _hold(_within(t.row, 0, slots), "a row is out of range")  # of the right kind: below
    is_leaf = np.zeros(slots, np.bool_)
    is_leaf[t.owner] = True
    _hold(int(is_leaf.sum()) == len(t.owner), "a slot owns two rows")
    _hold(np.array_equal(t.row[t.owner], np.arange(len(t.owner))), "a leaf's row is owned by another slot")
    inner_rows = t.row[~is_leaf]
    _hold(
        np.array_equal(np.bincount(inner_rows, minlength=len(t.mean)), np.ones(len(t.mean))),
        "two internal nodes share a row",
    )
    alive = t.size > 0
    _hold(_within(t.size, 0, int(meta[Meta.DOCUMENTS]) + 1), "a size is negative, or larger than the tree")
    _hold(int(alive.sum()) == meta[Meta.NODES], "the nodes alive are not as many as counted")
    _hold(int((alive & is_leaf).sum()) == meta[Meta.LEAVES], "the leaves alive are not as many as counted")
    has_children = alive & ~is_leaf
    _hold(bool((t.n_children[has_children] >= 2).all()), "an internal node has fewer than two children")
    _hold(bool((t.n_children[~has_children] == 0).all()), "a leaf, or a slot not in use, has children")
    return is_leaf


def _check_family(t: TreeArrays, is_leaf: _Flags) -> None:
    slots, root = len(t.size), int(t.meta[Meta.ROOT])
    alive = t.size > 0
    if root == NONE:
        _hold(not alive.any(), "a tree without a root has nodes")
        return
    _hold(bool(alive[root]) and t.parent[root] == NONE, "the root is not in use, or has a parent")
    _hold(t.size[root] == t.meta[Meta.DOCUMENTS], "the root does not hold every document")
    inner = alive & ~is_leaf
    nodes = np.flatnonzero(alive)
    below = nodes[nodes != root]
    parents = t.parent[below]
    _hold(_within(parents, 0, slots) and bool(inner[parents].all()), "a parent is no internal node")
    _hold(
        np.array_equal(np.bincount(parents, minlength=slots)[inner], t.n_children[inner]),
        "n_children does not count the children",
    )
    totals = np.bincount(parents, weights=t.size[below], minlength=slots)
    _hold(np.array_equal(totals[inner], t.size[inner]), "a node does not hold as many documents as its children")
    _hold(bool((t.first_child[alive & is_leaf] == NONE).all()), "a leaf has a first child")
    _check_lists(
        np.flatnonzero(inner), below, t.first_child, t.next_sibling, t.prev_sibling, t.parent, "a list of children"
    )


def _check_documents(t: TreeArrays, is_leaf: _Flags) -> None:
    slots = len(t.size)
    _hold(_within(t.leaf, NONE, slots), "the leaf of a document is no node")
    documents = np.flatnonzero(t.leaf != NONE)
    _hold(len(documents) == t.meta[Meta.DOCUMENTS], "the documents alive are not as many as counted")
    leaves = np.flatnonzero((t.size > 0) & is_leaf)
    held = np.bincount(t.leaf[documents], minlength=slots)
    _hold(int(held[leaves].sum()) == len(documents), "a document is in a node that is no leaf")
    _hold(np.array_equal(held[leaves], t.size[leaves]), "a leaf does not count its documents")
    _check_lists(leaves, documents, t.first_document, t.next_document, t.prev_document, t.leaf, "a list of documents")


def _check_lists(
    owners: Longs, members: Longs, first: Ints, after: Ints, before: Ints, owner_of: Ints, what: str
) -> None:
    """Doubly linked lists, one for each owner, hold exactly the members that name this owner."""
    is_member = np.zeros(len(after), np.bool_)
    is_member[members] = True
    heads = members[before[members] == NONE]
    _hold(len(heads) == len(owners), f"{what} has no beginning, or two")
    _hold(np.array_equal(first[owner_of[heads]], heads), f"{what} begins elsewhere")
    _hold(_within(after[members], NONE, len(after)), f"{what} leads out of range")
    linked = members[after[members] != NONE]
    following = after[linked]
    _hold(bool(is_member[following].all()), f"{what} leads to what is not in use")
    _hold(np.array_equal(before[following], linked), f"{what} reads otherwise backwards")
    _hold(np.array_equal(owner_of[following], owner_of[linked]), f"{what} leads into another")
    _hold(count_reached(heads, after) == len(members), f"{what} leads in a circle")


def _check_free_lists(t: TreeArrays, is_leaf: _Flags) -> None:
    for field, kind in ((Meta.FREE_LEAF, is_leaf), (Meta.FREE_INNER, ~is_leaf)):
        free = (t.size == 0) & kind
        after = t.next_sibling[free]
        _hold(_within(after, NONE, len(t.size)), f"the list {Meta._fields[field]} leads out of range")
        first = t.meta[field : field + 1]
        following = np.concatenate([first[first != NONE], after[after != NONE]])
        _hold(bool(free[following].all()), f"the list {Meta._fields[field]} leads to a slot of another kind, or in use")
        reached = count_reached(first, t.next_sibling)
        _hold(reached == int(free.sum()), f"the list {Meta._fields[field]} leaves free slots out, or leads in a circle")


def _check_buckets(t: TreeArrays, is_leaf: _Flags) -> None:
    length, slots = len(t.bucket), len(t.size)
    _hold(length > 0 and length & (length - 1) == 0, f"there are {length} buckets, not a power of two")
    in_use = (t.size > 0) & is_leaf
    leaves = np.flatnonzero(in_use)
    places = np.full(slots, NONE)
    places[leaves] = t.key[t.row[leaves]] & (length - 1)
    after = np.full(slots, NONE, np.int32)
    after[leaves] = t.chain[t.row[leaves]]
    _hold(_within(t.bucket, NONE, slots) and _within(after, NONE, slots), "a bucket leads out of range")
    filled, linked = np.flatnonzero(t.bucket != NONE), np.flatnonzero(after != NONE)
    heads, following = t.bucket[filled].astype(np.int64), after[linked]
    _hold(bool(in_use[heads].all() and in_use[following].all()), "a bucket leads to what is no leaf")
    right = np.array_equal(places[heads], filled) and np.array_equal(places[following], places[linked])
    _hold(right, "a leaf is in the bucket of another content")
    found = np.bincount(np.concatenate([heads, following]), minlength=slots)
    _hold(np.array_equal(found > 0, in_use) and bool((found <= 1).all()), "a leaf is in no bucket, or twice")
    _hold(count_reached(heads, after) == len(leaves), "a bucket leads in a circle")


@kernel
def count_reached(heads: Longs, after: Ints) -> int:
    """The total length of linked lists that begin at `heads`; more than the length of `after` if one has no end.

    Every number must be an index of `after`, or NONE.
    """
    count, most = 0, after.shape[0]
    for head in heads:
        at = np.int64(head)
        while at != NONE and count <= most:
            count += 1
            at = np.int64(after[at])
    return count


# -- values --------------------------------------------------------------------------------------------


def _check_leaf_values(t: TreeArrays) -> None:
    rows = len(t.vectors)
    norms, keys = np.empty(rows), np.empty(rows, np.int64)
    _measure_leaves(t, norms, keys)
    _hold(bool(np.isfinite(norms).all()), "a vector holds NaN or infinity")
    lowest, highest = t.limits[Limit.LOWEST], t.limits[Limit.HIGHEST]
    _hold(rows == 0 or lowest <= t.vectors.min() <= t.vectors.max() <= highest, "a vector is outside the limits")
    alive = t.size[t.owner] > 0
    _hold(bool((t.norm[~alive] == np.inf).all()), "a row without a leaf can be found")
    off = np.abs(t.norm - norms)[alive]
    _hold(bool((off <= _SUM_TOLERANCE * norms[alive]).all()), "norm is not the squared length of the vector")
    _hold(np.array_equal(t.key[alive], keys[alive]), "key is not the hash of the vector")
    keys = np.sort(keys[alive])
    twice = keys[1:][keys[1:] == keys[:-1]]
    alike = t.vectors[alive & np.isin(t.key, twice)] if len(twice) else t.vectors[:0]
    different = np.unique(alike.view(f"V{alike.strides[0]}")) if len(alike) else alike
    _hold(len(different) == len(alike), "equal vectors do not share a leaf")


@kernel
def _measure_leaves(t: TreeArrays, norms: Doubles, keys: Longs) -> None:
    """Compute the squared length (not finite if the vector is not) and the hash of each vector again."""
    for row in range(t.vectors.shape[0]):
        norms[row], keys[row] = squared_length(t.vectors[row]), content_hash(t.vectors[row])


def _check_figures(t: TreeArrays) -> None:
    """What is stored of each node beside its moments."""
    h_of_leaves = t.h[t.owner[t.size[t.owner] > 0]]
    _hold(not h_of_leaves.any(), "the entropy of a leaf is not 0")
    nodes = np.flatnonzero(t.n_children > 0)
    width, dim = _width(t), t.mean.shape[1]
    most = dim * np.log1p(0.25 * width * width / t.limits[Limit.ACUITY])
    possible = (t.h[nodes] >= -TOLERANCE * dim) & (t.h[nodes] <= most + TOLERANCE * dim)
    _hold(bool(possible.all()), "h is not the entropy of a node")
    below = np.flatnonzero((t.size > 0) & (t.parent != NONE))
    s = np.bincount(t.parent[below], weights=t.size[below] * t.h[below], minlength=len(t.size))[nodes]
    _hold(bool((np.abs(t.s[nodes] - s) <= TOLERANCE * dim * t.size[nodes]).all()), "s is not the sum over children")
    changed = t.changed[t.row[nodes]]
    _hold(
        _within(changed, 1, int(t.meta[Meta.CHANGES]) + 1), "a node changed before the first change, or after the last"
    )


def _check_pending(t: TreeArrays, pending: SavedMoments) -> None:
    """The scatter of all concepts, and the moments of the root, which are there before all others."""
    rows, scatter = pending
    _hold(scatter.dtype == np.float64 and scatter.shape == (len(t.mean),), "there is not one scatter for each concept")
    nodes, root = np.flatnonzero(t.n_children > 0), t.meta[Meta.ROOT : Meta.ROOT + 1]
    most = (0.25 + TOLERANCE) * _width(t) ** 2 * t.mean.shape[1] * t.size[nodes]
    of_nodes = scatter[t.row[nodes]]
    _hold(bool(((of_nodes >= 0.0) & (of_nodes <= most)).all()), "a scatter is impossible")
    if len(nodes):
        _hold(bool(np.isin(t.row[root], rows).all()), "the moments of the root were not saved")
        _check_moments(t, root)


def _width(t: TreeArrays) -> float:
    """How far coordinates reach."""
    return max(float(t.limits[Limit.HIGHEST]) - float(t.limits[Limit.LOWEST]), 1e-30)


def _check_moments(t: TreeArrays, nodes: Longs) -> None:
    """The moments of internal nodes, and their entropies."""
    if not len(nodes):
        return
    lowest, highest = float(t.limits[Limit.LOWEST]), float(t.limits[Limit.HIGHEST])
    width, dim = _width(t), t.mean.shape[1]
    slack = TOLERANCE * max(abs(lowest), abs(highest), width)
    found = _Ranges(*(np.empty(len(nodes)) for _ in _Ranges._fields))
    _measure_inners(t, nodes, found)
    means_fit = (found.low_mean >= lowest - slack).all() and (found.high_mean <= highest + slack).all()
    _hold(bool(means_fit), "a mean is outside the limits")
    variance = found.high_m2 / t.size[nodes]
    _hold(bool((found.low_m2 >= 0.0).all()), "a sum of squares is negative or NaN")
    _hold(bool((variance <= (0.25 + TOLERANCE) * width * width).all()), "a variance is larger than the limits allow")
    _hold(bool((np.abs(t.h[nodes] - found.h) <= TOLERANCE * dim).all()), "h is not the entropy of the node")


class _Ranges(NamedTuple):
    """Of each internal node: the range of its mean and of M2, NaN where they hold NaN or infinity, and its entropy."""

    low_mean: Doubles
    high_mean: Doubles
    low_m2: Doubles
    high_m2: Doubles
    h: Doubles


@kernel
def _measure_inners(t: TreeArrays, nodes: Longs, out: _Ranges) -> None:
    """Compute the ranges and entropies of internal nodes from their moments."""
    scale = log_scale(t.limits)
    for i in range(nodes.shape[0]):
        mean, m2 = t.mean[t.row[nodes[i]]], t.m2[t.row[nodes[i]]]
        low_mean = high_mean = mean[0]
        low_m2 = high_m2 = m2[0]
        zero = 0.0
        for d in range(mean.shape[0]):
            low_mean, high_mean = min(low_mean, mean[d]), max(high_mean, mean[d])
            low_m2, high_m2 = min(low_m2, m2[d]), max(high_m2, m2[d])
            zero += (mean[d] + m2[d]) * 0.0  # NaN if one of them is NaN or infinite
        out.low_mean[i], out.high_mean[i] = low_mean + zero, high_mean + zero
        out.low_m2[i], out.high_m2[i] = low_m2 + zero, high_m2 + zero
        out.h[i] = log_det(m2, t.size[nodes[i]], scale)


# -- statistics ----------------------------------------------------------------------------------------


def _check_statistics(t: TreeArrays) -> None:
    """Means, M2, entropies and sums of entropies equal those computed from the leaves."""
    acuity = t.limits[Limit.ACUITY]
    width = max(float(t.limits[Limit.HIGHEST] - t.limits[Limit.LOWEST]), 1e-30)
    largest = max(abs(float(t.limits[Limit.HIGHEST])), abs(float(t.limits[Limit.LOWEST])), width)
    entropy = np.zeros(len(t.size))
    for nodes in reversed(levels(t)):
        for node in nodes[t.n_children[nodes] > 0].tolist():
            row, n = t.row[node], t.size[node]
            mean, m2 = _moments(t, node)
            _near(t.mean[row], mean, TOLERANCE * largest, f"mean of node {node}")
            _near(t.m2[row] / n, m2 / n, TOLERANCE * width * width, f"variance of node {node}")
            entropy[node] = np.log1p(m2 / (n * acuity)).sum()
            _near(t.h[node], entropy[node], TOLERANCE * len(m2), f"h of node {node}")
            children = list(children_of(t, node))
            s = (t.size[children] * entropy[children]).sum()
            _near(t.s[node] / n, s / n, TOLERANCE * len(m2), f"s of node {node}")


def _moments(t: TreeArrays, node: int) -> tuple[Doubles, Doubles]:
    """Mean and M2 of the documents below, in two passes over the leaves."""
    order = parents_first(t, node)
    leaves = order[t.n_children[order] == 0]
    weights = t.size[leaves].astype(np.float64)
    vectors = t.vectors[t.row[leaves]].astype(np.float64)
    mean = weights @ vectors / weights.sum()
    return mean, weights @ (vectors - mean) ** 2


def _near(stored: Doubles | float, computed: Doubles | float, tolerance: float, what: str) -> None:
    off = float(np.abs(np.asarray(stored) - computed).max())
    if not off <= tolerance:
        raise InvariantError(f"{what} is off by {off:.3g} (allowed: {tolerance:.3g})")


def _within(array: npt.NDArray[np.integer[Any]], least: int, end: int) -> bool:
    """Whether all numbers are from `least` on and below `end`."""
    return not len(array) or bool(array.min() >= least and array.max() < end)


def _hold(condition: bool | np.bool_, otherwise: str) -> None:
    if not condition:
        raise InvariantError(f"the tree is inconsistent: {otherwise}")
