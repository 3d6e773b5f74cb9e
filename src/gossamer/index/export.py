"""All passages of an index with their vectors, for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.errors import DiskError, MissingExtraError
from gossamer.results.tables import EXPORT

if TYPE_CHECKING:
    from gossamer.index.reader import IndexReader


class Exported(NamedTuple):
    """One row of an export."""

    id: str
    """The id of the document; with "#0", "#1", … at the end where it has several passages."""
    document: str
    text: str
    vector: npt.NDArray[np.float32]
    metadata: dict[str, Any]
    start: int
    """Where the passage begins in the text of the document, in characters."""
    whole: str | None
    """The text of the document, where that is more than its first passage; with that passage alone."""


def exported(index: IndexReader, batch: int = 1_000) -> Iterator[list[Exported]]:
    """All passages with their vectors, in order of arrival, `batch` documents at a time."""
    ids = index.ids()
    for start in range(0, len(ids), batch):
        wanted = ids[start : start + batch]
        found = []
        for document, parts in zip(index.get(wanted), index.passages(wanted), strict=True):
            for number, part in enumerate(parts):
                id = document.id if len(parts) == 1 else f"{document.id}#{number}"
                whole = document.text if not number and part.text != document.text else None
                found.append(Exported(id, document.id, part.text, part.vector, document.metadata, part.start, whole))
        yield found


def write_parquet(index: IndexReader, target: Path) -> int:
    """Write a row for each passage, beside the target first; returns how many."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Writing Parquet", "parquet") from error
    dim, written = index.info().dim, 0
    texts = [(name, arrow.string()) for name in ("id", "document", "text")]
    vector = ("vector", arrow.list_(arrow.float32(), dim or 0))
    others = [("metadata", arrow.string()), ("start", arrow.int64()), ("whole", arrow.string())]
    schema = arrow.schema([*texts, vector, *others], EXPORT)
    aside = target.with_name(f".{target.name}.part")
    try:
        with parquet.ParquetWriter(aside, schema) as writer:
            for some in exported(index):
                flat = arrow.array(np.concatenate([each.vector for each in some]))
                vectors = arrow.FixedSizeListArray.from_arrays(flat, dim)
                plain = [[getattr(each, name) for each in some] for name, _ in texts]
                metadata = [json.dumps(each.metadata, ensure_ascii=False) for each in some]
                places = [[each.start for each in some], [each.whole for each in some]]
                writer.write_table(arrow.table([*plain, vectors, metadata, *places], schema=schema))
                written += len(some)
        aside.replace(target)
    except OSError as error:
        raise DiskError(f"{target} cannot be written: {error}") from error
    finally:
        aside.unlink(missing_ok=True)
    return written
