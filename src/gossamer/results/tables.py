"""Rows of results as tables of other libraries, which are imported when asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gossamer.errors import MissingExtraError

EXPORT: Final = {"gossamer.export": "1"}
"""The metadata of a Parquet file that `Index.to_parquet` wrote: the version of its columns."""


def is_export(file: Any) -> bool:
    """Whether a `pyarrow.parquet.ParquetFile` is an export of an index."""
    told = file.schema_arrow.metadata or {}
    return all(told.get(key.encode()) == value.encode() for key, value in EXPORT.items())


def as_dataframe(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    """Rows as a pandas DataFrame: these columns first, then the others in order of appearance."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("A DataFrame", "pandas") from error
    others = dict.fromkeys(name for row in rows for name in row if name not in columns)
    return pandas.DataFrame(rows, columns=[*columns, *others])
