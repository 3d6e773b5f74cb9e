"""BM25 of every query against every document, by the index's own full text search."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gossamer.encoders import Progress
from gossamer.lexical.fulltext import bm25, query_words
from gossamer_lab.evaluate.collection import Rows

_TABLE = "CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize='porter unicode61 remove_diacritics 2')"
"""As the index has it; a test holds the two together."""


@dataclass(frozen=True)
class Lexical:
    """For each query the documents that share a word with it, and their BM25 as a share of the best."""

    rows: tuple[Rows, ...]
    shares: tuple[npt.NDArray[np.float32], ...]

    def added_to(self, cosines: npt.NDArray[np.float32], first: int, weight: float) -> npt.NDArray[np.float32]:
        """cosine + weight · BM25 / (best BM25) for the queries from `first` on."""
        fused = cosines.copy()
        for place in range(len(fused)):
            fused[place, self.rows[first + place]] += np.float32(weight) * self.shares[first + place]
        return fused


def lexical(texts: Sequence[str], queries: Sequence[str], progress: Progress | None = None) -> Lexical:
    """Count the words of the texts, and score all queries."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute(_TABLE)
        db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts, 1))
        rows, shares = [], []
        for number, query in enumerate(queries, 1):
            found = bm25(db, query_words(query), len(texts))
            scores = np.fromiter(found.values(), np.float64, len(found))
            rows.append(np.fromiter(found, np.int64, len(found)) - 1)
            shares.append((scores / scores.max(initial=1e-300)).astype(np.float32))
            if progress is not None and number % 50 == 0:
                progress(number, len(queries))
        return Lexical(tuple(rows), tuple(shares))
    finally:
        db.close()
