"""A query and the state it is put to: checked once, projected once, and passed on as two values.

In: what the user passed to `Index.search` and its relatives. Out: a `View` of one state of the index, a `Query` with
its vectors and words, and a `Scope` of passages to look at; or an error that says what was wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats, Longs, PassageNumber
from gossamer.checks import as_vectors
from gossamer.encoders import Encoder, check_texts
from gossamer.errors import DtypeError, ParameterError, UnknownIdError
from gossamer.explain.concepts import Concepts, Wording
from gossamer.explain.passages import READ, SHOWN, Passage
from gossamer.filters import Node, Path, Where, compared_fields, conditions, parse
from gossamer.index.document_table import DocumentTable
from gossamer.index.encoding import encode
from gossamer.index.labelling import Frozen, Labelling, frozen
from gossamer.lexical.query_text import QueryText
from gossamer.lexical.query_text import parse as parse_query
from gossamer.lexical.scores import Corpus, LexicalScores, Weight
from gossamer.lexical.words import Words
from gossamer.rank.request import Restriction, as_flags
from gossamer.results import Concept, Document
from gossamer.store import DocumentRow, Settings, rows
from gossamer.store.rows import ReadPassage
from gossamer.tree.browsing import concepts_of, shown_concepts, shown_path, shown_paths
from gossamer.tree.views import NodeView
from gossamer.vector_index.vector_index import VectorIndex

_NOTHING: Final[Mapping[int, ReadPassage]] = {}

Predicate: TypeAlias = Callable[[Document], bool]
"""Whether a document is wanted. It is called with every document there is."""


@dataclass(frozen=True)
class View:
    """One state of an index. It does not change while a search reads it."""

    db: sqlite3.Connection
    vectors: VectorIndex
    concepts: Concepts
    words: Words
    table: DocumentTable
    labelling: Labelling
    operation: int
    labelled: bool
    """Whether labels that are missing are made. A search takes those that are there."""

    def passages(self, documents: npt.ArrayLike) -> list[PassageNumber]:
        """The numbers in the database of passages, which the tree numbers otherwise and calls documents."""
        found: list[Any] = self.vectors.state.ids.listed(np.asarray(documents, np.int64))
        return found

    def units(self, passages: Longs) -> Floats:
        """The vectors of passages, which are numbered as the tree numbers them, in its space and of length 1."""
        t = self.vectors.tree.skeleton
        X = t.vectors[t.row[t.leaf[passages]]]
        units: Floats = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return units

    def texts(self, documents: Sequence[int], read: Mapping[int, ReadPassage] = _NOTHING) -> list[Passage]:
        """The passages of documents, which are numbered as the tree numbers them, as far as concepts need them.

        Those that were `read` already are not read again.
        """
        missing = [document for document in documents if document not in read]
        passages = self.passages(missing)
        texts = rows.passage_texts(self.db, passages, max(READ, 4 * SHOWN)) if missing else {}
        found = {document: Passage(*texts[passage]) for document, passage in zip(missing, passages, strict=True)}
        for document in documents:
            if document not in found:
                start, stop, row = read[document]
                found[document] = Passage(row.id, row.text[start:stop])
        return [found[document] for document in documents]

    def path_to(self, id: int) -> tuple[int, ...]:
        """The shown path to a concept; `UnknownIdError` where there is none of this id."""
        return shown_path(self.vectors.tree.skeleton, as_concept(self.vectors, id))

    def read(self, documents: Sequence[int]) -> dict[int, ReadPassage]:
        """The passages of documents, which are numbered as the tree numbers them, with all there is of them."""
        passages = self.passages(documents)
        found = rows.read_passages(self.db, passages)
        return {document: found[passage] for document, passage in zip(documents, passages, strict=True)}

    def paths_of(self, documents: Sequence[int]) -> list[tuple[int, ...]]:
        """The shown paths to the leaves of documents, which are numbered as the tree numbers them."""
        t = self.vectors.tree.skeleton
        return shown_paths(t, t.leaf[documents])

    def labels(self, ids: Sequence[int] | None) -> dict[int, str]:
        """The labels of some concepts, or of every shown concept above the leaves."""
        t, made = self.vectors.tree.skeleton, self.labelling.current
        nodes = list(shown_concepts(t)) if ids is None else [as_concept(self.vectors, id) for id in ids]
        if ids is None and made.operation == self.operation:
            return {node: made.of[node].text for node in nodes}
        return {concept.id: concept.label for concept in self.last_of(shown_paths(t, nodes))}

    def describe(
        self, paths: Sequence[tuple[int, ...]], read: Mapping[int, ReadPassage] = _NOTHING
    ) -> list[tuple[Concept, ...]]:
        """Shown paths as concepts, the basic level of each marked. Passages that were `read` are not read again."""
        return self.concepts.describe(self.vectors.tree, self._wording(paths, read), paths)

    def last_of(self, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concept at the end of each shown path."""
        listed = list(paths)
        return self.concepts.last_of(self.vectors.tree, self._wording(listed), listed)

    def frozen(self) -> Frozen:
        """A copy of the tree, and the names that were given by hand."""
        return frozen(self.vectors, self.operation, self.db)()

    def _wording(self, paths: Sequence[Sequence[int]], read: Mapping[int, ReadPassage] = _NOTHING) -> Wording:
        labels = self.labelling.current
        if self.labelled:
            inner = concepts_of(self.vectors.tree.skeleton, paths).keys()
            labels = self.labelling.shown_in(self.frozen, self.operation, self.texts, paths, inner)
        state, settled = self.vectors.state, labels.operation == self.operation
        return Wording(partial(self.texts, read=read), labels, state.ids.find, state.history, settled)


@dataclass(frozen=True)
class Query:
    """A query in every form that ranking and explaining need."""

    text: str | None
    vector: Floats
    """As the encoder made it."""
    projected: Floats
    """The same in the tree's space: whitened, where the whitener is fitted."""
    lexical: LexicalScores
    """The lexical part of the scores of documents."""
    documents: Longs | None = None
    """The documents that hold all its phrases and nothing that it excludes, ascending; None where it says nothing."""
    unheld: tuple[str, ...] = ()
    """The phrases that no document holds. Their words count like others."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may be wrong with it."""
        return tuple(f"no document holds “{each}”: found without the quotes" for each in self.unheld)

    @classmethod
    def of(
        cls,
        view: View,
        texts: Sequence[str | None],
        vectors: Floats,
        weight: Weight,
        corpora: Sequence[Corpus] | None = None,
    ) -> list[Query]:
        """Queries whose words count with this weight, or not at all with 0. `vectors` has a row for each.

        `corpora`: for each query the corpus that the index is a part of.
        """
        found = []
        rows = zip(texts, vectors, view.vectors.state.project(vectors), strict=True)
        for at, (text, vector, projected) in enumerate(rows):
            asked = parse_query(text) if text and weight else QueryText("", ())
            corpus = None if corpora is None else corpora[at]
            lexical = LexicalScores(view.words, asked.words, weight, corpus)
            held = {
                phrase: words for phrase in asked.phrases if (words := _holding(view.words, phrase, corpus)) is not None
            }
            unheld = tuple(" ".join(phrase) for phrase in asked.phrases if phrase not in held)
            documents = _documents_for(view.words, held.values(), asked.excluded)
            found.append(cls(text, vector, projected, lexical, documents, unheld))
        return found


def _holding(words: Words, phrase: tuple[str, ...], corpus: Corpus | None) -> Longs | None:
    """The documents that hold a phrase; None where none of the whole corpus does: then it asks for nothing."""
    found = words.containing(phrase)
    return found if len(found) or (corpus is not None and corpus.held.get(phrase)) else None


def _documents_for(words: Words, held: Collection[Longs], excluded: Sequence[tuple[str, ...]]) -> Longs | None:
    """The documents in all of `held` that hold nothing that is excluded; None where nothing is asked for."""
    if not held and not excluded:
        return None
    documents = words.present()
    for found in held:
        documents = np.intersect1d(documents, found, assume_unique=True)
    for phrase in excluded:
        documents = np.setdiff1d(documents, words.containing(phrase), assume_unique=True)
    return documents


@dataclass(frozen=True)
class Scope:
    """Where a search looks."""

    restriction: Restriction | None = None
    """The passages to look at, as the tree numbers them; None for everywhere."""
    recall: float | None = None
    """The share of the true nearest passages that the dense search aims for; None for its default."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look at."""
        return self.restriction is not None and self.restriction.size == 0

    def limited_to(self, view: View, documents: Longs | None) -> Scope:
        """The same, without the passages of other documents; None for no limit."""
        if documents is None:
            return self
        flags = as_flags(view.vectors.tree.skeleton, view.table.passages(documents))
        if self.restriction is not None:
            flags &= self.restriction.flags
        return replace(self, restriction=Restriction.to(view.vectors.tree.skeleton, flags, None))


def as_condition(where: Where | Predicate) -> Node | Predicate | None:
    """A filter as users write it, parsed; a function as it is."""
    return where if where is None or callable(where) else parse(where)


def doubts(
    view: View, where: Node | Predicate | None, others: Sequence[Path] = (), dated: Sequence[Path] = ()
) -> tuple[str, ...]:
    """A sentence for each field of a filter, and of `others`, that no document has, or only with values of another
    kind than those of the filter, and for each of `dated`, which are among the others, without dates."""
    if where is None or callable(where):
        return view.table.doubts(view.db, others, (), dated)
    return view.table.doubts(view.db, [*compared_fields(where), *others], conditions(where), dated)


def scope_of(view: View, where: Node | Predicate | None, within: int | None, recall: float | None = None) -> Scope:
    """The passages whose documents match a filter, and that lie below the concept `within`."""
    t = view.vectors.tree.skeleton
    below = None if within is None else view.vectors.tree.documents_below(as_concept(view.vectors, within))
    if where is None:
        return Scope(Restriction.to(t, None, below), recall)
    if callable(where):
        matching = view.table.wanted(view.db, t, where)
    else:
        matching = view.table.matching(view.db, t, where)
    both = matching if below is None else Restriction.to(t, matching.flags & as_flags(t, below), None)
    return Scope(both, recall)


def as_concept(vectors: VectorIndex, id: int) -> int:
    """The id of a concept, checked: the tree has a node of this id."""
    if isinstance(id, bool) or not isinstance(id, int):
        raise DtypeError(f"a concept's id is a whole number, as found in a hit's path, got {id!r}")
    try:
        return NodeView(vectors.tree.skeleton, id).id
    except UnknownIdError as error:
        raise UnknownIdError(f"there is no concept {id}: there never was, or the tree changed since") from error


def as_weight(hybrid: bool | float) -> Weight:
    """The weight of BM25 that the argument `hybrid` stands for."""
    if isinstance(hybrid, bool):
        return "auto" if hybrid else 0.0
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


def query_vectors(
    encoder: Encoder, settings: Settings, texts: Sequence[str | None], vectors: npt.ArrayLike | None, weight: Weight
) -> Floats:
    """The vectors of queries, a row each: those given, checked, or those of their texts.

    Where words count, those that must not be there are not encoded: they do not say what the query is about.
    """
    if vectors is None:
        asked = [parse_query(text).text if text and weight else text for text in texts]
        return encode(encoder, [text or "" for text in asked], settings, "query")
    checked = as_vectors(vectors, settings.dim, what="query vectors")
    if len(checked) != len(texts):
        raise ParameterError(f"vectors: {len(checked)}, queries: {len(texts)}; pass one vector for each query")
    return checked


def documents_of(db: sqlite3.Connection, ids: Sequence[str]) -> list[DocumentRow]:
    """The documents of these ids, in their order; `UnknownIdError` where one is not there."""
    found = rows.documents_by_id(db, ids)
    for id in ids:
        if id not in found:
            raise unknown_document(id, rows.count_documents(db), rows.id_holding(db, id))
    return [found[id] for id in ids]


def unknown_document(id: str, documents: int, near: str | None = None) -> UnknownIdError:
    """The error for an id that none of so many documents has."""
    hint = "" if near is None else f": did you mean {near!r}?"
    return UnknownIdError(f"id {id!r} is not in the index, which holds {documents:,} documents{hint}")
