"""Keys and values of a filter, checked once: what passes can be stored in JSON and compared by SQLite."""

from __future__ import annotations

import math
import re
from datetime import date, time
from typing import Any, NoReturn

from gossamer.document_limits import LONGEST_KEY
from gossamer.errors import FilterError
from gossamer.filters.nodes import OPERATORS, Path, Scalar

DEEPEST = 32


def as_scalar(value: Any, key: str) -> Scalar:
    """`value` if it can be compared with a JSON value."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _finite(value, key)
    return _no_scalar(value, key)


def as_scalars(operand: Any, key: str, name: str) -> tuple[Scalar, ...]:
    """The values of an $in."""
    if not isinstance(operand, list | tuple | set | frozenset):
        refuse(f"{name} on {key!r} takes a list of values, got {show(operand)}")
    return tuple(as_scalar(value, key) for value in operand)


def as_ordered(operand: Any, key: str, name: str) -> str | int | float:
    """The bound of a $gt and its like."""
    value = as_scalar(operand, key)
    if value is None or isinstance(value, bool):
        refuse(f"{name} on {key!r} takes a number or a string, got {show(value)}, which has no order")
    return value


def as_path(key: str) -> Path:
    r"""The names on the way to a value: ``a.b`` is two, ``a\.b`` is one."""
    names = [""]
    for piece in re.findall(r"\\[.$\\]|.", _text(key), re.DOTALL):
        if piece == ".":
            names.append("")
        else:
            names[-1] += piece[-1]
    if len(names) > DEEPEST:
        refuse(f"{show(key)} goes {len(names)} levels deep (at most {DEEPEST}): a dot in a name is written \\.")
    if (longest := max(map(len, names))) > LONGEST_KEY:
        refuse(f"{show(key)} has a name of {longest:,} characters (at most {LONGEST_KEY:,}): no stored key is longer")
    return tuple(names)


def refuse(problem: str) -> NoReturn:
    """Raise FilterError with the problem and the operators there are."""
    raise FilterError(f"{problem}. Operators: {', '.join(OPERATORS)}")


def show(value: Any) -> str:
    """The kind and the beginning of a value, for a message."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '…'}"


def _no_scalar(value: Any, key: str) -> NoReturn:
    if isinstance(value, list | tuple | set | frozenset):
        refuse(f"{key!r} cannot be compared with a whole list: for any of several write {{'$in': […]}}")
    if isinstance(value, date | time):
        refuse(f"{key!r} cannot be compared with a {type(value).__name__}: write it as text, .isoformat()")
    refuse(f"{key!r} is compared with {show(value)}: it must be a string, a number, True, False or None")


def _finite(value: int | float, key: str) -> int | float:
    """A plain int or float (NumPy's float64 is a float too)."""
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an int beyond every float
        finite = False
    if not finite:
        refuse(f"{key!r} is compared with a number that is not finite in 64 bits: give a finite one")
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
