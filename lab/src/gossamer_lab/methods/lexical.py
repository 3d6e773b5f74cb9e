"""BM25 of every query against every document, by the index's own full-text search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gossamer_lab.engine import Floats, Longs, Weight, WordIndex


@dataclass(frozen=True)
class Lexical:
    """For each query the documents that share a word with it, their BM25 as a share of the best, and its weight."""

    rows: tuple[Longs, ...]
    shares: tuple[Floats, ...]
    weights: tuple[float, ...]

    def added_to(self, cosines: Floats, first: int, weight: Weight) -> Floats:
        """cosine + weight · BM25 / (best BM25) for the queries from `first` on."""
        fused = cosines.copy()
        for place in range(len(fused)):
            query = first + place
            own = self.weights[query] if weight == "auto" else weight
            fused[place, self.rows[query]] += np.float32(own) * self.shares[query]
        return fused


def lexical(texts: Sequence[str], queries: Sequence[str]) -> Lexical:
    """BM25 of all queries."""
    rows, shares, weights = [], [], []
    words = WordIndex.of(texts)
    for query in queries:
        found, scores, weight = words.shares(query)
        rows.append(found - 1)
        shares.append(scores.astype(np.float32))
        weights.append(weight)
    return Lexical(tuple(rows), tuple(shares), tuple(weights))
