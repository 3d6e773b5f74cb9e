"""The labels of a tree's concepts: made when first asked for, cached, and kept while a concept changes little.

A label holds as long as no concept shown above has the same, the exemplars of its concept are still below it and its
size has changed by less than a quarter. After that it is made again, and the old terms stay if all of them are still
distinctive. So adding a few documents changes few labels and costs little. Where the user has a labeller, it words each
label that is made.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias
from weakref import ReferenceType, ref

from gossamer.array_types import NONE
from gossamer.explain.exemplars import exemplars
from gossamer.explain.labels import (
    Scores,
    breadth_of,
    coverage,
    distinctive_terms,
    in_label,
    is_mixture,
    unlike,
    usual_form,
)
from gossamer.explain.passages import SHOWN, SNIPPET, Texts
from gossamer.explain.sampling import DRIFT, Members, Sampler
from gossamer.explain.terms import Counts
from gossamer.plain_text import beginning
from gossamer.results import LabelRequest
from gossamer.runtime import deadline
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.cobweb import CobwebTree

_log = logging.getLogger("gossamer.explain")

Labeller: TypeAlias = Callable[[LabelRequest], str]
"""A user's function that words labels."""

_BATCH: Final = 256
"""Concepts whose texts are read with one query."""

_ROUNDS: Final = 3
"""Rounds of labelling. A new label may equal the cached one of a concept below, which is then labelled again."""

_MOST_LABELS: Final = 1 << 18
"""Labels cached beside those asked for: a quarter of a gigabyte, and less than the nodes themselves take."""

_PARTS: Final = 3
"""Parts of a mixture that its label names."""

_LONGEST: Final = 120
"""Characters of a user's label, at most."""


@dataclass(frozen=True, slots=True)
class Label:
    """The label of an internal node, and what has to hold for it to stay."""

    text: str
    terms: tuple[str, ...]
    """As they are written, most distinctive first."""
    first: str
    """The first term of the label, as it is written."""
    keys: tuple[str, ...]
    """Of the terms in the label; none where the label quotes an exemplar."""
    exemplars: tuple[int, ...]
    """Documents as the tree numbers them."""
    size: int
    """Of the concept when the label was made."""
    seen: int
    """The stamp of the concept's last change that was taken into account."""


class LabelCache:
    """The labels of one tree's internal nodes. Callers hold a lock: it is not safe for threads."""

    def __init__(self, labeller: Labeller | None = None) -> None:
        self._labeller = labeller
        self._tree: ReferenceType[CobwebTree] | None = None
        self.clear()

    def clear(self) -> None:
        """Drop all labels."""
        self._labels: dict[int, Label] = {}
        self._sampler = Sampler()

    def find(self, tree: CobwebTree, texts: Texts, parents: Mapping[int, int]) -> dict[int, Label]:
        """The labels of internal nodes, given with their parents in the view; NONE for the root.

        Parents must come before their children, and none may be left out.
        """
        if self._tree is None or self._tree() is not tree:
            self.clear()
            self._tree = ref(tree)
        if len(self._labels) > _MOST_LABELS:
            self._labels = {node: self._labels[node] for node in parents if node in self._labels}
        for _ in range(_ROUNDS):
            outdated = [node for node in parents if not self._holds(tree.arrays, node, parents)]
            for start in range(0, len(outdated), _BATCH):
                batch = {node: parents[node] for node in outdated[start : start + _BATCH]}
                for node, members in self._sampler.members(tree, texts, batch):
                    deadline.check()  # the labels made so far are kept
                    self._labels[node] = self._make(tree, texts, node, parents, members)
            if not outdated:
                break
        return {node: self._labels[node] for node in parents}

    def _holds(self, t: TreeArrays, node: int, parents: Mapping[int, int]) -> bool:
        """Whether the cached label of a node can stay: its concept changed little, and all labels above it differ."""
        label = self._labels.get(node)
        if label is None:
            return False
        changed = int(t.changed[t.row[node]])
        if changed != label.seen:
            size = int(t.size[node])
            if not size / DRIFT <= label.size <= size * DRIFT:
                return False
            if not all(_is_below(t, document, node) for document in label.exemplars):
                return False
            self._labels[node] = replace(label, seen=changed)
        # Keys are compared, not texts: a user's labeller may give equal texts, and would give them again.
        return not label.keys or frozenset(label.keys) not in self._above(node, parents)

    def _above(self, node: int, parents: Mapping[int, int]) -> set[frozenset[str]]:
        """The terms of the labels of all concepts shown above a node, as far as they are known."""
        found = set()
        while (node := parents[node]) != NONE:
            if node in self._labels:
                found.add(frozenset(self._labels[node].keys))
        return found

    def _make(self, tree: CobwebTree, texts: Texts, node: int, parents: Mapping[int, int], members: Members) -> Label:
        t, passages = tree.arrays, members.terms
        breadth = partial(breadth_of, passages=passages, parts=members.parts) if members.parts else lambda key: 1.0
        corpus = self._sampler.corpus(tree, texts)
        found = distinctive_terms(Counts.over(passages), members.siblings, corpus, breadth)
        found = unlike(self._old_first(node, found), self._above(node, parents) - {frozenset()}, passages)
        keys = tuple(in_label(found, passages))
        written = {key: usual_form(key, passages) for key, _ in found}
        text = ", ".join(written[key] for key in keys)
        if parents[node] != NONE and is_mixture(keys, passages, members.parts):
            parts = self._names_of_parts(tree, texts, node, parents, members.parts)
            if len(parts) > 1 and coverage(list(parts), passages) > coverage(keys, passages):
                keys, text = (), f"mixed: {' · '.join(parts.values())}"
        label = Label(
            text=text,
            terms=tuple(written.values()),
            first=written[keys[0]] if keys else "",
            keys=keys,
            exemplars=exemplars(t, node, members.measured),
            size=int(t.size[node]),
            seen=int(t.changed[t.row[node]]),
        )
        return label if label.text and self._labeller is None else self._worded(texts, node, parents[node], label)

    def _names_of_parts(
        self, tree: CobwebTree, texts: Texts, node: int, parents: Mapping[int, int], parts: Sequence[int]
    ) -> dict[str, str]:
        """The first terms of the labels of the largest shown children of a concept: keys, and forms as written."""
        t = tree.arrays
        inner = [part for part in set(parts) if t.n_children[part] > 0]
        largest = sorted(inner, key=lambda part: (-int(t.size[part]), part))[:_PARTS]
        below = {**parents, **dict.fromkeys(largest, node)}
        missing = {part: node for part in largest if not self._holds(t, part, below)}
        for part, members in list(self._sampler.members(tree, texts, missing)) if missing else ():
            self._labels[part] = self._make(tree, texts, part, below, members)
        labels = [self._labels[part] for part in largest]
        return {label.keys[0]: label.first for label in labels if label.keys}

    def _old_first(self, node: int, found: Scores) -> Scores:
        """The terms, those of the old label first if all of them are still distinctive."""
        old = self._labels.get(node)
        if old is None or not old.keys or not {key for key, _ in found}.issuperset(old.keys):
            return found
        best = found[0][1]
        return [(key, best) for key in old.keys] + [pair for pair in found if pair[0] not in old.keys]

    def _worded(self, texts: Texts, node: int, parent: int, label: Label) -> Label:
        """The label with a text that is not empty, or with the user's."""
        shown = texts(label.exemplars)
        text = label.text or f"“{beginning(shown[0].text, SNIPPET)}” and {label.size - 1} like it"
        if self._labeller is not None:
            above = self._labels.get(parent)
            request = LabelRequest(
                id=node,
                size=label.size,
                terms=label.terms,
                exemplars=tuple(beginning(passage.text, SHOWN) for passage in shown),
                parent=None if above is None else above.text,
                suggestion=text,
            )
            text = _ask(self._labeller, request)
        return replace(label, text=text)


def _is_below(t: TreeArrays, document: int, node: int) -> bool:
    at = int(t.leaf[document])
    while at not in (node, NONE):
        at = int(t.parent[at])
    return at == node


_inside = threading.local()
"""`labeller`: the user's labeller that this thread is calling."""


def _ask(labeller: Labeller, request: LabelRequest) -> str:
    """The user's label, or the suggestion where the labeller fails or answers with nothing."""
    _inside.labeller = labeller
    try:
        answer = labeller(request)
    except Exception as error:
        _log.warning("the labeller failed for concept %d, its terms are its label: %r", request.id, error)
        return request.suggestion
    finally:
        _inside.labeller = None
    if not isinstance(answer, str) or not answer.strip():
        _log.warning("the labeller gave %r for concept %d, its terms are its label", answer, request.id)
        return request.suggestion
    return beginning(answer, _LONGEST)


def is_labelling(labeller: Labeller | None) -> bool:
    """Whether this thread is inside a call of `labeller`, and so holds locks that a call of the index waits for."""
    return labeller is not None and getattr(_inside, "labeller", None) is labeller
