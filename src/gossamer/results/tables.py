"""Rows of results as tables of other libraries, which are imported when asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.errors import MissingExtraError


def as_dataframe(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    """Rows as a pandas DataFrame: these columns first, then the others in order of appearance."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("A DataFrame", "pandas") from error
    others = dict.fromkeys(name for row in rows for name in row if name not in columns)
    return pandas.DataFrame(rows, columns=[*columns, *others])
