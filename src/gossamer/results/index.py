"""What `Index` returns: documents, answers to a search, the state of an index and of a repair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gossamer.plain_text import beginning
from gossamer.results import notebook
from gossamer.results.concepts import Concept
from gossamer.results.explanation import Explanation
from gossamer.results.tables import as_dataframe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HIT_COLUMNS: Final = ("id", "score", "text", "passage", "path", "dense", "lexical")
"""Columns of `Hits.rows` that come before those of the metadata."""

_IDS_SHOWN: Final = 5
"""Ids in the repr of a group."""


@dataclass(frozen=True, repr=False)
class Document:
    """A document as it was added."""

    id: str
    text: str
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        return f"Document({self.id!r}, {beginning(self.text, 60)!r}, {len(self.metadata)} fields)"


@dataclass(frozen=True, repr=False, eq=False)
class Passage:
    """A part of a document with its vector."""

    start: int
    """Where it begins in the text, in characters."""
    text: str
    vector: npt.NDArray[np.float32]

    def __repr__(self) -> str:
        return f"Passage({self.start}, {beginning(self.text, 60)!r}, {len(self.vector)} dimensions)"


@dataclass(frozen=True, repr=False)
class Hit:
    """A document that a search found: `score` = `dense` + `lexical` + `boost`, unless it was ranked again."""

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
    boost: float = 0.0
    """What `search(..., boost=...)` adds for a recent date."""

    def __repr__(self) -> str:
        return f"Hit({self.id!r}, {self.score:.3f}, {beginning(self.passage, 60)!r})"

    def _repr_html_(self) -> str:
        return Hits([self])._repr_html_()


class Hits(list[Hit]):
    """The answers to one query, best first: a list that carries its cost."""

    def __init__(self, hits: Iterable[Hit] = (), *, visited: int = 0, warnings: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.visited = visited
        """Nodes of the tree and documents found by their words that were scored."""
        self.warnings = warnings
        """What may be wrong with the query: fields of the filter that no document has."""

    def rows(self) -> list[dict[str, Any]]:
        """The answers as a table: id, score, text, passage, path of labels, parts of the score, then the metadata.

        A field of the metadata that has the name of a column is called "metadata.<name>".

        >>> [(row["id"], row["words"]) for row in ix.search("who hunts mice", k=2).rows()]
        [('owl', 8), ('fox', 9)]
        """
        return [
            {
                "id": hit.id,
                "score": hit.score,
                "text": hit.text,
                "passage": hit.passage,
                "path": [concept.label for concept in hit.path[:-1]],
                "dense": hit.dense,
                "lexical": hit.lexical,
                **{f"metadata.{key}" if key in HIT_COLUMNS else key: value for key, value in hit.metadata.items()},
            }
            for hit in self
        ]

    def to_pandas(self) -> Any:
        """`rows` as a DataFrame.

        >>> ix.search("who hunts mice", k=2).to_pandas()[["id", "words"]].values.tolist()
        [['owl', 8], ['fox', 9]]
        """
        return as_dataframe(self.rows(), HIT_COLUMNS)

    def _repr_html_(self) -> str:
        heads = ("score", "id", "passage")
        cells = [(f"{hit.score:.3f}", notebook.text(hit.id), _passage_and_path(hit)) for hit in self[: notebook.SHOWN]]
        told = notebook.quiet("<br>".join(map(notebook.text, self.warnings)))
        return notebook.box("hits", (notebook.table(heads, cells, of=len(self)) if cells else "no answers") + told)


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


def _passage_and_path(hit: Hit) -> str:
    """The passage, and below it the labels of its concepts, without those of the root and of the document itself."""
    path = " › ".join(notebook.text(concept.label, 60) for concept in hit.path[1:-1])
    return notebook.text(hit.passage) + notebook.quiet(path)


@dataclass(frozen=True, repr=False)
class NearDuplicates:
    """Documents that are nearer to each other than chance would have it in their region of the corpus."""

    ids: tuple[str, ...]
    """Two or more, in order of arrival."""
    chance: float
    """Documents expected as near by chance, for the least striking of the pairs that make the group; 0 for copies."""
    similarity: float
    """The lowest cosine, in the whitened space, of the pairs that make the group."""

    def __repr__(self) -> str:
        ids = ", ".join(map(repr, self.ids[:_IDS_SHOWN])) + (", …" if len(self.ids) > _IDS_SHOWN else "")
        return f"NearDuplicates({ids}; similarity {self.similarity:.3f}, chance {self.chance:.1e})"


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
    disk: dict[str, int]
    """Bytes of each part of it; of `documents`, those of vectors, and those that `compact` would give back, too."""
    memory: dict[str, int]
    """Bytes of the arrays of each part in use; arrays that were not changed since are mapped from disk."""
    created: str
    """Time of creation, ISO 8601."""
    written_by: str
    """The version of Gossamer that created it."""
    degraded: str | None = None
    """Why the tree of concepts could not be loaded; None where it was."""


@dataclass(frozen=True)
class Compaction:
    """What `Index.compact` gave back."""

    bytes_before: int
    """Size of the folder on disk; 0 in memory."""
    bytes: int
    erased: bool
    """Whether nothing of deleted documents is left in any file."""


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
