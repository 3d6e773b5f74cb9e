"""What `Index` returns: documents, answers to a search, the state of an index and of a repair."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gossamer.results.concepts import Concept
from gossamer.results.explanation import Explanation


@dataclass(frozen=True)
class Document:
    """A document as it was added."""

    id: str
    text: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Hit:
    """A document that a search found: `score` = `dense` + `lexical`."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]
    path: tuple[Concept, ...]
    """The concepts from the root to the leaf of the passage."""
    passage: str
    """The part of the text that fits best; all of it where the text is short."""
    start: int
    """Where the passage begins in the text, in characters."""
    dense: float
    """Cosine of query and passage in the whitened space."""
    lexical: float
    """Weight · BM25 / (best BM25 of any document)."""
    matches: tuple[tuple[int, int], ...] = ()
    """Where words of the query stand in the passage: (start, stop) character offsets, ascending."""
    explanation: Explanation | None = None
    """Set by `search(..., explain=True)`."""


class Hits(list[Hit]):
    """The answers to one query, best first: a list that carries its cost."""

    def __init__(self, hits: Iterable[Hit] = (), *, visited: int = 0, warnings: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.visited = visited
        """Nodes of the tree and documents found by their words that were scored."""
        self.warnings = warnings
        """What may be wrong with the query: fields of the filter that no document has."""


@dataclass(frozen=True)
class FacetValue:
    """One value of a metadata field."""

    value: str | int | float | bool
    count: int
    """Documents that have it."""


@dataclass(frozen=True)
class Facet:
    """The values of one metadata field."""

    field: str
    values: tuple[FacetValue, ...]
    """Most frequent first."""
    distinct: int
    """Different values, also those that are not listed."""
    count: int
    """Values in all: as many as documents with the field, where none has a list of them."""
    least: int | float | None = None
    """The smallest number among the values; None where none is a number."""
    most: int | float | None = None
    """The largest number among the values."""


@dataclass(frozen=True)
class Facets:
    """The values of metadata fields among some documents."""

    fields: tuple[Facet, ...]
    """Those that the most documents have come first."""
    counted: int
    """Documents that were counted: all, or an even sample where there are very many."""
    documents: int
    """Documents that match."""


@dataclass(frozen=True)
class IndexInfo:
    """What an index holds and what it takes."""

    path: str | None
    """The folder; None in memory."""
    documents: int
    passages: int
    concepts: int
    """Nodes of the tree above the leaves, all levels counted."""
    encoder: str
    dim: int | None
    """Dimensions of the encoder's vectors; None before the first document."""
    whitened: bool
    """Whether the whitener is fitted; before that, vectors are compared as they are."""
    operation: int
    """The newest operation of the log that is applied."""
    snapshots: tuple[int, ...]
    """Operations after which the tree was saved, newest first."""
    bytes: int
    """Size of the folder on disk."""
    created: str
    """Time of creation, ISO 8601."""
    written_by: str
    """The version of Gossamer that created it."""
    degraded: str | None = None
    """Why the tree of concepts could not be loaded; None where it was."""


@dataclass(frozen=True)
class LostDocument:
    """A document that a repair could not save."""

    id: str
    """Its id, or a description where the id is lost too."""
    reason: str


@dataclass(frozen=True)
class Repair:
    """What a repair did."""

    path: str
    documents: int
    """Documents in the index now."""
    encoded_again: int = 0
    """Documents whose vectors were lost and made again."""
    lost: tuple[LostDocument, ...] = ()
    kept: str | None = None
    """The folder that holds the damaged index now; None where there was no damage."""

    @property
    def was_sound(self) -> bool:
        """Whether there was nothing to repair."""
        return self.kept is None
