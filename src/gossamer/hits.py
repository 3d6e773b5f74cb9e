"""Answers: documents that were ranked, read from disk, each with its path and, if wanted, its reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gossamer.hybrid import Ranking, Scored
from gossamer.reasons import Asked, explain_hits
from gossamer.results import Concept, Explanation, Hit, Hits
from gossamer.store import DocumentRow, PassageRow, rows


def hits_of(asked: Asked, ranking: Ranking, k: int, *, explain: bool) -> Hits:
    """The k best of what was ranked, with all there is to say about each."""
    ranked = ranking.found
    if len(ranked) > k:  # what ties with the last one is looked at too: ids decide
        least = ranked[k - 1].score
        ranked = [found for found in ranked if found.score >= least]
    documents = rows.documents_by_number(asked.db, (found.document for found in ranked))
    ranked = sorted(ranked, key=lambda found: (-found.score, documents[found.document].id))[:k]
    places = rows.passages_by_number(asked.db, (found.passage for found in ranked))
    paths = asked.describe(asked.vectors.paths(found.passage for found in ranked))
    why: Sequence[Explanation | None] = explain_hits(asked, ranked, documents) if explain else [None] * len(ranked)
    found = (
        _hit(found, documents[found.document], places[found.passage], path, reason)
        for found, path, reason in zip(ranked, paths, why, strict=True)
    )
    return Hits(found, visited=ranking.visited)


def _hit(
    found: Scored, document: DocumentRow, place: PassageRow, path: tuple[Concept, ...], why: Explanation | None
) -> Hit:
    return Hit(
        id=document.id,
        text=document.text,
        score=found.score,
        metadata=json.loads(document.metadata),
        path=path,
        passage=document.text[place.start : place.stop],
        start=place.start,
        dense=found.dense,
        lexical=found.lexical,
        explanation=why,
    )
