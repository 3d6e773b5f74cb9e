"""A collection: documents, queries, and which documents answer which query."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gossamer.errors import InputError
from gossamer_lab.engine import Longs


@dataclass(frozen=True)
class Collection:
    """Documents and queries with their answers.

    A query's own text may be among the documents (QQP consists of questions): such documents are listed in `own`,
    are never an answer, and are left out of every ranking of that query.
    """

    name: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    answers: Mapping[str, Mapping[str, int]]
    """By query: the documents that answer it, with a grade of at least 1 each."""
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    about: str = ""
    """How it was made, for people."""
    source: str = ""
    """The name in the files of ready vectors, ``<source>-<model>-corpus.npy``."""
    rows: Longs | None = None
    """The row there of each document. Trees are grown in the order of these rows, unless `arrival` has another."""
    query_rows: Longs | None = None
    arrival: Longs | None = None
    """The place of each document in the order in which trees are grown."""

    def __post_init__(self) -> None:
        """Check that ids are unique and that every query has an answer."""
        for what, ids, texts in (("documents", self.ids, self.texts), ("queries", self.query_ids, self.queries)):
            if len(ids) != len(texts):
                raise InputError(f"{self.name}: {len(ids)} ids but {len(texts)} texts of {what}: give one for each")
            if not ids:
                raise InputError(f"{self.name} has no {what}: an evaluation needs at least one")
            if len(set(ids)) != len(ids):
                raise InputError(f"{self.name}: {len(ids)} {what} but {len(set(ids))} ids: ids must be unique")
        for query in self.query_ids:
            answers = self.answers.get(query, {})
            if not any(id in self.row_of and grade > 0 for id, grade in answers.items()):
                raise InputError(f"{self.name}: query {query!r} has no answer among the documents: leave it out")
            if self.own.get(query, frozenset()) & answers.keys():
                raise InputError(f"{self.name}: a text of query {query!r} itself is listed as an answer: remove it")

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The place of each document."""
        return {id: row for row, id in enumerate(self.ids)}

    @cached_property
    def own_rows(self) -> tuple[Longs, ...]:
        """For each query the places of documents that are its own text."""
        return tuple(
            np.array(sorted(self.row_of[id] for id in self.own.get(query, ()) if id in self.row_of), np.int64)
            for query in self.query_ids
        )

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all texts and answers."""
        digest = hashlib.blake2b(digest_size=16)
        for texts in (self.ids, self.texts, self.query_ids, self.queries):
            digest.update("\0".join(texts).encode(errors="replace"))
            digest.update(b"\1")
        for query in self.query_ids:
            digest.update(repr((sorted(self.answers[query].items()), sorted(self.own.get(query, ())))).encode())
        return digest.hexdigest()

    def with_queries(self, which: Sequence[int] | Longs) -> Collection:
        """All documents, and some of the queries."""
        places = np.asarray(which, np.int64)
        return replace(
            self,
            query_ids=tuple(self.query_ids[i] for i in places),
            queries=tuple(self.queries[i] for i in places),
            query_rows=None if self.query_rows is None else self.query_rows[places],
        )

    def with_documents(self, which: Sequence[int] | Longs) -> Collection:
        """Some of the documents, and the queries that still have an answer."""
        places = np.asarray(which, np.int64)
        ids = tuple(self.ids[i] for i in places)
        there = set(ids)
        answers = {q: {id: g for id, g in self.answers[q].items() if id in there} for q in self.query_ids}
        answered = self.with_queries([i for i, query in enumerate(self.query_ids) if answers[query]])
        return replace(
            answered,
            ids=ids,
            texts=tuple(self.texts[i] for i in places),
            answers={query: answers[query] for query in answered.query_ids},
            rows=None if self.rows is None else self.rows[places],
            arrival=None if self.arrival is None else self.arrival[places],
        )


def own_texts(
    texts: Mapping[str, str], queries: Mapping[str, str], answers: Mapping[str, Mapping[str, int]]
) -> dict[str, frozenset[str]]:
    """By query the documents with its text, unless they are labelled as its answers."""
    places: dict[str, list[str]] = {}
    for id, text in texts.items():
        places.setdefault(plain(text), []).append(id)
    found = {query: frozenset(places.get(plain(text), ())) - answers[query].keys() for query, text in queries.items()}
    return {query: ids for query, ids in found.items() if ids}


def shuffled_rows(count: int, seed: int = 0) -> Longs:
    """An order in which answers do not come first: of equal scores the first document wins."""
    return np.random.default_rng(seed).permutation(count).astype(np.int64)


def plain(text: str) -> str:
    """A text in lower case, with single spaces."""
    return " ".join(text.lower().split())
