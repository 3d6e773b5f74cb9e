"""Parquet, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from gossamer.errors import MissingExtraError
from gossamer.readers.fields import Job, Row, records
from gossamer.readers.record import Record
from gossamer.readers.walk import Source

_BATCH = 64
"""Rows held at a time: few, since a column may repeat one long text without taking space in the file."""


def require_pyarrow() -> Any:
    """pyarrow.parquet, or the error that says how to install it."""
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError("Reading .parquet", "parquet") from error


def read_parquet(source: Source, job: Job) -> Iterator[Record]:
    """Every row group in turn; progress is told by rows, since columns lie apart in the file."""
    return records(_rows(require_pyarrow(), source, job), source, job)


def _rows(parquet: Any, source: Source, job: Job) -> Iterator[Row]:
    done = 0
    try:
        with parquet.ParquetFile(source.path) as file:
            total = max(1, file.metadata.num_rows)
            job.account.position = lambda: source.size * done // total
            for batch in file.iter_batches(batch_size=_BATCH):
                for fields in batch.to_pylist():
                    done += 1
                    yield Row(done, fields)
    # A column of texts may hold bytes that are none, and dates may lie beyond those of Python.
    except (import_module("pyarrow").ArrowException, ValueError, OverflowError) as error:
        job.account.problem(source.place, f"not valid Parquet ({error})", "Write the file again")
