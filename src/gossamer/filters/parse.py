"""From the dict the user wrote to nodes, or to an error that says what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from gossamer.filters.nodes import OPERATORS, Compare, Exists, Group, Member, Node, Not, Path
from gossamer.filters.operands import DEEPEST, as_ordered, as_path, as_scalar, as_scalars, refuse, show

MOST_CONDITIONS = 256
"""In one filter: keeps the SQL inside SQLite's limits on depth and variables, whatever its shape."""


def parse(where: Mapping[str, Any]) -> Node:
    """`where` as nodes; FilterError tells what is wrong, the cure, and the operators there are."""
    node = Group(True, ()) if isinstance(where, Mapping) and not where else _filter(where, 1)
    count = _conditions(node)
    if count > MOST_CONDITIONS:
        refuse(f"{count} conditions are too many (at most {MOST_CONDITIONS}): put many values of a key into $in")
    return node


def _filter(where: Any, depth: int) -> Node:
    """A dict of keys and logical operators: all of them."""
    if not isinstance(where, Mapping):
        refuse(f"a filter must be a dict such as {{'year': 2020}}, got {show(where)}")
    if not where:
        refuse("an empty dict inside a filter says nothing: write a condition or leave it out")
    _check_depth(depth)
    return _group(True, (_entry(key, value, depth) for key, value in where.items()))


def _entry(key: Any, value: Any, depth: int) -> Node:
    if not isinstance(key, str):
        refuse(f"a key must be a string, got {show(key)}: JSON has no other keys")
    if key.startswith("$"):
        return _logical(key, value, depth)
    if isinstance(value, Mapping):
        return _operators(key, value, depth)
    return Member(as_path(key), (as_scalar(value, key),))


def _logical(name: str, value: Any, depth: int) -> Node:
    """An operator where a key could stand: $and, $or, $not."""
    if name == "$not":
        return Not(_filter(value, depth + 1))
    if name not in ("$and", "$or"):
        _misplaced(name)
    if not isinstance(value, list | tuple) or not value:
        refuse(f"{name} takes a list of at least one filter, got {show(value)}")
    return _group(name == "$and", (_filter(item, depth + 1) for item in value))


def _operators(key: str, operators: Mapping[Any, Any], depth: int) -> Node:
    """A dict of operators under a key: all of them."""
    if not operators:
        refuse(f"the condition on {key!r} is an empty dict: write an operator, such as {{'$exists': True}}")
    _check_depth(depth)
    path = as_path(key)
    return _group(True, (_operator(path, key, name, operand, depth) for name, operand in operators.items()))


def _operator(path: Path, key: str, name: Any, operand: Any, depth: int) -> Node:
    match name:
        case "$eq" | "$ne":
            node: Node = Member(path, (as_scalar(operand, key),))
        case "$in" | "$nin":
            node = Member(path, as_scalars(operand, key, name))
        case "$gt" | "$gte" | "$lt" | "$lte":
            node = Compare(path, name, as_ordered(operand, key, name))
        case "$exists":
            return _exists(path, key, operand)
        case "$not":
            node = _negated(key, operand, depth)
        case _:
            _unknown(key, name)
    return Not(node) if name in ("$ne", "$nin", "$not") else node


def _exists(path: Path, key: str, operand: Any) -> Node:
    if not isinstance(operand, bool):
        refuse(f"$exists on {key!r} takes True or False, got {show(operand)}")
    return Exists(path) if operand else Not(Exists(path))


def _negated(key: str, operand: Any, depth: int) -> Node:
    if not isinstance(operand, Mapping):
        refuse(f"$not on {key!r} takes a dict of operators, got {show(operand)}: for one value write $ne")
    return _operators(key, operand, depth + 1)


def _misplaced(name: str) -> NoReturn:
    if name in OPERATORS:
        refuse(f"{name} must stand under a key: write {{'year': {{{name!r}: …}}}}")
    refuse(f"unknown operator {name!r}; a key that begins with a dollar is written {chr(92) + name!r}")


def _unknown(key: str, name: Any) -> NoReturn:
    if name in ("$and", "$or"):
        refuse(f"{name} cannot stand under the key {key!r}: write {{{name!r}: [{{{key!r}: …}}, …]}}")
    if isinstance(name, str) and not name.startswith("$"):
        refuse(f"{name!r} under {key!r} is no operator: for a nested key write {f'{key}.{name}'!r}")
    refuse(f"unknown operator {show(name)} on {key!r}")


def _group(every: bool, nodes: Iterable[Node]) -> Node:
    found = tuple(nodes)
    return found[0] if len(found) == 1 else Group(every, found)


def _conditions(node: Node) -> int:
    if isinstance(node, Not):
        return _conditions(node.node)
    return sum(map(_conditions, node.nodes)) if isinstance(node, Group) else 1


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        refuse(f"the filter is nested more than {DEEPEST} levels deep: make it flatter")
