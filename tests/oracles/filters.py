"""Filters evaluated in Python, against which the SQL is tested."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from gossamer.filters.nodes import Compare, Exists, Group, Member, Node, Not, Path
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


def _member_test(node: Member) -> Test:
    wanted = frozenset(map(_kinded, node.values))
    or_missing = ("null", None) in wanted

    def test(metadata: Mapping[str, Any]) -> bool:
        found = list(_found(metadata, node.path))
        if not found:
            return or_missing
        return any(_kinded(value) in wanted for value in _with_elements(found))

    return test


def _compare_test(node: Compare) -> Test:
    holds = _ORDERS[node.order]
    kind, bound = _kinded(node.operand)

    def test(metadata: Mapping[str, Any]) -> bool:
        candidates = map(_kinded, _with_elements(_found(metadata, node.path)))
        return any(found == kind and holds(value, bound) for found, value in candidates)

    return test


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
        return "number", _as_sqlite(value)
    return "other", None


def _as_sqlite(number: int | float) -> int | float:
    """SQLite reads integers beyond 64 bits as floats."""
    if isinstance(number, float) or -(2**63) <= number < 2**63:
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
