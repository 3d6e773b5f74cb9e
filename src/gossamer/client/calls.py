"""Each method as a `Call`: a request and a function that reads the answer. Both clients share them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from gossamer.client.decoding import decode
from gossamer.errors import DtypeError, InputError, ParameterError
from gossamer.results import (
    Concept,
    ConceptChange,
    ConceptMatch,
    Document,
    Explanation,
    Facets,
    Hit,
    Hits,
    IndexInfo,
    NearDuplicates,
    Novelty,
    Plane,
    Since,
    Topics,
    as_levels,
    operation_or_moment,
)  # fmt: skip

_T = TypeVar("_T")

Vector: TypeAlias = npt.ArrayLike | None
"""A query's vector, or the vectors of documents."""

_ALL_LEVELS = 1000
"""A depth greater than that of any tree."""


@dataclass(frozen=True)
class Call(Generic[_T]):
    """A request; `path` is relative to the address of the index."""

    method: str
    path: str
    read: Callable[[Any], _T]
    body: Any = None
    params: Mapping[str, Any] | None = None
    repeatable: bool = True
    """Whether sending it twice has the same effect as sending it once."""
    binary: bool = False
    """Whether the answer is bytes, not JSON."""


class SearchOptions(TypedDict, total=False):
    """The named arguments of `Client.search`, but for the vector."""

    where: Mapping[str, Any] | None
    within: int | None
    hybrid: bool | float
    recall: float | None
    explain: bool
    min_confidence: float
    diversity: float
    group_by: str | None
    boost: Mapping[str, Any] | None
    method: Literal["guided", "path-sum", "best-first"]
    text: bool


class SearchArguments(SearchOptions, total=False):
    """The named arguments of `Client.search`, for its types."""

    vector: Vector


def search(
    query: str | Sequence[str] | None, k: int, vector: Vector, options: SearchOptions
) -> Call[Hits | list[Hits]]:
    """`Index.search`; of a list of queries, or a matrix of vectors, a list of hits."""
    vectors = None if vector is None else _array(vector)
    if not isinstance(query, str | bytes | Mapping) and isinstance(query, Iterable):
        query = list(query)
    if isinstance(query, list) or (query is None and vectors is not None and vectors.ndim == 2):
        asked = {"queries": query, "vectors": None if vectors is None else vectors.tolist()}
        return Call("POST", "/search/batch", _several_hits, {**asked, "k": k, **_options(options)})
    return Call("POST", "/search", _hits, {**_query(query, vector), "k": k, **_options(options)})


def more_like(id: str, k: int, options: SearchOptions) -> Call[Hits]:
    """`Index.more_like`."""
    if unknown := sorted(options.keys() - SearchOptions.__optional_keys__):
        raise TypeError(f"more_like() got an unexpected keyword argument {unknown[0]!r}")
    return Call("POST", "/more-like", _hits, {"id": _id(id), "k": k, **_options(options)})


def near_duplicates(chance: float) -> Call[list[NearDuplicates]]:
    """`Index.near_duplicates`."""

    def read(answer: Any) -> list[NearDuplicates]:
        return decode(list[NearDuplicates], answer["groups"])

    return Call("GET", "/near-duplicates", read, params={"chance": chance})


def _options(options: SearchOptions) -> dict[str, Any]:
    """`text` is left out where it changes nothing: older servers do not know it."""
    given = {name: value for name, value in options.items() if (name, value) != ("text", True)}
    return {**given, "concepts": True}


def _hits(answer: Any) -> Hits:
    found = decode(list[Hit], [{"text": "", **hit} for hit in answer["hits"]])
    return Hits(found, visited=answer["visited"], warnings=tuple(answer.get("warnings", ())))  # older servers: none


def _several_hits(answer: Any) -> list[Hits]:
    return [_hits(each) for each in answer["answers"]]


def explain(query: str | None, id: str, k: int, hybrid: bool | float, vector: Vector) -> Call[Explanation]:
    """`Index.explain`."""
    body = {**_query(query, vector), "id": _id(id), "k": k, "hybrid": hybrid}
    return Call("POST", "/explain", lambda answer: decode(Explanation, answer), body)


def novelty(query: str | None, vector: Vector) -> Call[Novelty]:
    """`Index.novelty`."""
    return Call("POST", "/novelty", lambda answer: decode(Novelty, answer), _query(query, vector))


def find_concepts(query: str | None, k: int, vector: Vector) -> Call[list[ConceptMatch]]:
    """`Index.find_concepts`."""
    body = {**_query(query, vector), "k": k}
    return Call("POST", "/concepts/find", lambda answer: decode(list[ConceptMatch], answer["matches"]), body)


def facets(query: str | None, **options: Any) -> Call[Facets]:
    """`Index.facets`; `options` are its other arguments, by name."""
    return Call("POST", "/facets", lambda answer: decode(Facets, answer), {"query": query, **options})


def assign(texts: list[str]) -> Call[list[tuple[Concept, ...]]]:
    """`Index.assign`, always of a list."""

    def read(answer: Any) -> list[tuple[Concept, ...]]:
        return [tuple(decode(list[Concept], path)) for path in answer["paths"]]

    return Call("POST", "/assign", read, {"texts": texts})


def changes(since: Since) -> Call[list[ConceptChange]]:
    """`Index.changes`."""
    start = operation_or_moment(since)
    params: dict[str, Any] = {"since": start} if isinstance(start, int) else {"time": start.isoformat()}
    return Call("GET", "/changes", lambda answer: decode(list[ConceptChange], answer["changes"]), params=params)


def add(
    texts: str | Iterable[str],
    ids: str | Iterable[str] | None,
    metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None,
    vectors: Vector,
) -> Call[list[str]]:
    """`Index.add`: all documents in one request, so that all of them are added or none."""
    if isinstance(texts, str):
        texts, ids = [texts], [ids] if isinstance(ids, str) else ids
        metadata = [metadata] if isinstance(metadata, Mapping) else metadata
    rows = _column("texts", texts)
    columns: dict[str, list[Any]] = {"text": rows}
    if ids is not None:
        columns["id"] = [_id(id) for id in _column("ids", ids)]
    if metadata is not None:
        columns["metadata"] = _column("metadata", metadata)
    if vectors is not None:
        columns["vector"] = np.atleast_2d(np.asarray(vectors)).tolist()
    for name, column in columns.items():
        if len(column) != len(rows):
            raise InputError(f"got {len(column)} of {name!r} for {len(rows)} texts: pass one for each")
    documents = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Call(
        "POST", "/documents", lambda answer: list(answer["ids"]), {"documents": documents}, repeatable=ids is not None
    )


def update(ids: str | Iterable[str], metadata: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> Call[None]:
    """`Index.update`."""
    fields = metadata if isinstance(metadata, Mapping) else _column("metadata", metadata)
    return Call("POST", "/documents/update", lambda answer: None, {"ids": _ids(ids), "metadata": fields})


def delete(ids: str | Iterable[str] | None, where: Mapping[str, Any] | None) -> Call[int]:
    """`Index.delete`."""
    if (ids is None) == (where is None):
        raise ParameterError('delete takes ids, or a filter, as in delete(where={"year": 2019})')
    body = {"where": dict(where)} if ids is None and where is not None else {"ids": _ids(ids or ())}
    return Call("POST", "/documents/delete", lambda answer: int(answer["deleted"]), body)


def get(ids: str | Iterable[str], skip_unknown: bool) -> Call[list[Document]]:
    """`Index.get`."""
    asked = {"ids": _ids(ids), "skip_unknown": skip_unknown and not isinstance(ids, str)}
    return Call("POST", "/documents/get", lambda answer: decode(list[Document], answer["documents"]), asked)


def concepts(depth: int | None) -> Call[list[Concept]]:
    """`Index.concepts`."""
    depth = _ALL_LEVELS if depth is None else depth
    return Call("GET", "/concepts", lambda answer: decode(list[Concept], answer["concepts"]), params={"depth": depth})


def concept(id: int) -> Call[Concept]:
    """`Index.concept`."""
    return Call("GET", f"/concepts/{_concept_id(id)}", lambda answer: decode(Concept, answer["concept"]))


def rename_concept(id: int, name: str | None) -> Call[None]:
    """`Index.rename_concept`."""
    return Call("PUT", f"/concepts/{_concept_id(id)}/name", lambda answer: None, {"name": name})


def _concept_id(id: int) -> int:
    if isinstance(id, bool) or not isinstance(id, int):
        raise DtypeError(f"a concept's id is a whole number, as found in a hit's path, got {id!r}")
    return id


def topics(n: int | None, levels: Sequence[int] | None, assignments: bool) -> Call[list[Topics]]:
    """`Index.topics`, always as a list."""
    if (n is None) == (levels is None):
        raise ParameterError("topics takes the number of groups, as in topics(8), or levels, as in [8, 40, 200]")
    params: dict[str, Any] = {"n": n} if n is not None else {"levels": ",".join(map(str, as_levels(levels)))}
    params["assignments"] = assignments
    return Call("GET", "/topics", lambda answer: decode(list[Topics], answer["levels"]), params=params)


def plane(labels: bool) -> Call[Plane]:
    """`Index.plane`."""
    return Call("GET", "/plane", Plane.from_bytes, params={"ids": True, "labels": labels}, binary=True)


def info() -> Call[IndexInfo]:
    """`Index.info`."""
    return Call("GET", "/info", lambda answer: decode(IndexInfo, answer))


def rebuild() -> Call[None]:
    """`Index.rebuild`."""
    return Call("POST", "/rebuild", lambda answer: None)


def _query(query: Any, vector: Vector) -> dict[str, Any]:
    return {"query": query, "vector": None if vector is None else _array(vector).ravel().tolist()}


def _array(vector: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        return np.asarray(vector)
    except ValueError as error:
        raise InputError(f"vector must be a vector or a matrix, but its rows differ in length ({error})") from error


def _ids(ids: str | Iterable[str]) -> list[str]:
    return [_id(id) for id in ([ids] if isinstance(ids, str) or not isinstance(ids, Iterable) else ids)]


def _id(id: str) -> str:
    if not isinstance(id, str):
        raise DtypeError(f"ids are strings, got {type(id).__name__} {id!r}: convert it with str()")
    return id


def _column(name: str, values: Any) -> list[Any]:
    """Values as a list, one for each document: of a text it would be its characters, of a dict or a table its keys."""
    if (
        isinstance(values, str | bytes | Mapping)
        or hasattr(type(values), "columns")
        or not isinstance(values, Iterable)
    ):
        raise DtypeError(f"{name} must be a list with one for each document, got {type(values).__name__}")
    return list(values)
