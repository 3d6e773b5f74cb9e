"""Answers: documents that were ranked, read from disk, each with its path and, if wanted, its reasons."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.index.explanations import Asked, Placed, explain_hits, place
from gossamer.index.fusion import Ranking
from gossamer.results import Explanation, Hit, Hits
from gossamer.store import rows


def hits_of(asked: Asked, ranking: Ranking, k: int, *, explain: bool) -> Hits:
    """The k best of what was ranked, with all there is to say about each."""
    ranked = ranking.found
    if len(ranked) > k:  # what ties with the last one is looked at too: ids decide
        least = ranked[k - 1].score
        ranked = [found for found in ranked if found.score >= least]
    documents = rows.documents_by_number(asked.db, (found.document for found in ranked))
    ranked = sorted(ranked, key=lambda found: (-found.score, documents[found.document].id))[:k]
    placed = place(asked, ranked, range(1, len(ranked) + 1), documents)
    why: Sequence[Explanation | None] = explain_hits(asked, placed) if explain else [None] * len(placed)
    return Hits(map(_hit, placed, why), visited=ranking.visited)


def _hit(placed: Placed, why: Explanation | None) -> Hit:
    return Hit(
        id=placed.row.id,
        text=placed.row.text,
        score=placed.found.score,
        metadata=placed.row.read_metadata(),
        path=placed.way,
        passage=placed.passage,
        start=placed.start,
        dense=placed.found.dense,
        lexical=placed.found.lexical,
        explanation=why,
    )
