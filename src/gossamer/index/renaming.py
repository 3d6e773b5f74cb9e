"""Names that people give to concepts: checked, written to the log, and found again after the tree was rebuilt.

A name is stored with some documents of its concept. It stays with the concept's id as long as the tree is renewed,
which keeps ids. A rebuild gives new ids: before it the documents are noted as they are then, and after it the concept
that has most of them gets the name (`explain.naming`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.array_types import NONE, PassageNumber
from gossamer.errors import DtypeError, ParameterError
from gossamer.explain.naming import LONGEST, nodes_of
from gossamer.explain.sampling import Members, sample
from gossamer.index.query import View, as_concept
from gossamer.plain_text import is_storable, one_line
from gossamer.store import NameRow, rows
from gossamer.store.names import read_names

_MEMBERS: Final = 64
"""Passages of a concept by whose documents it is known again, at most."""


def renamed(view: View, id: int, name: str | None) -> list[NameRow]:
    """All names, with that of one concept changed, or taken away by None."""
    node = as_concept(view.vectors, id)
    if not view.vectors.tree.arrays.n_children[node]:
        raise ParameterError(f"concept {id} is a single document, which is called by its text: name one that has more")
    kept = [row for each, row in _names(view) if each != node]
    return kept if name is None else [*kept, _row(view, node, _checked(name))]


def anchored(view: View) -> list[NameRow]:
    """All names with the ids and documents that their concepts have now."""
    return [row if node == NONE else _row(view, node, row.name) for node, row in _names(view)]


def _names(view: View) -> list[tuple[int, NameRow]]:
    """All names, with the concept that each belongs to now; NONE where it is gone."""
    stored = read_names(view.db)
    if not stored:
        return []
    copied = view.frozen()
    return list(zip(nodes_of(Members(copied.tree), copied.renamed, copied.rebuilt), stored, strict=True))


def _row(view: View, node: int, name: str) -> NameRow:
    passages = np.array(view.vectors.documents_below(node), np.int64)
    some = [PassageNumber(passage) for passage in sample(passages, _MEMBERS).tolist()]
    documents = sorted({found.document.document for found in rows.read_passages(view.db, some).values()})
    return NameRow(node, name, view.operation, len(passages), tuple(documents))


def _checked(name: str) -> str:
    if not isinstance(name, str):
        raise DtypeError(f"a name is a text, or None to take it away, got {type(name).__name__}")
    name = one_line(name).strip()
    if not 0 < len(name) <= LONGEST:
        raise ParameterError(f"a name has 1 to {LONGEST} characters, got {len(name)}")
    if not is_storable(name):
        raise ParameterError(f"the name {name!r} holds half of a surrogate pair: repair it")
    return name
