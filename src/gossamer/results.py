"""What the calls return: frozen values that carry their cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.rendering import as_dict, as_html, as_text, sentences

DocId: TypeAlias = int | str


@dataclass(frozen=True)
class SearchResult:
    """The answers to a batch of queries, best first.

    `ids` is (queries, k): int64, or object where the ids are strings; -1 past the end.
    `scores` is (queries, k), never rising along a row; NaN past the end.
    `visited` counts, for each query, the nodes that were scored.
    """

    ids: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]
    visited: npt.NDArray[np.int64]
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class PathStep:
    """One concept on the way from the root to a document's leaf."""

    node: int
    count: int
    log_p: float
    gain: float
    """Evidence gained by going here from the parent: log p of this node less its parent's; 0 at the root."""
    margin: float | None = None
    """log p of this node less its best sibling's: below 0, the query fits the sibling better. None at the root."""
    rival: int | None = None
    """The best sibling."""


@dataclass(frozen=True)
class Axis:
    """One axis of an ICA whitener: how much of the score comes from it, and what lies at its end."""

    axis: int
    contribution: float
    """Over all axes, contributions add up to the score."""
    query: float
    """Where the query is on it."""
    document: float
    """Where the document is on it."""
    extremes: tuple[DocId, ...]
    """The documents furthest out on the document's side: what this end of the axis is about."""


@dataclass(frozen=True)
class VectorExplanation:
    """Why a document scores as it does for a query vector: the gains of its path add up to `score`."""

    id: DocId
    score: float
    path: tuple[PathStep, ...]
    axes: tuple[Axis, ...] = ()
    """Those that count most, largest first. Only independent components mean something, so only with ICA."""


@dataclass(frozen=True)
class Refinement:
    """What `refine` did: utility is that of every partition of the tree, weighted by the documents that pass it."""

    passes: int
    utility_before: float
    utility_after: float


@dataclass(frozen=True)
class TreeStats:
    """The shape of a tree and the work that made it."""

    documents: int
    nodes: int
    leaves: int
    depth: int
    widest: int
    branching: dict[int, int]
    """How many internal nodes have how many children."""
    operators: dict[str, int]
    """How often each operator was applied since the tree began."""


@dataclass(frozen=True)
class Exemplar:
    """A document that stands for a concept."""

    id: str
    text: str
    """The passage on one line, shortened."""


@dataclass(frozen=True)
class Concept:
    """A node of the tree, in words. An id keeps its meaning as long as the concept lives."""

    id: int
    size: int
    """Passages below: documents, where texts are short."""
    depth: int
    """Steps from the root."""
    label: str
    """What sets it apart from its siblings, in a few terms; never empty."""
    parent: int | None
    children: tuple[int, ...]
    terms: tuple[str, ...]
    """Most telling first; none for a leaf."""
    exemplars: tuple[Exemplar, ...]
    """Up to three: the one nearest to the prototype, then such as show how far the concept goes."""
    spread: float
    """Root mean square distance of the members from the prototype, in the whitened space."""
    utility: float
    """Category utility in its parent's partition, P(c|parent)·[H(parent) − H(c)]; 0 at the root."""
    path: tuple[int, ...]
    """Ids from the root to this concept, itself included."""
    basic: bool = False
    """Whether it is the basic level of the path it was asked for with."""


@dataclass(frozen=True)
class LabelRequest:
    """What a labeller of one's own is given: enough to name a concept."""

    id: int
    size: int
    terms: tuple[str, ...]
    """Most telling first."""
    exemplars: tuple[str, ...]
    """Texts that stand for it, shortened."""
    parent: str | None
    """The label of the concept above; None for the root."""
    suggestion: str
    """The label it gets without the labeller."""


@dataclass(frozen=True)
class ConceptMatch:
    """A concept that a query fits."""

    concept: Concept
    score: float
    """Evidence for it over the root's, weighed by its size; 0 for the root. Compares within a query."""
    path: tuple[Concept, ...]
    """The concepts from the root to this one, from the most general on; the basic level is marked."""


@dataclass(frozen=True)
class Outline:
    """A part of the tree as columns: the n-th entry of each belongs to the n-th concept; parents come first."""

    ids: tuple[int, ...]
    parents: tuple[int | None, ...]
    """None for the first, where the part begins."""
    sizes: tuple[int, ...]
    depths: tuple[int, ...]
    """Steps from the root of the tree."""
    children: tuple[int, ...]
    """How many each has, shown or not; 0 for a leaf."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Topics:
    """A corpus cut into groups."""

    concepts: tuple[Concept, ...]
    """The groups, largest first."""
    assignments: dict[str, int]
    """Document id to the concept id of its group; none where they were not asked for."""
    utility: float
    """What knowing the group tells, in the cut's own measure: compares cuts of one index."""


@dataclass(frozen=True)
class Novelty:
    """How unusual a query is, against the corpus's own documents."""

    percentile: float
    """0 to 100: the share of documents, each compared with all others, that look less unusual."""
    confidence: float
    """0 to 1: the share at least as unusual, the query counted in; never quite 0. `min_confidence` compares with it."""
    score: float
    """The raw score: the cosine to the nearest document."""
    nearest: Concept | None
    """The concept that fits best; None in an empty index."""
    verdict: str
    """A sentence."""


@dataclass(frozen=True)
class Document:
    """A document as it was added."""

    id: str
    text: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Hit:
    """A document found: `score` is `dense` + `lexical`."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]
    path: tuple[Concept, ...]
    """The concepts from the root to the leaf of the passage."""
    passage: str
    """The part of the text that fits best; all of it where the text is short."""
    start: int
    """Where the passage begins in the text."""
    dense: float
    """Cosine of query and passage in the whitened space."""
    lexical: float
    """BM25 as a share of the best document's, times the weight."""
    explanation: Explanation | None = None
    """Why; where `search` was asked to explain."""


class Hits(list[Hit]):
    """The answers to one query, best first: a list that carries its cost."""

    def __init__(self, hits: Iterable[Hit] = (), *, visited: int = 0) -> None:
        super().__init__(hits)
        self.visited = visited
        """Nodes of the tree, and documents found by their words, that were scored."""


@dataclass(frozen=True)
class ConceptStep:
    """One concept on the way to a document, and what it adds to the score."""

    concept: Concept
    log_p: float
    """Of the query under this concept."""
    gain: float
    """Evidence gained by going here from the parent; 0 at the root."""
    contribution: float
    """The gain on the scale of the score."""
    margin: float | None
    """log p less that of the best sibling: below 0, the query fits the sibling better. None at the root."""
    rival: Concept | None
    """The best sibling."""


@dataclass(frozen=True)
class Rival:
    """Another document, to compare with: the best one, or for the best one the runner-up."""

    id: str
    text: str
    """Its best passage on one line, shortened."""
    rank: int
    score: float
    concept: Concept
    """Where its path leaves that of the document explained: the sibling it lies below."""


@dataclass(frozen=True)
class Explanation:
    """Why a document scores as it does for a query.

    base + the contributions of all steps = dense, and dense + lexical = score.
    """

    id: str
    query: str | None
    rank: int
    """1 for the best document."""
    of: int
    """Documents there are."""
    score: float
    dense: float
    lexical: float
    weight: float
    """What a document with the best BM25 of all would get as `lexical`."""
    words: tuple[str, ...]
    """Words of the query that count and that the document holds."""
    passage: str
    """The part of the text that fits best."""
    start: int
    base: float
    """What every document gets from the root: how well the query fits the corpus as a whole."""
    path: tuple[ConceptStep, ...]
    """From the root to the leaf of the passage."""
    decided_at: int | None
    """The step (a place in `path`) where it parts from the rival; None where there is none or both share a leaf."""
    rival: Rival | None
    query_terms: tuple[str, ...]
    """Terms of the deciding concept that the query holds."""
    document_terms: tuple[str, ...]
    """Terms of the deciding concept that the passage holds."""
    missing: float = 0.0
    """What it lacks to be among the first k; 0 where it is."""
    k: int = 10

    @property
    def gap(self) -> float | None:
        """Score less the rival's: above 0, this one is ahead."""
        return None if self.rival is None else self.score - self.rival.score

    @property
    def sentences(self) -> list[str]:
        """The explanation in words: its place, its score, what decided, the terms that count."""
        return sentences(self)

    def __str__(self) -> str:
        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return as_dict(self)

    def to_html(self) -> str:
        """A fragment of HTML that needs nothing beside it; texts are escaped."""
        return as_html(self)


@dataclass(frozen=True)
class IndexInfo:
    """What an index is and what it takes."""

    path: str | None
    documents: int
    passages: int
    concepts: int
    encoder: str
    dim: int | None
    whitened: bool
    """Whether the whitener is fitted; before that, vectors are compared as they are."""
    operation: int
    """The newest operation of the log that is seen."""
    snapshots: tuple[int, ...]
    """Operations after which the tree was saved, newest first."""
    bytes: int
    """On disk."""
    created: str
    written_by: str
    degraded: str | None = None
    """Why there is no tree of concepts; None as it should be."""


@dataclass(frozen=True)
class LostDocument:
    """What a repair could not save."""

    id: str
    """Of the document; or what it is, where that is all that is known."""
    reason: str


@dataclass(frozen=True)
class Repair:
    """What a repair did."""

    path: str
    documents: int
    """In the index now."""
    encoded_again: int = 0
    """Those of them whose vectors were lost."""
    lost: tuple[LostDocument, ...] = ()
    kept: str | None = None
    """Where the damaged index is now; None where nothing had to be repaired."""

    @property
    def was_sound(self) -> bool:
        """Whether there was nothing to repair."""
        return self.kept is None
