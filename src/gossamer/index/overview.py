"""A corpus seen from above: its topics, the concepts a query fits, and whether a query fits at all."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Longs
from gossamer.explain.concepts import Concepts
from gossamer.explain.matching import matching
from gossamer.explain.novelty import SAMPLE, Usual, verdict
from gossamer.explain.sampling import thinned
from gossamer.index.explanations import texts_of
from gossamer.results import Concept, ConceptMatch, Novelty, Topics
from gossamer.runtime import deadline
from gossamer.store import rows
from gossamer.tree.paths import path_to
from gossamer.vector_index.vector_index import VectorIndex

_NEIGHBOURS = 16
"""Passages looked at for the nearest one of another document."""


def topics(
    db: sqlite3.Connection, vectors: VectorIndex, concepts: Concepts, cut: Sequence[int], *, assign: bool
) -> Topics:
    """The groups that the nodes of a cut make. A document goes where most of its passages are."""
    tree, t = vectors.tree, vectors.tree.arrays
    paths = [path_to(tree, node) for node in cut]
    groups = sorted(concepts.last_of(tree, texts_of(db, vectors), paths), key=lambda group: (-group.size, group.id))
    left = sum(int(t.size[node]) * float(t.h[node]) for node in cut) / tree.n_documents
    assignments = _assignments(db, vectors, groups) if assign else {}
    return Topics(tuple(groups), assignments, float(t.h[tree.root]) - left)


def _assignments(db: sqlite3.Connection, vectors: VectorIndex, groups: Sequence[Concept]) -> dict[str, int]:
    group_of = {passage: group.id for group in groups for passage in vectors.documents_below(group.id)}
    place = {group.id: at for at, group in enumerate(groups)}
    votes: dict[str, Counter[int]] = {}
    for passage, id in rows.ids_of_passages(db):
        deadline.check()
        votes.setdefault(id, Counter())[group_of[passage]] += 1
    # Of groups with equally many, the larger one: the order does not depend on that of the passages.
    return {id: min(found, key=lambda group: (-found[group], place[group])) for id, found in votes.items()}


def matches(db: sqlite3.Connection, vectors: VectorIndex, concepts: Concepts, q: Floats, k: int) -> list[ConceptMatch]:
    """The concepts a query fits, best first."""
    tree = vectors.tree
    found = matching(tree.arrays, vectors.as_seen(q), k)
    ways = concepts.describe(tree, texts_of(db, vectors), [path_to(tree, node) for node, _ in found])
    return [ConceptMatch(way[-1], score, way) for way, (_, score) in zip(ways, found, strict=True)]


# -- novelty ---------------------------------------------------------------------------------------
# Likeness is the cosine of vectors as the encoder made them. Whitening takes the corpus's mean off and keeps the
# directions in which documents differ: what is far from all of them is told by just the rest (AUROC of banking77
# against bbc_news, MiniLM: .90 whitened, .98 raw).


def usual(db: sqlite3.Connection, vectors: VectorIndex) -> Usual:
    """How like its nearest other document a document of the corpus usually is."""
    everything = _everything(vectors)
    sample = thinned(everything, SAMPLE)
    if vectors.whitener is None:
        found = _nearest_of_all(db, vectors, sample, everything)
    else:
        found = _nearest_by_search(db, vectors, sample)
    return Usual(np.sort(found[np.isfinite(found)]), vectors.tree.n_documents)


def likeness(db: sqlite3.Connection, vectors: VectorIndex, q: Floats) -> float:
    """The cosine of a query to the nearest passage."""
    if vectors.whitener is None:
        near = _units(_stored(vectors, _everything(vectors)))
    else:
        found = vectors.search(q, k=_NEIGHBOURS).ids[0]
        near = _units(rows.vectors_of(db, found[found != -1].tolist())[1])
    return float((near @ _units(q)[0]).max())


def novelty(db: sqlite3.Connection, vectors: VectorIndex, concepts: Concepts, q: Floats, known: Usual) -> Novelty:
    """A query against what is usual."""
    score = likeness(db, vectors, q)
    nearest = matches(db, vectors, concepts, q, 1)[0].concept
    percentile, confidence = known.percentile(score), known.confidence(score)
    where = f"“{nearest.label}”"
    return Novelty(percentile, confidence, score, nearest, verdict(percentile, confidence, len(known.likeness), where))


def _nearest_of_all(db: sqlite3.Connection, vectors: VectorIndex, sample: Longs, everything: Longs) -> Doubles:
    """The cosine of each sampled passage to the nearest one of another document, all compared."""
    owners = rows.owners(db)
    owner = np.array([owners[int(id)] for id in vectors.ids_of(everything)], np.int64)
    units, places = _units(_stored(vectors, everything)), np.searchsorted(everything, sample)
    cosines = units[places] @ units.T
    cosines[owner[places][:, None] == owner[None, :]] = -np.inf
    nearest: Doubles = cosines.max(axis=1)
    return nearest


def _nearest_by_search(db: sqlite3.Connection, vectors: VectorIndex, sample: Longs) -> Doubles:
    """The same among the nearest few in the whitened space, which a guided search finds."""
    passages, raw = rows.vectors_of(db, [int(id) for id in vectors.ids_of(sample)])
    found: Longs = vectors.search(raw, k=_NEIGHBOURS).ids
    named = np.union1d(found[found != -1], passages)
    owners = rows.owners_of(db, named.tolist())
    units = dict(zip(named.tolist(), _units(rows.vectors_of(db, named.tolist())[1]), strict=True))
    nearest = np.full(len(passages), -np.inf)
    for at, (passage, near) in enumerate(zip(passages.tolist(), found.tolist(), strict=True)):
        deadline.check()
        near = [other for other in near if other not in (-1, passage)]
        others = [other for other in near if owners[other] != owners[passage]]
        # Where all neighbours are of one long document, the furthest of them stands for those beyond.
        compared = others or near[-1:]
        nearest[at] = max((float(units[passage] @ units[other]) for other in compared), default=-np.inf)
    return nearest


def _everything(vectors: VectorIndex) -> Longs:
    """All documents of the tree."""
    alive: Longs = np.flatnonzero(vectors.tree.arrays.leaf[: vectors.tree.next_document] != NONE).astype(np.int64)
    return alive


def _stored(vectors: VectorIndex, documents: Longs) -> Floats:
    t = vectors.tree.arrays
    return t.vectors[t.row[t.leaf[documents]]]


def _units(E: Floats) -> Doubles:
    """Of length 1; zero stays zero."""
    wide = E.astype(np.float64)
    units: Doubles = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-300)
    return units
