"""What the concepts of a tree are called: found when asked for, remembered, and changed only for a reason.

A name holds as long as its concept is much the same: its exemplars are still below it and its size is within a
quarter of what it was. After that it is found anew, and still the old label stays if its terms are still among the
most telling. So a few documents more or less rename next to nothing, and cost next to nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from weakref import ReferenceType, ref

from gossamer.array_types import NONE
from gossamer.explain.exemplars import exemplars
from gossamer.explain.labels import Counts, as_written, in_label, telling_terms
from gossamer.explain.members import DRIFT, Members
from gossamer.explain.passages import SHOWN, SNIPPET, Texts, beginning
from gossamer.results import LabelRequest
from gossamer.runtime import deadline
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.cobweb import CobwebTree

_log = logging.getLogger("gossamer.explain")

Labeller: TypeAlias = Callable[[LabelRequest], str]

_BATCH: Final = 256
"""Concepts whose texts are read together."""

_ROUNDS: Final = 3
"""A concept that was renamed may now be called as one below it that was not looked at: then that one is named anew."""

_MOST_NAMES: Final = 1 << 18
"""Names kept beside those asked for: a quarter of a gigabyte, and less than the nodes themselves take."""

_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class Name:
    """What a concept is called, and what has to hold for it to stay so."""

    label: str
    terms: tuple[str, ...]
    keys: tuple[str, ...]
    """Of the terms in the label; none where it is an exemplar."""
    exemplars: tuple[int, ...]
    size: int
    seen: int
    """When the concept's statistics changed last, as of the last look."""


class Names:
    """The names of one tree's internal nodes. Not safe for threads by itself."""

    def __init__(self, labeller: Labeller | None = None) -> None:
        self._labeller = labeller
        self._tree: ReferenceType[CobwebTree] | None = None
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._names: dict[int, Name] = {}
        self._members = Members()

    def find(self, tree: CobwebTree, texts: Texts, nodes: Iterable[int]) -> dict[int, Name]:
        """The names of internal nodes, which must come parents first, each with its parent."""
        if self._tree is None or self._tree() is not tree:
            self.clear()
            self._tree = ref(tree)
        t = tree.arrays
        wanted = list(dict.fromkeys(nodes))
        self._make_room(wanted)
        for _ in range(_ROUNDS):
            unnamed = self._unnamed(t, wanted)
            for batch in _batches(unnamed):
                with self._members.reading(tree, texts, batch):
                    for node in batch:
                        deadline.check()  # what was named so far is kept
                        self._name(t, texts, node)
            if not unnamed:
                break
        return {node: self._names[node] for node in wanted}

    def _make_room(self, wanted: Iterable[int]) -> None:
        """Forget the names of all but these nodes, once there are too many."""
        if len(self._names) > _MOST_NAMES:
            self._names = {node: self._names[node] for node in wanted if node in self._names}

    # -- what still holds --------------------------------------------------------------------------

    def _unnamed(self, t: TreeArrays, nodes: list[int]) -> list[int]:
        """Those without a name, those whose name does not hold any more, and those called as their parent is."""
        return [node for node in nodes if not self._holds(t, node)]

    def _holds(self, t: TreeArrays, node: int) -> bool:
        name = self._names.get(node)
        if name is None:
            return False
        changed = int(t.changed[t.row[node]])
        if changed != name.seen:
            size = int(t.size[node])
            if not size / DRIFT <= name.size <= size * DRIFT:
                return False
            if not all(_is_below(t, document, node) for document in name.exemplars):
                return False
            self._names[node] = replace(name, seen=changed)
        # By what the labels were made of: those of a user's labeller may be equal, and asking again would not help.
        above = self._names.get(int(t.parent[node]))
        return above is None or len(above.keys) != len(name.keys) or set(above.keys) != set(name.keys) or not name.keys

    def _above(self, t: TreeArrays, node: int) -> Iterator[Name]:
        """The names of the concepts above, from the parent on, as far as they have one."""
        while (node := int(t.parent[node])) in self._names:
            yield self._names[node]

    # -- naming ------------------------------------------------------------------------------------

    def _name(self, t: TreeArrays, texts: Texts, node: int) -> None:
        members = self._members
        held = members.terms(node)
        found = telling_terms(Counts.over(held), members.beside(node), members.corpus())
        found = _unlike(self._as_before(node, found), list(self._above(t, node)))
        keys = tuple(in_label(found))
        written = {key: as_written(key, held) for key, _ in found}
        name = Name(
            label=", ".join(written[key] for key in keys),
            terms=tuple(written.values()),
            keys=keys,
            exemplars=exemplars(t, node, members.sample(node).measured),
            size=int(t.size[node]),
            seen=int(t.changed[t.row[node]]),
        )
        self._names[node] = self._worded(t, texts, node, name)

    def _as_before(self, node: int, found: list[tuple[str, float]]) -> list[tuple[str, float]]:
        """The terms, those of the old label first if all of them are still telling."""
        old = self._names.get(node)
        scores = dict(found)
        if old is None or not old.keys or not all(key in scores for key in old.keys):
            return found
        best = found[0][1]
        return [(key, best) for key in old.keys] + [pair for pair in found if pair[0] not in old.keys]

    def _worded(self, t: TreeArrays, texts: Texts, node: int, name: Name) -> Name:
        """The name with a label that is not empty, or the user's."""
        if name.label and self._labeller is None:
            return name
        shown = texts(name.exemplars)
        label = name.label or f"“{beginning(shown[0].text, SNIPPET)}” and {name.size - 1} like it"
        if self._labeller is not None:
            above = self._names.get(int(t.parent[node]))
            request = LabelRequest(
                id=node,
                size=name.size,
                terms=name.terms,
                exemplars=tuple(beginning(passage.text, SHOWN) for passage in shown),
                parent=None if above is None else above.label,
                suggestion=label,
            )
            label = _asked(self._labeller, request)
        return replace(name, label=label)


def _unlike(found: list[tuple[str, float]], above: Sequence[Name]) -> list[tuple[str, float]]:
    """The terms without the last ones of the label, as far as needed for it to be none of those above."""
    taken = {frozenset(name.keys) for name in above if name.keys}
    while frozenset(shown := in_label(found)) in taken:
        found = found[: len(shown) - 1] + found[len(shown) :]
    return found


def _asked(labeller: Labeller, request: LabelRequest) -> str:
    """The user's label; ours where there is none."""
    try:
        with _labelling(labeller):
            answer = labeller(request)
    except Exception as error:
        _log.warning("the labeller failed for concept %d, its terms are its label: %r", request.id, error)
        return request.suggestion
    if not isinstance(answer, str) or not answer.strip():
        _log.warning("the labeller gave %r for concept %d, its terms are its label", answer, request.id)
        return request.suggestion
    return beginning(answer, _LONGEST)


def _is_below(t: TreeArrays, document: int, node: int) -> bool:
    at = int(t.leaf[document])
    while at not in (node, NONE):
        at = int(t.parent[at])
    return at == node


_inside = threading.local()


@contextmanager
def _labelling(labeller: Labeller) -> Iterator[None]:
    try:
        _inside.labeller = labeller
        yield
    finally:
        _inside.labeller = None


def is_labelling(labeller: Labeller | None) -> bool:
    """Whether this thread is inside a user's labeller, with locks held that would wait for it."""
    return labeller is not None and getattr(_inside, "labeller", None) is labeller


def _batches(nodes: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(nodes), _BATCH):
        yield nodes[start : start + _BATCH]
