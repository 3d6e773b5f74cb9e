"""Concepts in words: nodes of the tree with a provisional label each.

A label is the beginning of the passage one comes to by going down from a concept, each time to the child whose
prototype is nearest to the one above: a typical member. It is found without looking at all members, and
remembered until the tree changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

import numpy as np

from gossamer.results import Concept
from gossamer.store import rows
from gossamer.vectors import VectorIndex

_SNIPPET = 60
"""Characters of a label."""


class ConceptNames:
    """Labels of one state of a tree, found when first asked for."""

    def __init__(self) -> None:
        self._typical: dict[int, int] = {}
        self._labels: dict[int, str] = {}

    def describe(
        self, db: sqlite3.Connection, vectors: VectorIndex, paths: Iterable[Iterable[int]]
    ) -> list[tuple[Concept, ...]]:
        """Paths from the root as concepts."""
        listed = [tuple(path) for path in paths]
        self._find_labels(db, vectors, {node for path in listed for node in path})
        return [tuple(self._concept(vectors, node, depth) for depth, node in enumerate(path)) for path in listed]

    def _concept(self, vectors: VectorIndex, node: int, depth: int) -> Concept:
        view = vectors.tree.node(node)
        return Concept(node, view.count, depth, self._labels[node], view.parent, view.children)

    def _find_labels(self, db: sqlite3.Connection, vectors: VectorIndex, nodes: set[int]) -> None:
        wanted = {node: self._typical_passage(vectors, node) for node in nodes if node not in self._labels}
        places = rows.passages_by_number(db, set(wanted.values()))
        texts = rows.documents_by_number(db, {place.document for place in places.values()})
        for node, passage in wanted.items():
            place = places[passage]
            self._labels[node] = snippet(texts[place.document].text[place.start : place.stop])

    def _typical_passage(self, vectors: VectorIndex, node: int) -> int:
        way = []
        while node not in self._typical:
            way.append(node)
            view = vectors.tree.node(node)
            children = view.child_nodes
            if not children:
                self._typical[node] = min(int(id) for id in vectors.documents_below(node))
                break
            away = [float(np.square(child.mean - view.mean).sum()) for child in children]
            node = children[int(np.argmin(away))].id
        passage = self._typical[node]
        self._typical.update(dict.fromkeys(way, passage))
        return passage


def path_to(vectors: VectorIndex, node: int) -> tuple[int, ...]:
    """The nodes from the root to `node`; `UnknownIdError` where there is none of that id."""
    path = [vectors.tree.node(node).id]
    while (parent := vectors.tree.node(path[-1]).parent) is not None:
        path.append(parent)
    return tuple(reversed(path))


def top_paths(vectors: VectorIndex, depth: int) -> Iterator[tuple[int, ...]]:
    """The paths to all nodes down to `depth`, each node before those below it; large children first."""
    waiting: list[tuple[int, ...]] = [(vectors.tree.root,)]
    while waiting:
        path = waiting.pop()
        yield path
        if len(path) <= depth:
            children = vectors.tree.node(path[-1]).child_nodes
            waiting.extend((*path, child.id) for child in sorted(children, key=lambda child: (child.count, -child.id)))


def snippet(text: str) -> str:
    """The beginning of a text on one line, cut between words."""
    line = " ".join(text[: 4 * _SNIPPET].split())
    if len(line) <= _SNIPPET:
        return line
    return line[: _SNIPPET - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
