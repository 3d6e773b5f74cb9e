"""The metadata that filters ask for, a column a field, read from the database when a filter first names it.

Documents are told by *row*, their place in the order of arrival (see `document_table`). A column catches up when it is
used: documents that came are read, and those whose metadata was updated are read again.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from threading import Lock
from typing import Any, Final

import numpy as np

from gossamer.array_types import Bools, Longs
from gossamer.filters import Column, Condition, Node, Path, as_key, conditions, evaluate
from gossamer.runtime import deadline
from gossamer.store import rows

_READ_AT_ONCE: Final = 1_000
"""Documents whose metadata is read with one statement."""

_MOST_COLUMNS: Final = 64
"""Columns that are kept, the newest: 13 bytes a document for each, and its different texts."""

_SAMPLED: Final = 1_000
_MOST_NAMES: Final = 1_000
"""Documents in which names of fields are looked for, and names that are kept."""

_SHOWN: Final = 5
"""Names of fields in a message."""


class MetadataColumns:
    """Columns by field. Safe for threads that read the same state of the index."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._columns: dict[Path, Column] = {}
        self._updated: dict[Path, set[int]] = {}  # rows that a column has to read again
        self._names: list[str] | None = None

    def __len__(self) -> int:
        return len(self._columns)

    def note_changes(self, updated: Iterable[int] | None) -> None:
        """Take note that documents came, went, or got other metadata; None where it is not known which ones.

        No other thread may be using the columns.
        """
        self._names = None
        if updated is None:
            self._columns, self._updated = {}, {}
        else:
            some = set(updated)
            for path, column in self._columns.items():
                self._updated[path] |= {row for row in some if row < column.rows}

    def matching(self, db: sqlite3.Connection, numbers: Longs, where: Node) -> Bools:
        """By row: whether the document matches. `numbers` are the numbers of documents by row."""
        columns = self._current(db, numbers, [each.path for each in conditions(where)])
        return evaluate(where, columns.__getitem__, len(numbers))

    def doubts(
        self,
        db: sqlite3.Connection,
        numbers: Longs,
        paths: Sequence[Path],
        asked: Sequence[Condition],
        dated: Sequence[Path] = (),
    ) -> list[str]:
        """A sentence for each of some fields that no document has, with names that are like it, one for each condition
        whose operand is of another kind than all values of its field, and one for each of `dated` without a date."""
        columns = self._current(db, numbers, paths)
        unknown = [path for path in paths if not columns[path].present] if len(numbers) else []
        fits = [(each.path, columns[each.path].mismatch(each)) for each in asked if each.path in columns]
        return [
            *(_unknown(as_key(path), self._field_names(db, numbers)) for path in unknown),
            *(f"the field {as_key(path)!r} {why}" for path, why in fits if why),
            *(
                f"the field {as_key(path)!r} holds no dates, so nothing is preferred by it"
                for path in dated
                if columns[path].present and not columns[path].has_dates
            ),
        ]

    def _current(self, db: sqlite3.Connection, numbers: Longs, paths: Sequence[Path]) -> dict[Path, Column]:
        """The columns of some fields, up to date."""
        found = {path: self._columns.get(path) for path in paths}
        ready = {path: column for path, column in found.items() if column and self._is_current(path, column, numbers)}
        if len(ready) < len(found):
            with deadline.holding(self._lock):
                ready = {path: self._columns.get(path) or Column(path) for path in paths}
                self._read_updated(db, numbers, ready)
                self._read_new(db, numbers, ready)
                self._keep(ready)
        return ready

    def _is_current(self, path: Path, column: Column, numbers: Longs) -> bool:
        return column.rows == len(numbers) and not self._updated[path]

    def _keep(self, columns: Mapping[Path, Column]) -> None:
        self._columns = {**self._columns, **columns}
        for path in list(islice(self._columns, max(0, len(self._columns) - _MOST_COLUMNS))):
            del self._columns[path]
        self._updated = {path: self._updated.get(path, set()) for path in self._columns}

    def _read_updated(self, db: sqlite3.Connection, numbers: Longs, columns: Mapping[Path, Column]) -> None:
        for path, column in columns.items():
            updated = sorted(self._updated.get(path, ()))
            if updated:
                found = rows.metadata_of(db, numbers[updated].tolist())
                column.replace(updated, [found.get(number, {}) for number in numbers[updated].tolist()])
                self._updated[path] = set()

    def _read_new(self, db: sqlite3.Connection, numbers: Longs, columns: Mapping[Path, Column]) -> None:
        first = min((column.rows for column in columns.values()), default=len(numbers))
        for start, metadata in _metadata(db, numbers, first):
            for column in columns.values():
                column.extend(metadata[column.rows - start :] if column.rows < start + len(metadata) else [])

    def _field_names(self, db: sqlite3.Connection, numbers: Longs) -> list[str]:
        """The names of fields that some documents have, as they are written in a filter."""
        if self._names is None:
            spread = np.linspace(0, len(numbers) - 1, min(_SAMPLED, len(numbers))).astype(np.int64)
            found: dict[str, None] = {}
            for metadata in rows.metadata_of(db, numbers[spread].tolist()).values():
                found |= dict.fromkeys(map(as_key, islice(_paths_in(metadata, ()), _MOST_NAMES)))
                if len(found) > _MOST_NAMES:
                    break
            self._names = sorted(found)
        return self._names


def _metadata(db: sqlite3.Connection, numbers: Longs, first: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """The metadata of documents from row `first` on, a part at a time with its first row; removed documents have {}."""
    for start in range(first, len(numbers), _READ_AT_ONCE):
        deadline.check()
        part = numbers[start : start + _READ_AT_ONCE].tolist()
        found = rows.metadata_between(db, part[0], part[-1])
        yield start, [found.get(number, {}) for number in part]


def _paths_in(value: Any, path: Path) -> Iterator[Path]:
    """The paths of all fields in metadata; lists of objects are looked through."""
    for holder in value if isinstance(value, list) else [value]:
        if isinstance(holder, dict):
            for name, inner in holder.items():
                yield (*path, name)
                yield from _paths_in(inner, (*path, name))


def _unknown(key: str, names: Sequence[str]) -> str:
    near = get_close_matches(key, names, _SHOWN) or get_close_matches(key.lower(), [name.lower() for name in names], 1)
    if near:
        return f"no document has the field {key!r}: did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
    return f"no document has the field {key!r}: " + (f"there are {shown}" if names else "none has any metadata")
