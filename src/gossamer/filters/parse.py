"""From the dict the user wrote to nodes, or to an error that says what to write instead.

What a filter holds is counted while it is read, so that one that is too large is refused before it costs anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from gossamer.filters.nodes import OPERATORS, Compare, Exists, Group, Member, Node, Not, Path, Scalar
from gossamer.filters.operands import DEEPEST_FILTER, as_ordered, as_path, as_scalar, as_scalars, brief, refuse, show

MOST_CONDITIONS = 256
"""In one filter: keeps the SQL inside SQLite's limits on depth and variables, whatever its shape."""

MOST_CHARACTERS = 1_000_000
"""Of all keys and values of a filter in sum, numbers as they are written."""

MOST_LEVELS = 1_024
"""Of the keys of all conditions in sum: each level is a table in the SQL, which SQLite takes time to plan."""


def parse(where: Mapping[str, Any], *, conditions: int = MOST_CONDITIONS, characters: int = MOST_CHARACTERS) -> Node:
    """`where` as nodes; FilterError tells what is wrong, the cure, and the operators there are."""
    if isinstance(where, Mapping) and not where:
        return Group(True, ())
    return _Parser(min(conditions, MOST_CONDITIONS), min(characters, MOST_CHARACTERS)).filter(where, 1)


class _Parser:
    """Reads one filter and counts what it holds."""

    def __init__(self, most_conditions: int, most_characters: int) -> None:
        self._most_conditions = most_conditions
        self._most_characters = most_characters
        self._conditions = 0
        self._characters = 0
        self._levels = 0

    def filter(self, where: Any, depth: int) -> Node:
        """A dict of keys and logical operators: all of them."""
        if not isinstance(where, Mapping):
            refuse(f"a filter must be a dict such as {{'year': 2020}}, got {show(where)}")
        if not where:
            refuse("an empty dict inside a filter says nothing: write a condition or leave it out")
        _check_depth(depth)
        return _group(True, (self._entry(key, value, depth) for key, value in where.items()))

    def _entry(self, key: Any, value: Any, depth: int) -> Node:
        if not isinstance(key, str):
            refuse(f"a key must be a string, got {show(key)}: JSON has no other keys")
        if key.startswith("$"):
            return self._logical(key, value, depth)
        if isinstance(value, Mapping):
            return self._operators(self._path(key), key, value, depth)
        path = self._path(key)
        self._count_condition(path)
        return Member(path, (self._scalar(value, key),))

    def _logical(self, name: str, value: Any, depth: int) -> Node:
        """An operator where a key could stand: $and, $or, $not."""
        if name == "$not":
            return Not(self.filter(value, depth + 1))
        if name not in ("$and", "$or"):
            _misplaced(name)
        if not isinstance(value, list | tuple) or not value:
            refuse(f"{name} takes a list of at least one filter, got {show(value)}")
        return _group(name == "$and", (self.filter(item, depth + 1) for item in value))

    def _operators(self, path: Path, key: str, operators: Mapping[Any, Any], depth: int) -> Node:
        """A dict of operators under a key: all of them."""
        if not operators:
            refuse(f"the condition on {brief(key)} is an empty dict: write an operator, such as {{'$exists': True}}")
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
                node = Member(path, tuple(map(self._counted, as_scalars(operand, key, name))))
            case "$gt" | "$gte" | "$lt" | "$lte":
                node = Compare(path, name, as_ordered(self._scalar(operand, key), key, name))
            case "$exists":
                return _exists(path, key, operand)
            case _:
                _unknown(key, name)
        return Not(node) if name in ("$ne", "$nin") else node

    def _negated(self, path: Path, key: str, operand: Any, depth: int) -> Node:
        if not isinstance(operand, Mapping):
            refuse(f"$not on {brief(key)} takes a dict of operators, got {show(operand)}: for one value write $ne")
        return self._operators(path, key, operand, depth + 1)

    # -- counting ----------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        path = as_path(key)
        self._count_characters(len(key))
        return path

    def _scalar(self, value: Any, key: str) -> Scalar:
        return self._counted(as_scalar(value, key))

    def _counted(self, value: Scalar) -> Scalar:
        self._count_characters(len(value if isinstance(value, str) else repr(value)))
        return value

    def _count_condition(self, path: Path) -> None:
        self._conditions += 1
        if self._conditions > self._most_conditions:
            refuse(f"more than {self._most_conditions} conditions are too many: put many values of a key into $in")
        self._levels += len(path)
        if self._levels > MOST_LEVELS:
            refuse(f"the filter's keys go more than {MOST_LEVELS:,} levels deep in sum: use fewer or flatter ones")

    def _count_characters(self, characters: int) -> None:
        self._characters += characters
        if self._characters > self._most_characters:
            refuse(
                f"the filter's keys and values have more than {self._most_characters:,} characters in sum: "
                "filter by fewer, or by shorter ones"
            )


def _exists(path: Path, key: str, operand: Any) -> Node:
    if not isinstance(operand, bool):
        refuse(f"$exists on {brief(key)} takes True or False, got {show(operand)}")
    return Exists(path) if operand else Not(Exists(path))


def _misplaced(name: str) -> NoReturn:
    if name in OPERATORS:
        refuse(f"{name} must stand under a key: write {{'year': {{{name!r}: …}}}}")
    refuse(f"unknown operator {brief(name)}; a key that begins with a dollar is written {brief(chr(92) + name)}")


def _unknown(key: str, name: Any) -> NoReturn:
    if name in ("$and", "$or"):
        refuse(f"{name} cannot stand under the key {brief(key)}: write {{{name!r}: [{{{brief(key)}: …}}, …]}}")
    if isinstance(name, str) and not name.startswith("$"):
        refuse(f"{brief(name)} under {brief(key)} is no operator: for a nested key write {brief(f'{key}.{name}')}")
    refuse(f"unknown operator {show(name)} on {brief(key)}")


def _group(every: bool, nodes: Iterable[Node]) -> Node:
    found = tuple(nodes)
    return found[0] if len(found) == 1 else Group(every, found)


def _check_depth(depth: int) -> None:
    if depth > DEEPEST_FILTER:
        refuse(f"the filter is nested more than {DEEPEST_FILTER} levels deep: make it flatter")
