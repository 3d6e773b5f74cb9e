"""Keys and values of a filter, checked once: what passes can be stored in JSON and compared by SQLite."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import Any, NoReturn

from gossamer.document_limits import LONGEST_KEY
from gossamer.errors import FilterError
from gossamer.filters.nodes import OPERATORS, Path, Scalar

DEEPEST_FILTER = 32
"""Levels of nesting of a filter, and of a key."""

LONGEST_OPERAND = 100_000
MOST_VALUES = 10_000
"""Characters of a text, and values of one $in."""

_SHOWN = 60
"""Characters of a key or a value that a message shows: it may be megabytes."""


def as_scalar(value: Any, key: str) -> Scalar:
    """`value` if it can be compared with a JSON value."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _check_length(value, LONGEST_OPERAND, f"the text that {brief(key)} is compared with")
        return _text(value)
    if isinstance(value, int | float):
        return _finite(value, key)
    return _no_scalar(value, key)


def as_scalars(operand: Any, key: str, name: str) -> Iterator[Scalar]:
    """The values of an $in, one by one."""
    if not isinstance(operand, list | tuple | set | frozenset):
        refuse(f"{name} on {brief(key)} takes a list of values, got {show(operand)}")
    if len(operand) > MOST_VALUES:
        refuse(f"{name} on {brief(key)} has {len(operand):,} values (at most {MOST_VALUES:,}): search in several parts")
    return (as_scalar(value, key) for value in operand)


def as_ordered(value: Scalar, key: str, name: str) -> str | int | float:
    """The bound of a $gt and its like."""
    if value is None or isinstance(value, bool):
        refuse(f"{name} on {brief(key)} takes a number or a string, got {show(value)}, which has no order")
    return value


def as_path(key: str) -> Path:
    r"""The names on the way to a value: ``a.b`` is two, ``a\.b`` is one."""
    _check_length(key, LONGEST_KEY, f"the key {brief(key)}")
    names: list[list[str]] = [[]]
    for piece in re.findall(r"\\[.$\\]|.", _text(key), re.DOTALL):
        if piece == ".":
            names.append([])
        else:
            names[-1].append(piece[-1])
    if len(names) > DEEPEST_FILTER:
        refuse(f"{show(key)} goes {len(names)} levels deep (at most {DEEPEST_FILTER}): a dot in a name is written \\.")
    return tuple(map("".join, names))


def refuse(problem: str) -> NoReturn:
    """Raise FilterError with the problem and the operators there are."""
    raise FilterError(f"{problem}. Operators: {', '.join(OPERATORS)}")


def show(value: Any) -> str:
    """The kind and the beginning of a value, for a message."""
    return f"{type(value).__name__} {brief(value)}"


def brief(value: Any) -> str:
    """The beginning of a key or a value as Python would write it."""
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}…"
    if isinstance(value, list | tuple | set | frozenset | Mapping) and len(value) > _SHOWN:
        return f"of {len(value):,} entries"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, or nesting without end
        return "that is too large to be shown"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _check_length(text: str, most: int, what: str) -> None:
    if len(text) > most:
        refuse(f"{what} has {len(text):,} characters (at most {most:,}): make it shorter")


def _no_scalar(value: Any, key: str) -> NoReturn:
    if isinstance(value, list | tuple | set | frozenset):
        refuse(f"{brief(key)} cannot be compared with a whole list: for any of several write {{'$in': […]}}")
    if isinstance(value, date | time):
        refuse(f"{brief(key)} cannot be compared with a {type(value).__name__}: write it as text, .isoformat()")
    refuse(f"{brief(key)} is compared with {show(value)}: it must be a string, a number, True, False or None")


def _finite(value: int | float, key: str) -> int | float:
    """A plain int or float (NumPy's float64 is a float too)."""
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an int beyond every float
        finite = False
    if not finite:
        refuse(f"{brief(key)} is compared with a number that is not finite in 64 bits: give a finite one")
    return int(value) if isinstance(value, int) else float(value)


def _text(text: str) -> str:
    """`text` if SQLite can hold it: it ends JSON strings at NUL and takes no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse(f"{show(text)} holds half of a surrogate pair, which is no text: remove it")
    if "\0" in text:
        refuse(f"{show(text)} holds a NUL character, which stored metadata cannot: remove it")
    return text
