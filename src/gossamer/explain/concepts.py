"""Nodes of the tree as `Concept`s: with their names, exemplars and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import Final

import numpy as np

from gossamer.explain.basic import basic_level
from gossamer.explain.names import Labeller, Name, Names
from gossamer.explain.passages import SHOWN, SNIPPET, Passage, Texts, beginning
from gossamer.results import Concept, Exemplar
from gossamer.tree.arrays import NONE, Meta, TreeArrays
from gossamer.tree.cobweb import CobwebTree

_MOST: Final = 1 << 13
"""Concepts kept at hand, beside those of the call that is made."""


class Concepts:
    """The concepts of an index, in words. Safe for threads: those who read the tree may ask side by side."""

    def __init__(self, labeller: Labeller | None = None) -> None:
        self._names = Names(labeller)
        self._made: dict[int, Concept] = {}
        self._state: tuple[int, int] | None = None
        self._lock = Lock()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._names.clear()
            self._made.clear()

    def describe(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]]) -> list[tuple[Concept, ...]]:
        """Paths from the root as concepts, the basic level of each marked."""
        listed = [tuple(path) for path in paths]
        with self._lock:
            self._make(tree, texts, listed)
            return [_marked([self._made[node] for node in path], basic_level(tree.arrays, path)) for path in listed]

    def last_of(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concepts that paths from the root lead to."""
        listed = [tuple(path) for path in paths]
        with self._lock:
            self._make(tree, texts, listed)
            return [self._made[path[-1]] for path in listed]

    def labels(self, tree: CobwebTree, texts: Texts) -> dict[int, str]:
        """The label of every internal node."""
        with self._lock:
            names = self._names.find(tree, texts, _inner_nodes(tree))
        return {node: name.label for node, name in names.items()}

    def _make(self, tree: CobwebTree, texts: Texts, paths: list[tuple[int, ...]]) -> None:
        """Have all concepts of these paths at hand."""
        state = id(tree), int(tree.arrays.meta[Meta.CHANGES])
        if state != self._state or len(self._made) > _MOST:
            self._made.clear()
            self._state = state
        missing = {path[at]: path[: at + 1] for path in paths for at in range(len(path)) if path[at] not in self._made}
        if not missing:
            return
        t = tree.arrays
        inner = [node for path in paths for node in path if t.n_children[node]]
        names = self._names.find(tree, texts, sorted(inner, key=_depths(paths).__getitem__))
        shown = _exemplars(t, texts, missing, names)
        for node, path in missing.items():
            self._made[node] = _concept(t, path, names.get(node), shown[node])


def _depths(paths: Iterable[Sequence[int]]) -> dict[int, int]:
    return {node: depth for path in paths for depth, node in enumerate(path)}


def _inner_nodes(tree: CobwebTree) -> Iterator[int]:
    """Parents first, and whole branches one after the other, so that texts are read once."""
    t = tree.arrays
    waiting = [tree.root] if tree.n_documents else []
    while waiting:
        node = waiting.pop()
        if t.n_children[node]:
            yield node
            waiting.extend(reversed(_children(t, node)))


def _exemplars(t: TreeArrays, texts: Texts, nodes: Iterable[int], names: dict[int, Name]) -> dict[int, list[Passage]]:
    """The passages that stand for each node: of a leaf, the first of its own."""
    documents = {
        node: names[node].exemplars if t.n_children[node] else (int(t.first_document[node]),) for node in nodes
    }
    wanted = list(dict.fromkeys(document for some in documents.values() for document in some))
    passages = dict(zip(wanted, texts(wanted), strict=True))
    return {node: [passages[document] for document in some] for node, some in documents.items()}


def _concept(t: TreeArrays, path: tuple[int, ...], name: Name | None, shown: list[Passage]) -> Concept:
    node, size = path[-1], int(t.size[path[-1]])
    parent = path[-2] if len(path) > 1 else None
    row = t.row[node]
    return Concept(
        id=node,
        size=size,
        depth=len(path) - 1,
        label=(beginning(shown[0].text, SNIPPET) or shown[0].id) if name is None else name.label,
        parent=parent,
        children=_children(t, node),
        terms=() if name is None else name.terms,
        exemplars=tuple(Exemplar(passage.id, beginning(passage.text, SHOWN)) for passage in shown),
        spread=0.0 if name is None else float(np.sqrt(t.m2[row].sum() / size)),
        utility=0.0 if parent is None else float(size / t.size[parent] * (t.h[parent] - t.h[node])),
        path=path,
    )


def _children(t: TreeArrays, node: int) -> tuple[int, ...]:
    found = []
    child = int(t.first_child[node])
    while child != NONE:
        found.append(child)
        child = int(t.next_sibling[child])
    return tuple(sorted(found))


def _marked(path: Sequence[Concept], basic: int | None) -> tuple[Concept, ...]:
    return tuple(replace(concept, basic=True) if at == basic else concept for at, concept in enumerate(path))


def path_to(tree: CobwebTree, node: int) -> tuple[int, ...]:
    """The nodes from the root to `node`; `UnknownIdError` where there is none of that id."""
    path = [tree.node(node).id]
    while (parent := int(tree.arrays.parent[path[-1]])) != NONE:
        path.append(parent)
    return tuple(reversed(path))


def top_paths(tree: CobwebTree, depth: int | None) -> Iterator[tuple[int, ...]]:
    """The paths to all nodes down to `depth`, each node before those below it; large children first."""
    waiting: list[tuple[int, ...]] = [(tree.root,)]
    while waiting:
        path = waiting.pop()
        yield path
        if depth is None or len(path) <= depth:
            children = tree.node(path[-1]).child_nodes
            waiting.extend((*path, child.id) for child in sorted(children, key=lambda child: (child.count, -child.id)))
