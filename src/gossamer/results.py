"""What the calls return: frozen values that carry their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

DocId: TypeAlias = int | str


@dataclass(frozen=True)
class SearchResult:
    """The answers to a batch of queries, best first.

    `ids` is (queries, k): int64, or object where the ids are strings; -1 past the end.
    `scores` is (queries, k), never rising along a row; NaN past the end.
    `visited` counts, for each query, the nodes whose density or distance was computed.
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


@dataclass(frozen=True)
class Explanation:
    """Why a document scores as it does for a query: the gains of its path add up to `score`."""

    id: DocId
    score: float
    path: tuple[PathStep, ...]


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
class Concept:
    """A node of the tree, in words. Ids hold as long as the index is not changed."""

    id: int
    size: int
    """Passages below: documents, where texts are short."""
    depth: int
    """Steps from the root."""
    label: str
    """What it is about: for now, the beginning of the text nearest to its prototype."""
    parent: int | None
    children: tuple[int, ...]


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


@dataclass(frozen=True)
class TextExplanation:
    """Why a document scores as it does for a query: `dense` and `lexical` add up to `score`.

    The gains of `steps` add up to the evidence for the passage's own leaf over the root's.
    """

    id: str
    query: str | None
    score: float
    dense: float
    lexical: float
    weight: float
    """What a document with the best BM25 of all would get as `lexical`."""
    words: tuple[str, ...]
    """Words of the query that count and that the document holds."""
    passage: str
    path: tuple[Concept, ...]
    steps: tuple[PathStep, ...]
    """The same nodes as `path`, with the evidence gained at each."""


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
