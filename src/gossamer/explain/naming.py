"""Names that replace labels: those that a labeller gives, and those that people give by hand.

A name belongs to a group of documents. It stays while the concept of its id has mostly the same members, and moves to
another concept that has them after the tree was rebuilt. Members are compared by a few passages that stand for them.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gossamer.array_types import NONE
from gossamer.explain.labelling import Label, Name
from gossamer.explain.sampling import Members
from gossamer.plain_text import beginning, is_storable
from gossamer.results import LabelRequest
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.browsing import shown_concepts

_log = logging.getLogger("gossamer.explain")

Labeller: TypeAlias = Callable[[LabelRequest], str]
"""A user's function that names concepts."""

LONGEST: Final = 120
"""Characters of a name, at most."""

_FOUND_AGAIN: Final = 0.5
"""Harmonic mean of precision and recall from which on a concept is the one that was named by hand."""

_SIBLINGS: Final = 11
"""Labels of siblings that a labeller is told, at most."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name that was given to a concept by hand."""

    concept: int
    name: str
    operation: int
    """The operation after which the concept had this id,"""
    size: int
    """so many passages,"""
    members: tuple[int, ...]
    """and these among them."""


def names_that_fit(members: Members, nodes: Iterable[int], names: Mapping[int, Name]) -> dict[int, Name]:
    """The names of concepts that still fit, by id, or by members where the concept has another id now."""
    if not names:
        return {}
    by_members = {name.members: name for name in names.values()}
    found = {}
    for node in nodes:
        sketch = members.sketch(node)
        old = names.get(node)
        name = old if old is not None and old.fits(sketch) else by_members.get(sketch)
        if name is not None:
            found[node] = name
    return found


def renamed_concepts(members: Members, renamed: Sequence[Renamed], rebuilt: int) -> dict[int, str]:
    """The names that were given by hand, by the concepts that have them now; of two for one concept the later one."""
    nodes = nodes_of(members, renamed, rebuilt)
    return {node: each.name for node, each in zip(nodes, renamed, strict=True) if node != NONE}


def nodes_of(members: Members, renamed: Sequence[Renamed], rebuilt: int) -> list[int]:
    """The concept that each name belongs to now; NONE where none has its members.

    An id holds from its operation on, unless the tree was `rebuilt` at a later one or the members are elsewhere. Then a
    concept that people see is preferred.
    """
    t = members.arrays
    place_of = members.places_of(passage for each in renamed for passage in each.members)
    found: list[int] = []
    shown: dict[int, int] | None = None
    for each in renamed:
        held = Counter[int]()  # passages of the group below each node
        for passage in each.members:
            node = int(t.leaf[members.documents[place_of[passage]]]) if passage in place_of else NONE
            while node != NONE:
                held[node] += 1
                node = int(t.parent[node])
        if each.operation > rebuilt and held[each.concept] > _FOUND_AGAIN * held[members.root]:
            found.append(each.concept)
        else:
            shown = shown_concepts(t) if shown is None else shown
            seen = {node: count for node, count in held.items() if node in shown}
            best = _most_alike(t, each, seen)
            found.append(best if best != NONE else _most_alike(t, each, held))
    return found


def _most_alike(t: TreeArrays, group: Renamed, held: Mapping[int, int]) -> int:
    """The concept with the highest harmonic mean of precision and recall; NONE if it is low."""
    best, fit = NONE, _FOUND_AGAIN
    for node, count in sorted(held.items()):
        recall = count / len(group.members)
        precision = min(1.0, recall * group.size / int(t.size[node]))
        both = 2.0 * precision * recall / (precision + recall)
        if t.n_children[node] > 0 and both > fit:
            best, fit = node, both
    return best


# -- asking a labeller -----------------------------------------------------------------------------------


def request_for(
    node: int, size: int, labels: Mapping[int, Label], parents: Mapping[int, int], exemplars: Sequence[str]
) -> LabelRequest:
    """What a labeller gets to name a concept. `parents` are those of the view, of every concept that is shown."""
    parent = parents[node]
    beside = [each for each, above in parents.items() if above == parent and each != node] if parent != NONE else []
    label = labels[node]
    return LabelRequest(
        id=node,
        size=size,
        terms=label.terms,
        exemplars=tuple(exemplars),
        parent=None if parent == NONE else labels[parent].text,
        suggestion=label.text,
        siblings=tuple(labels[each].text for each in beside[:_SIBLINGS]),
        parts=tuple(labels[each].text for each, above in parents.items() if above == node)[: _SIBLINGS + 1],
    )


_inside = threading.local()
"""`labeller`: the user's labeller that this thread is calling."""


def ask(labeller: Labeller, request: LabelRequest) -> str:
    """The name that a labeller gives; "" where it fails, or answers with nothing or what cannot be stored."""
    _inside.labeller = labeller
    try:
        answer = labeller(request)
    except Exception as error:
        _log.warning("the labeller failed for concept %d, its terms are its label: %r", request.id, error)
        return ""
    finally:
        _inside.labeller = None
    if not isinstance(answer, str) or not answer.strip() or not is_storable(answer):
        _log.warning("the labeller gave %r for concept %d, its terms are its label", answer, request.id)
        return ""
    return beginning(answer, LONGEST)


def is_labelling(labeller: Labeller | None) -> bool:
    """Whether this thread is inside a call of `labeller`, which must not wait for the index it names concepts of."""
    return labeller is not None and getattr(_inside, "labeller", None) is labeller
