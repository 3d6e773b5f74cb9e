"""One node as a `Concept`, and what it was made of: as long as that is the same, so is the concept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gossamer.array_types import NONE
from gossamer.explain.naming import Name
from gossamer.explain.passages import SHOWN, SNIPPET, Passage, beginning
from gossamer.results import Concept, Exemplar
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.paths import children_of


class Basis(NamedTuple):
    """Everything that a concept is made of, so that of equal ones the same concept is made."""

    path: tuple[int, ...]
    children: tuple[int, ...]
    size: int
    h: float
    around: tuple[int, float] | None
    """Size and entropy of the parent; None for the root."""
    changed: int
    """The stamp of its moments, which are too many to keep; leaves have none."""
    documents: tuple[int, ...]
    """Its exemplars, as the tree numbers them: a number is given once, and its text stays."""
    label: str | None
    """None for a leaf, which is called by its text."""
    terms: tuple[str, ...]


@dataclass
class Made:
    """A concept that was made."""

    basis: Basis
    concept: Concept
    weight: float = 0.0
    """As a basic level, see `basic`."""
    seen: int = NONE
    """The state of the tree at which all of this was found to hold."""

    def is_called(self, name: Name | None) -> bool:
        """Whether its name, where it has one, says the same."""
        basis = self.basis
        if name is None:
            return basis.label is None
        return (basis.label, basis.documents, basis.terms) == (name.label, name.exemplars, name.terms)

    @cached_property
    def as_basic(self) -> Concept:
        """The concept, marked as the basic level of a path."""
        return replace(self.concept, basic=True)


def basis_of(t: TreeArrays, path: tuple[int, ...], name: Name | None) -> Basis:
    """Of the node that a path leads to, as it is now; `name` is None for a leaf."""
    node = path[-1]
    return Basis(
        path=path,
        children=children_of(t, node),
        size=int(t.size[node]),
        h=float(t.h[node]),
        around=(int(t.size[path[-2]]), float(t.h[path[-2]])) if len(path) > 1 else None,
        changed=NONE if name is None else int(t.changed[t.row[node]]),
        documents=(int(t.first_document[node]),) if name is None else name.exemplars,
        label=None if name is None else name.label,
        terms=() if name is None else name.terms,
    )


def concept_of(t: TreeArrays, basis: Basis, shown: Sequence[Exemplar]) -> Concept:
    """The concept; `shown` are its exemplars."""
    node, inner = basis.path[-1], basis.label is not None
    return Concept(
        id=node,
        size=basis.size,
        depth=len(basis.path) - 1,
        label=basis.label if basis.label is not None else leaf_label(shown[0]),
        parent=basis.path[-2] if len(basis.path) > 1 else None,
        children=basis.children,
        terms=basis.terms,
        exemplars=tuple(shown),
        spread=float(np.sqrt(t.m2[t.row[node]].sum() / basis.size)) if inner else 0.0,
        utility=0.0 if basis.around is None else basis.size / basis.around[0] * (basis.around[1] - basis.h),
        path=basis.path,
    )


def exemplar_of(passage: Passage) -> Exemplar:
    """A passage on one line, shortened."""
    return Exemplar(passage.id, beginning(passage.text, SHOWN))


def leaf_label(shown: Exemplar) -> str:
    """What a leaf is called: the beginning of its text, or where that is empty its id."""
    return beginning(shown.text, SNIPPET) or shown.id
