"""Scored documents → explanations: where each lies in the tree, what each step adds, and what it lost or won against.

    score = base + Σ contribution of each step of the path + opening + lexical

The contribution of a step is its gain, log p(x|c) − log p(x|parent), on the scale of the cosine (see `rank.gains`).
Steps are those of the shown path: gains telescope, so they add up to the same whichever levels are left out.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from gossamer.explain.passages import SHOWN
from gossamer.explain.terms import terms_of
from gossamer.index.query import Query, View
from gossamer.index.ranking import AllScores
from gossamer.plain_text import beginning
from gossamer.rank.fusion import Scored
from gossamer.rank.gains import Evidence, at_length_of_documents, evidence_shown, gains, scale
from gossamer.results import Concept, ConceptStep, Explanation, Rival
from gossamer.runtime import deadline
from gossamer.store import DocumentRow, rows
from gossamer.store.rows import ReadPassage


class Placed(NamedTuple):
    """A scored document with its path and the text of its best passage."""

    found: Scored
    row: DocumentRow
    rank: int
    """1 for the best document."""
    path: tuple[int, ...]
    """The shown path to the leaf of the passage."""
    concepts: tuple[Concept, ...]
    """The same path in words."""
    start: int
    """Where the passage begins in the text, in characters."""
    passage: str


def place(view: View, scored: Sequence[Scored], ranks: Iterable[int], read: Mapping[int, ReadPassage]) -> list[Placed]:
    """Scored documents with their ranks, paths and passages, which were read."""
    paths = view.paths_of([found.passage for found in scored])
    placed = []
    for found, rank, path, concepts in zip(scored, ranks, paths, view.describe(paths, read), strict=True):
        start, stop, row = read[found.passage]
        placed.append(Placed(found, row, rank, path, concepts, start, row.text[start:stop]))
    return placed


def explain_document(view: View, query: Query, row: DocumentRow, k: int) -> Explanation:
    """Any document, compared with all others: its rank is exact."""
    scores = AllScores(view, query)
    at = int(np.searchsorted(scores.documents, row.document))
    (mine,) = scores.exact(np.array([at]))
    rank = _rank(view, scores, mine, row.id)
    scored = [mine, *_best_other(view, scores, at)]
    read = view.read([found.passage for found in scored])
    placed = place(view, scored, [rank, 1 if rank > 1 else 2][: len(scored)], read)
    last = -np.inf
    if rank > k:
        last = sorted((found.score for found in scores.exact(scores.best(k))), reverse=True)[k - 1]
    missing = max(0.0, last - mine.score)
    rival = placed[1] if len(placed) > 1 else None
    return _explanations(view, query, [(placed[0], rival)], of=len(scores.documents), k=k, missing=missing)[0]


def explain_hits(view: View, query: Query, placed: Sequence[Placed]) -> list[Explanation]:
    """The answers to a search, best first: each compared with the best one, and that with the second."""
    pairs = [(here, placed[0] if at else placed[1] if len(placed) > 1 else None) for at, here in enumerate(placed)]
    return _explanations(view, query, pairs, of=rows.count_documents(view.db), k=len(placed), missing=0.0)


def _rank(view: View, scores: AllScores, mine: Scored, id: str) -> int:
    """The rank of a document: 1 for the best; of equal scores the lower id comes first."""
    above, around = scores.around(mine.score)
    documents, close = scores.exact_scores(around)
    better = above + int(np.count_nonzero(close > mine.score))
    level = documents[(close == mine.score) & (documents != mine.document)].tolist()
    before = sum(row.id < id for row in rows.documents_by_number(view.db, level).values()) if level else 0
    return 1 + better + before


def _best_other(view: View, scores: AllScores, at: int) -> list[Scored]:
    """The best document but the one at place `at`; none where there is no other."""
    others = scores.exact(scores.best(1, but=at))
    level = [each for each in others if each.score == max(other.score for other in others)]
    if len(level) < 2:
        return level
    ids = rows.documents_by_number(view.db, [each.document for each in level])
    return [min(level, key=lambda each: ids[each.document].id)]


def _explanations(
    view: View, query: Query, pairs: Sequence[tuple[Placed, Placed | None]], *, of: int, k: int, missing: float
) -> list[Explanation]:
    """Each document explained against its rival, if it has one."""
    t, x = view.vectors.tree.arrays, query.projected
    if not view.vectors.ranks_by_cosine:
        x = at_length_of_documents(t, x)
    seen = evidence_shown(t, x, [here.path for here, _ in pairs])
    siblings = _siblings(view, pairs, seen)
    words = query.lexical.words_in(np.array([here.row.document for here, _ in pairs], np.int64))
    language = view.words.language
    held_by_query = terms_of(query.text or "", language).keys()
    length = float(np.linalg.norm(x.astype(np.float64)))
    explained = []
    for here, other in pairs:
        deadline.check()
        found = here.found
        path = _steps(here.concepts, scale(t, length, here.path[-1]), seen, siblings)
        parting = None if other is None else _parting(here.path, other.path)
        deciding = _deciding(path, parting)
        explained.append(
            Explanation(
                id=here.row.id,
                query=query.text,
                rank=here.rank,
                of=of,
                score=found.dense + found.lexical,
                dense=found.dense,
                lexical=found.lexical,
                weight=query.lexical.weight,
                words=words[here.row.document],
                passage=here.passage,
                start=here.start,
                base=found.cosine - sum(step.contribution for step in path),
                opening=found.opening,
                path=path,
                decided_at=parting,
                rival=None if other is None else _rival(other, parting),
                query_terms=_held(deciding, held_by_query, language),
                document_terms=_held(deciding, terms_of(here.passage, language).keys(), language),
                missing=missing,
                k=k,
            )
        )
    return explained


def _siblings(
    view: View, pairs: Sequence[tuple[Placed, Placed | None]], seen: Mapping[int, Evidence]
) -> dict[int, Concept]:
    """The best siblings of all concepts on the paths to the documents, by node."""
    paths = {
        rival: (*here.path[:at], rival)
        for here, _ in pairs
        for at, node in enumerate(here.path)
        if (rival := seen[node].rival) is not None
    }
    return dict(zip(paths, view.last_of(paths.values()), strict=True))


def _steps(
    path: Sequence[Concept], factor: float, seen: Mapping[int, Evidence], siblings: Mapping[int, Concept]
) -> tuple[ConceptStep, ...]:
    """The steps of a path; a gain times `factor` is its contribution to the score."""
    steps = []
    for concept, gain in zip(path, gains([seen[concept.id].log_p for concept in path]), strict=True):
        here = seen[concept.id]
        rival = None if here.rival is None else siblings[here.rival]
        steps.append(ConceptStep(concept, here.log_p, gain, factor * gain, here.margin, rival))
    return tuple(steps)


def _parting(path: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    """The position of the first step at which two paths differ; None for equal paths."""
    return next((at for at, (one, two) in enumerate(zip_longest(path, other)) if one != two), None)


def _deciding(path: Sequence[ConceptStep], parting: int | None) -> Concept:
    """The concept where the paths part, or the nearest one above it that has terms."""
    last = len(path) - 1 if parting is None else parting
    return next((step.concept for step in reversed(path[: last + 1]) if step.concept.terms), path[0].concept)


def _rival(other: Placed, parting: int | None) -> Rival:
    concept = other.concepts[-1 if parting is None else parting]
    found = other.found
    return Rival(other.row.id, beginning(other.passage, SHOWN), other.rank, found.score, concept, found.lexical)


def _held(concept: Concept, held: Set[str], language: str) -> tuple[str, ...]:
    """The terms of a concept that a text holds in whatever form; `held` are the keys of the text's terms."""
    return tuple(term for term in concept.terms if not held.isdisjoint(terms_of(term, language)))
