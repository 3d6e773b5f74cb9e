"""A shard: an actor that holds one index, or a replica that reads it. It encodes nothing and knows no other shard."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.errors import UnknownFieldWarning
from gossamer.index import Encoded, Index
from gossamer.index.part import (
    Corpus,
    EncodedElsewhere,
    Standing,
    assign_part,
    best_by_words,
    corpus_of,
    explain_part,
    facets_of,
    search_part,
    standing,
)
from gossamer.results import Concept, Document, Explanation, Facets, Hits, IndexInfo, Outline, Topics


@dataclass(frozen=True)
class Load:
    """Documents on their way to a shard, with the vectors of their passages."""

    ids: list[str]
    texts: list[str]
    metadata: list[Mapping[str, Any]]
    vectors: Floats
    passages: list[str] | None
    """The passages that `vectors` belong to; None where there is one vector for each text, which is then not split."""


class Reply(NamedTuple):
    """What a shard answers, and the state it answered from."""

    value: Any
    operation: int
    """The newest operation of its index."""
    passages: int
    version: int
    """The version of the cluster's description that it was told last."""


class Shard:
    """One shard. Its methods are called from other processes; several at a time."""

    def __init__(self, path: str, encoder: tuple[str, str, int], mode: Literal["r", "w"], version: int) -> None:
        self._index = Index.open(Path(path), EncodedElsewhere(*encoder), mode=mode)
        self._version = version

    def _reply(self, value: Any, operation: int | None = None) -> Reply:
        state = self._index.state
        passages = 0 if state.vectors is None else len(state.vectors)
        return Reply(value, state.tree.seq if operation is None else operation, passages, self._version)

    def call(self, packed: bytes) -> bytes:
        """Another method, with its arguments in one piece, and its reply in one: a third quicker than one by one."""
        method, arguments = pickle.loads(packed)
        return pickle.dumps(getattr(self, method)(*arguments), protocol=5)

    def describe(self) -> Reply:
        """The root of its tree; None while it is empty."""
        found = self._index.concepts(0)
        return self._reply(found[0] if found else None)

    def set_version(self, version: int) -> None:
        """The description of the cluster has changed: whoever asks this shard is told so."""
        self._version = max(version, self._version)

    def close(self) -> None:
        """Save the tree and close the files."""
        self._index.close()

    # -- changing ----------------------------------------------------------------------------------

    def add(self, load: Load) -> int:
        """Add documents, or replace them; they are durable when this returns."""
        if load.passages is None:
            self._index.add(load.texts, load.ids, load.metadata, vectors=load.vectors)
        else:
            vectors = dict(zip(load.passages, load.vectors, strict=True))
            encoded = Encoded(self._index.state.encoder.fingerprint, vectors)
            self._index.add(load.texts, load.ids, load.metadata, encoded=encoded)
        return len(load.ids)

    def update(self, ids: list[str], metadata: list[Mapping[str, Any]]) -> None:
        """Set fields of metadata."""
        self._index.update(ids, metadata)

    def delete(self, ids: list[str]) -> int:
        """Delete documents; those that are not there are no error."""
        return self._index.delete(ids)

    def take(self, ids: list[str]) -> list[Load]:
        """Documents with the vectors of their passages, as another shard can add them."""
        documents = self._index.get(ids, skip_unknown=True)
        passages = self._index.passages([each.id for each in documents])
        whole = [at for at, own in enumerate(passages) if len(own) == 1]
        split = [at for at, own in enumerate(passages) if len(own) > 1]
        loads = []
        for places, is_split in ((whole, False), (split, True)):
            if places:
                some, own = [documents[at] for at in places], [part for at in places for part in passages[at]]
                loads.append(
                    Load(
                        [each.id for each in some], [each.text for each in some], [each.metadata for each in some],
                        np.stack([part.vector for part in own]), [part.text for part in own] if is_split else None,
                    )
                )  # fmt: skip
        return loads

    def rename(self, concept: int, name: str | None) -> None:
        """Call a concept by a name, or by its label again."""
        self._index.rename_concept(concept, name)

    def rebuild(self) -> None:
        """Build a new tree over all documents."""
        self._index.rebuild()

    def settle(self) -> None:
        """Do now what is still to be done."""
        self._index.settle()

    def backup(self, path: str) -> int:
        """Copy the index into a folder."""
        return self._index.backup(path)

    def check(self) -> None:
        """Raise where anything is not as it should be."""
        self._index.check()

    # -- asking ------------------------------------------------------------------------------------

    def corpus(self, queries: list[str]) -> Reply:
        """Its documents as the words of each query see them."""
        return self._reply(*corpus_of(self._index, queries))

    def best_by_words(
        self, queries: list[str | None], vectors: Floats, corpora: list[Corpus], k: int, hybrid: bool | float
    ) -> Reply:
        """The documents that hold the words of each query best."""
        return self._reply(*best_by_words(self._index, queries, vectors, corpora, k, hybrid))

    def search(
        self,
        queries: Sequence[str | None],
        vectors: npt.ArrayLike,
        k: int,
        options: dict[str, Any],
        corpora: Sequence[Corpus] | None,
    ) -> Reply:
        """The best documents for each query."""
        found: tuple[list[Hits], int] = search_part(self._index, queries, vectors, k, options, corpora)  # type: ignore[arg-type]
        hits, operation = found
        return self._reply([(list(each), each.visited, each.warnings) for each in hits], operation)

    def explain(
        self, query: str | None, vector: Floats, id: str, k: int, hybrid: bool | float, corpus: Corpus | None
    ) -> Reply:
        """Why a document of this shard scores as it does."""
        found: Explanation = explain_part(self._index, query, vector, id, k, hybrid, corpus)
        return self._reply(found)

    def standing(
        self, query: str | None, vector: Floats, id: str, score: float, hybrid: bool | float, corpus: Corpus | None
    ) -> Reply:
        """How many of its documents come before one of another shard."""
        found: Standing = standing(self._index, query, vector, id, score, hybrid, corpus)
        return self._reply(found)

    def get(self, ids: list[str]) -> Reply:
        """Those of some documents that are here."""
        found: list[Document] = self._index.get(ids, skip_unknown=True)
        return self._reply({each.id: each for each in found})

    def ids(self, where: Any, within: int | None) -> Reply:
        """The ids of documents in order of arrival, and what may be wrong with the filter."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = self._index.ids(where=where, within=within)
        unknown = tuple(str(each.message) for each in told if issubclass(each.category, UnknownFieldWarning))
        return self._reply((found, unknown))

    def vectors(self, ids: list[str]) -> Reply:
        """The vectors of documents as the encoder made them."""
        return self._reply(self._index.vectors(ids))

    def assign(self, vector: Floats) -> Reply:
        """The concepts that a text of this vector would lie in."""
        return self._reply(assign_part(self._index, vector))

    def concepts(self, depth: int | None) -> Reply:
        """The tree as people see it, down to a depth."""
        found: list[Concept] = self._index.concepts(depth)
        return self._reply(found)

    def concept(self, id: int) -> Reply:
        """One concept."""
        return self._reply(self._index.concept(id))

    def outline(self, root: int | None, depth: int | None, min_size: int, most: int | None) -> Reply:
        """The tree, or the part below a concept, without a word."""
        found: Outline = self._index.outline(root, depth=depth, min_size=min_size, most=most)
        return self._reply(found)

    def labels(self, ids: list[int] | None) -> Reply:
        """The labels of some concepts, or of all that are shown."""
        return self._reply(self._index.labels(ids))

    def find_concepts(self, vector: Floats, k: int) -> Reply:
        """The concepts that a query fits best."""
        return self._reply(self._index.find_concepts(None, k, vector=vector))

    def novelty(self, vector: Floats) -> Reply:
        """How unusual a query is among its documents."""
        return self._reply(self._index.novelty(None, vector=vector))

    def topics(self, n: int, assignments: bool) -> Reply:
        """Its documents in n groups."""
        found: Topics = self._index.topics(n, assignments=assignments)
        return self._reply((found.concepts, found.assignments, found.utility))

    def facets(self, where: Any, within: int | None, most: int) -> Reply:
        """How many documents have each value of each metadata field."""
        found: Facets = self._index.facets(where=where, within=within, most=most)
        return self._reply(found)

    def facets_of(self, ids: list[str], most: int) -> Reply:
        """The same of some documents."""
        return self._reply(facets_of(self._index, ids, most))

    def info(self) -> Reply:
        """What the index of this shard is and takes."""
        found: IndexInfo = self._index.info()
        return self._reply((found, os.getpid()))
