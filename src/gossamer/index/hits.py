"""A ranking → hits: documents with their paths, the words that match and, if wanted, explanations."""

from collections.abc import Sequence

from gossamer.index.explanations import Placed, explain_hits, place
from gossamer.index.query import Query, View
from gossamer.index.ranking import Ranking
from gossamer.results import Explanation, Hit, Hits
from gossamer.store import rows


def hits_of(view: View, query: Query, ranking: Ranking, k: int, *, explain: bool) -> Hits:
    """The k best of a ranking; of equal scores the lower id comes first."""
    ranked = ranking.found
    if len(ranked) > k:  # those that score as the last one are read too: their ids decide
        least = ranked[k - 1].score
        ranked = [found for found in ranked if found.score >= least]
    documents = rows.documents_by_number(view.db, (found.document for found in ranked))
    ranked = sorted(ranked, key=lambda found: (-found.score, documents[found.document].id))[:k]
    placed = place(view, ranked, range(1, len(ranked) + 1), documents)
    why: Sequence[Explanation | None] = [None] * len(placed)
    if explain:
        why = explain_hits(view, query, placed)
    matches = query.lexical.matches_in([each.passage for each in placed])
    return Hits(map(_hit, placed, matches, why), visited=ranking.visited)


def _hit(placed: Placed, matches: tuple[tuple[int, int], ...], why: Explanation | None) -> Hit:
    return Hit(
        id=placed.row.id,
        text=placed.row.text,
        score=placed.found.score,
        metadata=placed.row.read_metadata(),
        path=placed.concepts,
        passage=placed.passage,
        start=placed.start,
        dense=placed.found.dense,
        lexical=placed.found.lexical,
        matches=matches,
        explanation=why,
    )
