"""One index as a part of a larger corpus, as `gossamer.cluster` has it: the other documents are in other indexes.

A part is whitened as the others are, by a whitener that is given and never fitted again, so that cosines of different
parts can be compared. Words count as in one index over everything: the frequencies of words, the length of documents
and the best BM25 are those of the whole corpus (`Corpus`), which whoever asks the parts has added up before:

    1  corpus            of each part: documents, their length, how many hold each word of the query; added up
    2  best_by_words     of each part, by these sums: the best BM25, and what these documents score
    3  search, explain   as in an index by itself, with the sum of all of this
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats
from gossamer.checks import as_vectors, one_of
from gossamer.encoders import Encoder, FittedEncoder, Kind, Progress, is_fitted_encoder
from gossamer.errors import EncoderError
from gossamer.files.bundle import Bundle, fold
from gossamer.filters import as_path, values_at
from gossamer.index.batch import as_changes, as_ids, check_batch
from gossamer.index.chunking import split
from gossamer.index.encoding import EncoderSpec, new_settings, reload_encoder
from gossamer.index.explanations import explain_document
from gossamer.index.facets import facets_of as _facets_of
from gossamer.index.index import Index
from gossamer.index.overview import assigned
from gossamer.index.query import Query, View, as_weight, documents_of, unknown_document
from gossamer.index.ranking import AllScores, scores_of
from gossamer.index.searching import SearchArguments, SearchOptions, answers
from gossamer.index.tables import read_table
from gossamer.index.upsert import spans_of
from gossamer.lexical.analysis import DETECT, USUAL, detect_language, languages
from gossamer.lexical.query_text import parse
from gossamer.lexical.scores import Corpus
from gossamer.results import Concept, Explanation, Facets, Hits
from gossamer.store import Settings, Store, rows
from gossamer.store.schema import GIVEN
from gossamer.vector_index.core import auto_acuity
from gossamer.vector_index.presets import SHARE
from gossamer.whitening.whitening import Whitening

__all__ = [
    "ByWords", "Corpus", "EncodedElsewhere", "SearchOptions", "Space", "Standing", "as_changes", "as_ids",
    "assign_part", "best_by_words", "check_chunking", "check_language", "checked_documents", "corpus_of", "create_part",
    "encoder_again", "explain_part", "facets_of", "group_in", "has_conditions", "is_learning", "language_of",
    "passages_of", "read_table", "search_part", "standing", "text_to_encode", "words_in",
]  # fmt: skip

_ENOUGH: Final = 1_000
"""Vectors from which on a whitener is fitted, or four for each dimension if that is more: as in an index by itself."""


@dataclass(frozen=True)
class Space:
    """The space of all parts: their whitener, None where vectors are taken as they are, and their acuity."""

    whitener: Whitening | None
    acuity: float

    @classmethod
    def fitted(cls, E: Floats) -> Space:
        """The space for a corpus of which E is a sample."""
        whitener = None
        if len(E) >= max(_ENOUGH, 4 * E.shape[1]):
            whitener = Whitening(n_components=SHARE, center="auto").fit(E)
        return cls(whitener, auto_acuity(E if whitener is None else whitener.project(E)))

    def project(self, E: npt.ArrayLike) -> Floats:
        """Vectors as the encoder made them, in this space."""
        X = as_vectors(E, None if self.whitener is None else self.whitener.n_features_in_)
        return X if self.whitener is None else self.whitener.project(X)

    def to_bundle(self) -> Bundle:
        """The space as settings and arrays."""
        parts = {} if self.whitener is None else {"whitener": self.whitener.to_bundle()}
        return fold(parts, {"acuity": self.acuity}, {})

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> Space:
        """The space that `to_bundle` described."""
        whitener = Whitening.from_bundle(bundle.part("whitener")) if "whitener" in bundle.params else None
        return cls(whitener, float(bundle.params["acuity"]))


class EncodedElsewhere:
    """The encoder of a part: texts come with their vectors, and nothing is encoded here."""

    def __init__(self, name: str, fingerprint: str, dim: int) -> None:
        self.name, self.fingerprint, self.dim = name, fingerprint, dim

    def encode(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Floats:
        """Refuse."""
        raise EncoderError(f"a part of a cluster encodes nothing, and got {len(texts)} texts without their vectors")


class ByWords(NamedTuple):
    """The documents of a part that hold the words of a query best, best first."""

    bm25: Doubles
    dense: Doubles
    """The part of their scores that is by meaning."""


_NO_WORDS: Final = ByWords(np.empty(0), np.empty(0))


class Standing(NamedTuple):
    """Where a score stands among the documents of a part."""

    documents: int
    before: int
    """Those that come before it."""


def create_part(
    path: str | os.PathLike[str],
    encoder: Encoder,
    space: Space,
    *,
    max_tokens: int | None,
    overlap: int | None,
    language: str,
) -> Index:
    """An empty index in the new folder `path` whose space is given. It is opened again by `Index.open`."""
    settings = replace(new_settings(encoder, "default", max_tokens, overlap, language), preset=GIVEN, dim=encoder.dim)
    return Index._on(Store.create(path, settings, space=space.to_bundle()), encoder, None)


def is_learning(encoder: Encoder) -> TypeGuard[FittedEncoder]:
    """Whether an encoder learns from the corpus. For a cluster it learns once, from the first documents."""
    return is_fitted_encoder(encoder)


def encoder_again(name: str, fingerprint: str, dim: int, learnt: Bundle | None, given: EncoderSpec | None) -> Encoder:
    """The encoder that a cluster names, or the one given, with what it learnt; raises where it is another one."""
    return reload_encoder(Settings(name, fingerprint, None, 0, dim), learnt, given)


def language_of(texts: Sequence[str], language: str) -> str:
    """The language that texts are in where it was left open: all parts must have the same."""
    return (detect_language(texts) or USUAL) if language == DETECT else language


def check_language(language: str) -> None:
    """Raise where there are no rules for a language."""
    one_of(language, "language", (DETECT, *languages()))


def passages_of(text: str, max_tokens: int | None, overlap: int) -> list[str]:
    """The passages that a part divides a text into."""
    return [text[start:stop] for start, stop in spans_of(text, Settings("", "", max_tokens, overlap))]


def check_chunking(max_tokens: int | None, overlap: int | None) -> int:
    """The overlap of passages, chosen where it is None; raises where the two do not fit."""
    if max_tokens is None:
        return 0
    wanted = min(30, max_tokens // 4) if overlap is None else overlap
    split("", max_tokens=max_tokens, overlap=wanted)
    return wanted


def checked_documents(
    texts: str | Iterable[str],
    ids: str | Iterable[str] | None,
    metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None,
    vectors: npt.ArrayLike | None,
) -> tuple[list[str], list[str] | None, list[dict[str, Any]], Floats | None]:
    """What `Index.add` takes, checked as it does."""
    batch = check_batch(texts, ids, metadata, vectors)
    return batch.texts, batch.ids, [json.loads(each) for each in batch.metadata], batch.vectors


def group_in(metadata: Mapping[str, Any], field: str) -> str | None:
    """What documents have in common that `group_by` takes for one; None for a document that has no such field."""
    values = [value for value in values_at(metadata, as_path(field)) if value != []]
    return json.dumps(values, sort_keys=True) if values else None


def has_conditions(query: str) -> bool:
    """Whether a query says what must or must not be in a document."""
    asked = parse(query)
    return bool(asked.phrases or asked.excluded)


def words_in(query: str) -> tuple[str, ...] | None:
    """The words of a query, each once; None where it says what must or must not be in a document."""
    asked = parse(query)
    return None if asked.phrases or asked.excluded else asked.words


def text_to_encode(query: str) -> str:
    """A query without what must not be in a document."""
    return parse(query).text


def corpus_of(index: Index, queries: Sequence[str]) -> tuple[list[Corpus], int]:
    """The documents of a part as the words of each query see them, and its newest operation."""
    with index.state.reading():
        words, asked = index.state.tree.words, map(parse, queries)
        return [Corpus.of(words, each.words, each.phrases) for each in asked], index.state.tree.seq


def best_by_words(
    index: Index,
    queries: Sequence[str | None],
    vectors: Floats,
    corpora: Sequence[Corpus],
    k: int,
    hybrid: bool | float,
) -> tuple[list[ByWords], int]:
    """For each query at most k documents of a part that hold its words best; and its newest operation."""
    with index.state.view_for_queries(queries, vectors, None, as_weight(hybrid), corpora) as asked:
        if asked is None:
            return [_NO_WORDS for _ in queries], index.state.tree.seq
        view, found = asked
        return [_by_words(view, each, k) for each in found], view.operation


def _by_words(view: View, query: Query, k: int) -> ByWords:
    best = query.lexical.best(k)
    if not len(best):
        return _NO_WORDS
    dense = {each.document: each.dense for each in scores_of(view, query, best)}
    return ByWords(query.lexical.bm25_of(best), np.array([dense[document] for document in best.tolist()]))


def search_part(
    index: Index,
    queries: Sequence[str | None],
    vectors: npt.ArrayLike,
    k: int,
    options: SearchArguments,
    corpora: Sequence[Corpus] | None,
) -> tuple[list[Hits], int]:
    """What `Index.search` answers, with the words counted by the whole corpus; and the newest operation."""
    checked = SearchOptions.checked(k, options)
    state = index.state
    with state.view_for_queries(queries, vectors, checked.within, checked.weight, corpora) as asked:
        found = [Hits() for _ in queries] if asked is None else answers(state, *asked, checked)
        return found, state.tree.seq


def explain_part(
    index: Index, query: str | None, vector: Floats, id: str, k: int, hybrid: bool | float, corpus: Corpus | None
) -> Explanation:
    """What `Index.explain` answers; the rank and the rival are those among the documents of the part."""
    corpora = None if corpus is None else [corpus]
    with index.state.view_for_queries([query], vector, None, as_weight(hybrid), corpora) as asked:
        if asked is None:
            raise unknown_document(id, 0)
        view, (found,) = asked
        (row,) = documents_of(view.db, as_ids(id))
        return explain_document(view, found, row, k)


def facets_of(index: Index, ids: Sequence[str], most: int) -> Facets:
    """The values of metadata fields among those of some documents that are in a part."""
    return _facets_of(index.state, ids, most)


def assign_part(index: Index, vector: Floats) -> tuple[Concept, ...]:
    """The concepts that a text of this vector would lie in, as `Index.assign` tells them."""
    with index.state.view() as view:
        return assigned(view, vector[None])[0]


def standing(
    index: Index, query: str | None, vector: Floats, id: str, score: float, hybrid: bool | float, corpus: Corpus | None
) -> Standing:
    """How many documents of a part come before one, of another part, that scores `score`."""
    corpora = None if corpus is None else [corpus]
    with index.state.view_for_queries([query], vector, None, as_weight(hybrid), corpora) as asked:
        if asked is None:
            return Standing(0, 0)
        view, (found,) = asked
        scores = AllScores(view, found)
        above, around = scores.around(score)
        documents, close = scores.exact_scores(around)
        level = documents[close == score].tolist()
        before = sum(row.id < id for row in rows.documents_by_number(view.db, level).values()) if level else 0
        return Standing(len(scores.documents), above + int(np.count_nonzero(close > score)) + before)
