"""One metadata field of all documents, as typed arrays.

A column has one entry for each document and, where the value is a list, one more for each further element. An entry has
a kind, and a number that is its value: a whole number itself, a float by its bits, a text by its code. So a condition
is a comparison of arrays, and costs about a nanosecond for each document.
"""

import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Bools, Doubles, Ints, Longs
from gossamer.filters.nodes import Compare, Condition, Exists, Match, Member, Moment, Order, Path
from gossamer.filters.texts import Texts
from gossamer.plain_text import shortened

MISSING: Final = 0
_NULL: Final = 1
_FALSE: Final = 2
_TRUE: Final = 3
_WHOLE: Final = 4
_REAL: Final = 5
_TEXT: Final = 6
_OTHER: Final = 7  # an object, a list within a list, or an empty list
_REPLACED: Final = 8  # the document has other metadata since

_NAMES: Final = {
    _FALSE: "true or false", _TRUE: "true or false", _WHOLE: "numbers", _REAL: "numbers", _TEXT: "text"
}  # fmt: skip
"""What people call the kinds that can be compared."""

_KIND_OF_TYPE: Final[Mapping[type, str]] = {
    bool: _NAMES[_TRUE], int: _NAMES[_WHOLE], float: _NAMES[_REAL], str: _NAMES[_TEXT], Moment: _NAMES[_TEXT]
}  # fmt: skip
"""The kind of values that an operand is compared with; None has none, since it also stands for a missing field."""

_BEGINS_A_DATE: Final = re.compile(r"\d{4}(-\d\d(-\d\d.*)?)?", re.DOTALL)
"""A text that sorts among dates: 2026, 2026-05, or a whole date."""

_LONGEST: Final = 40
"""Characters of an operand in a message."""

Kinds: TypeAlias = npt.NDArray[np.uint8]
_Entry: TypeAlias = tuple[int, int]

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1

_ABSENT: Final = object()


def values_at(metadata: Any, path: Path) -> Iterator[Any]:
    """The values at a path; lists of objects on the way are searched."""
    if not path:
        yield metadata
        return
    for holder in metadata if isinstance(metadata, list) else (metadata,):
        if isinstance(holder, Mapping) and path[0] in holder:
            yield from values_at(holder[path[0]], path[1:])


class Column:
    """The values of one field, by row: the place of a document in the order of arrival."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts = Texts()
        self._rows = np.empty(0, np.int32)
        self._kinds = np.empty(0, np.uint8)
        self._values = np.empty(0, np.int64)
        self._entries = 0
        self._in_order = True
        self.rows = 0
        """Documents it covers."""
        self.present = False
        """Whether any of them ever had the field."""
        self._ever: set[str] = set()  # kinds of value that any of them ever had

    def extend(self, metadata: Sequence[Mapping[str, Any]]) -> None:
        """Add the documents that follow, in order of arrival."""
        first, last = self.rows, self.rows + len(metadata)
        simple = self._simple_entries(metadata)
        if simple is not None:
            places, kinds, values = simple
            self._append(first + places, kinds, values)
        else:
            self._append_each(range(first, last), metadata)
        self.rows = last

    def replace(self, rows: Sequence[int], metadata: Sequence[Mapping[str, Any]]) -> None:
        """Give documents that are there other metadata."""
        used = self._rows[: self._entries]
        self._kinds[: self._entries][np.isin(used, rows)] = _REPLACED
        self._append_each(rows, metadata)
        self._in_order = False

    # -- reading -----------------------------------------------------------------------------------

    def test(self, condition: Condition) -> Bools:
        """By row: whether the value, or an element of it, satisfies a condition."""
        truth = self._test_entries(condition)
        if self._in_order and self._entries == self.rows:
            return truth
        by_row = np.zeros(self.rows, np.bool_)
        by_row[self._rows[: self._entries][truth]] = True
        return by_row

    @property
    def has_dates(self) -> bool:
        """Whether any value ever was a date: an ISO text, or a number, which may be seconds."""
        return _NAMES[_WHOLE] in self._ever or self._texts.has_dates()

    def mismatch(self, condition: Condition) -> str:
        """Why a condition fits no value, where all of them are of another kind than its operands; else ""."""
        match condition:
            case Exists():
                return ""
            case Compare(_, _, str(text)) if not _BEGINS_A_DATE.fullmatch(text) and self._holds_only_dates():
                return (
                    f"holds dates, and was compared with {_shown(text)}, which is none: write it as in '2026-05-01', "
                    "or pass a date"
                )
            case Match(_, _, text):
                operands: tuple[Any, ...] = (text,)
            case Compare(_, _, operand):
                operands = (operand,)
            case Member(_, values):
                operands = values
        wanted = {_KIND_OF_TYPE.get(each, "") for each in set(map(type, operands))}
        if not self._ever or not wanted or "" in wanted or wanted & self._ever:
            return ""
        first = "a date" if isinstance(operands[0], Moment) else _shown(operands[0])
        return f"holds {' and '.join(sorted(self._ever))}, and was compared with {first}: that matches nothing"

    def _holds_only_dates(self) -> bool:
        return self._ever == {_NAMES[_TEXT]} and self._texts.are_dates()

    def _test_entries(self, condition: Condition) -> Bools:
        kinds, texts = self._kinds[: self._entries], self._texts
        match condition:
            case Exists():
                there: Bools = (kinds != MISSING) & (kinds != _REPLACED)
                return there
            case Match(_, part, text):
                return self._of_texts(texts.matching(part, text))
            case Compare(_, order, operand):
                if isinstance(operand, str | Moment):
                    return self._of_texts(texts.compared(order, operand))
                return self._compared(order, _as_stored(operand))
            case Member(_, values):
                return self._among(values)

    def _among(self, values: Sequence[Any]) -> Bools:
        kinds = self._kinds[: self._entries]
        truth = np.zeros(self._entries, np.bool_)
        for value, stands_for in ((None, (MISSING, _NULL)), (False, (_FALSE,)), (True, (_TRUE,))):
            if any(each is value for each in values):
                for kind in stands_for:
                    truth |= kinds == kind
        if texts := [value for value in values if isinstance(value, str)]:
            truth |= self._of_texts(self._texts.among(texts))
        if moments := [value for value in values if isinstance(value, Moment)]:
            truth |= self._of_texts(self._texts.at(moments))
        if numbers := [_as_stored(value) for value in values if type(value) in (int, float)]:
            truth |= self._equal(numbers)
        return truth

    def _of_texts(self, by_code: Bools) -> Bools:
        """Entries that are texts of which `by_code` is true."""
        if not by_code.any():
            return np.zeros(self._entries, np.bool_)
        found: Bools = by_code.take(self._values[: self._entries], mode="clip") & self._is(_TEXT)
        return found

    def _equal(self, numbers: Sequence[int | float]) -> Bools:
        whole = [int(each) for each in numbers if each == each // 1 and _LEAST <= each <= _MOST]
        real = [float(each) for each in numbers if float(each) == each]
        found: Bools = self._is(_WHOLE) & _is_in(self._values[: self._entries], np.array(whole, np.int64))
        if self._has(_REAL):
            with np.errstate(invalid="ignore"):
                found |= self._is(_REAL) & _is_in(self._reals, np.array(real, np.float64))
        return found

    def _compared(self, order: Order, operand: int | float) -> Bools:
        found = self._is(_WHOLE)
        if (bound := _whole_bound(order, operand)) is not None:
            found &= _COMPARED[order](self._values[: self._entries], bound)
        elif (operand > 0) != (order in ("$lt", "$lte")):  # beyond all whole numbers, on the side that none is
            found[:] = False
        if self._has(_REAL):
            adjusted, limit = _real_bound(order, operand)
            with np.errstate(invalid="ignore"):
                found |= self._is(_REAL) & _COMPARED[adjusted](self._reals, limit)
        return found

    def _is(self, kind: int) -> Bools:
        found: Bools = self._kinds[: self._entries] == kind
        return found

    def _has(self, kind: int) -> bool:
        return bool((self._kinds[: self._entries] == kind).any())

    @property
    def _reals(self) -> Doubles:
        """The numbers of all entries read as floats, which those of kind _REAL are; the others may be anything."""
        return self._values[: self._entries].view(np.float64)

    # -- writing -----------------------------------------------------------------------------------

    def _simple_entries(self, metadata: Sequence[Mapping[str, Any]]) -> tuple[Ints, Kinds, Longs] | None:
        """Places in `metadata`, kinds and values of the entries where all values are of one kind; None where not.

        Most fields are like this (texts, whole numbers, lists of texts, nothing), and to take them together is several
        times as fast.
        """
        values: list[Any] = list(metadata)
        for name in self._path:
            if not {dict, object}.issuperset(map(type, values)):
                return None
            values = [each.get(name, _ABSENT) if each is not _ABSENT else each for each in values]
        places = np.arange(len(values), dtype=np.int32)
        if set(map(type, values)) == {list} and all(values):
            places = np.repeat(places, [len(each) for each in values])
            values = list(chain.from_iterable(values))
        types = set(map(type, values))
        if types == {str}:
            kind, numbers = _TEXT, np.array(self._texts.encode(values), np.int64)
        elif types == {int} and min(values) >= _LEAST and max(values) <= _MOST:
            kind, numbers = _WHOLE, np.array(values, np.int64)
        elif types <= {object}:
            kind, numbers = MISSING, np.zeros(len(values), np.int64)
        else:
            return None
        self.present = self.present or kind != MISSING
        return places, np.full(len(values), kind, np.uint8), numbers

    def _append_each(self, rows: Iterable[int], metadata: Iterable[Mapping[str, Any]]) -> None:
        found_rows: list[int] = []
        entries: list[_Entry] = []
        for row, each in zip(rows, metadata, strict=True):
            before = len(entries)
            entries += self._entries_of(each)
            found_rows += [row] * (len(entries) - before)
        if any(kind != MISSING for kind, _ in entries):
            self.present = True
        columns = np.array(entries, np.int64).reshape(-1, 2)
        self._append(np.array(found_rows, np.int32), columns[:, 0].astype(np.uint8), columns[:, 1])

    def _entries_of(self, metadata: Mapping[str, Any]) -> list[_Entry]:
        found = list(values_at(metadata, self._path))
        if not found:
            return [(MISSING, 0)]
        elements = [each for value in found for each in (value if isinstance(value, list) else (value,))]
        return [self._entry(each) for each in elements] or [(_OTHER, 0)]

    def _entry(self, value: Any) -> _Entry:
        match value:
            case None:
                return _NULL, 0
            case bool():
                return _TRUE if value else _FALSE, 0
            case str():
                return _TEXT, self._texts.encode([value])[0]
            case int() | float():
                number = _as_stored(value)
                if isinstance(number, int):
                    return _WHOLE, number
                return (_OTHER, 0) if math.isnan(number) else (_REAL, struct.unpack("q", struct.pack("d", number))[0])
            case _:
                return _OTHER, 0

    def _append(self, rows: Ints, kinds: Kinds, values: Longs) -> None:
        start, stop = self._entries, self._entries + len(rows)
        if stop > len(self._rows):
            room = max(stop, 3 * len(self._rows) // 2)
            self._rows, self._kinds, self._values = (
                np.concatenate([old[:start], np.empty(room - start, old.dtype)])
                for old in (self._rows, self._kinds, self._values)
            )
        self._rows[start:stop], self._kinds[start:stop], self._values[start:stop] = rows, kinds, values
        self._ever |= {_NAMES[kind] for kind in np.unique(kinds).tolist() if kind in _NAMES}
        self._entries = stop


def _shown(operand: object) -> str:
    kind = "the text" if isinstance(operand, str) else "the number" if not isinstance(operand, bool) else "the value"
    return f"{kind} {shortened(repr(operand), _LONGEST)}"


# -- numbers ---------------------------------------------------------------------------------------------

_COMPARED: Final = {"$gt": np.greater, "$gte": np.greater_equal, "$lt": np.less, "$lte": np.less_equal}


def _as_stored(number: int | float) -> int | float:
    """Whole numbers beyond 64 bits as floats."""
    if isinstance(number, float) or _LEAST <= number <= _MOST:
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_in(values: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> Bools:
    if len(wanted) == 1:  # a tenth of the time
        found: Bools = values == wanted[0]
        return found
    return np.isin(values, wanted)


def _whole_bound(order: Order, operand: int | float) -> int | None:
    """A whole number that divides whole numbers as `operand` does; None where that is beyond 64 bits."""
    if isinstance(operand, int):
        return operand
    if math.isinf(operand):
        return None
    bound = math.ceil(operand) if order in ("$lt", "$gte") else math.floor(operand)
    return bound if _LEAST <= bound <= _MOST else None


def _real_bound(order: Order, operand: int | float) -> tuple[Order, float]:
    """An order and a float that divide floats as `order` and `operand` do, which may lie between two floats."""
    nearest = float(operand)
    if nearest == operand:
        return order, nearest
    below = nearest < operand
    if order in ("$lt", "$lte"):
        return ("$lte" if below else "$lt"), nearest
    return ("$gt" if below else "$gte"), nearest
