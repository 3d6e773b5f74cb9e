"""A query and the state it is put to: checked once, projected once, and passed on as two values.

In: what the user passed to `Index.search` and its relatives. Out: a `View` of one state of the index, a `Query` with
its vectors and words, and a `Scope` of passages to look at; or an error that says what was wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.array_types import DocumentNumber, Floats, PassageNumber
from gossamer.checks import as_vectors
from gossamer.encoders import Encoder, check_texts
from gossamer.errors import DtypeError, ParameterError, UnknownIdError
from gossamer.explain.concepts import Concepts, Words
from gossamer.explain.passages import READ, SHOWN, Passage
from gossamer.index.encoding import encode
from gossamer.index.labelling import Frozen, Labelling, frozen
from gossamer.lexical.fulltext import bm25, informative_words, query_words
from gossamer.rank.fusion import WEIGHT, weighted
from gossamer.results import Concept
from gossamer.store import DocumentRow, Settings, rows
from gossamer.tree.browsing import concepts_of, shown_concepts, shown_path, shown_paths
from gossamer.vector_index.vector_index import VectorIndex


@dataclass(frozen=True)
class View:
    """One state of an index. It does not change while a search reads it."""

    db: sqlite3.Connection
    vectors: VectorIndex
    concepts: Concepts
    labelling: Labelling
    operation: int
    labelled: bool
    """Whether labels that are missing are made. A search takes those that are there."""

    def texts(self, documents: Sequence[int]) -> list[Passage]:
        """The passages of documents, which are numbered as the tree numbers them, as far as concepts need them."""
        passages = [PassageNumber(int(id)) for id in self.vectors.ids_of(np.array(documents, np.int64))]
        found = rows.passage_texts(self.db, passages, max(READ, 4 * SHOWN))
        return [Passage(*found[passage]) for passage in passages]

    def path_to(self, id: int) -> tuple[int, ...]:
        """The shown path to a concept; `UnknownIdError` where there is none of this id."""
        return shown_path(self.vectors.tree.arrays, as_concept(self.vectors, id))

    def paths_of(self, passages: Iterable[PassageNumber]) -> list[tuple[int, ...]]:
        """The shown paths to the leaves of passages."""
        return shown_paths(self.vectors.tree.arrays, self.vectors.leaves_of(passages))

    def labels(self, ids: Sequence[int] | None) -> dict[int, str]:
        """The labels of some concepts, or of every shown concept above the leaves."""
        t = self.vectors.tree.arrays
        nodes = list(shown_concepts(t)) if ids is None else [as_concept(self.vectors, id) for id in ids]
        return {concept.id: concept.label for concept in self.last_of(shown_paths(t, nodes))}

    def describe(self, paths: Iterable[Sequence[int]]) -> list[tuple[Concept, ...]]:
        """Shown paths as concepts, the basic level of each marked."""
        listed = list(paths)
        return self.concepts.describe(self.vectors.tree, self._words(listed), listed)

    def last_of(self, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concept at the end of each shown path."""
        listed = list(paths)
        return self.concepts.last_of(self.vectors.tree, self._words(listed), listed)

    def frozen(self) -> Frozen:
        """A copy of the tree, and the names that were given by hand."""
        return frozen(self.vectors, self.operation, self.db)()

    def _words(self, paths: Sequence[Sequence[int]]) -> Words:
        labels = self.labelling.current
        if self.labelled:
            inner = concepts_of(self.vectors.tree.arrays, paths).keys()
            labels = self.labelling.shown_in(self.frozen, self.operation, self.texts, paths, inner)
        ids, made = self.vectors.state.ids, self.vectors.state.history
        return Words(self.texts, labels, lambda passage: ids.number(passage) if passage in ids else None, made)


@dataclass(frozen=True)
class Query:
    """A query in every form that ranking and explaining need."""

    text: str | None
    vector: Floats
    """As the encoder made it; one row."""
    projected: Floats
    """The same in the tree's space: whitened, where the whitener is fitted."""
    words: tuple[str, ...] = ()
    """Words of the text that are searched for, rarest first."""
    lexical: Mapping[DocumentNumber, float] = field(default_factory=dict)
    """The lexical part of the score of every document that holds one of the words."""
    weight: float = 0.0
    """The highest lexical part that a document can have."""

    @classmethod
    def of(cls, view: View, text: str | None, vector: Floats) -> Query:
        """The query without its words: dense only."""
        return cls(text, vector, view.vectors.project(vector))

    def with_words(self, view: View, weight: float) -> Query:
        """The same with the words of its text, which count with this weight."""
        words = query_words(self.text) if self.text and weight else []
        found = informative_words(view.db, words, rows.count_documents(view.db)) if words else []
        lexical = weighted(bm25(view.db, found), weight)
        return replace(self, words=tuple(found), lexical=lexical, weight=weight)


@dataclass(frozen=True)
class Scope:
    """Where a search looks."""

    passages: Mapping[PassageNumber, DocumentNumber] | None = None
    """Passages to their documents; None for everywhere."""
    concept: int | None = None
    """Set where the passages are exactly those below this concept: the ranker then needs no list of them."""
    recall: float | None = None
    """The share of the true nearest passages that the dense search aims for; None for its default."""


def scope_of(
    db: sqlite3.Connection, vectors: VectorIndex, condition: tuple[str, list[Any]] | None, within: int | None
) -> Scope:
    """The passages that satisfy a compiled filter and lie below the concept `within`."""
    if condition is None and within is None:
        return Scope()
    below: list[PassageNumber] | None = None
    if within is not None:
        below = [PassageNumber(int(id)) for id in vectors.documents_below(as_concept(vectors, within))]
        if condition is None:
            return Scope(rows.owners_of(db, below), within)
    assert condition is not None
    numbers = rows.numbers_where(db, *condition)
    owners = rows.owned_by(db, numbers)
    if below is not None:
        owners = {passage: owners[passage] for passage in below if passage in owners}
    return Scope(owners)


def as_concept(vectors: VectorIndex, id: int) -> int:
    """The id of a concept, checked: the tree has a node of this id."""
    if isinstance(id, bool) or not isinstance(id, int):
        raise DtypeError(f"a concept's id is a whole number, as found in a hit's path, got {id!r}")
    return vectors.tree.node(id).id


def as_weight(hybrid: bool | float) -> float:
    """The weight of BM25 that the argument `hybrid` stands for."""
    if isinstance(hybrid, bool):
        return WEIGHT if hybrid else 0.0
    if not isinstance(hybrid, int | float) or not 0.0 <= hybrid < float("inf"):
        raise ParameterError(f"hybrid must be True, False or a weight of at least 0, got {hybrid!r}")
    return float(hybrid)


def check_confidence(least: float) -> None:
    """Raise `ParameterError` unless `least` is between 0 and 1."""
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0.0 <= least <= 1.0:
        raise ParameterError(f"min_confidence must be between 0 and 1, got {least!r}")


def check_depth(depth: int | None) -> None:
    """Raise `ParameterError` unless `depth` is a number of levels, or None for all of them."""
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise ParameterError(f"depth must be a whole number of at least 0, or None for all, got {depth!r}")


def check_query(query: str | None, vector: npt.ArrayLike | None) -> None:
    """Raise an error unless there is a text or a vector, and the text is a string that holds something."""
    if query is not None:
        if not isinstance(query, str):
            raise DtypeError(f"query must be a string, got {type(query).__name__}: to search by a vector, pass vector=")
        check_texts([query], what="query")
    elif vector is None:
        raise ParameterError("there is nothing to search for: pass a query, a vector, or both")


def query_vector(encoder: Encoder, settings: Settings, text: str | None, vector: npt.ArrayLike | None) -> Floats:
    """The vector of a query, one row: the one given, checked, or that of its text."""
    if vector is None:
        return encode(encoder, [text or ""], settings, "query")
    checked = as_vectors(vector, settings.dim, what="the query's vector")
    if len(checked) != 1:
        raise ParameterError(f"vector must be one vector, got {len(checked)}: search once for each")
    return checked


def documents_of(db: sqlite3.Connection, ids: Sequence[str]) -> list[DocumentRow]:
    """The documents of these ids, in their order; `UnknownIdError` where one is not there."""
    found = rows.documents_by_id(db, ids)
    for id in ids:
        if id not in found:
            raise unknown_document(id, rows.count_documents(db))
    return [found[id] for id in ids]


def unknown_document(id: str, documents: int) -> UnknownIdError:
    """The error for an id that none of so many documents has."""
    return UnknownIdError(f"id {id!r} is not in the index, which holds {documents} documents")
