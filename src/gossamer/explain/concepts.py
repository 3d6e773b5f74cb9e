"""Nodes of the tree as `Concept`s: with their names, exemplars and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import Final
from weakref import ReferenceType, ref

from gossamer.explain.basic_level import basic_level, weights
from gossamer.explain.concept_cache import Basis, Made, basis_of, concept_of, exemplar_of, leaf_label
from gossamer.explain.naming import Labeller, Name, Names
from gossamer.explain.passages import Texts
from gossamer.results import Concept, Exemplar
from gossamer.runtime import deadline
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.paths import inner_nodes, inner_of

_MOST: Final = 1 << 15
"""Concepts kept at hand, the newest: about 50 megabytes, and all there are of 20,000 documents."""


class Concepts:
    """The concepts of an index, in words. Safe for threads: those who read the tree may ask side by side."""

    def __init__(self, labeller: Labeller | None = None) -> None:
        self._names = Names(labeller)
        self._made: dict[int, Made] = {}
        self._tree: ReferenceType[CobwebTree] | None = None
        self._lock = Lock()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._names.clear()
            self._made = {}

    def describe(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]]) -> list[tuple[Concept, ...]]:
        """Paths from the root as concepts, the basic level of each marked."""
        listed = [tuple(path) for path in paths]
        made = self._at_hand(tree, texts, listed)
        return [_marked([made[node] for node in path]) for path in listed]

    def last_of(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concepts that paths from the root lead to."""
        listed = [tuple(path) for path in paths]
        made = self._at_hand(tree, texts, listed)
        return [made[path[-1]].concept for path in listed]

    def labels(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]] | None = None) -> dict[int, str]:
        """The labels of the nodes that paths from the root lead to; without, of every internal node."""
        listed = None if paths is None else [tuple(path) for path in paths]
        with deadline.holding(self._lock):
            inner = inner_nodes(tree) if listed is None else inner_of(tree.arrays, listed)
            names = self._names.find(tree, texts, inner)
        if listed is None:
            return {node: name.label for node, name in names.items()}
        leaves = [path[-1] for path in listed if path[-1] not in names]
        shown = texts(tree.arrays.first_document[leaves].tolist())
        called = {leaf: leaf_label(exemplar_of(passage)) for leaf, passage in zip(leaves, shown, strict=True)}
        return {path[-1]: called.get(path[-1]) or names[path[-1]].label for path in listed}

    def _at_hand(self, tree: CobwebTree, texts: Texts, paths: list[tuple[int, ...]]) -> dict[int, Made]:
        """All concepts of these paths, as they are now. What holds is found without waiting for others."""
        now = int(tree.arrays.meta[Meta.CHANGES])
        nodes = dict.fromkeys(chain.from_iterable(paths))
        if self._tree is not None and self._tree() is tree:
            known = self._made  # after the look at the tree: `_make` sets them in the other order
            found = {node: made for node in nodes if (made := known.get(node)) and made.seen == now}
            if len(found) == len(nodes):
                return found
        with deadline.holding(self._lock):
            return self._make(tree, texts, paths, now)

    def _make(self, tree: CobwebTree, texts: Texts, paths: list[tuple[int, ...]], now: int) -> dict[int, Made]:
        """The same, where some have to be made, or made anew because they changed."""
        if self._tree is None or self._tree() is not tree:
            self._made, self._tree = {}, ref(tree)
        made, t = self._made, tree.arrays
        ways = _ways(paths)
        old = {node: way for node, way in ways.items() if node not in made or made[node].seen != now}
        names = self._names.find(tree, texts, inner_of(t, paths)) if old else {}
        self._renew(tree, texts, self._changed(t, old, names))
        for node, weight in zip(old, weights(t, list(old), tree.root), strict=True):
            made[node].weight = weight
            made[node].seen = now  # last, for others may be looking
        found = {node: made[node] for node in ways}
        while len(made) > _MOST:
            del made[next(iter(made))]
        return found

    def _changed(self, t: TreeArrays, ways: dict[int, tuple[int, ...]], names: dict[int, Name]) -> dict[int, Basis]:
        """The nodes that have to be made, and of what."""
        found = {}
        for node, way in ways.items():
            made, name = self._made.get(node), names.get(node)
            if made is not None and made.is_called(name) and _untouched(t, way, made):
                continue
            basis = basis_of(t, way, name)
            if made is None or made.basis != basis:
                found[node] = basis
        return found

    def _renew(self, tree: CobwebTree, texts: Texts, bases: dict[int, Basis]) -> None:
        # The shortened texts of those made before serve again: most that change are large, and keep their exemplars.
        shown: dict[int, Exemplar] = {}
        for node in bases:
            if before := self._made.pop(node, None):  # so that it counts as new
                shown.update(zip(before.basis.documents, before.concept.exemplars, strict=True))
        missing = [document for basis in bases.values() for document in basis.documents if document not in shown]
        wanted = list(dict.fromkeys(missing))
        shown.update(zip(wanted, map(exemplar_of, texts(wanted) if wanted else ()), strict=True))
        for node, basis in bases.items():
            concept = concept_of(tree.arrays, basis, [shown[document] for document in basis.documents])
            self._made[node] = Made(basis, concept)


def _ways(paths: Iterable[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """The path to every node of paths from the root."""
    ways: dict[int, tuple[int, ...]] = {}
    for path in paths:
        for steps, node in enumerate(path, 1):
            if node not in ways:
                ways[node] = path[:steps]
    return ways


def _untouched(t: TreeArrays, way: tuple[int, ...], made: Made) -> bool:
    """Whether nothing changed at a node or its parent: what changes below a node changes its parent's moments too."""
    return len(way) > 1 and made.basis.path == way and int(t.changed[t.row[way[-2]]]) <= made.seen


def _marked(path: Sequence[Made]) -> tuple[Concept, ...]:
    basic = basic_level([made.weight for made in path])
    return tuple([made.as_basic if at == basic else made.concept for at, made in enumerate(path)])
