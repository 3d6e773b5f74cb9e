"""A corpus as a whole: its topics, the concepts a query fits, and how unusual a query is.

In: one state of an index, and a cut of its tree or a query. Out: `Topics`, `ConceptMatch`es or `Novelty`.

Novelty compares vectors as the encoder made them. Whitening removes the corpus's mean and keeps the directions in
which documents differ, but what is far from all documents differs in the others (AUROC of banking77 against bbc_news
with MiniLM: .90 whitened, .98 raw).
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Longs, PassageNumber
from gossamer.errors import ParameterError, StateError
from gossamer.explain.matching import matching
from gossamer.explain.novelty import SAMPLE, Baseline, verdict
from gossamer.explain.sampling import sample
from gossamer.filters import Node
from gossamer.index.query import Predicate, Query, View, scope_of
from gossamer.index.state import IndexState
from gossamer.results import Concept, ConceptChange, ConceptMatch, IndexInfo, Novelty, Topics
from gossamer.runtime import deadline
from gossamer.store import rows
from gossamer.store.times import operation_at
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import shown_concepts, shown_paths
from gossamer.tree.cuts import Group
from gossamer.tree.views import paths_to
from gossamer.vector_index.vector_index import VectorIndex

_NEIGHBOURS: Final = 16
"""Nearest passages in the whitened space that are compared to find the nearest one by raw vectors."""


def topics(view: View, cut: Sequence[Group], *, assign: bool) -> Topics:
    """The groups of a cut in words. A document belongs where most of its passages are."""
    t = view.vectors.tree.arrays
    concepts = view.last_of(shown_paths(t, [group.node for group in cut]))
    described = tuple(_described(t, *each) for each in zip(cut, concepts, strict=True))
    left = sum(group.cost for group in cut) / view.vectors.tree.n_documents
    utility = float(t.h[view.vectors.tree.root]) - left
    return Topics(described, _assignments(view, cut) if assign else {}, utility)


def _described(t: TreeArrays, group: Group, concept: Concept) -> Concept:
    """The concept of a group, with its size and children where some are groups of their own."""
    if not group.without:
        return concept
    paths = paths_to(t, concept.children)  # whole, since a child that is left out need not be a shown one
    children = tuple(path[-1] for path in paths if not set(group.without).intersection(path))
    return replace(concept, size=group.size, children=children)


def _assignments(view: View, cut: Sequence[Group]) -> dict[str, int]:
    t = view.vectors.tree.arrays
    group_of = {passage: group.node for group in cut for passage in view.vectors.ids_of(group.documents(t))}
    position = {group.node: at for at, group in enumerate(cut)}
    votes: dict[str, Counter[int]] = {}
    for passage, id in rows.ids_of_passages(view.db):
        deadline.check()
        votes.setdefault(id, Counter())[group_of[passage]] += 1
    # Of groups with equally many passages the larger one, so that the order of passages does not matter.
    return {id: min(found, key=lambda group: (-found[group], position[group])) for id, found in votes.items()}


def groups_of(state: IndexState, topics: Topics, texts: list[str]) -> list[int]:
    """The group of a cut that each text would be in: that of the passage nearest to it."""
    nodes = {concept.id for concept in topics.concepts}
    with state.view_for_vectors(texts) as (view, E):
        paths = [] if view is None or not texts else view.vectors.paths(view.vectors.search(E, 1).ids[:, 0])
    found = [next((node for node in reversed(path) if node in nodes), None) for path in paths]
    if None in found:
        raise StateError("the tree has changed since these topics were made: make them again with Index.topics")
    return [node for node in found if node is not None]


def ids(db: sqlite3.Connection, view: View | None, where: Node | Predicate | None, within: int | None) -> list[str]:
    """The ids of documents in order of arrival: all, or those that satisfy a filter and lie below a concept."""
    restriction = None if view is None else scope_of(view, where, within).restriction
    if view is None or restriction is None:
        return [row[0] for row in db.execute("SELECT id FROM documents ORDER BY document")]
    numbers = view.table.owning(restriction.flags).tolist()
    found = rows.documents_by_number(db, numbers)
    return [found[number].id for number in numbers]


def changes(view: View, since: int | datetime) -> list[ConceptChange]:
    """What became of concepts since an operation or a time: of those that are gone, and of those that are shown now.

    A time from before changes were recorded stands for the first record.
    """
    if isinstance(since, datetime):
        since = max(operation_at(view.db, since.timestamp()), view.vectors.state.history.first or 0)
    elif since > view.operation:
        raise ParameterError(f"since={since:,} is still to come: the newest operation is number {view.operation:,}")
    since = min(since, view.vectors.operation)  # later ones changed no vectors
    shown = shown_concepts(view.vectors.tree.skeleton)
    return [change for change in view.vectors.changes(since) if change.id in shown or not change.size_after]


def assigned(view: View | None, E: Floats) -> list[tuple[Concept, ...]]:
    """The concepts that documents with these vectors would lie in, as paths that are shown; none in an empty index."""
    if view is None:
        return [() for _ in E]
    ends = [path[-1] for path in view.vectors.assign(E)] if len(E) else []
    return view.describe(shown_paths(view.vectors.tree.arrays, ends))


def matches(view: View, query: Query, k: int) -> list[ConceptMatch]:
    """At most k concepts that a query fits, best first."""
    tree = view.vectors.tree
    found = matching(tree.arrays, query.projected, k)
    paths = view.describe(shown_paths(tree.arrays, [node for node, _ in found]))
    return [ConceptMatch(path[-1], score, path) for path, (_, score) in zip(paths, found, strict=True)]


def novelty(view: View, query: Query, baseline: Baseline) -> Novelty:
    """How unusual a query is."""
    score = nearest_cosine(view, query)
    nearest = matches(view, query, 1)[0].concept
    percentile, confidence = baseline.percentile(score), baseline.confidence(score)
    text = verdict(percentile, confidence, len(baseline.cosines), nearest.label)
    return Novelty(percentile, confidence, score, nearest, text)


def nearest_cosine(view: View, query: Query) -> float:
    """The cosine of a query to the nearest passage, by raw vectors."""
    if not view.vectors.ranks_by_cosine:
        near = _stored(view.vectors, _all_documents(view.vectors))
    else:
        found = view.vectors.nearest(query.projected[None], _NEIGHBOURS).documents[0]
        near = rows.vectors_of(view.db, view.passages(found[found != NONE]))[1]
    return float((_units(near) @ _units(query.vector[None])[0]).max())


def baseline(state: IndexState, view: View) -> Baseline:
    """What novelty is measured against: computed when first needed, and again once the index has grown by a tenth."""
    known = state.baseline
    if known is None or known[0] is not view.vectors or not known[1].holds(view.vectors.tree):
        known = state.baseline = (view.vectors, _new_baseline(view))
    return known[1]


def _new_baseline(view: View) -> Baseline:
    """The cosines of a sample of passages, each to the nearest one of another document."""
    everything = _all_documents(view.vectors)
    sampled = sample(everything, SAMPLE)
    if not view.vectors.ranks_by_cosine:
        found = _nearest_of_all(view, sampled, everything)
    else:
        found = _nearest_by_search(view, sampled)
    return Baseline(np.sort(found[np.isfinite(found)]), view.vectors.tree.n_documents)


def _nearest_of_all(view: View, sampled: Longs, everything: Longs) -> Doubles:
    """The cosine of each sampled passage to the nearest one of another document, all compared."""
    owner = view.table.owners(everything)
    units, places = _units(_stored(view.vectors, everything)), np.searchsorted(everything, sampled)
    cosines = units[places] @ units.T
    cosines[owner[places][:, None] == owner[None, :]] = -np.inf
    nearest: Doubles = cosines.max(axis=1)
    return nearest


def _nearest_by_search(view: View, sampled: Longs) -> Doubles:
    """The same among the nearest few passages in the whitened space, which a guided search finds."""
    passages, raw = rows.vectors_of(view.db, [PassageNumber(int(id)) for id in view.vectors.ids_of(sampled)])
    found: Longs = view.vectors.search(raw, k=_NEIGHBOURS).ids
    named = np.union1d(found[found != -1], passages)
    owners = dict(zip(named.tolist(), view.table.owners(view.vectors.numbers_of(named.tolist())).tolist(), strict=True))
    units = dict(zip(named.tolist(), _units(rows.vectors_of(view.db, named.tolist())[1]), strict=True))
    nearest = np.full(len(passages), -np.inf)
    for at, (passage, near) in enumerate(zip(passages.tolist(), found.tolist(), strict=True)):
        deadline.check()
        near = [other for other in near if other not in (-1, passage)]
        others = [other for other in near if owners[other] != owners[passage]]
        # Where all neighbours are of the same long document, the furthest of them stands for those beyond.
        compared = others or near[-1:]
        nearest[at] = max((float(units[passage] @ units[other]) for other in compared), default=-np.inf)
    return nearest


def _all_documents(vectors: VectorIndex) -> Longs:
    """All documents of the tree, in ascending order."""
    alive: Longs = np.flatnonzero(vectors.tree.skeleton.leaf[: vectors.tree.next_document] != NONE).astype(np.int64)
    return alive


def _stored(vectors: VectorIndex, documents: Longs) -> Floats:
    """The vectors of documents in the tree's space."""
    t = vectors.tree.skeleton
    return t.vectors[t.row[t.leaf[documents]]]


def _units(E: Floats) -> Doubles:
    """Rows scaled to length 1; zero stays zero."""
    wide = E.astype(np.float64)
    units: Doubles = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-300)
    return units


def info(state: IndexState, db: sqlite3.Connection) -> IndexInfo:
    """What an index is and what it takes."""
    store, settings, vectors = state.store, state.settings, state.vectors
    disk = store.bytes()
    vector_bytes = 0 if vectors is None else 4 * len(vectors) * (settings.dim or 0)
    inside = {"vectors in documents": vector_bytes, "free in documents": store.free_bytes()} if disk else {}
    return IndexInfo(
        path=None if store.layout is None else str(store.layout.folder),
        documents=rows.count_documents(db),
        passages=0 if vectors is None else len(vectors),
        concepts=0 if vectors is None else vectors.tree.n_nodes - int(vectors.tree.skeleton.meta[Meta.LEAVES]),
        encoder=settings.encoder,
        dim=settings.dim,
        whitened=vectors is not None and vectors.whitener is not None,
        operation=state.tree.seq,
        snapshots=tuple(store.snapshots()),
        bytes=sum(disk.values()),
        disk=disk | inside,
        memory=_memory(state),
        created=settings.created,
        written_by=settings.written_by,
        degraded=state.tree.degraded,
    )


def _memory(state: IndexState) -> dict[str, int]:
    """Bytes of the arrays of an open index, by part."""
    vectors, words = state.vectors, state.tree.words
    parts: dict[str, Iterable[Any]] = {"words": (*words.sequences, *words.postings, words.numbers, words.holders)}
    if vectors is not None:
        t, graph = vectors.tree.skeleton, vectors.state.graph
        parts["vectors"] = [t.vectors]
        parts["moments of concepts"] = [t.mean, t.m2] if vectors.tree.has_moments else []
        parts["tree"] = [each for each in t if each is not t.vectors and each is not t.mean and each is not t.m2]
        if graph is not None:
            parts["links"] = graph.arrays.links
            parts["codes"] = (*graph.arrays.codes, *graph.arrays.entry_points)
    sizes = {part: sum(getattr(array, "nbytes", 0) for array in arrays) for part, arrays in parts.items()}
    return {part: sizes[part] for part in sorted(sizes, key=lambda part: -sizes[part])}
