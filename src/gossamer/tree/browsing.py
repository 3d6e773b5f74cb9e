"""The view of a tree that people see: levels are left out, so that every step down tells something.

A tree built at once is binary: fifteen levels and more, many of which split off a crumb. The view shows, below each
concept, some of its descendants that cover every leaf once, its *shown children*:

- a concept with at most 12 leaves shows its leaves;
- a concept with more than 12 children, as old trees have, shows them;
- any other starts from its children and opens them one after another: the largest while it holds more than a quarter of
  the documents, else, until there are 8, the one whose opening lowers Σ n·h most. There are never more than 12, and a
  concept with at most 12 leaves is not opened.

With MiniLM the largest shown child of the root holds 17 % of QQP (the larger of its two children 56 %), 23 % of
MS MARCO (77), 19 % of 20newsgroups (70), 22 % of banking77 (78) and 19 % of bbc_news (76). Of the 343 concepts on the
first three levels that have more than 24 documents, 4 show a child above 40 %, and 24 one above a quarter. (In trees
whose top was not moved 31 of 353, and opened by Σ n·h alone until there are 8, then the largest while above 40 %, 153
of 345.)

The view of a concept depends on the nodes below it alone, and is computed when asked for. A *shown path* leads from the
root by shown children. A node that it leaves out can still be asked for: its path is that of the last shown concept
above it, and the node itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Ints
from gossamer.results import Outline
from gossamer.runtime import deadline
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays

ENOUGH: Final = 8
"""Children that are shown where no concept is too large."""

WIDEST: Final = 12
"""Children that are shown, at most, unless the node itself has more."""

TOO_LARGE: Final = 0.25
"""A child is opened if it holds more than this share of the documents."""

_KEPT: Final = 32
"""Nodes whose shown children are kept while paths are followed."""


# -- kernels -------------------------------------------------------------------------------------------


@subkernel
def _is_small(t: TreeArrays, top: int) -> bool:
    """Whether at most WIDEST leaves are below `top`: 1 + Σ (children − 1) over it and the internal nodes below it."""
    if t.size[top] <= WIDEST:
        return True
    leaves, node = 1, top
    while True:
        if t.n_children[node] > 0:
            leaves += t.n_children[node] - 1
            if leaves > WIDEST:
                return False
            node = t.first_child[node]
            continue
        while node != top and t.next_sibling[node] == NONE:
            node = t.parent[node]
        if node == top:
            return True
        node = t.next_sibling[node]


@subkernel
def _append_leaves(t: TreeArrays, top: int, out: Ints) -> int:
    """Write the leaves below `top` to `out`; returns how many there are."""
    n, node = 0, top
    while True:
        if t.n_children[node] > 0:
            node = t.first_child[node]
            continue
        out[n] = node
        n += 1
        while node != top and t.next_sibling[node] == NONE:
            node = t.parent[node]
        if node == top:
            return n
        node = t.next_sibling[node]


@subkernel
def _append_children(t: TreeArrays, node: int, out: Ints, savings: Doubles, n: int) -> int:
    """Append the children of a node to out[:n], each with what opening it saves: n·h − Σ n·h of its children.

    The saving is −1 where a child cannot be opened. Returns the new n.
    """
    child = t.first_child[node]
    while child != NONE:
        out[n], savings[n] = child, -1.0
        if t.n_children[child] > 0 and not _is_small(t, child):
            savings[n] = max(0.0, t.size[child] * t.h[child] - t.s[child])
        n += 1
        child = t.next_sibling[child]
    return n


@subkernel
def _to_open(t: TreeArrays, node: int, out: Ints, savings: Doubles, n: int) -> int:
    """The place in out[:n] of the child to open next, of equals that of the lowest id; NONE to open none."""
    largest, best = NONE, NONE
    for i in range(n):
        if savings[i] < 0.0 or n - 1 + t.n_children[out[i]] > WIDEST:
            continue
        size = t.size[out[i]]
        if largest == NONE or size > t.size[out[largest]] or (size == t.size[out[largest]] and out[i] < out[largest]):
            largest = i
        if best == NONE or savings[i] > savings[best] or (savings[i] == savings[best] and out[i] < out[best]):
            best = i
    if largest != NONE and t.size[out[largest]] > TOO_LARGE * t.size[node]:
        return largest
    return best if n < ENOUGH else NONE


@subkernel
def write_shown(t: TreeArrays, node: int, out: Ints, savings: Doubles) -> int:
    """Write the shown children of a node to `out`, in any order; returns how many there are.

    `out` has room for WIDEST, or for all children where there are more; `savings` for WIDEST.
    """
    n = 0
    if t.n_children[node] > WIDEST:
        child = t.first_child[node]
        while child != NONE:
            out[n] = child
            n += 1
            child = t.next_sibling[child]
    elif t.n_children[node] > 0 and _is_small(t, node):
        n = _append_leaves(t, node, out)
    elif t.n_children[node] > 0:
        n = _append_children(t, node, out, savings, 0)
        at = _to_open(t, node, out, savings, n)
        while at != NONE:
            opened = out[at]
            n -= 1
            out[at], savings[at] = out[n], savings[n]
            n = _append_children(t, opened, out, savings, n)
            at = _to_open(t, node, out, savings, n)
    return n


@kernel
def _children_of_each(t: TreeArrays, nodes: Ints) -> tuple[Ints, Ints]:
    """The shown children of several nodes, one list after the other, each in any order, and the number of each."""
    room = 0
    for i in range(nodes.shape[0]):
        room += max(WIDEST, t.n_children[nodes[i]])
    out, counts, savings = np.empty(room, np.int32), np.empty(nodes.shape[0], np.int32), np.empty(WIDEST)
    n = 0
    for i in range(nodes.shape[0]):
        counts[i] = write_shown(t, nodes[i], out[n:], savings)
        n += counts[i]
    return out[:n], counts


@kernel
def _paths(t: TreeArrays, nodes: Ints) -> tuple[Ints, Ints]:
    """The shown paths to several nodes, one after the other, and the length of each.

    The shown children of the last `_KEPT` nodes are kept: the answers to a query have most of their paths in common.
    """
    steps, longest = 0, 0
    for i in range(nodes.shape[0]):
        depth, node = 1, t.parent[nodes[i]]
        while node != NONE:
            depth, node = depth + 1, t.parent[node]
        steps, longest = steps + depth, max(longest, depth)
    out, lengths = np.empty(steps, np.int32), np.empty(nodes.shape[0], np.int32)
    above = np.empty(longest, np.int32)  # the whole path, from the node up
    shown, savings = np.empty((_KEPT, WIDEST), np.int32), np.empty(WIDEST)
    whose, counts = np.full(_KEPT, NONE, np.int32), np.empty(_KEPT, np.int32)
    n, kept = 0, 0
    for i in range(nodes.shape[0]):
        first, at, node = n, 0, nodes[i]
        above[0] = node
        while t.parent[node] != NONE:
            node = t.parent[node]
            at += 1
            above[at] = node
        out[n] = node
        n += 1
        while at > 0:
            node = above[at]
            at -= 1
            if t.n_children[node] <= WIDEST:  # more are all shown
                place = 0
                while place < _KEPT and whose[place] != node:
                    place += 1
                if place == _KEPT:
                    place, kept = kept, (kept + 1) % _KEPT
                    whose[place], counts[place] = node, write_shown(t, node, shown[place], savings)
                while at > 0 and not _contains(shown[place], counts[place], above[at]):
                    at -= 1
            out[n] = above[at]
            n += 1
        lengths[i] = n - first
    return out[:n], lengths


@subkernel
def _contains(nodes: Ints, n: int, node: int) -> bool:
    for i in range(n):
        if nodes[i] == node:
            return True
    return False


@kernel
def _below(t: TreeArrays, top: int, depth: int) -> tuple[Ints, Ints, Ints]:
    """The view below `top`, level by level, down to `depth`: nodes, places of their parents, numbers of children."""
    room = min(t.meta[Meta.NODES], 2 * t.size[top])  # leaves, and fewer internal nodes than these
    nodes, parents, counts = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    shown, savings = np.empty(WIDEST, np.int32), np.empty(WIDEST)
    nodes[0], parents[0] = top, NONE
    n, at, level, stop = 1, 0, 0, 1  # the level ends at `stop`
    while at < n:
        if at == stop:
            level, stop = level + 1, n
        if t.n_children[nodes[at]] > shown.shape[0]:
            shown = np.empty(t.n_children[nodes[at]], np.int32)
        counts[at] = write_shown(t, nodes[at], shown, savings)
        if level < depth:
            for i in range(counts[at]):
                nodes[n], parents[n] = shown[i], at
                n += 1
        at += 1
    return nodes[:n], parents[:n], counts[:n]


# -- children and paths --------------------------------------------------------------------------------


def shown_children(t: TreeArrays, node: int) -> Ints:
    """The children of a node that people see, in ascending order; none for a leaf."""
    children, _ = _children_of_each(t, np.array([node], np.int32))
    children.sort()
    return children


def shown_children_of(t: TreeArrays, nodes: Sequence[int] | Ints) -> list[tuple[int, ...]]:
    """The shown children of several nodes, each in ascending order."""
    return [tuple(sorted(each)) for each in _divided(*_children_of_each(t, np.array(nodes, np.int32)))]


def shown_path(t: TreeArrays, node: int) -> tuple[int, ...]:
    """The root, the shown concepts that contain a node, and the node itself."""
    return shown_paths(t, [node])[0]


def shown_paths(t: TreeArrays, nodes: Sequence[int] | Ints) -> list[tuple[int, ...]]:
    """The same for several nodes."""
    return _divided(*_paths(t, np.array(nodes, np.int32)))


def _divided(flat: Ints, counts: Ints) -> list[tuple[int, ...]]:
    """Lists that stand one after the other."""
    values, found, start = flat.tolist(), [], 0
    for count in counts.tolist():
        found.append(tuple(values[start : start + count]))
        start += count
    return found


class Shown(NamedTuple):
    """The view below a node, level by level. Entry n of each array belongs to the same node."""

    nodes: Ints
    parents: Ints
    """Places of the parents in `nodes`; NONE for the first."""
    counts: Ints
    """Shown children of each, also where these are below the last level."""


def shown_below(t: TreeArrays, top: int, depth: int | None = None) -> Shown:
    """The view below a node down to `depth` levels, or to the leaves."""
    return Shown(*_below(t, top, int(t.meta[Meta.NODES]) if depth is None else depth))


# -- the whole view, and the part of it that fits on a screen ------------------------------------------


def top_paths(t: TreeArrays, depth: int | None) -> Iterator[tuple[int, ...]]:
    """The shown paths to all nodes down to `depth`, each node before those below it, and large children first."""
    top = int(t.meta[Meta.ROOT])
    opened = _opened(t, shown_below(t, top, depth), 1, None)
    waiting: list[tuple[int, ...]] = [(top,)]
    while waiting:
        deadline.check()
        path = waiting.pop()
        yield path
        waiting.extend((*path, child) for child in reversed(opened.get(path[-1], ())))


def concepts_of(t: TreeArrays, paths: Iterable[Sequence[int]]) -> dict[int, int]:
    """The internal nodes of paths from the root, each after its parent in the path, which is its value."""
    parents = {node: above for path in paths for above, node in zip(chain([NONE], path), path, strict=False)}
    nodes = list(parents)
    return {node: parents[node] for node, count in zip(nodes, t.n_children[nodes].tolist(), strict=True) if count}


def shown_concepts(t: TreeArrays) -> dict[int, int]:
    """All shown internal nodes with their shown parents, depth first: documents of one branch together."""
    if not t.meta[Meta.DOCUMENTS]:
        return {}
    nodes, parents, counts = shown_below(t, int(t.meta[Meta.ROOT]))
    inner = counts > 0
    above = np.where(parents == NONE, NONE, nodes[parents])[inner].tolist()
    children: dict[int, list[int]] = {}
    for node, parent in zip(nodes[inner].tolist(), above, strict=True):
        children.setdefault(parent, []).append(node)
    found: dict[int, int] = {}
    waiting = [(node, NONE) for node in children.get(NONE, ())]
    while waiting:
        node, parent = waiting.pop()
        found[node] = parent
        waiting.extend((child, node) for child in reversed(children.get(node, ())))
    return found


def outline(t: TreeArrays, path: Sequence[int], depth: int | None, min_size: int, most: int | None) -> Outline:
    """The view below the end of a path, with at most `most` nodes of at least `min_size` documents each.

    Nodes are opened from the largest on, as long as all children of a node fit.
    """
    view = shown_below(t, path[-1], depth)
    opened, counts = _opened(t, view, min_size, most), dict(zip(view.nodes.tolist(), view.counts.tolist(), strict=True))
    ids: list[int] = []
    parents: list[int | None] = []
    depths: list[int] = []
    waiting: list[tuple[int, int | None, int]] = [(path[-1], None, len(path) - 1)]
    while waiting:
        node, above, at = waiting.pop()
        ids.append(node)
        parents.append(above)
        depths.append(at)
        waiting.extend((child, node, at + 1) for child in reversed(opened.get(node, ())))
    return Outline(
        ids=tuple(ids),
        parents=tuple(parents),
        sizes=tuple(t.size[ids].tolist()),
        depths=tuple(depths),
        children=tuple(counts[node] for node in ids),
    )


def _opened(t: TreeArrays, view: Shown, min_size: int, most: int | None) -> dict[int, list[int]]:
    """The children to show of every node of a view that is opened, large ones first."""
    ids, sizes, counts = view.nodes.tolist(), t.size[view.nodes].tolist(), view.counts.tolist()
    first = (1 + np.cumsum(view.counts) - view.counts).tolist()  # the place of the first child; the others follow
    opened: dict[int, list[int]] = {}
    shown, waiting = 1, [(-sizes[0], ids[0], 0)]
    while waiting:
        _, node, place = heappop(waiting)
        below = range(first[place], first[place] + counts[place])
        if not below or below.start >= len(ids) or (most is not None and shown + len(below) > most):
            continue
        children = sorted((-sizes[child], ids[child], child) for child in below if sizes[child] >= min_size)
        opened[node] = [child for _, child, _ in children]
        shown += len(children)
        for child in children:
            heappush(waiting, child)
    return opened
