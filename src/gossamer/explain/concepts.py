"""Nodes of the tree → `Concept`s, with their labels, exemplars and figures.

Children and parents are those of the view (see `tree.browsing`), and paths are shown paths. Concepts are cached. A
cached one holds while neither its path, nor its label, nor its parent's statistics change: whatever changes at or below
a node, and so its shown children, changes the statistics of all above it too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Final, TypeAlias
from weakref import ReferenceType, ref

import numpy as np

from gossamer.explain.basic_level import basic_level, weights
from gossamer.explain.label_cache import Label, LabelCache, Labeller
from gossamer.explain.passages import SHOWN, SNIPPET, Passage, Texts
from gossamer.plain_text import beginning
from gossamer.results import Concept, Exemplar
from gossamer.runtime import deadline
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import concepts_of, shown_children_of, shown_concepts
from gossamer.tree.cobweb import CobwebTree

_MOST: Final = 1 << 15
"""Concepts cached, the newest: about 50 megabytes, and all concepts of 20,000 documents."""

Path: TypeAlias = tuple[int, ...]
"""A shown path: nodes from the root to one of them."""


@dataclass
class _Described:
    """A node in words, and what has to hold for it to stay."""

    concept: Concept
    label: Label | None
    """None for a leaf."""
    weight: float
    """As a basic level, see `basic_level`."""
    seen: int
    """The state of the tree at which all of this was found to hold."""

    @cached_property
    def as_basic(self) -> Concept:
        """The concept, marked as the basic level of a path. Cached: `replace` takes 4 µs, 5 % of a dense search."""
        return replace(self.concept, basic=True)

    def holds(self, t: TreeArrays, path: Path, label: Label | None) -> bool:
        """Whether nothing changed at the node that `path` leads to, whose label is `label` now."""
        unchanged = self.concept.path == path and self.label is label
        return unchanged and len(path) > 1 and int(t.changed[t.row[path[-2]]]) <= self.seen


class Concepts:
    """The concepts of an index in words. Safe for threads that read the tree at the same time."""

    def __init__(self, labeller: Labeller | None = None, *, most: int = _MOST) -> None:
        """`labeller` words the labels; `most` concepts are cached."""
        self._labels = LabelCache(labeller)
        self._most = most
        self._known: dict[int, _Described] = {}
        self._tree: ReferenceType[CobwebTree] | None = None
        self._lock = Lock()

    def clear(self) -> None:
        """Drop all that is cached."""
        with self._lock:
            self._labels.clear()
            self._known = {}

    def describe(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]]) -> list[tuple[Concept, ...]]:
        """Shown paths as concepts, the basic level of each marked."""
        listed = [tuple(path) for path in paths]
        known = self._find(tree, texts, listed)
        return [_marked([known[node] for node in path]) for path in listed]

    def last_of(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concept at the end of each shown path."""
        listed = [tuple(path) for path in paths]
        known = self._find(tree, texts, listed)
        return [known[path[-1]].concept for path in listed]

    def labels(self, tree: CobwebTree, texts: Texts, paths: Iterable[Sequence[int]] | None = None) -> dict[int, str]:
        """The labels of the nodes at the ends of shown paths; without paths, of every shown internal node."""
        listed = None if paths is None else [tuple(path) for path in paths]
        with deadline.holding(self._lock):
            inner = shown_concepts(tree.arrays) if listed is None else concepts_of(tree.arrays, listed)
            labels = {node: label.text for node, label in self._labels.find(tree, texts, inner).items()}
        if listed is None:
            return labels
        leaves = [path[-1] for path in listed if path[-1] not in labels]
        shown = texts(tree.arrays.first_document[leaves].tolist())
        labels |= {leaf: _leaf_label(_exemplar(passage)) for leaf, passage in zip(leaves, shown, strict=True)}
        return {path[-1]: labels[path[-1]] for path in listed}

    def _find(self, tree: CobwebTree, texts: Texts, paths: list[Path]) -> Mapping[int, _Described]:
        """All nodes of these paths as they are now. Where all are cached, no lock is taken."""
        now = int(tree.arrays.meta[Meta.CHANGES])
        nodes = dict.fromkeys(chain.from_iterable(paths))
        if self._tree is not None and self._tree() is tree:
            known = self._known  # read after the tree: `_renew` sets them in the other order
            found = {node: each for node in nodes if (each := known.get(node)) and each.seen == now}
            if len(found) == len(nodes):
                return found
        with deadline.holding(self._lock):
            return self._renew(tree, texts, paths, now)

    def _renew(self, tree: CobwebTree, texts: Texts, paths: list[Path], now: int) -> dict[int, _Described]:
        """The same, where some are not cached or have changed."""
        if self._tree is None or self._tree() is not tree:
            self._known, self._tree = {}, ref(tree)
        t, known = tree.arrays, self._known
        path_of = _prefixes(paths)
        outdated = [node for node in path_of if node not in known or known[node].seen != now]
        labels = self._labels.find(tree, texts, concepts_of(t, paths)) if outdated else {}
        held = {node for node in outdated if node in known and known[node].holds(t, path_of[node], labels.get(node))}
        documents = {node: _exemplars_of(t, node, labels.get(node)) for node in outdated if node not in held}
        wanted = list(dict.fromkeys(chain.from_iterable(documents.values())))
        shown = dict(zip(wanted, texts(wanted) if wanted else (), strict=True))
        children = dict(zip(documents, shown_children_of(t, list(documents)), strict=True))
        for node, weight in zip(outdated, weights(t, outdated, tree.root), strict=True):
            if node in held:
                known[node].weight = weight
                known[node].seen = now  # last: other threads may be reading
                continue
            known.pop(node, None)  # so that it counts as new
            exemplars = tuple(_exemplar(shown[document]) for document in documents[node])
            concept = _concept(t, path_of[node], children[node], labels.get(node), exemplars)
            known[node] = _Described(concept, labels.get(node), weight, now)
        found = {node: known[node] for node in path_of}
        while len(known) > self._most:
            del known[next(iter(known))]
        return found


def _prefixes(paths: Iterable[Path]) -> dict[int, Path]:
    """The path to every node of paths from the root."""
    found: dict[int, Path] = {}
    for path in paths:
        for steps, node in enumerate(path, 1):
            if node not in found:
                found[node] = path[:steps]
    return found


def _marked(path: Sequence[_Described]) -> tuple[Concept, ...]:
    basic = basic_level([each.weight for each in path])
    return tuple([each.as_basic if at == basic else each.concept for at, each in enumerate(path)])


def _concept(
    t: TreeArrays, path: Path, children: tuple[int, ...], label: Label | None, exemplars: tuple[Exemplar, ...]
) -> Concept:
    """The node that a path leads to; `label` is None for a leaf."""
    node, parent = path[-1], path[-2] if len(path) > 1 else None
    size = int(t.size[node])
    return Concept(
        id=node,
        size=size,
        depth=len(path) - 1,
        label=_leaf_label(exemplars[0]) if label is None else label.text,
        parent=parent,
        children=children,
        terms=() if label is None else label.terms,
        exemplars=exemplars,
        spread=0.0 if label is None else float(np.sqrt(t.m2[t.row[node]].sum() / size)),
        utility=0.0 if parent is None else size / int(t.size[parent]) * (float(t.h[parent]) - float(t.h[node])),
        path=path,
    )


def _exemplars_of(t: TreeArrays, node: int, label: Label | None) -> tuple[int, ...]:
    return (int(t.first_document[node]),) if label is None else label.exemplars


def _exemplar(passage: Passage) -> Exemplar:
    return Exemplar(passage.id, beginning(passage.text, SHOWN))


def _leaf_label(shown: Exemplar) -> str:
    """The beginning of a leaf's text, or its id where that is empty."""
    return beginning(shown.text, SNIPPET) or shown.id
