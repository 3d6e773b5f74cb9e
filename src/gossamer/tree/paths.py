"""Ways through the tree: paths from the root, and which nodes to show of a tree that is too large to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain

from gossamer.array_types import NONE
from gossamer.results import Outline
from gossamer.runtime import deadline
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.cobweb import CobwebTree


def path_to(tree: CobwebTree, node: int) -> tuple[int, ...]:
    """The nodes from the root to `node`; `UnknownIdError` where there is none of that id."""
    return paths_to(tree.arrays, [tree.node(node).id])[0]


def paths_to(t: TreeArrays, nodes: Iterable[int]) -> list[tuple[int, ...]]:
    """The nodes from the root to each of several; what paths have in common is gone through once."""
    known: dict[int, tuple[tuple[int, ...], int]] = {NONE: ((), 0)}  # a path that leads through, and the step
    found = []
    for node in nodes:
        rest, at = [], node
        while at not in known:
            rest.append(at)
            at = int(t.parent[at])
        whole, step = known[at]
        path = (*whole[:step], *reversed(rest))
        for steps, new in enumerate(path[step:], step + 1):
            known[new] = path, steps
        found.append(path)
    return found


def top_paths(tree: CobwebTree, depth: int | None) -> Iterator[tuple[int, ...]]:
    """The paths to all nodes down to `depth`, each node before those below it; large children first."""
    waiting: list[tuple[int, ...]] = [(tree.root,)]
    while waiting:
        deadline.check()
        path = waiting.pop()
        yield path
        if depth is None or len(path) <= depth:
            children = tree.node(path[-1]).child_nodes
            waiting.extend((*path, child.id) for child in sorted(children, key=lambda child: (child.count, -child.id)))


def inner_of(t: TreeArrays, paths: Iterable[Sequence[int]]) -> list[int]:
    """The internal nodes of paths from the root, each after its parent."""
    nodes = list(dict.fromkeys(chain.from_iterable(paths)))
    return [node for node, children in zip(nodes, t.n_children[nodes].tolist(), strict=True) if children]


def inner_nodes(tree: CobwebTree) -> Iterator[int]:
    """Parents first, and whole branches one after the other, so that texts are read once."""
    t = tree.arrays
    waiting = [tree.root] if tree.n_documents else []
    while waiting:
        node = waiting.pop()
        if t.n_children[node]:
            yield node
            waiting.extend(reversed(children_of(t, node)))


def children_of(t: TreeArrays, node: int) -> tuple[int, ...]:
    """In ascending order."""
    found = []
    child = int(t.first_child[node])
    while child != NONE:
        found.append(child)
        child = int(t.next_sibling[child])
    return tuple(sorted(found))


# -- a part to show --------------------------------------------------------------------------------


def outline(t: TreeArrays, path: Sequence[int], depth: int | None, min_size: int, most: int | None) -> Outline:
    """The tree from the end of a path down, opened from the largest node on as long as all its children fit."""
    opened = _opened(t, path[-1], depth, min_size, most)
    ids: list[int] = []
    depths: list[int] = []
    waiting = [(path[-1], len(path) - 1)]
    while waiting:
        node, at = waiting.pop()
        ids.append(node)
        depths.append(at)
        waiting.extend((child, at + 1) for child in reversed(opened.get(node, ())))
    return Outline(
        ids=tuple(ids),
        parents=(None, *t.parent[ids[1:]].tolist()),
        sizes=tuple(t.size[ids].tolist()),
        depths=tuple(depths),
        children=tuple(t.n_children[ids].tolist()),
    )


def _opened(t: TreeArrays, top: int, depth: int | None, min_size: int, most: int | None) -> dict[int, list[int]]:
    """The children of every node that is opened, large ones first."""
    opened: dict[int, list[int]] = {}
    count, waiting = 1, [(-int(t.size[top]), top, 0)]
    while waiting:
        _, node, at = heappop(waiting)
        if not t.n_children[node] or at == depth or (most is not None and count + t.n_children[node] > most):
            continue
        sized = [(-int(t.size[child]), child, at + 1) for child in children_of(t, node)]
        shown = sorted(child for child in sized if -child[0] >= min_size)
        opened[node] = [child for _, child, _ in shown]
        count += len(shown)
        for child in shown:
            heappush(waiting, child)
    return opened
