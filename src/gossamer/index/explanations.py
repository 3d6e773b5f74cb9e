"""Why documents score as they do: what `Index` knows of texts and scores, joined with what the tree knows of paths."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.explain.concepts import Concepts
from gossamer.explain.passages import READ, SHOWN, Passage, Texts, beginning
from gossamer.explain.terms import terms_of
from gossamer.index.fusion import Scope, Scored, all_scores, best_passages
from gossamer.lexical.fulltext import query_words, telling_words, words_in
from gossamer.rank.gains import Evidence, at_length_of_documents, evidence, gains, scale
from gossamer.results import Concept, ConceptStep, Explanation, Rival
from gossamer.runtime import deadline
from gossamer.store import DocumentRow, rows
from gossamer.vector_index.vector_index import VectorIndex


def texts_of(db: sqlite3.Connection, vectors: VectorIndex) -> Texts:
    """The texts behind the tree, for those who know its documents by number alone."""

    def texts(documents: Sequence[int]) -> list[Passage]:
        passages = [int(id) for id in vectors.ids_of(np.array(documents, np.int64))]
        found = rows.passage_texts(db, passages, max(READ, 4 * SHOWN))
        return [Passage(*found[passage]) for passage in passages]

    return texts


@dataclass(frozen=True)
class Asked:
    """A query, and the state it is asked of."""

    db: sqlite3.Connection
    vectors: VectorIndex
    concepts: Concepts
    q: Floats
    query: str | None
    lexical: Mapping[int, float]
    weight: float

    def describe(self, paths: Iterable[Sequence[int]]) -> list[tuple[Concept, ...]]:
        """Paths as concepts."""
        return self.concepts.describe(self.vectors.tree, texts_of(self.db, self.vectors), paths)

    def ends(self, paths: Iterable[Sequence[int]]) -> list[Concept]:
        """The concepts that paths lead to."""
        return self.concepts.last_of(self.vectors.tree, texts_of(self.db, self.vectors), paths)


@dataclass(frozen=True)
class Placed:
    """A document with its score, its place among all, where it lies, and the passage that was found."""

    found: Scored
    row: DocumentRow
    rank: int
    path: tuple[int, ...]
    way: tuple[Concept, ...]
    """The same, in words."""
    start: int
    passage: str


def place(
    asked: Asked, scored: Sequence[Scored], ranks: Iterable[int], documents: Mapping[int, DocumentRow]
) -> list[Placed]:
    """Scored documents with all that is shown of them."""
    paths = asked.vectors.paths(found.passage for found in scored)
    places = rows.passages_by_number(asked.db, (found.passage for found in scored))
    placed = []
    for found, rank, path, way in zip(scored, ranks, paths, asked.describe(paths), strict=True):
        row, at = documents[found.document], places[found.passage]
        placed.append(Placed(found, row, rank, path, way, at.start, row.text[at.start : at.stop]))
    return placed


def explain_document(asked: Asked, row: DocumentRow, k: int) -> Explanation:
    """Any document, against all others: its rank is exact."""
    documents, dense, lexical = all_scores(asked.db, asked.vectors, asked.q, asked.lexical)
    scores = dense + lexical
    at = int(np.searchsorted(documents, row.document))
    rank = _rank(asked.db, documents, scores, at, row.id)
    other = _best_other(asked.db, documents, scores, at)
    rivals = [] if other is None else [int(documents[other])]
    rank_of_rival = 1 if rank > 1 else 2
    placed = _placed(asked, {row.document: rank, **dict.fromkeys(rivals, rank_of_rival)})
    last = float(np.partition(scores, -k)[-k]) if len(scores) > k else -np.inf
    missing = max(0.0, last - float(scores[at])) if rank > k else 0.0
    rival = placed[1] if len(placed) > 1 else None
    return _explanations(asked, [(placed[0], rival)], of=len(documents), k=k, missing=missing)[0]


def explain_hits(asked: Asked, placed: Sequence[Placed]) -> list[Explanation]:
    """The answers to a search, each against the best one; the best against the second."""
    pairs = [(here, placed[0] if at else placed[1] if len(placed) > 1 else None) for at, here in enumerate(placed)]
    return _explanations(asked, pairs, of=rows.count_documents(asked.db), k=len(placed), missing=0.0)


def _placed(asked: Asked, ranks: Mapping[int, int]) -> list[Placed]:
    best = best_passages(asked.db, asked.vectors, asked.q, ranks, Scope())
    scored = []
    for document in ranks:
        dense, passage = best[document]
        scored.append(Scored(document, passage, dense, asked.lexical.get(document, 0.0)))
    return place(asked, scored, ranks.values(), rows.documents_by_number(asked.db, ranks))


def _rank(
    db: sqlite3.Connection, documents: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], at: int, id: str
) -> int:
    """1 for the best; of equal scores the lower id comes first."""
    level = documents[scores == scores[at]].tolist()
    before = sum(row.id < id for row in rows.documents_by_number(db, level).values()) if len(level) > 1 else 0
    return 1 + int((scores > scores[at]).sum()) + before


def _best_other(
    db: sqlite3.Connection, documents: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], at: int
) -> int | None:
    """Where the best document stands, leaving out the one at `at`."""
    if len(scores) < 2:
        return None
    others = scores.copy()
    others[at] = -np.inf
    level = np.flatnonzero(others == others.max())
    ids = rows.documents_by_number(db, documents[level].tolist())
    return int(min(level, key=lambda place: ids[int(documents[place])].id))


# -- putting it together ---------------------------------------------------------------------------


def _explanations(
    asked: Asked, pairs: Sequence[tuple[Placed, Placed | None]], *, of: int, k: int, missing: float
) -> list[Explanation]:
    t, x = asked.vectors.tree.arrays, asked.vectors.as_seen(asked.q)
    if asked.vectors.whitener is None:
        x = at_length_of_documents(t, x)
    seen = evidence(t, x, (node for here, _ in pairs for node in here.path))
    siblings = _siblings(asked, pairs, seen)
    words = _words(asked, [here.row.document for here, _ in pairs])
    held_by_query = terms_of(asked.query or "").keys()
    length = float(np.linalg.norm(x.astype(np.float64)))
    explained = []
    for here, other in pairs:
        deadline.check()
        found = here.found
        path = _steps(here.way, scale(t, length, here.path[-1]), seen, siblings)
        parting = None if other is None else _parting(here.path, other.path)
        deciding = _deciding(path, parting)
        explained.append(
            Explanation(
                id=here.row.id,
                query=asked.query,
                rank=here.rank,
                of=of,
                score=found.score,
                dense=found.dense,
                lexical=found.lexical,
                weight=asked.weight,
                words=words[here.row.document],
                passage=here.passage,
                start=here.start,
                base=found.dense - sum(step.contribution for step in path),
                path=path,
                decided_at=parting,
                rival=None if other is None else _rival(other, parting),
                query_terms=_held(deciding, held_by_query),
                document_terms=_held(deciding, terms_of(here.passage).keys()),
                missing=missing,
                k=k,
            )
        )
    return explained


def _words(asked: Asked, documents: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Words of the query that count, as far as each document holds them."""
    if not asked.weight or not asked.query:
        return dict.fromkeys(documents, ())
    counting = telling_words(asked.db, query_words(asked.query), rows.count_documents(asked.db))
    return words_in(asked.db, counting, documents)


def _siblings(
    asked: Asked, pairs: Sequence[tuple[Placed, Placed | None]], seen: Mapping[int, Evidence]
) -> dict[int, Concept]:
    """The best sibling of every concept on the paths to the documents."""
    paths = {
        rival: (*here.path[:at], rival)
        for here, _ in pairs
        for at, node in enumerate(here.path)
        if (rival := seen[node].rival) is not None
    }
    return dict(zip(paths, asked.ends(paths.values()), strict=True))


def _steps(
    way: Sequence[Concept], worth: float, seen: Mapping[int, Evidence], siblings: Mapping[int, Concept]
) -> tuple[ConceptStep, ...]:
    """`worth`: of a gain, on the scale of the score."""
    steps = []
    for concept, gain in zip(way, gains([seen[concept.id].log_p for concept in way]), strict=True):
        here = seen[concept.id]
        rival = None if here.rival is None else siblings[here.rival]
        steps.append(ConceptStep(concept, here.log_p, gain, worth * gain, here.margin, rival))
    return tuple(steps)


def _parting(path: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    """The first step at which two paths differ."""
    return next((at for at, (one, two) in enumerate(zip_longest(path, other)) if one != two), None)


def _deciding(path: Sequence[ConceptStep], parting: int | None) -> Concept:
    """The concept at the parting, or above it the first that has terms."""
    last = len(path) - 1 if parting is None else parting
    return next((step.concept for step in reversed(path[: last + 1]) if step.concept.terms), path[0].concept)


def _rival(other: Placed, parting: int | None) -> Rival:
    concept = other.way[-1] if parting is None else other.way[parting]
    return Rival(other.row.id, beginning(other.passage, SHOWN), other.rank, other.found.score, concept)


def _held(concept: Concept, held: Set[str]) -> tuple[str, ...]:
    """The terms of a concept that a text holds, in whatever form."""
    return tuple(term for term in concept.terms if not held.isdisjoint(_keys(term)))


@lru_cache(maxsize=1 << 12)
def _keys(term: str) -> frozenset[str]:
    return frozenset(terms_of(term))
