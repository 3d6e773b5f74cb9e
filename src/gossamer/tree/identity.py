"""Concepts keep their ids when a tree is rebuilt: match the concepts of two trees over the same documents.

A rebuilt tree has concepts of its own, whose slot numbers mean nothing. A concept v of it is the same group as a
concept u of the old tree if they have most of their members in common: if their Jaccard index, over the documents that
are in both trees, is at least 1/2:

    J(u, v) = |u ∩ v| / |u ∪ v| ≥ 1/2

Matches are one to one. Pairs with a high J are matched first; of equal ones the pair whose sizes differ least (with the
documents that are in one tree only), then that with the lowest old and the lowest new id. In a chain of concepts that
differ by a few documents several compete for one id, so each concept has up to 16 candidates, not only the best.

Depth first, the members of a concept of the old tree are an interval. It holds |u ∩ v| ≥ |v|/2 of the members of v, and
so a median of their positions: u is an ancestor of that document. So candidates are found by walking up from there
until an ancestor has more than twice the members of v, and common members are counted by binary search. The positions
of the members of v are merged from those of its children. All this takes O(documents · depth) time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Doubles, Ints, Longs
from gossamer.neighbours.ordering import sorted_insert
from gossamer.runtime.jit import kernel, ordered_kernel, ordered_subkernel, subkernel
from gossamer.tree.arrays import NODE_FIELDS, Meta, TreeArrays, with_room
from gossamer.tree.structure import parents_first

CANDIDATES: Final = 16
"""Concepts of the other tree that a concept is compared with at the end: those with the highest Jaccard index."""

_RESTING: Final = 5
"""One in so many slots is left free, those freed last, when concepts are numbered."""

_LINKS: Final = ("parent", "first_child", "next_sibling", "prev_sibling")

_COUNTS: Final = ("size", "n_children", "h", "s")

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Succession:
    """What became of the concepts of a tree when it was rebuilt. All ids are slots; each array of ids is ascending."""

    kept: Ints
    """Concepts that are in both trees."""
    new: Ints
    """Concepts that were not in the old tree,"""
    new_sizes: Longs
    """their documents,"""
    origins: Ints
    """and the smallest concept of the old tree that had more than half of these; NONE where no concept had."""
    gone: Ints
    """Concepts that are not in the new tree,"""
    gone_sizes: Longs
    """their documents in the old tree,"""
    destinations: Ints
    """and the smallest concept of the new tree that has more than half of these; NONE where no concept has."""


class Matching(NamedTuple):
    """The concepts of two trees that are the same, and for each where most of its members are in the other tree."""

    old_of: Ints  # by slot of the new tree: the same concept of the old tree, or NONE
    origins: Ints  # by slot of the new tree: the smallest concept of the old tree with most of its documents, or NONE
    destinations: Ints  # by slot of the old tree: the same in the new tree


# -- matching ------------------------------------------------------------------------------------------


def match_concepts(old: TreeArrays, new: TreeArrays) -> Matching:
    """For each concept of `new` the concept of `old` that is the same group (see above).

    Documents must have the same numbers in both. A concept whose slot is a leaf's in the new tree has no match.
    """
    shared = _shared_documents(old, new)
    before, after = Members.of(old, shared), Members.of(new, shared)
    found = _compare(after, before, CANDIDATES)
    back = _compare(before, after, 0)
    old_of = np.full(int(new.meta[Meta.SLOTS]), NONE, np.int32)
    places, columns = np.nonzero(found.candidates != NONE)
    candidates, concepts = found.candidates[places, columns], after.concepts[places]
    losses = found.losses[places, columns]
    gaps = np.abs(old.size[candidates] - new.size[concepts])
    usable = ~_is_leaf_slot(new, max(len(old.size), len(new.size)))[candidates]
    order = np.lexsort((concepts, candidates, gaps, losses))
    order = order[usable[order]]
    _take_best(candidates[order], concepts[order], np.zeros(len(old.size), np.bool_), old_of)
    return Matching(old_of, _by_slot(new, after, found), _by_slot(old, before, back))


def _shared_documents(old: TreeArrays, new: TreeArrays) -> _Flags:
    """By document number: whether it is in both trees."""
    common = min(int(old.meta[Meta.NEXT_DOCUMENT]), int(new.meta[Meta.NEXT_DOCUMENT]))
    shared = np.zeros(max(len(old.leaf), len(new.leaf)), np.bool_)
    shared[:common] = (old.leaf[:common] != NONE) & (new.leaf[:common] != NONE)
    return shared


def _is_leaf_slot(t: TreeArrays, slots: int) -> _Flags:
    """By slot: whether it is one for leaves, in use or not."""
    flags = np.zeros(slots, np.bool_)
    flags[t.owner[: t.meta[Meta.LEAF_ROWS]]] = True
    return flags


def _by_slot(t: TreeArrays, members: Members, found: _Comparison) -> Ints:
    homes = np.full(int(t.meta[Meta.SLOTS]), NONE, np.int32)
    homes[members.concepts] = found.homes
    return homes


class Members(NamedTuple):
    """A tree as a list of the documents that are in both trees, depth first: a node is an interval of it."""

    size: Longs  # as in TreeArrays
    parent: Ints
    leaf: Ints
    concepts: Ints  # the internal nodes, children before parents
    places: Ints  # by document: its place in the list
    listed: Ints  # the list
    first: Ints  # by slot: where the documents below it begin in the list,
    end: Ints  # and end

    @classmethod
    def of(cls, t: TreeArrays, shared: _Flags) -> Members:
        """The documents of `t` that are flagged, which must all be in it."""
        slots, documents = len(t.size), int(np.count_nonzero(shared))
        places, listed = np.full(len(shared), NONE, np.int32), np.empty(documents, np.int32)
        first, end = np.zeros(slots, np.int32), np.zeros(slots, np.int32)
        concepts = np.empty(0, np.int32)
        if t.meta[Meta.ROOT] != NONE:
            nodes = parents_first(t, t.meta[Meta.ROOT])[::-1]
            concepts = nodes[t.n_children[nodes] > 0]
            _list_members(t, shared, _Listing(places, listed, first, end))
        return cls(t.size, t.parent, t.leaf, concepts, places, listed, first, end)


class _Listing(NamedTuple):
    """What `_list_members` writes: see `Members`."""

    places: Ints
    listed: Ints
    first: Ints
    end: Ints


@kernel
def _list_members(t: TreeArrays, shared: _Flags, out: _Listing) -> None:
    """List the documents that are shared, depth first, and where those of each node begin and end."""
    root, n = t.meta[Meta.ROOT], 0
    node = root
    while True:
        out.first[node] = n
        if t.n_children[node] > 0:
            node = t.first_child[node]
            continue
        document = t.first_document[node]
        while document != NONE:
            if shared[document]:
                out.places[document], out.listed[n] = n, document
                n += 1
            document = t.next_document[document]
        out.end[node] = n
        while node != root and t.next_sibling[node] == NONE:
            node = t.parent[node]
            out.end[node] = n
        if node == root:
            return
        node = t.next_sibling[node]


class _Comparison(NamedTuple):
    """For each concept of a tree, in the order of `Members.concepts`, what is like it in another tree."""

    candidates: Ints  # a row each: concepts with a Jaccard index of at least 1/2, the highest first, then NONE
    losses: Doubles  # 1 - their Jaccard index
    homes: Ints  # the smallest concept that holds more than half of its documents, or NONE


def _compare(tree: Members, other: Members, candidates: int) -> _Comparison:
    n = len(tree.concepts)
    out = _Comparison(np.full((n, candidates), NONE, np.int32), np.empty((n, candidates)), np.full(n, NONE, np.int32))
    positions = other.places[tree.listed]
    _compare_concepts(tree, other, positions, np.empty_like(positions), out)
    return out


@ordered_kernel  # equal fractions must give equal bits: they are ties
def _compare_concepts(tree: Members, other: Members, positions: Ints, spare: Ints, out: _Comparison) -> None:
    """Find what is like each concept in another tree: see `_Comparison`.

    `positions` are the places of the listed documents in the other tree. They and `spare` are overwritten.
    """
    for i in range(tree.concepts.shape[0]):
        node = tree.concepts[i]
        first, end = tree.first[node], tree.end[node]
        if first == end:
            continue
        _merge_runs(positions, spare, first, end)
        low = positions[first + (end - first - 1) // 2]
        high = positions[first + (end - first) // 2]
        found = _walk_up(tree, other, positions, i, low, NONE, 0, out)
        if high != low:
            _walk_up(tree, other, positions, i, high, low, found, out)


@ordered_subkernel
def _walk_up(
    tree: Members, other: Members, positions: Ints, i: int, start: int, without: int, found: int, out: _Comparison
) -> int:
    """Compare concept i with the ancestors of place `start` in the other tree that do not hold the place `without`.

    With u and v the members of both, J = |u ∩ v| / (|u| + |v| - |u ∩ v|) is at least 1/2 if 3 |u ∩ v| ≥ |u| + |v|.
    Appends to the candidates, of which there were `found`; returns how many there are then.
    """
    node = tree.concepts[i]
    first, end = tree.first[node], tree.end[node]
    count = end - first
    lost = 2 * count <= tree.size[node] or without != NONE  # no concept has more than half, or it was found before
    at = other.parent[other.leaf[other.listed[start]]]
    while at != NONE and not other.first[at] <= without < other.end[at]:
        members = other.end[at] - other.first[at]
        if members > 2 * count and (lost or out.homes[i] != NONE):
            break
        if 2 * members >= count:
            common = _count_below(positions, first, end, other.end[at]) - _count_below(
                positions, first, end, other.first[at]
            )
            if out.homes[i] == NONE and 2 * common > tree.size[node]:
                out.homes[i] = at
            if 3 * common >= members + count and out.losses.shape[1] > 0:
                loss = 1.0 - common / (members + count - common)
                if sorted_insert(out.losses[i], out.candidates[i], found, loss, at) != NONE:
                    found = min(found + 1, out.losses.shape[1])
        at = other.parent[at]
    return found


@subkernel
def _count_below(values: Ints, first: int, end: int, limit: int) -> int:
    """How many of values[first:end], which are ascending, are less than `limit`."""
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if values[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low - first


@subkernel
def _merge_runs(values: Ints, spare: Ints, first: int, end: int) -> None:
    """Sort values[first:end] by merging ascending runs, two by two (natural merge sort): one for each child."""
    while _run_end(values, first, end) < end:
        start = first
        while start < end:
            middle = _run_end(values, start, end)
            stop = _run_end(values, middle, end) if middle < end else end
            left, right = start, middle
            for at in range(start, stop):
                if right == stop or (left < middle and values[left] <= values[right]):
                    spare[at] = values[left]
                    left += 1
                else:
                    spare[at] = values[right]
                    right += 1
            start = stop
        for at in range(first, end):
            values[at] = spare[at]


@subkernel
def _run_end(values: Ints, start: int, end: int) -> int:
    """The end of the ascending run that begins at `start`."""
    at = start + 1
    while at < end and values[at - 1] <= values[at]:
        at += 1
    return at


@kernel
def _take_best(candidates: Ints, concepts: Ints, taken: _Flags, old_of: Ints) -> None:
    """Match pairs of an old and a new concept in the order given, unless one of the two is matched already."""
    for i in range(candidates.shape[0]):
        if not taken[candidates[i]] and old_of[concepts[i]] == NONE:
            taken[candidates[i]] = True
            old_of[concepts[i]] = candidates[i]


# -- ids -----------------------------------------------------------------------------------------------


def keep_ids(old: TreeArrays, new: TreeArrays) -> tuple[TreeArrays, Succession]:
    """`new` with its concepts renumbered: one that is the same as a concept of `old` gets that one's slot.

    Other concepts get slots that `old` does not use: those never used and those freed longest ago first, then more
    slots at the end. One in five slots stays free, so that a number is not used again soon. Slots of concepts that are
    gone come last in the list of free slots. Leaves keep their slots, and moments their rows: `row` moves with a slot.
    Arrays that need not change are shared with `new`.
    """
    matching = match_concepts(old, new)
    concepts = _concepts(new)
    ids = matching.old_of[concepts]
    matched = ids != NONE
    fresh, used = _unused_slots(old, new)
    resting = min(len(fresh), (len(fresh) + len(used)) // _RESTING)
    fresh, rested = fresh[: len(fresh) - resting], fresh[len(fresh) - resting :]
    slots = max(int(old.meta[Meta.SLOTS]), int(new.meta[Meta.SLOTS]))
    unmatched = len(ids) - int(np.count_nonzero(matched))
    slots_needed = slots + max(0, unmatched - len(fresh))
    fresh = np.concatenate([fresh, np.arange(slots, slots_needed, dtype=fresh.dtype)])
    ids[~matched] = fresh[:unmatched]
    left = np.concatenate([fresh[unmatched:], rested])
    free = np.concatenate([left, np.setdiff1d(used, ids)])
    freed = _freed_at(old, free)
    freed[len(left) :] = new.meta[Meta.CHANGES]
    extended = with_room(new, 0, slots_needed - int(new.meta[Meta.SLOTS]))
    return _renumbered(extended, concepts, ids, free, freed), _succession(old, new, matching, ids)


def _concepts(t: TreeArrays) -> Longs:
    return np.flatnonzero(t.n_children[: t.meta[Meta.SLOTS]] > 0)


def _unused_slots(old: TreeArrays, new: TreeArrays) -> tuple[Longs, Longs]:
    """The slots of `new` that are not for leaves: those unused in `old`, freed longest ago first, and the others."""
    slots = max(int(old.meta[Meta.SLOTS]), int(new.meta[Meta.SLOTS]))
    inner = np.flatnonzero(~_is_leaf_slot(new, slots))
    used = np.zeros(slots, np.bool_)
    used[: old.meta[Meta.SLOTS]] = old.size[: old.meta[Meta.SLOTS]] > 0
    fresh = inner[~used[inner]]
    return fresh[np.argsort(_freed_at(old, fresh), kind="stable")], inner[used[inner]]


def _freed_at(old: TreeArrays, slots: Longs) -> Longs:
    """Meta.CHANGES when slots that `old` does not use were freed, or last changed before; 0 if it had no concept there.

    `keep_ids` writes this number in `changed` when it frees a slot.
    """
    freed = np.zeros(len(slots), np.int64)
    known = np.flatnonzero(slots < old.meta[Meta.SLOTS])
    known = known[~_is_leaf_slot(old, len(old.size))[slots[known]]]
    freed[known] = old.changed[old.row[slots[known]]]
    return freed


def _renumbered(t: TreeArrays, concepts: Longs, ids: Ints, free: Longs, freed: Longs) -> TreeArrays:
    """`t`, which has room, with its concepts in the slots `ids`, and the slots `free` in its list of free slots."""
    slots = int(t.meta[Meta.LEAF_ROWS]) + len(ids) + len(free)
    leaves = np.flatnonzero((t.size[: t.meta[Meta.SLOTS]] > 0) & (t.n_children[: t.meta[Meta.SLOTS]] == 0))
    id_of = np.append(np.arange(slots, dtype=np.int32), np.int32(NONE))  # of NONE, which is -1: NONE
    id_of[concepts] = ids
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(t, name).copy() for name in (*NODE_FIELDS, "changed", "meta")}
    for name in NODE_FIELDS:
        source, array = getattr(t, name), arrays[name]
        array[free] = 0 if name in _COUNTS else NONE
        array[ids] = id_of[source[concepts]] if name in _LINKS else source[concepts]
        if name in _LINKS:
            array[leaves] = id_of[source[leaves]]
    rows = slots - int(t.meta[Meta.LEAF_ROWS])
    arrays["row"][free] = np.setdiff1d(np.arange(rows), t.row[concepts])
    arrays["changed"][arrays["row"][free]] = freed
    arrays["next_sibling"][free] = np.append(free[1:], NONE) if len(free) else free
    meta = arrays["meta"]
    meta[[Meta.SLOTS, Meta.INNER_ROWS, Meta.ROOT]] = slots, rows, id_of[t.meta[Meta.ROOT]]
    meta[Meta.FREE_INNER] = free[0] if len(free) else NONE
    return t._replace(**arrays)


def _succession(old: TreeArrays, new: TreeArrays, matching: Matching, ids: Ints) -> Succession:
    """`ids` are the slots that the concepts of `new` get, in the order of their slots in `new`."""
    concepts = _concepts(new)
    matched = matching.old_of[concepts] != NONE
    id_of = np.full(int(new.meta[Meta.SLOTS]) + 1, NONE, np.int32)
    id_of[concepts] = ids
    fresh = concepts[~matched][np.argsort(ids[~matched])]
    gone = np.setdiff1d(_concepts(old), ids[matched])
    return Succession(
        kept=np.sort(ids[matched]),
        new=id_of[fresh],
        new_sizes=new.size[fresh],
        origins=matching.origins[fresh],
        gone=gone.astype(np.int32),
        gone_sizes=old.size[gone],
        destinations=id_of[matching.destinations[gone]],
    )
