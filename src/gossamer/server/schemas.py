"""Requests and answers as pydantic models. Answers have the fields of the dataclasses in `gossamer.results`."""

from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model

from gossamer.results import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Document,
    Explanation,
    Facets,
    Hit,
    IndexInfo,
    NearDuplicates,
    Novelty,
    Region,
    Topics,
)  # fmt: skip

_QUERY = "how do plants make sugar"
_DIMENSIONS = 65_536
"""Longest vector."""
_ITEMS = 100_000
"""Longest list of ids or documents. `Limits.batch` is usually lower."""


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class _Request(BaseModel):
    """A request: no type conversion, no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid")

    def has(self, field: str) -> bool:
        """Whether the request has this field, even with its default value."""
        return field in self.model_fields_set


Query = Annotated[str | None, Field(description="What to look for, in words.", min_length=1, examples=[_QUERY])]
Vector = Annotated[
    list[float] | None,
    Field(
        description="The query's vector, which is then not encoded; a query beside it counts with its words.",
        max_length=_DIMENSIONS,
        fail_fast=True,
    ),
]
Hybrid = Annotated[
    bool | Annotated[float, Field(ge=0)],
    Field(description="Whether shared words count too; a number is their weight.", examples=[True, False, 0.3]),
]
Filter = Annotated[
    dict[str, Any] | None,
    Field(description="Only documents whose metadata match.", examples=[{"year": {"$gte": 2020}}]),
]
DocumentId = Annotated[str, Field(min_length=1, examples=["notes/plants.md"])]


class QueryRequest(_Request):
    """A query in words, a vector, or both."""

    query: Query = None
    vector: Vector = None


class Boost(BaseModel):
    """Adds weight · 2^(−age / half_life) to the score of a document."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(max_length=1000, description="The metadata field with the date: ISO text, or seconds.")
    half_life: str = Field(max_length=40, description="A time: 12h, 30d, 8w, 1y.")
    weight: float = Field(0.1, gt=0, le=100, description="What is added to the score of a document of this moment.")
    now: str | None = Field(
        None, max_length=40, description="Another moment from which ages are measured, as ISO text."
    )


class SearchOptions(_Request):
    """How to search, whatever for."""

    k: int = Field(10, ge=1, description="Answers, at most.")
    where: Filter = None
    within: int | None = Field(None, description="The id of a concept: only documents below it.")
    hybrid: Hybrid = True
    recall: float | None = Field(None, gt=0, le=1, description="The share of the true nearest to aim for.")
    explain: bool = Field(False, description="Fill `explanation` of every hit.")
    min_confidence: float = Field(0.0, ge=0, le=1, description="No answers to a query that is less at home here.")
    diversity: float = Field(0.0, ge=0, le=1, description="Prefers answers that differ from those before them.")
    group_by: str | None = Field(None, max_length=1000, description="A metadata field: the best of each value.")
    boost: Boost | None = Field(None, description="Prefers documents with a recent date.")
    method: Literal["guided", "path-sum", "best-first"] = Field(
        "guided", description="How documents are ranked: the paper's methods rank by the tree alone."
    )
    concepts: bool = Field(
        False, description="Whole concepts in every path, with terms and exemplars; else id, label, size and depth."
    )
    text: bool = Field(True, description="The whole text of every hit; without it, `passage` is what fits best.")


class SearchRequest(SearchOptions, QueryRequest):
    """A search."""

    model_config = _example(query=_QUERY, k=3)


class Queries(_Request):
    """Queries in words, vectors, or both."""

    queries: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None, description="What to look for, in words.", max_length=_ITEMS, fail_fast=True
    )
    vectors: list[Annotated[list[float], Field(max_length=_DIMENSIONS, fail_fast=True)]] | None = Field(
        None, description="A vector for each query, or in place of queries.", max_length=_ITEMS, fail_fast=True
    )


class BatchRequest(SearchOptions, Queries):
    """Several searches with the same options."""

    model_config = _example(queries=[_QUERY, "why does bread rise"], k=3)


class OneId(_Request):
    """A document by its id."""

    id: DocumentId


class MoreLikeRequest(SearchOptions, OneId):
    """Which documents are like one."""

    model_config = _example(id="notes/plants.md", k=3)


class ExplainRequest(QueryRequest):
    """Why a document, any document, scores as it does."""

    model_config = _example(query=_QUERY, id="notes/plants.md")

    id: DocumentId
    k: int = Field(10, ge=1, description="What it takes to be among the first k is told.")
    hybrid: Hybrid = True


class NoveltyRequest(QueryRequest):
    """How unusual a query is."""

    model_config = _example(query=_QUERY)


class FindConceptsRequest(QueryRequest):
    """Which concepts a query fits."""

    model_config = _example(query=_QUERY, k=5)

    k: int = Field(10, ge=1)


class FacetsRequest(_Request):
    """Which values metadata fields have."""

    model_config = _example(query=_QUERY, where={"year": {"$gte": 2020}})

    query: Query = None
    where: Filter = None
    within: int | None = Field(None, description="The id of a concept: only documents below it.")
    k: int = Field(200, ge=1, description="With a query: its best answers that are counted.")
    most: int = Field(10, ge=1, le=1000, description="Values of a field, at most.")


class AssignRequest(_Request):
    """Texts to find a place for."""

    model_config = _example(texts=["Leaves turn light into sugar."])

    texts: list[Annotated[str, Field(min_length=1)]] = Field(max_length=_ITEMS, fail_fast=True)


class NewDocument(_Request):
    """A document to add; it replaces one with the same id."""

    model_config = _example(id="notes/plants.md", text="Leaves turn light into sugar.", metadata={"year": 2024})

    text: str = Field(min_length=1)
    id: DocumentId | None = Field(None, description="Without one, documents are numbered.")
    metadata: dict[str, Any] | None = None
    vector: list[float] | None = Field(
        None, description="A prepared vector: the text is then not encoded.", max_length=_DIMENSIONS, fail_fast=True
    )


class NewDocuments(_Request):
    """Several at once: all of them are in when the answer comes, or none."""

    documents: list[NewDocument] = Field(max_length=_ITEMS, fail_fast=True)


def _one_or_many(value: Any) -> str:
    return "many" if isinstance(value, NewDocuments) or (isinstance(value, dict) and "documents" in value) else "one"


AddRequest = Annotated[
    Annotated[NewDocument, Tag("one")] | Annotated[NewDocuments, Tag("many")], Discriminator(_one_or_many)
]


class Ids(_Request):
    """Documents by their ids."""

    model_config = _example(ids=["notes/plants.md", "notes/bread.md"])

    ids: list[DocumentId] = Field(max_length=_ITEMS, fail_fast=True)
    skip_unknown: bool = Field(False, description="Leave out ids that are not there, instead of 404.")


class DeleteRequest(_Request):
    """Documents to delete: by their ids, or by a filter."""

    model_config = _example(ids=["notes/plants.md", "notes/bread.md"])

    ids: list[DocumentId] | None = Field(None, max_length=_ITEMS, fail_fast=True)
    where: Filter = None


class UpdateRequest(_Request):
    """Metadata to set."""

    model_config = _example(ids=["notes/plants.md", "notes/bread.md"], metadata={"read": True})

    ids: list[DocumentId] = Field(max_length=_ITEMS, fail_fast=True)
    metadata: dict[str, Any] | list[dict[str, Any]] = Field(
        description="Fields to set, for all documents or for each; null takes a field away, others stay as they are."
    )


class NewName(_Request):
    """A name for a concept."""

    model_config = _example(name="Houseplants")

    name: str | None = Field(max_length=1000, description="At most 120 characters; null takes the name away.")


class PointsRequest(_Request):
    """Points of a plane, or documents of which to tell the points."""

    model_config = _example(operation=1, points=[0, 17])

    operation: int = Field(ge=0, le=2**53, description="The plane's, from its header.")
    points: list[Annotated[int, Field(ge=0, le=2**32)]] | None = Field(None, max_length=_ITEMS, fail_fast=True)
    ids: list[DocumentId] | None = Field(None, max_length=_ITEMS, fail_fast=True)


# -- answers ---------------------------------------------------------------------------------------


def _model(title: str, of: type, /, **more: Any) -> type[BaseModel]:
    """A model with the fields of a dataclass, for the description of the API; `more` adds or replaces fields."""
    types = get_type_hints(of)
    own: dict[str, Any] = {
        field.name: (types[field.name], ... if field.default is MISSING else field.default)
        for field in fields(of)
        if field.name not in more
    }
    return create_model(title, __doc__=of.__doc__, **own, **more)


ExplanationAnswer = _model(
    "Explanation", Explanation, gap=(float | None, ...), text=(str, Field(description="The explanation in sentences."))
)


class Step(BaseModel):
    """A concept on the path of a hit, in short."""

    id: int
    label: str
    size: int = Field(description="Passages below.")
    depth: int
    basic: bool = Field(description="Whether it is the basic level of this path.")


HitAnswer = _model(
    "Hit",
    Hit,
    explanation=(ExplanationAnswer | None, None),
    path=(list[Concept] | list[Step], Field(description="From the root to the leaf; whole where `concepts` is set.")),
    text=(str | None, Field(None, description="Left out where the request has `text` false.")),
)
InfoAnswer = _model(
    "Info",
    IndexInfo,
    path=(str | None, Field(description="On the server; told to admins alone.")),
    name=(str, ...),
    writable=(bool, Field(description="Whether the server, and this key, would take a change.")),
)


class Found(BaseModel):
    """Documents found, best first."""

    hits: list[HitAnswer]  # type: ignore[valid-type]
    visited: int = Field(description="Nodes of the tree, and documents found by their words, that were scored.")
    warnings: list[str] = Field(description="What may be wrong with the query: fields that no document has.")


class SearchAnswer(Found):
    """Documents found, best first."""

    seconds: float = Field(description="Spent on the search itself.")


class BatchAnswer(BaseModel):
    """The answer to each query, in their order."""

    answers: list[Found]
    seconds: float = Field(description="Spent on all searches together.")


class Added(BaseModel):
    """The ids of documents that are in, and durable."""

    ids: list[str]


class Deleted(BaseModel):
    """How many documents went; ids that were not there are no error."""

    deleted: int


class Updated(BaseModel):
    """How many documents were named."""

    updated: int


class Documents(BaseModel):
    """Documents in the order they were asked for."""

    documents: list[Document]


class Groups(BaseModel):
    """Groups of documents that are nearer to each other than chance would have it, the least likely first."""

    groups: list[NearDuplicates]


class Progress(BaseModel):
    """A line of the answer to a stream: what has been added so far is durable."""

    added: int
    done: bool = Field(description="True in the last line of a stream that was added as a whole.")
    error: dict[str, Any] | None = Field(None, description="A problem that ended the stream; what was added stays.")


class Concepts(BaseModel):
    """Concepts, each before those below it."""

    concepts: list[Concept]


class ConceptAnswer(BaseModel):
    """A concept with its surroundings."""

    concept: Concept
    children: list[Concept] = Field(description="Large ones first.")
    path: list[Concept] = Field(description="From the root to the concept itself.")


class NamedConcept(BaseModel):
    """A concept with its new name."""

    concept: Concept


class ConceptMatches(BaseModel):
    """Concepts that a query fits, best first."""

    matches: list[ConceptMatch]


class TopicsAnswer(BaseModel):
    """One cut of the tree for each number of groups asked for, from coarse to fine."""

    levels: list[Topics]


class MapAnswer(BaseModel):
    """A part of the tree as columns: the n-th entry of each belongs to the n-th concept; parents come first."""

    ids: list[int]
    parents: list[int | None]
    sizes: list[int]
    depths: list[int]
    children: list[int] = Field(description="How many children each has, shown or not.")
    labels: list[str] | None = Field(description="Where asked for.")


class RegionsAnswer(BaseModel):
    """The regions of one level of a plane."""

    operation: int
    level: int
    regions: list[Region]


class Point(BaseModel):
    """A document as a point of a plane."""

    point: int
    id: str
    text: str = Field(description="Its beginning.")
    metadata: dict[str, Any]


class PointsAnswer(BaseModel):
    """Documents as points of a plane."""

    documents: list[Point]


class IndexEntry(BaseModel):
    """One index of the server."""

    name: str
    documents: int
    writable: bool
    default: bool = Field(description="Whether it is the one at /v1 itself.")


class IndexList(BaseModel):
    """All indexes of the server."""

    indexes: list[IndexEntry]


class Health(BaseModel):
    """Alive, or ready."""

    status: str


class ProblemAnswer(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = _example(
        type="urn:gossamer:problem:unknown-id",
        title="Not Found",
        status=404,
        detail="id 'notes/lost.md' is not in the index, which holds 12 documents",
        instance="/v1/documents/notes/lost.md",
        request_id="3f0c9a52d1b84e77",
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str


class AssignAnswer(BaseModel):
    """For each text the concepts it would lie in, from the root down."""

    paths: list[list[Concept]]


class ChangesAnswer(BaseModel):
    """What became of concepts, large ones first."""

    changes: list[ConceptChange]
    operation: int = Field(description="The newest operation: `since` of the next call.")
    labels: dict[str, str] = Field(description="Labels of the concepts named, by id, without those that are gone.")


NoveltyAnswer = _model("Novelty", Novelty)
DocumentAnswer = _model("Document", Document)
FacetsAnswer = _model("Facets", Facets)
