"""BM25 of every query against every document, by the index's own full-text search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gossamer_lab.engine import Floats, Longs, WordIndex


@dataclass(frozen=True)
class Lexical:
    """For each query the documents that share a word with it, and their BM25 as a share of the best."""

    rows: tuple[Longs, ...]
    shares: tuple[Floats, ...]

    def added_to(self, cosines: Floats, first: int, weight: float) -> Floats:
        """cosine + weight · BM25 / (best BM25) for the queries from `first` on."""
        fused = cosines.copy()
        for place in range(len(fused)):
            fused[place, self.rows[first + place]] += np.float32(weight) * self.shares[first + place]
        return fused


def lexical(texts: Sequence[str], queries: Sequence[str]) -> Lexical:
    """BM25 of all queries."""
    rows, shares = [], []
    words = WordIndex.of(texts)
    for query in queries:
        found, scores = words.shares(query)
        rows.append(found - 1)
        shares.append(scores.astype(np.float32))
    return Lexical(tuple(rows), tuple(shares))
