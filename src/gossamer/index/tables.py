"""A table → texts, ids and metadata for `Index.add`: pandas, Polars, Arrow, Hugging Face datasets, or a list of dicts.

In: a table and the names of its columns. Out: one text, id and dict of metadata for each row. Narwhals reads the
tables, so that none of these libraries is needed by itself. A missing value (None, NaN, NaT) is left out of the
metadata; dates become ISO text, which filters compare as dates.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from itertools import chain
from typing import Any, NamedTuple

from gossamer.errors import DtypeError, InputError, MissingExtraError, ParameterError


class Rows(NamedTuple):
    """The rows of a table, by what they are for."""

    texts: list[str]
    ids: list[str] | None
    metadata: list[dict[str, Any]]


def looks_like_a_table(value: object) -> bool:
    """Whether a value has named columns: a DataFrame, an Arrow table or a dataset, not a single column."""
    kind = type(value)  # to ask a lazy frame itself for its columns is work
    return hasattr(kind, "columns") or hasattr(kind, "column_names")


def read_table(table: Any, text: str | Sequence[str] | None, id: str | None, metadata: Sequence[str] | None) -> Rows:
    """The rows of a table. Several text columns are joined by line breaks; no `metadata` means all other columns."""
    if text is None:
        there = ", ".join(map(repr, _opened(table)[0][:20]))
        raise ParameterError(f"say which column has the texts, as in add_table(table, text='body'): there are {there}")
    of_text = [text] if isinstance(text, str) else list(text) if isinstance(text, Sequence) else []
    if not of_text or isinstance(metadata, str) or not isinstance(metadata, Sequence | None):
        raise ParameterError("text is the name of a column, or several; metadata is a list of names, as in ['year']")
    names, records = _opened(table)
    kept = [name for name in names if name not in (*of_text, id)] if metadata is None else list(metadata)
    _check_columns(names, [*of_text, *([] if id is None else [id]), *kept])
    rows = Rows([], None if id is None else [], [])
    for at, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise DtypeError(f"row {at} is {type(record).__name__}, not a dict")
        rows.texts.append(_text(record, of_text, at))
        if rows.ids is not None and id is not None:
            rows.ids.append(_id(record.get(id), at))
        values = ((name, _plain(record.get(name), name, at)) for name in kept)
        rows.metadata.append({str(name): value for name, value in values if value is not None})
    return rows


def _opened(table: Any) -> tuple[list[str], Iterable[Mapping[str, Any]]]:
    """The names of the columns, and the rows as mappings."""
    if type(table).__module__.partition(".")[0] == "datasets":  # rows of a Hugging Face dataset are dicts
        names = getattr(table, "column_names", None)
        if isinstance(names, dict):
            raise ParameterError(
                f"a dataset of several splits: choose one of {', '.join(map(repr, names))}, as in d[…]"
            )
        return _of_dicts(table) if names is None else (list(names), table)
    if not looks_like_a_table(table) and isinstance(table, Iterable) and not isinstance(table, str | bytes | Mapping):
        return _of_dicts(table)
    try:
        import narwhals
    except ImportError as error:
        raise MissingExtraError("Reading a table", "tables") from error
    try:
        frame: Any = narwhals.from_native(table)
    except TypeError as error:
        raise DtypeError(
            f"add_table reads pandas, Polars, Arrow and Hugging Face tables and lists of dicts, got "
            f"{type(table).__name__}: to add texts, use add"
        ) from error
    frame = frame.collect() if isinstance(frame, narwhals.LazyFrame) else frame
    return list(frame.columns), frame.iter_rows(named=True)


def _of_dicts(rows: Iterable[Any]) -> tuple[list[str], Iterator[Mapping[str, Any]]]:
    """Rows that are dicts already; the columns are those of the first row."""
    remaining = iter(rows)
    first: Any = next(remaining, {})
    if not isinstance(first, Mapping):
        raise DtypeError(f"add_table takes a table or a list of dicts, got a list of {type(first).__name__}: use add")
    return list(first), chain([first] if first else [], remaining)


def _check_columns(names: Sequence[str], wanted: Iterable[str]) -> None:
    for name in wanted:
        if name not in names and names:
            near = get_close_matches(str(name), [str(each) for each in names], 1)
            hint = f": did you mean {near[0]!r}?" if near else f": it has {', '.join(map(repr, names[:20]))}"
            raise ParameterError(f"the table has no column {name!r}{hint}")


def _text(record: Mapping[str, Any], columns: Sequence[str], at: int) -> str:
    parts = [record.get(name) for name in columns]
    given: list[str] = []
    for part in parts:
        if _is_missing(part):
            continue
        if not isinstance(part, str):
            raise DtypeError(f"row {at} has {type(part).__name__} {part!r} for a text: convert the column to strings")
        given.append(part)
    if not given:
        raise InputError(f"row {at} has no text in {' or '.join(map(repr, columns))}: drop such rows first")
    return "\n".join(given)


def _id(value: Any, at: int) -> str:
    if _is_missing(value):
        raise InputError(f"row {at} has no id: fill the column, or leave id out to have documents numbered")
    value = value.item() if hasattr(value, "item") else value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _plain(value: Any, name: str, at: int) -> Any:
    """A value as JSON can hold it; None for a missing one."""
    if _is_missing(value):
        return None
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each, name, at) for key, each in value.items()}
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return _plain(value.tolist(), name, at)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, name, at) for each in value]
    raise DtypeError(
        f"row {at} has {type(value).__name__} in column {name!r}, which metadata cannot hold: convert it, or name the "
        "columns to keep, as in metadata=['year']"
    )


def _is_missing(value: Any) -> bool:
    """None, NaN, pandas' NA and NaT."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")
