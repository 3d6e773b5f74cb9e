"""A Chroma collection: ids, documents, embeddings and metadata."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gossamer.errors import DiskError
from gossamer.integrations.common import library
from gossamer.integrations.transfer.rows import Rows, as_matrix, the_one

_BATCH: Final = 2_000


def from_chroma(source: Any, collection: str | None = None) -> Iterator[Rows]:
    """The documents of a collection: an open one, or that of the name `collection` in the folder of a database.

    A database of one collection needs no name.
    """
    opened = _open(source, collection) if isinstance(source, str | os.PathLike) else source
    start = 0
    while True:
        found = opened.get(limit=_BATCH, offset=start, include=["documents", "embeddings", "metadatas"])
        if not found["ids"]:
            return
        size = len(found["ids"])
        yield Rows(
            list(found["ids"]),
            list(found["documents"] or [None] * size),
            as_matrix(found["embeddings"], f"the collection {opened.name!r}"),
            [dict(each or {}) for each in found["metadatas"] or [None] * size],
        )
        start += size


def _open(path: str | os.PathLike[str], name: str | None) -> Any:
    chromadb = library("chromadb", "Reading a Chroma collection", "chroma")
    if not (Path(path) / "chroma.sqlite3").is_file():  # Chroma would make a new database
        raise DiskError(f"there is no Chroma database at {path}: give the folder that holds chroma.sqlite3")
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(path), settings)
    names = [each.name for each in client.list_collections()]
    return client.get_collection(the_one(name, names, "collection", path), embedding_function=None)
