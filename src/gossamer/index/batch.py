"""The arguments of `Index.add` → a `Batch`, in which texts, ids, metadata and given vectors are checked."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from numbers import Number
from typing import Any

import numpy.typing as npt

from gossamer.array_types import Floats
from gossamer.checks import TOO_DEEP, Problem, as_vectors, id_problem, metadata_problem, text_problem
from gossamer.encoders.protocol import check_texts
from gossamer.errors import DtypeError, DuplicateIdError, InputError, ParameterError
from gossamer.index.tables import looks_like_a_table
from gossamer.plain_text import is_storable
from gossamer.results import Passage


@dataclass(frozen=True)
class Batch:
    """Documents to add. Without `ids` they are numbered; `metadata` is JSON text; `vectors` has a row for each text.

    With `spans`, start and end of the passages of each text, it has a row for each passage.
    """

    texts: list[str]
    ids: list[str] | None
    metadata: list[str]
    vectors: Floats | None
    spans: list[list[tuple[int, int]]] | None = None


def check_batch(
    texts: str | Iterable[str],
    ids: str | Iterable[str] | None,
    metadata: Mapping[str, Any] | Iterable[Mapping[str, Any] | None] | None,
    vectors: npt.ArrayLike | None,
    passages: Iterable[Sequence[Passage]] | None = None,
) -> Batch:
    """The arguments of `add`, checked; a single text is a batch of one. Raises for the first thing that is wrong."""
    if isinstance(texts, str):
        texts = [texts]
        ids = [ids] if isinstance(ids, str) else ids
        metadata = [metadata] if isinstance(metadata, Mapping) else metadata
    if looks_like_a_table(texts):
        raise DtypeError(
            f"a {type(texts).__name__} is a table of columns: use add_table(table, text=<name of the column>)"
        )
    if isinstance(texts, Mapping):
        raise DtypeError("texts is a dict: pass its texts and its ids, as in add(d.values(), ids=d.keys())")
    if not isinstance(texts, Iterable):
        raise DtypeError(f"texts must be a string or a list of strings, got {type(texts).__name__}")
    given = texts if isinstance(texts, Sequence) else list(texts)
    if given and isinstance(given[0], Mapping):
        raise DtypeError(
            f"texts is a list of dicts, with {', '.join(map(repr, list(given[0])[:5]))}: "
            "use add_table(rows, text=<name of the field>)"
        )
    rows = check_texts(given)
    for row, text in enumerate(rows):
        _refuse(text_problem(text), row)
    if vectors is not None and passages is not None:
        raise ParameterError("vectors and passages both bring vectors: pass one of the two")
    batch = Batch(
        texts=rows,
        ids=None if ids is None else _new_ids(ids, len(rows)),
        metadata=["{}"] * len(rows) if metadata is None else _metadata(metadata, len(rows)),
        vectors=None if vectors is None else _vectors(vectors, len(rows)),
    )
    return batch if passages is None else _with_passages(batch, list(passages))


def _with_passages(batch: Batch, passages: Sequence[Sequence[Passage]]) -> Batch:
    """A batch whose texts have these passages."""
    if len(passages) != len(batch.texts):
        raise InputError(f"got passages of {len(passages)} documents for {len(batch.texts)} texts: pass those of each")
    spans: list[list[tuple[int, int]]] = []
    for row, (text, parts) in enumerate(zip(batch.texts, passages, strict=True)):
        if isinstance(parts, Passage) or not all(isinstance(part, Passage) for part in parts):
            raise DtypeError(
                f"passages: row {row} is no list of passages, as passages(ids) gives one for each document"
            )
        if not parts:
            raise InputError(f"row {row} has no passages: give it at least one")
        for part in parts:
            if part.start < 0 or not part.text or not text.startswith(part.text, part.start):
                raise InputError(
                    f"row {row}: its text does not have the passage at {part.start}: pass those of this text"
                )
        spans.append([(part.start, part.start + len(part.text)) for part in parts])
    vectors = [part.vector for parts in passages for part in parts]
    return replace(batch, vectors=as_vectors(vectors) if vectors else None, spans=spans)


def as_ids(ids: str | Iterable[str]) -> list[str]:
    """One id or several as a list of strings."""
    if isinstance(ids, str | Number):
        return [_as_id(ids)]
    if isinstance(ids, bytes | Mapping) or not isinstance(ids, Iterable):
        raise DtypeError(f"ids must be a string or a list of strings, got {type(ids).__name__}")
    return [_as_id(id) for id in ids]


def as_one_id(id: Any) -> str:
    """The id of one document."""
    if isinstance(id, Iterable) and not isinstance(id, str | bytes):
        raise DtypeError(f"id is that of one document, a string, got {type(id).__name__}: call this for one at a time")
    return _as_id(id)


def as_changes(metadata: Any, ids: int) -> list[Mapping[str, Any]]:
    """The fields to set of each of so many documents: one dict for all of them, or one for each."""
    if isinstance(metadata, Mapping):
        return [metadata] * ids
    if isinstance(metadata, str | bytes) or not isinstance(metadata, Iterable):
        raise DtypeError(f"metadata must be a dict, or a list of dicts, got {type(metadata).__name__}")
    changes = list(metadata)
    if len(changes) != ids:
        raise InputError(f"got {len(changes)} dicts of metadata for {ids} ids: pass one, or one for each")
    for row, change in enumerate(changes):
        if not isinstance(change, Mapping):
            raise DtypeError(f"metadata: row {row} is {type(change).__name__}, not a dict")
    return changes


def _new_ids(ids: str | Iterable[str], rows: int) -> list[str]:
    if isinstance(ids, str):
        raise DtypeError(f"got one id, {ids!r}, for a list of texts: pass a list of {rows} ids")
    checked = as_ids(ids)
    if len(checked) != rows:
        raise InputError(f"got {len(checked)} ids for {rows} texts: pass one id for each, or none at all")
    seen: set[str] = set()
    for row, id in enumerate(checked):
        _refuse(id_problem(id), row)
        if id in seen:
            raise DuplicateIdError(f"id {id!r} is given twice in one call: keep one of the two")
        seen.add(id)
    return checked


def _as_id(id: Any) -> str:
    if not isinstance(id, str):
        raise DtypeError(f"ids are strings, got {type(id).__name__} {id!r}: convert it with str()")
    if not id:
        raise InputError("an id is empty: give every document an id of at least one character")
    if "\0" in id:
        raise InputError(f"id {id!r} holds a NUL character, which SQLite would cut it at: take it out")
    if not is_storable(id):
        raise InputError(f"id {id!r} holds half of a surrogate pair: repair it")
    return str.__str__(id)  # plain, also where it is a string of NumPy or an enumeration


def _metadata(metadata: Any, rows: int) -> list[str]:
    if isinstance(metadata, Mapping | str | bytes) or not isinstance(metadata, Iterable):
        raise DtypeError(
            f"metadata must be a list with one dict for each text, got {type(metadata).__name__}: "
            "wrap it in a list, or repeat it as [metadata] * len(texts)"
        )
    if looks_like_a_table(metadata):
        raise DtypeError(
            f"metadata is a {type(metadata).__name__}: pass one dict for each text, or use add_table(table, text=…)"
        )
    given = list(metadata)
    if len(given) != rows:
        raise InputError(f"got {len(given)} metadata for {rows} texts: pass one dict (or None) for each")
    return [_as_json(value, row) for row, value in enumerate(given)]


def _as_json(value: Any, row: int) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise DtypeError(f"metadata: row {row} is {type(value).__name__}, not a dict")
    try:
        _check_keys(value)
        text = _dumps(value)
    except RecursionError as error:
        raise _refusal(TOO_DEEP, row) from error
    except (TypeError, ValueError) as error:
        field = _refused_field(value)
        told = f"{error}" if field is None else f"the field {field!r}: {error}"
        raise DtypeError(f"metadata: row {row} cannot be written as JSON ({told}): convert or drop it") from error
    if not is_storable(text):
        raise DtypeError(f"metadata: row {row} holds half of a surrogate pair: repair it")
    _refuse(metadata_problem(text), row)
    return text


def _dumps(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False, allow_nan=False, default=_iso)


def _refused_field(metadata: Mapping[Any, Any]) -> str | None:
    """The first field whose value cannot be written as JSON; None where it is a key that cannot."""
    for name, value in metadata.items():
        try:
            _dumps({name: value})
        except (TypeError, ValueError):
            return str(name) if isinstance(name, str) else None
    return None


def _check_keys(value: Any) -> None:
    """Raise for keys that are not strings: JSON would turn the key 1 into "1", and a filter for {1: …} not find it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"keys must be strings, got {key!r}")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)


def _iso(value: Any) -> Any:
    """Dates as ISO text, which sorts in order; mappings as dicts; NumPy's numbers as Python's."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _vectors(vectors: npt.ArrayLike, rows: int) -> Floats:
    checked = as_vectors(vectors)
    if len(checked) != rows:
        raise InputError(f"got {len(checked)} vectors for {rows} texts: pass one for each")
    return checked


def _refuse(problem: Problem | None, row: int) -> None:
    if problem is not None:
        raise _refusal(problem, row)


def _refusal(problem: Problem, row: int) -> InputError:
    return InputError(f"row {row} {problem.what}: {problem.cure}")
