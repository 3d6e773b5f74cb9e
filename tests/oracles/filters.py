"""Filters evaluated document by document in plain Python, against which the columns are tested."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from gossamer.filters.nodes import Compare, Exists, Group, Match, Member, Moment, Node, Not, Path
from gossamer.filters.parse import parse

Test: TypeAlias = Callable[[Mapping[str, Any]], bool]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def matches(where: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Whether `metadata` (values as in JSON) satisfies `where`."""
    return to_test(parse(where))(metadata)


def to_test(node: Node) -> Test:
    """`node` as a function of metadata."""
    match node:
        case Not(inner):
            test = to_test(inner)
            return lambda metadata: not test(metadata)
        case Group(every, nodes):
            fold, tests = (all if every else any), [to_test(each) for each in nodes]
            return lambda metadata: fold(each(metadata) for each in tests)
        case Exists(path):
            return lambda metadata: any(True for _ in _found(metadata, path))
        case Member():
            return _member_test(node)
        case Compare():
            return _compare_test(node)
        case Match(path, part, text):
            holds = str.startswith if part == "$startswith" else str.__contains__
            return lambda metadata: any(
                isinstance(value, str) and holds(value, text) for value in _with_elements(_found(metadata, path))
            )


def _member_test(node: Member) -> Test:
    wanted = frozenset(map(_kinded, node.values))
    or_missing = ("null", None) in wanted

    def test(metadata: Mapping[str, Any]) -> bool:
        found = list(_found(metadata, node.path))
        if not found:
            return or_missing
        values = list(_with_elements(found))
        return any(_kinded(value) in wanted or ("moment", _moment(value)) in wanted for value in values)

    return test


def _compare_test(node: Compare) -> Test:
    holds = _ORDERS[node.order]
    kind, bound = _kinded(node.operand)
    moment = bound if kind == "moment" else _moment(node.operand)

    def compares(value: Any) -> bool:
        if moment is not None and _moment(value) is not None:
            return holds(_moment(value), moment)
        found, comparable = _kinded(value)
        return found == kind and holds(comparable, bound)

    return lambda metadata: any(map(compares, _with_elements(_found(metadata, node.path))))


def _moment(value: Any) -> int | None:
    """Microseconds since 1970 in UTC of a text that is an ISO date, with or without a time; None for anything else."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}.*)?", value):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _found(value: Any, path: Path) -> Iterator[Any]:
    """The values at `path`; lists on the way are searched."""
    if not path:
        yield value
        return
    for holder in value if isinstance(value, list | tuple) else (value,):
        if isinstance(holder, Mapping) and path[0] in holder:
            yield from _found(holder[path[0]], path[1:])


def _with_elements(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _kinded(value: Any) -> tuple[str, Any]:
    """A value with its kind, so that values of different kinds are never equal (in Python, True == 1)."""
    if value is None:
        return "null", None
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, str):
        return "text", value
    if isinstance(value, int | float):
        return "number", _as_stored(value)
    if isinstance(value, Moment):
        return "moment", value.microseconds
    return "other", None


def _as_stored(number: int | float) -> int | float:
    """Integers beyond 64 bits are floats."""
    if isinstance(number, float) or -(2**63) <= number < 2**63:
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
