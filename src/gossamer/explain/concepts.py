"""Nodes of the tree as `Concept`s: with their names, exemplars and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import Final
from weakref import ReferenceType, ref

from gossamer.explain.basic import basic_level, weight
from gossamer.explain.making import Basis, Made, basis_of, concept_of, leaf_label
from gossamer.explain.names import Labeller, Names
from gossamer.explain.passages import Passage, Texts
from gossamer.explain.ways import inner_nodes, inner_of
from gossamer.results import Concept
from gossamer.tree.arrays import Meta
from gossamer.tree.cobweb import CobwebTree

_MOST: Final = 1 << 15
"""Concepts kept at hand, the newest: about 100 megabytes, and all there are of 20,000 documents."""


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
        with self._lock:
            inner = inner_nodes(tree) if listed is None else inner_of(tree.arrays, listed)
            names = self._names.find(tree, texts, inner)
        if listed is None:
            return {node: name.label for node, name in names.items()}
        leaves = [path[-1] for path in listed if path[-1] not in names]
        shown = texts(tree.arrays.first_document[leaves].tolist())
        called = dict(zip(leaves, map(leaf_label, shown), strict=True))
        return {path[-1]: called.get(path[-1]) or names[path[-1]].label for path in listed}

    def _at_hand(self, tree: CobwebTree, texts: Texts, paths: list[tuple[int, ...]]) -> dict[int, Made]:
        """All concepts of these paths, as they are now. What holds is found without waiting for others."""
        now, known = int(tree.arrays.meta[Meta.CHANGES]), self._made
        nodes = dict.fromkeys(chain.from_iterable(paths))
        if self._tree is not None and self._tree() is tree:
            found = {node: made for node in nodes if (made := known.get(node)) and made.seen == now}
            if len(found) == len(nodes):
                return found
        with self._lock:
            return self._make(tree, texts, paths, now)

    def _make(self, tree: CobwebTree, texts: Texts, paths: list[tuple[int, ...]], now: int) -> dict[int, Made]:
        """The same, where some have to be made, or made anew because they changed."""
        if self._tree is None or self._tree() is not tree:
            self._made, self._tree = {}, ref(tree)
        made = self._made
        ways = {path[at]: path[: at + 1] for path in paths for at in range(len(path))}
        old = {node: way for node, way in ways.items() if node not in made or made[node].seen != now}
        names = self._names.find(tree, texts, inner_of(tree.arrays, paths)) if old else {}
        bases = {node: basis_of(tree.arrays, way, names.get(node)) for node, way in old.items()}
        self._renew(tree, texts, {node: basis for node, basis in bases.items() if not self._holds(node, basis)})
        for node in old:
            made[node].weight = weight(tree.arrays, node, tree.root)
            made[node].seen = now  # last, for others may be looking
        found = {node: made[node] for node in ways}
        while len(made) > _MOST:
            del made[next(iter(made))]
        return found

    def _holds(self, node: int, basis: Basis) -> bool:
        return node in self._made and self._made[node].basis == basis

    def _renew(self, tree: CobwebTree, texts: Texts, bases: dict[int, Basis]) -> None:
        wanted = list(dict.fromkeys(document for basis in bases.values() for document in basis.documents))
        passages: dict[int, Passage] = dict(zip(wanted, texts(wanted), strict=True)) if wanted else {}
        for node, basis in bases.items():
            self._made.pop(node, None)  # so that it counts as new
            shown = [passages[document] for document in basis.documents]
            self._made[node] = Made(basis, concept_of(tree.arrays, basis, shown))


def _marked(path: Sequence[Made]) -> tuple[Concept, ...]:
    basic = basic_level([made.weight for made in path])
    return tuple([made.as_basic if at == basic else made.concept for at, made in enumerate(path)])
