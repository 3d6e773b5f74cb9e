"""A LanceDB table: an Arrow table with a column of vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gossamer.errors import DiskError
from gossamer.integrations.common import library
from gossamer.integrations.transfer.parquet import Columns
from gossamer.integrations.transfer.rows import Rows, the_one

_BATCH: Final = 4_096


def from_lancedb(
    source: Any, table: str | None = None, *, text: str = "text", id: str | None = None, vector: str | None = None
) -> Iterator[Rows]:
    """The rows of a table: an open one, or that of the name `table` in the folder of a database.

    `text`, `id` and `vector` name columns, as in `from_parquet`. A database of one table needs no name.
    """
    opened = _open(source, table) if isinstance(source, str | os.PathLike) else source
    columns = Columns(opened.schema.names, text, id, vector, f"the table {opened.name!r}")
    everything, start = opened.to_arrow(), 0
    for batch in everything.to_batches(_BATCH):
        yield columns.rows(batch, start)
        start += batch.num_rows


def _open(path: str | os.PathLike[str], name: str | None) -> Any:
    lancedb = library("lancedb", "Reading a LanceDB table", "lancedb")
    if not Path(path).is_dir():  # LanceDB would make a new database
        raise DiskError(f"there is no LanceDB database at {path}: give the folder that holds its tables")
    database = lancedb.connect(str(path))
    names = sorted(each.stem for each in Path(path).glob("*.lance"))
    return database.open_table(the_one(name, names, "table", path))
