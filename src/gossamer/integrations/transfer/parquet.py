"""Parquet files of vectors, and Arrow tables of any origin."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Final

import numpy as np

from gossamer.errors import DiskError, ParameterError
from gossamer.index import Index
from gossamer.integrations.common import library
from gossamer.integrations.transfer.rows import Rows, as_matrix
from gossamer.results import Passage
from gossamer.results.tables import is_export

_BATCH: Final = 4_096
_VECTOR_COLUMNS: Final = ("vector", "embedding", "embeddings")


def from_parquet(
    path: str | os.PathLike[str], *, text: str = "text", id: str | None = None, vector: str | None = None
) -> Iterator[Rows]:
    """The rows of a Parquet file, by the names of its columns; all others become metadata.

    Without `vector` it is the column "vector" or "embedding", without `id` the column "id", or else the number of the
    row. A column "metadata" that holds JSON objects is taken apart. A file that `to_parquet` wrote gives the documents
    as they were, with their passages, unless columns are named.
    """
    parquet = library("pyarrow.parquet", "Reading Parquet", "parquet")
    try:
        file = parquet.ParquetFile(path)
    except FileNotFoundError as error:
        raise DiskError(f"there is no Parquet file at {path}") from error
    except (OSError, ValueError) as error:  # what pyarrow raises for files that are none of Parquet's
        raise DiskError(f"{path} cannot be read as Parquet: {error}") from error
    with file:
        if is_export(file) and (text, id, vector) == ("text", None, None):
            yield from _exported(file, str(path))
            return
        columns = Columns(file.schema_arrow.names, text, id, vector, str(path))
        start = 0
        for batch in file.iter_batches(_BATCH):
            yield columns.rows(batch, start)
            start += batch.num_rows


def _exported(file: Any, where: str) -> Iterator[Rows]:
    """The documents of an export, whose passages follow each other."""
    documents = (list(rows) for _, rows in groupby(_passages(file, where), key=lambda each: each[0]["document"]))
    while some := list(islice(documents, _BATCH)):
        firsts = [parts[0][0] for parts in some]
        yield Rows(
            [first["document"] for first in firsts],
            [first["text"] if first["whole"] is None else first["whole"] for first in firsts],
            None,
            [json.loads(first["metadata"]) for first in firsts],
            [[Passage(row["start"], row["text"], vector) for row, vector in parts] for parts in some],
        )


def _passages(file: Any, where: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """The fields of each row of an export, and its vector."""
    for batch in file.iter_batches(_BATCH):
        fields = batch.select(["document", "text", "metadata", "start", "whole"]).to_pylist()
        yield from zip(fields, _matrix(batch.column("vector"), f"the column 'vector' of {where}"), strict=True)


def to_parquet(index: Index, path: str | os.PathLike[str]) -> int:
    """`Index.to_parquet`, which `from_parquet` reads."""
    return index.to_parquet(path)


class Columns:
    """Which column of a table is which."""

    def __init__(self, names: Sequence[str], text: str, id: str | None, vector: str | None, where: str) -> None:
        self._where = where
        found = next((name for name in _VECTOR_COLUMNS if name in names), None) if vector is None else vector
        self._text, self._vector = text, found or "vector"
        self._id = "id" if id is None and "id" in names else id
        for name in filter(None, (self._text, self._vector, self._id)):
            if name not in names:
                told = f"name those of text, id and vector; it has {', '.join(names)}"
                without = "" if found else "; rows without vectors are for gossamer index, or Index.add_table"
                raise ParameterError(f"{where} has no column {name!r}: {told}{without}")
        self._others = [name for name in names if name not in (self._text, self._id, self._vector)]

    def rows(self, batch: Any, start: int) -> Rows:
        """The rows of an Arrow table or batch, of which the first is number `start`."""
        numbers = range(start, start + batch.num_rows)
        ids = [str(each) for each in (numbers if self._id is None else batch.column(self._id).to_pylist())]
        return Rows(
            ids,
            [None if each is None else str(each) for each in batch.column(self._text).to_pylist()],
            _matrix(batch.column(self._vector), f"the column {self._vector!r} of {self._where}"),
            [_metadata(*each) for each in zip(ids, batch.select(self._others).to_pylist(), strict=True)],
        )


def _matrix(column: Any, where: str) -> Any:
    """A column of vectors of one length as a matrix."""
    chunks = getattr(column, "chunks", [column])
    if not column.null_count and hasattr(column.type, "list_size"):  # as Lance and `to_parquet` keep them
        parts = [np.asarray(each.flatten(), np.float32).reshape(-1, column.type.list_size) for each in chunks]
        return np.concatenate(parts) if parts else np.empty((0, column.type.list_size), np.float32)
    return as_matrix(column.to_pylist(), where)


def _metadata(id: str, row: dict[str, Any]) -> dict[str, Any]:
    """The other columns of a row. A JSON object in the column "metadata" is taken apart, and the id of the document,
    which `to_parquet` writes, is left out where it is that of the row."""
    fields = {name: value for name, value in row.items() if value is not None}
    if fields.get("document") == id:
        del fields["document"]
    inner: Any = fields.get("metadata")
    if isinstance(inner, str):
        try:
            inner = json.loads(inner)
        except ValueError:
            return fields
    if not isinstance(inner, dict):
        return fields
    del fields["metadata"]
    return {name: value for name, value in inner.items() if value is not None} | fields
