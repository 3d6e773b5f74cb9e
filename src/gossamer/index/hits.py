"""Rankings → hits: documents with their paths, the words that match and, if wanted, explanations."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

from gossamer.index.explanations import Placed, explain_hits, place
from gossamer.index.query import Query, View
from gossamer.index.ranking import Ranking
from gossamer.rank.fusion import Scored
from gossamer.results import Explanation, Hit, Hits
from gossamer.store.rows import ReadPassage, read_metadata


def hits_of(view: View, queries: Sequence[Query], rankings: Sequence[Ranking], k: int, *, explain: bool) -> list[Hits]:
    """The k best of each ranking. What all of them show is read and put into words together."""
    read = view.read(list({found.passage for ranking in rankings for found in ranking.found}))
    best = [ranking.found[:k] if ranking.in_order else _best(ranking.found, k, read) for ranking in rankings]
    ranks = chain.from_iterable(range(1, len(found) + 1) for found in best)
    placed = place(view, list(chain(*best)), ranks, read)
    ends = accumulate(map(len, best), initial=0)
    answers = [placed[start:stop] for start, stop in pairwise(ends)]
    return [_hits(view, *each, explain) for each in zip(queries, rankings, answers, strict=True)]


def _best(ranked: Iterable[Scored], k: int, read: Mapping[int, ReadPassage]) -> list[Scored]:
    """The k best, of equal scores those with the lower ids."""
    return sorted(ranked, key=lambda found: (-found.score, read[found.passage].document.id))[:k]


def _hits(view: View, query: Query, ranking: Ranking, placed: Sequence[Placed], explain: bool) -> Hits:
    why: Sequence[Explanation | None] = explain_hits(view, query, placed) if explain else [None] * len(placed)
    matches = query.lexical.matches_in([each.passage for each in placed])
    metadata = read_metadata([each.row for each in placed])
    return Hits(map(_hit, placed, metadata, matches, why), visited=ranking.visited)


def _hit(
    placed: Placed, metadata: dict[str, Any], matches: tuple[tuple[int, int], ...], why: Explanation | None
) -> Hit:
    return Hit(
        id=placed.row.id,
        text=placed.row.text,
        score=placed.found.score,
        metadata=metadata,
        path=placed.concepts,
        passage=placed.passage,
        start=placed.start,
        dense=placed.found.dense,
        lexical=placed.found.lexical,
        matches=matches,
        explanation=why,
        boost=placed.found.boost,
    )
