"""What `Index` returns: documents, answers to a search, the state of an index and of a repair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, SupportsIndex, overload

from gossamer.plain_text import beginning, counted
from gossamer.results import notebook
from gossamer.results.concepts import Concept
from gossamer.results.explanation import Explanation
from gossamer.results.other_names import unknown_attribute
from gossamer.results.tables import as_dataframe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HIT_COLUMNS: Final = ("id", "score", "text", "passage", "path", "dense", "lexical")
"""Columns of `Hits.rows` that come before those of the metadata."""

_IDS_SHOWN: Final = 3
"""Ids in the repr of a group."""

_FIELDS_SHOWN: Final = 5
"""Metadata fields in the repr of facets."""


@dataclass(frozen=True, repr=False)
class Document:
    """A document as it was added.

    >>> ix.get("owl")
    Document('owl', 'The owl hunts mice in the dark forest.', 1 field)
    >>> ix.get("owl").metadata
    {'words': 8}
    """

    id: str
    text: str
    metadata: dict[str, Any]

    def __repr__(self) -> str:
        fields = "1 field" if len(self.metadata) == 1 else f"{len(self.metadata)} fields"
        return f"Document({self.id!r}, {beginning(self.text, 60)!r}, {fields})"

    def _repr_html_(self) -> str:
        fields = ", ".join(f"{name}: {value}" for name, value in self.metadata.items())
        parts = notebook.text(self.id), notebook.text(self.text, 1000), notebook.quiet(notebook.text(fields))
        return notebook.box("document", "<b>{}</b><p>{}</p>{}".format(*parts))


@dataclass(frozen=True, repr=False, eq=False)
class Passage:
    """A part of a document with its vector.

    >>> ix.passages(["bread"])[0][0]
    Passage(0, 'Bake the bread in a hot oven.', 18 dimensions)
    """

    start: int
    """Where it begins in the text, in characters."""
    text: str
    vector: npt.NDArray[np.float32]

    def __repr__(self) -> str:
        return f"Passage({self.start}, {beginning(self.text, 60)!r}, {len(self.vector)} dimensions)"


@dataclass(frozen=True, repr=False)
class Hit:
    """A document that a search found: `score` = `dense` + `lexical` + `boost`, unless it was ranked again.

    >>> hit = ix.search("who hunts mice", k=1)[0]
    >>> hit.id, hit.metadata, hit.path[0].size
    ('owl', {'words': 8}, 18)
    >>> abs(hit.dense + hit.lexical - hit.score) < 1e-9
    True
    """

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

    if not TYPE_CHECKING:  # else types would not find misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_attribute(self, name)

    def _repr_html_(self) -> str:
        return Hits([self])._repr_html_()


class Hits(list[Hit]):
    """The answers to one query, best first: a list that carries its cost.

    >>> hits = ix.search("who hunts mice", k=2)
    >>> [hit.id for hit in hits], hits.visited > 0
    (['owl', 'fox'], True)
    """

    def __init__(self, hits: Iterable[Hit] = (), *, visited: int = 0, warnings: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.visited = visited
        """Nodes of the tree and documents found by their words that were scored."""
        self.warnings = warnings
        """What may be wrong with the query: fields of its filter that no document has, quoted words that none holds."""

    @overload
    def __getitem__(self, at: SupportsIndex) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> Hits: ...
    def __getitem__(self, at: SupportsIndex | slice) -> Hit | Hits:
        if isinstance(at, slice):
            return Hits(super().__getitem__(at), visited=self.visited, warnings=self.warnings)
        return super().__getitem__(at)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_attribute(self, name)

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
    """One value of a metadata field.

    >>> [(each.value, each.count) for each in ix.facets(where={"words": {"$lt": 8}}).fields[0].values]
    [(7, 3)]
    """

    value: str | int | float | bool
    count: int
    """Documents that have it."""


@dataclass(frozen=True)
class Facet:
    """The values of one metadata field.

    >>> facet = ix.facets().fields[0]
    >>> facet.field, facet.distinct, facet.count
    ('words', 4, 18)
    """

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


@dataclass(frozen=True, repr=False)
class Facets:
    """The values of metadata fields among some documents.

    >>> facets = ix.facets()
    >>> [facet.field for facet in facets.fields], facets.documents
    (['words'], 18)
    >>> facets
    Facets(18 documents; words: 4 values)
    """

    fields: tuple[Facet, ...]
    """Those that the most documents have come first."""
    counted: int
    """Documents that were counted: all, or an even sample where there are very many."""
    documents: int
    """Documents that match."""

    def __repr__(self) -> str:
        each = [f"{beginning(facet.field, 40)}: {counted(facet.distinct, 'value')}" for facet in self.fields]
        fields = ", ".join(each[:_FIELDS_SHOWN]) + (", …" if len(each) > _FIELDS_SHOWN else "")
        return f"Facets({counted(self.documents, 'document')}; {fields or 'no fields'})"


def _passage_and_path(hit: Hit) -> str:
    """The passage, and below it the labels of its concepts, without those of the root and of the document itself."""
    path = " › ".join(notebook.text(concept.label, 60) for concept in hit.path[1:-1])
    return notebook.text(hit.passage) + notebook.quiet(path)


@dataclass(frozen=True, repr=False)
class NearDuplicates:
    """Documents that are nearer to each other than chance would have it in their region of the corpus.

    >>> copy = ix.add("Bake the bread in a hot oven!", "bread again")
    >>> ix.near_duplicates(1e-9)[0].ids
    ('bread', 'bread again')
    """

    ids: tuple[str, ...]
    """Two or more, in order of arrival."""
    chance: float
    """Documents expected as near by chance, for the least striking of the pairs that make the group; 0 for copies."""
    similarity: float
    """The lowest cosine, in the whitened space, of the pairs that make the group."""

    def __repr__(self) -> str:
        shown = ", ".join(repr(beginning(id, 40)) for id in self.ids[:_IDS_SHOWN])
        ids = shown + (f" and {len(self.ids) - _IDS_SHOWN:,} more" if len(self.ids) > _IDS_SHOWN else "")
        return f"NearDuplicates({ids}; similarity {self.similarity:.3f}, chance {self.chance:.1e})"


@dataclass(frozen=True, repr=False)
class IndexInfo:
    """What an index holds and what it takes.

    >>> info = ix.info()
    >>> info.documents, info.encoder, info.operation
    (18, 'lsa', 1)
    >>> info
    IndexInfo(in memory, 18 documents, 18 passages, 17 concepts, encoder 'lsa', operation 1)
    """

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

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else f"{self.path!r}, {self.bytes / 1e6:,.1f} MB"
        sizes = {"document": self.documents, "passage": self.passages, "concept": self.concepts}
        counts = ", ".join(counted(size, noun) for noun, size in sizes.items())
        degraded = ", degraded" if self.degraded else ""
        return f"IndexInfo({place}, {counts}, encoder {self.encoder!r}, operation {self.operation:,}{degraded})"


@dataclass(frozen=True)
class Compaction:
    """What `Index.compact` gave back.

    >>> ix.delete(["fox"]), ix.compact().erased
    (1, False)
    """

    bytes_before: int
    """Size of the folder on disk; 0 in memory."""
    bytes: int
    erased: bool
    """Whether nothing of deleted documents is left in any file."""


@dataclass(frozen=True)
class LostDocument:
    """A document that a repair could not save.

    >>> ix.backup("notes.gsm")
    1
    >>> [lost.id for lost in Index.repair("notes.gsm").lost]
    []
    """

    id: str
    """Its id, or a description where the id is lost too."""
    reason: str


@dataclass(frozen=True)
class Repair:
    """What a repair did.

    >>> ix.backup("notes.gsm")
    1
    >>> Index.repair("notes.gsm").was_sound
    True
    """

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
