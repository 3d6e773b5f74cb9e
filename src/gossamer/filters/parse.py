"""Parse a filter (a dict) into nodes, or raise an error that says what to write instead.

Sizes are counted while parsing, so that a filter that is too large is refused before it costs much.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time
from typing import Any, NoReturn

import numpy as np

from gossamer.checks import LONGEST_KEY
from gossamer.errors import FilterError
from gossamer.filters.dates import moment_of
from gossamer.filters.nodes import OPERATORS, Compare, Exists, Group, Match, Member, Moment, Node, Not, Path, Scalar

DEEPEST_FILTER = 32
"""The most levels of nesting of a filter, and of a key."""

LONGEST_OPERAND = 100_000
"""The most characters of a text."""

MOST_VALUES = 10_000
"""The most values of one $in."""

_SHOWN = 60
"""Characters of a key or a value shown in an error message; the value may have megabytes."""

MOST_CONDITIONS = 256
"""The most conditions of a filter: each looks at every document once."""

MOST_CHARACTERS = 1_000_000
"""The most characters of all keys and values of a filter in sum; a number counts by its repr."""

MOST_LEVELS = 1_024
"""The most levels of all keys in sum: a field is looked for in every document, level by level."""


def parse(where: Mapping[str, Any], *, conditions: int = MOST_CONDITIONS, characters: int = MOST_CHARACTERS) -> Node:
    """`where` as nodes. FilterError names the problem, the cure and the operators."""
    if isinstance(where, Mapping) and not where:
        return Group(True, ())
    return _Parser(min(conditions, MOST_CONDITIONS), min(characters, MOST_CHARACTERS)).filter(where, 1)


class _Parser:
    """Parses one filter and counts its conditions, levels and characters."""

    def __init__(self, most_conditions: int, most_characters: int) -> None:
        self._most_conditions = most_conditions
        self._most_characters = most_characters
        self._conditions = 0
        self._characters = 0
        self._levels = 0

    def filter(self, where: Any, depth: int) -> Node:
        """A dict of keys and logical operators, all of which must match."""
        if not isinstance(where, Mapping):
            _refuse(f"a filter must be a dict such as {{'year': 2020}}, got {_show(where)}")
        if not where:
            _refuse("an empty dict inside a filter says nothing: write a condition or leave it out")
        _check_depth(depth)
        return _group(True, (self._entry(key, value, depth) for key, value in where.items()))

    def _entry(self, key: Any, value: Any, depth: int) -> Node:
        if not isinstance(key, str):
            _refuse(f"a key must be a string, got {_show(key)}: JSON has no other keys")
        if key.startswith("$"):
            return self._logical(key, value, depth)
        if isinstance(value, Mapping):
            return self._operators(self._path(key), key, value, depth)
        path = self._path(key)
        self._count_condition(path)
        return Member(path, (self._scalar(value, key),))

    def _logical(self, name: str, value: Any, depth: int) -> Node:
        """An operator in place of a key: $and, $or, $not."""
        if name == "$not":
            return Not(self.filter(value, depth + 1))
        if name not in ("$and", "$or"):
            _misplaced(name)
        if not isinstance(value, list | tuple) or not value:
            _refuse(f"{name} takes a list of at least one filter, got {_show(value)}")
        return _group(name == "$and", (self.filter(item, depth + 1) for item in value))

    def _operators(self, path: Path, key: str, operators: Mapping[Any, Any], depth: int) -> Node:
        """A dict of operators under a key, all of which must match."""
        if not operators:
            _refuse(f"the condition on {_brief(key)} is an empty dict: write an operator, such as {{'$exists': True}}")
        _check_depth(depth)
        return _group(True, (self._operator(path, key, name, operand, depth) for name, operand in operators.items()))

    def _operator(self, path: Path, key: str, name: Any, operand: Any, depth: int) -> Node:
        if name == "$not":
            return Not(self._negated(path, key, operand, depth))
        self._count_condition(path)
        match name:
            case "$eq" | "$ne":
                node: Node = Member(path, (self._scalar(operand, key),))
            case "$in" | "$nin":
                node = Member(path, tuple(map(self._counted, _as_scalars(operand, key, name))))
            case "$gt" | "$gte" | "$lt" | "$lte":
                node = Compare(path, name, _as_ordered(self._scalar(operand, key), key, name))
            case "$contains" | "$startswith":
                node = Match(path, name, _as_part(self._scalar(operand, key), key, name))
            case "$exists":
                return _exists(path, key, operand)
            case _:
                _unknown(key, name)
        return Not(node) if name in ("$ne", "$nin") else node

    def _negated(self, path: Path, key: str, operand: Any, depth: int) -> Node:
        if not isinstance(operand, Mapping):
            _refuse(f"$not on {_brief(key)} takes a dict of operators, got {_show(operand)}: for one value write $ne")
        return self._operators(path, key, operand, depth + 1)

    def _path(self, key: str) -> Path:
        path = as_path(key)
        self._count_characters(len(key))
        return path

    def _scalar(self, value: Any, key: str) -> Scalar:
        return self._counted(_as_scalar(value, key))

    def _counted(self, value: Scalar) -> Scalar:
        self._count_characters(len(value) if isinstance(value, str) else len(repr(value)))
        return value

    def _count_condition(self, path: Path) -> None:
        self._conditions += 1
        if self._conditions > self._most_conditions:
            _refuse(f"more than {self._most_conditions} conditions are too many: put many values of a key into $in")
        self._levels += len(path)
        if self._levels > MOST_LEVELS:
            _refuse(f"the filter's keys go more than {MOST_LEVELS:,} levels deep in sum: use fewer or flatter ones")

    def _count_characters(self, characters: int) -> None:
        self._characters += characters
        if self._characters > self._most_characters:
            _refuse(
                f"the filter's keys and values have more than {self._most_characters:,} characters in sum: "
                "filter by fewer, or by shorter ones"
            )


def _exists(path: Path, key: str, operand: Any) -> Node:
    operand = operand.item() if isinstance(operand, np.bool_) else operand
    if not isinstance(operand, bool):
        _refuse(f"$exists on {_brief(key)} takes True or False, got {_show(operand)}")
    return Exists(path) if operand else Not(Exists(path))


def _misplaced(name: str) -> NoReturn:
    if name in OPERATORS:
        _refuse(f"{name} must stand under a key: write {{'year': {{{name!r}: …}}}}")
    _refuse(f"unknown operator {_brief(name)}; a key that begins with a dollar is written {_brief(chr(92) + name)}")


def _unknown(key: str, name: Any) -> NoReturn:
    if name in ("$and", "$or"):
        _refuse(f"{name} cannot stand under the key {_brief(key)}: write {{{name!r}: [{{{_brief(key)}: …}}, …]}}")
    if isinstance(name, str) and not name.startswith("$"):
        _refuse(f"{_brief(name)} under {_brief(key)} is no operator: for a nested key write {_brief(f'{key}.{name}')}")
    _refuse(f"unknown operator {_brief(name) if isinstance(name, str) else _show(name)} on {_brief(key)}")


def _group(every: bool, nodes: Iterable[Node]) -> Node:
    found = tuple(nodes)
    return found[0] if len(found) == 1 else Group(every, found)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST_FILTER:
        _refuse(f"the filter is nested more than {DEEPEST_FILTER} levels deep: make it flatter")


def _as_scalar(value: Any, key: str) -> Scalar:
    """`value`, or what a scalar of NumPy stands for, if it can be compared with a JSON value."""
    if isinstance(value, np.bool_ | np.integer | np.floating) and not isinstance(value, np.timedelta64):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        _check_length(value, LONGEST_OPERAND, f"the text that {_brief(key)} is compared with")
        return _text(value)
    if isinstance(value, int | float):
        return _finite(value, key)
    if isinstance(value, date):
        return _moment(value, key)
    return _no_scalar(value, key)


def _as_scalars(operand: Any, key: str, name: str) -> Iterator[Scalar]:
    """The checked values of an $in."""
    if not isinstance(operand, list | tuple | set | frozenset):
        _refuse(f"{name} on {_brief(key)} takes a list of values, got {_show(operand)}")
    if len(operand) > MOST_VALUES:
        _refuse(
            f"{name} on {_brief(key)} has {len(operand):,} values (at most {MOST_VALUES:,}): search in several parts"
        )
    return (_as_scalar(value, key) for value in operand)


def _as_ordered(value: Scalar, key: str, name: str) -> str | int | float | Moment:
    """The bound of a $gt, $gte, $lt or $lte."""
    if value is None or isinstance(value, bool):
        _refuse(f"{name} on {_brief(key)} takes a number, a string or a date, got {_show(value)}, which has no order")
    return value


def _as_part(value: Scalar, key: str, name: str) -> str:
    """The text of a $contains or $startswith."""
    if not isinstance(value, str):
        _refuse(f"{name} on {_brief(key)} takes a part of a text: for a value, or an element of a list, write $eq")
    if not value:
        _refuse(f"{name} on {_brief(key)} takes a text of at least one character: every text holds the empty one")
    return value


def as_path(key: str) -> Path:
    r"""The key split into names: ``a.b`` is two names, ``a\.b`` is one."""
    _check_length(key, LONGEST_KEY, f"the key {_brief(key)}")
    names: list[list[str]] = [[]]
    for piece in re.findall(r"\\[.$\\]|.", _text(key), re.DOTALL):
        if piece == ".":
            names.append([])
        else:
            names[-1].append(piece[-1])
    if len(names) > DEEPEST_FILTER:
        _refuse(
            f"{_show(key)} goes {len(names)} levels deep (at most {DEEPEST_FILTER}): a dot in a name is written \\."
        )
    return tuple(map("".join, names))


def as_key(path: Path) -> str:
    """A path as it is written in a filter."""
    key = ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in path)
    return f"\\{key}" if key.startswith("$") else key


def _refuse(problem: str) -> NoReturn:
    """Raise FilterError with the problem and the list of operators."""
    raise FilterError(f"{problem}. Operators: {', '.join(OPERATORS)}")


def _show(value: Any) -> str:
    """The type and the beginning of a value, for an error message."""
    return f"{type(value).__name__} {_brief(value)}"


def _brief(value: Any) -> str:
    """The beginning of the repr of a key or a value."""
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}…"
    if isinstance(value, list | tuple | set | frozenset | Mapping) and len(value) > _SHOWN:
        return f"of {len(value):,} entries"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits, or a structure that contains itself
        return "that is too large to be shown"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _check_length(text: str, most: int, what: str) -> None:
    if len(text) > most:
        _refuse(f"{what} has {len(text):,} characters (at most {most:,}): make it shorter")


def _no_scalar(value: Any, key: str) -> NoReturn:
    if isinstance(value, list | tuple | set | frozenset):
        _refuse(f"{_brief(key)} cannot be compared with a whole list: for any of several write {{'$in': […]}}")
    if isinstance(value, time):
        _refuse(f"{_brief(key)} cannot be compared with a time of day: write it as text, .isoformat()")
    _refuse(f"{_brief(key)} is compared with {_show(value)}: it must be a string, number, date, True, False or None")


def _finite(value: int | float, key: str) -> int | float:
    """`value` as a plain int or float, if it is finite."""
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an int larger than any float
        finite = False
    if not finite:
        _refuse(f"{_brief(key)} is compared with a number that is not finite in 64 bits: give a finite one")
    return int(value) if isinstance(value, int) else float(value)


def _moment(value: date, key: str) -> Moment:
    try:
        return moment_of(value)
    except (TypeError, ValueError, OverflowError):  # pandas' NaT calls itself a datetime
        _refuse(f"{_brief(key)} is compared with {_show(value)}, which is no date")


def _text(text: str) -> str:
    """`text` if stored metadata can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        _refuse(f"{_show(text)} holds half of a surrogate pair, which is no text: remove it")
    if "\0" in text:
        _refuse(f"{_show(text)} holds a NUL character, which stored metadata cannot: remove it")
    return text
