"""The paper's setting made from labelled pairs of questions, and collections cut to size.

Everything is drawn by a seed, no text is twice among the documents, and a query's own text is never its answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.errors import InputError
from gossamer_lab.data.collection import Collection, own_texts, plain, shuffled_rows

DOCUMENTS_A_QUERY: Final = 10
"""The paper has one query for ten documents."""


@dataclass(frozen=True)
class Pair:
    """Two questions, and whether they ask the same."""

    first: str
    second: str
    duplicate: bool


def from_pairs(pairs: Iterable[Pair], name: str, *, documents: int, queries: int, seed: int = 0) -> Collection:
    """Each query is the first question of a duplicate pair, and the second one is its answer.

    Other second questions fill the corpus, those of duplicate pairs first, as in the paper; then first questions.
    """
    if not 1 <= queries <= documents:
        raise InputError(f"{queries} queries over {documents} documents: each query needs an answer of its own")
    listed = list(pairs)
    shuffled = [listed[i] for i in np.random.default_rng(seed).permutation(len(listed))]
    made = _Corpus(documents)
    for pair in shuffled:
        if len(made.queries) < queries and pair.duplicate:
            made.ask(pair.first, pair.second)
    made.fill(pair.second for pair in sorted(shuffled, key=lambda pair: not pair.duplicate))
    made.fill(pair.first for pair in shuffled)
    return made.collection(name, queries, f"QQP pairs, seed {seed}")


def cut(collection: Collection, *, documents: int | None, queries: int | None, seed: int = 0) -> Collection:
    """Fewer queries, drawn by the seed, and fewer documents: all answers to those queries, then others drawn."""
    rng = np.random.default_rng(seed)
    order, fillers = rng.permutation(len(collection.query_ids)), rng.permutation(len(collection))
    asked = collection if queries is None else collection.with_queries(np.sort(order[:queries]))
    if documents is None or documents >= len(collection):
        return asked
    needed = {asked.row_of[id] for q in asked.query_ids for id in asked.answers[q] if id in asked.row_of}
    if len(needed) > documents:
        raise InputError(
            f"{asked.name}: {len(asked.queries)} queries have {len(needed)} answers, more than {documents} documents: "
            "ask for fewer queries or more documents"
        )
    taken = sorted(needed) + [row for row in fillers.tolist() if row not in needed][: documents - len(needed)]
    return asked.with_documents(np.sort(np.array(taken, np.int64)))


class _Corpus:
    """Documents and queries as they are gathered; a text that is there already is not taken again."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.texts: dict[str, str] = {}
        self.queries: dict[str, str] = {}
        self.answers: dict[str, dict[str, int]] = {}
        self._seen: set[str] = set()
        self._asked: set[str] = set()

    def ask(self, query: str, answer: str) -> None:
        """Take a query with its answer, if both are new, differ, and there is room."""
        key, right = plain(query), plain(answer)
        full = len(self.texts) >= self.limit
        if full or not key or not right or key == right or key in self._asked or right in self._seen:
            return
        self._asked.add(key)
        id = f"q{len(self.queries)}"
        self.queries[id] = query
        self.answers[id] = {self._add(answer): 1}

    def fill(self, texts: Iterable[str]) -> None:
        for text in texts:
            if len(self.texts) < self.limit and plain(text) and plain(text) not in self._seen:
                self._add(text)

    def _add(self, text: str) -> str:
        self._seen.add(plain(text))
        id = f"d{len(self.texts)}"
        self.texts[id] = text
        return id

    def collection(self, name: str, queries: int, about: str) -> Collection:
        for what, wanted, there in (("documents", self.limit, self.texts), ("queries", queries, self.queries)):
            if len(there) < wanted:
                raise InputError(f"{name} gives {len(there):,} {what}, and {wanted:,} were asked for: ask for fewer")
        listed, rows = list(self.texts), shuffled_rows(len(self.texts))
        ids = tuple(listed[row] for row in rows)
        return Collection(
            name, ids, tuple(self.texts[id] for id in ids), tuple(self.queries), tuple(self.queries.values()),
            self.answers, own_texts(self.texts, self.queries, self.answers), about, rows=rows,
        )  # fmt: skip
