"""The paper's setting, made from raw data: n documents and q queries, each with its answer among the documents.

Everything is drawn by a seed, no text stands twice among the documents, and a query's own text is never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from gossamer.errors import InputError
from gossamer_lab.evaluate.collection import Collection, own_texts, plain, shuffled_rows

T = TypeVar("T")

DOCUMENTS_A_QUERY: Final = 10
"""The paper asks one query for ten documents."""


@dataclass(frozen=True)
class Pair:
    """Two questions, and whether they ask the same."""

    first: str
    second: str
    duplicate: bool


@dataclass(frozen=True)
class Row:
    """A query with passages, and which of them answer it (MS MARCO v2.1)."""

    query: str
    passages: tuple[str, ...]
    selected: tuple[bool, ...]


def from_pairs(pairs: Iterable[Pair], name: str, *, documents: int, queries: int, seed: int = 0) -> Collection:
    """First questions of duplicate pairs ask for the second ones; other second questions fill the corpus up.

    Fillers come from duplicate pairs first, as in the paper, then from all others.
    """
    _check_sizes(documents, queries)
    shuffled = _shuffled(list(pairs), seed)
    made = _Corpus(documents)
    for pair in shuffled:
        if len(made.queries) < queries and pair.duplicate and plain(pair.first) != plain(pair.second):
            made.ask(pair.first, [pair.second])
    made.fill(pair.second for pair in sorted(shuffled, key=lambda pair: not pair.duplicate))
    made.fill(pair.first for pair in shuffled)
    return made.collection(name, queries, f"QQP pairs, seed {seed}")


def from_rows(rows: Iterable[Row], name: str, *, documents: int, queries: int, seed: int = 0) -> Collection:
    """Queries with a selected passage, all passages of their rows, and passages of other rows as fillers."""
    _check_sizes(documents, queries)
    shuffled = _shuffled(list(rows), seed)
    made = _Corpus(documents)
    asked: list[Row] = []
    for row in shuffled:
        right = [text for text, chosen in zip(row.passages, row.selected, strict=True) if chosen]
        if right and len(asked) < queries and made.ask(row.query, right):
            asked.append(row)
    for row in asked:
        made.fill(row.passages)
    made.fill(text for row in shuffled for text in row.passages)
    return made.collection(name, queries, f"MS MARCO v2.1 rows, seed {seed}")


def cut(collection: Collection, *, documents: int | None, queries: int | None, seed: int = 0) -> Collection:
    """Fewer queries, drawn by the seed, and fewer documents: all answers to those queries, then others drawn."""
    rng = np.random.default_rng(seed)
    order, fillers = rng.permutation(len(collection.query_ids)), rng.permutation(len(collection))
    asked = collection if queries is None else collection.asked(np.sort(order[:queries]))
    if documents is None or documents >= len(collection):
        return asked
    needed = {asked.row_of[id] for q in asked.query_ids for id in asked.answers[q] if id in asked.row_of}
    if len(needed) > documents:
        raise InputError(
            f"{asked.name}: {len(asked.queries)} queries have {len(needed)} answers, more than {documents} documents: "
            "ask for fewer queries or more documents"
        )
    kept = sorted(needed) + [row for row in fillers.tolist() if row not in needed][: documents - len(needed)]
    return asked.of(np.sort(np.array(kept, np.int64)))


class _Corpus:
    """Documents and queries as they are gathered; a text that is there already is not taken again."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.texts: dict[str, str] = {}
        self.queries: dict[str, str] = {}
        self.answers: dict[str, dict[str, int]] = {}
        self._ids: dict[str, str] = {}
        self._asked: set[str] = set()

    def ask(self, query: str, right: Sequence[str]) -> bool:
        """Take a query with its answers, if there is room and it is new; its own text is no answer."""
        key = plain(query)
        answers = {plain(text): text for text in right if plain(text) and plain(text) != key}
        room = len(self.texts) + len(answers) <= self.limit
        if not key or not answers or key in self._asked or not room or any(each in self._ids for each in answers):
            return False
        self._asked.add(key)
        id = f"q{len(self.queries)}"
        self.queries[id] = query
        self.answers[id] = {self._add(text): 1 for text in answers.values()}
        return True

    def fill(self, texts: Iterable[str]) -> None:
        for text in texts:
            if len(self.texts) >= self.limit:
                return
            if plain(text) and plain(text) not in self._ids:
                self._add(text)

    def _add(self, text: str) -> str:
        id = self._ids[plain(text)] = f"d{len(self.texts)}"
        self.texts[id] = text
        return id

    def collection(self, name: str, queries: int, about: str) -> Collection:
        for what, wanted, there in (("documents", self.limit, self.texts), ("queries", queries, self.queries)):
            if len(there) < wanted:
                raise InputError(f"{name} gives {len(there):,} {what}, and {wanted:,} were asked for: ask for fewer")
        own = own_texts(self.texts, self.queries, self.answers)
        listed, rows = list(self.texts), shuffled_rows(len(self.texts))
        ids = [listed[row] for row in rows]
        return Collection(
            name, tuple(ids), tuple(self.texts[id] for id in ids), tuple(self.queries), tuple(self.queries.values()),
            self.answers, own, about, "", rows,
        )  # fmt: skip


def _shuffled(items: list[T], seed: int) -> list[T]:
    return [items[i] for i in np.random.default_rng(seed).permutation(len(items))]


def _check_sizes(documents: int, queries: int) -> None:
    if not 1 <= queries <= documents:
        raise InputError(f"{queries} queries over {documents} documents: each query needs an answer of its own")
