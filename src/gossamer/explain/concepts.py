"""Nodes of the tree → `Concept`s, with their labels, exemplars and figures.

Children and parents are those of the view (see `tree.browsing`), and paths are shown paths. Labels are given: they are
made in the background (see `labelling`). A concept that has none yet, or whose label is of another one that had its id
before, is called by one of its documents.

Concepts are cached. A cached one holds while neither its path, nor its label, nor its parent's statistics change:
whatever changes at or below a node, and so its shown children, changes the statistics of all above it too.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Final, TypeAlias
from weakref import ReferenceType, ref

import numpy as np

from gossamer.array_types import NONE
from gossamer.explain.basic_level import basic_level, weights
from gossamer.explain.labelling import Label, Labels
from gossamer.explain.passages import SNIPPET, Texts, as_exemplar
from gossamer.plain_text import shortened
from gossamer.results import Concept, Exemplar
from gossamer.runtime import deadline
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import shown_children_of
from gossamer.tree.cobweb import CobwebTree

_MOST: Final = 1 << 15
"""Concepts cached, the newest: about 50 megabytes, and all concepts of 20,000 documents."""

Path: TypeAlias = tuple[int, ...]
"""A shown path: nodes from the root to one of them."""

_LEAF: Final[tuple[Path, float]] = (), 0.0
"""The children and the spread of a leaf."""


@dataclass(frozen=True)
class Wording:
    """The words behind the nodes of a tree."""

    texts: Texts
    labels: Labels
    number_of: Callable[[int], int | None]
    """The number in the tree of the document with this passage; None where it is not there any more."""
    tree_made: object = None
    """Another object each time the tree was agglomerated anew: stamps of changes cannot be compared over that."""
    settled: bool = False
    """Whether the labels were made of the tree as it is now."""

    def label_of(self, t: TreeArrays, node: int) -> Label | None:
        """The label of an internal node; None where it has none, or one of another concept that had its id before."""
        label = self.labels.of.get(node)
        if label is not None and not self.settled:
            for passage in label.exemplars:
                document = self.number_of(passage)
                if document is None or not _is_below(t, document, node):
                    return None
        return label


def _is_below(t: TreeArrays, document: int, node: int) -> bool:
    at = int(t.leaf[document])
    while at not in (node, NONE):
        at = int(t.parent[at])
    return at == node


@dataclass
class _Described:
    """A node in words, and what has to hold for it to stay."""

    concept: Concept
    label: Label | None
    """None for a leaf, and for a concept that has none."""
    weight: float
    """As a basic level, see `basic_level`."""
    seen: int
    """The state of the tree at which all of this was found to hold,"""
    labels: Labels
    """and the labels there were."""

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

    def __init__(self, *, most: int = _MOST) -> None:
        """`most` concepts are cached."""
        self._most = most
        self._known: dict[int, _Described] = {}
        self._tree: ReferenceType[CobwebTree] | None = None
        self._made: object = None
        self._lock = Lock()

    def clear(self) -> None:
        """Drop all that is cached."""
        with self._lock:
            self._known = {}

    def describe(self, tree: CobwebTree, words: Wording, paths: Iterable[Sequence[int]]) -> list[tuple[Concept, ...]]:
        """Shown paths as concepts, the basic level of each marked."""
        listed = [tuple(path) for path in paths]
        known = self._find(tree, words, listed)
        return [_marked([known[node] for node in path]) for path in listed]

    def last_of(self, tree: CobwebTree, words: Wording, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concept at the end of each shown path."""
        listed = [tuple(path) for path in paths]
        known = self._find(tree, words, listed)
        return [known[path[-1]].concept for path in listed]

    def _find(self, tree: CobwebTree, words: Wording, paths: list[Path]) -> Mapping[int, _Described]:
        """All nodes of these paths as they are now. Where all are cached, no lock is taken."""
        now, labels = int(tree.skeleton.meta[Meta.CHANGES]), words.labels
        # `_known` is read after the tree: `_renew` sets them in the other order.
        known = self._known if self._tree is not None and self._tree() is tree and self._made is words.tree_made else {}
        found: dict[int, _Described] = {}
        missing: dict[int, Path] = {}
        for path in paths:
            for steps, node in enumerate(path, 1):
                if node in found or node in missing:
                    continue
                each = known.get(node)
                if each is not None and each.seen == now and each.labels is labels:
                    found[node] = each
                else:
                    missing[node] = path[:steps]
        if missing:
            with deadline.holding(self._lock):
                found |= self._renew(tree, words, missing, now)
        return found

    def _renew(self, tree: CobwebTree, words: Wording, path_of: Mapping[int, Path], now: int) -> dict[int, _Described]:
        """Nodes that are not cached or may have changed, given with the paths that lead to them."""
        if self._tree is None or self._tree() is not tree or self._made is not words.tree_made:
            self._known, self._tree, self._made = {}, ref(tree), words.tree_made
        t, known, labels = tree.skeleton, self._known, words.labels
        inner = [node for node, count in zip(path_of, t.n_children[list(path_of)].tolist(), strict=True) if count]
        label_of = {node: words.label_of(t, node) for node in inner}
        weight_of = dict(zip(inner, weights(t, inner, tree.root), strict=True)) if inner else {}
        found: dict[int, _Described] = {}
        fresh: dict[int, Path] = {}
        for node, path in path_of.items():
            each = known.get(node)
            if each is not None and each.holds(t, path, label_of.get(node)):
                each.weight = weight_of.get(node, -math.inf)
                each.labels = labels
                each.seen = now  # last: other threads may be reading
                found[node] = each
            else:
                fresh[node] = path
        for node, concept in zip(fresh, _concepts(tree, words, fresh, label_of) if fresh else (), strict=True):
            known.pop(node, None)  # so that it counts as new
            each = _Described(concept, label_of.get(node), weight_of.get(node, -math.inf), now, labels)
            known[node] = found[node] = each
        while len(known) > self._most:
            del known[next(iter(known))]
        return found


def _marked(path: Sequence[_Described]) -> tuple[Concept, ...]:
    basic = basic_level([each.weight for each in path])
    return tuple([each.as_basic if at == basic else each.concept for at, each in enumerate(path)])


def _concepts(
    tree: CobwebTree, words: Wording, path_of: Mapping[int, Path], label_of: Mapping[int, Label | None]
) -> Iterator[Concept]:
    """Nodes, given with the paths that lead to them, in words. The texts of all of them are read at once.

    Internal nodes are those of `label_of`. Most nodes are leaves, for which less has to be looked up.
    """
    t, nodes = tree.skeleton, np.array(list(path_of))
    parents = np.array([path[-2] if len(path) > 1 else path[-1] for path in path_of.values()])
    sizes = t.size[nodes]
    utilities = sizes / t.size[parents] * (t.h[parents] - t.h[nodes])
    inner = list(label_of)
    figures = dict(zip(inner, zip(shown_children_of(t, inner), tree.spreads(inner).tolist(), strict=True), strict=True))
    documents = {
        node: (first,) if node not in label_of else _exemplars_of(t, node, label, words.number_of)
        for node, first in zip(path_of, t.first_document[nodes].tolist(), strict=True)
        if (label := label_of.get(node)) is None or not label.shown
    }
    wanted = list(dict.fromkeys(chain.from_iterable(documents.values())))
    shown = dict(zip(wanted, map(as_exemplar, words.texts(wanted)), strict=True))
    for (node, path), size, utility in zip(path_of.items(), sizes.tolist(), utilities.tolist(), strict=True):
        children, spread = figures.get(node, _LEAF)
        label = label_of.get(node)
        if node in documents:
            exemplars = tuple([shown[document] for document in documents[node]])
        elif label is not None:
            exemplars = label.shown
        yield Concept(
            id=node,
            size=size,
            depth=len(path) - 1,
            label=label.text if label is not None else text_label(exemplars[0], size, is_leaf=not children),
            parent=path[-2] if len(path) > 1 else None,
            children=children,
            terms=() if label is None else label.terms,
            exemplars=exemplars,
            spread=spread,
            utility=utility,
            path=path,
        )


def _exemplars_of(
    t: TreeArrays, node: int, label: Label | None, number_of: Callable[[int], int | None]
) -> tuple[int, ...]:
    """The documents that stand for an internal node whose label shows none: those of the label, or the first below."""
    if label is not None and label.exemplars:
        return tuple(number for passage in label.exemplars if (number := number_of(passage)) is not None)
    while t.n_children[node] > 0:
        node = int(t.first_child[node])
    return (int(t.first_document[node]),)


def text_label(shown: Exemplar, size: int, *, is_leaf: bool) -> str:
    """The beginning of a text, or its id where that is empty: the label of a leaf, or of a concept that has none."""
    text = shortened(shown.text, SNIPPET) or shown.id
    return text if is_leaf else f"“{text}” and {size - 1} like it"
