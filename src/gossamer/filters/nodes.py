"""The parts of a parsed filter. They are hashable, and say nothing about how a filter is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

OPERATORS = (
    "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$startswith", "$exists",
    "$and", "$or", "$not",
)  # fmt: skip

Order: TypeAlias = Literal["$gt", "$gte", "$lt", "$lte"]
Part: TypeAlias = Literal["$contains", "$startswith"]
Path: TypeAlias = tuple[str, ...]


class Moment(NamedTuple):
    """A point in time: microseconds since 1970-01-01T00:00:00Z."""

    microseconds: int


Scalar: TypeAlias = str | int | float | bool | Moment | None


@dataclass(frozen=True)
class Exists:
    """The key is present; its value may be null."""

    path: Path


@dataclass(frozen=True)
class Member:
    """The value, or an element of it, is one of `values`; None also matches a missing key."""

    path: Path
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Compare:
    """The value, or an element of it, is of the operand's kind and compares to it as `order` says."""

    path: Path
    order: Order
    operand: str | int | float | Moment


@dataclass(frozen=True)
class Match:
    """The value, or an element of it, is a text that contains `text`, or begins with it."""

    path: Path
    part: Part
    text: str


@dataclass(frozen=True)
class Not:
    """The node does not match."""

    node: Node


@dataclass(frozen=True)
class Group:
    """All of the nodes match (`every`), or any of them."""

    every: bool
    nodes: tuple[Node, ...]


Condition: TypeAlias = Exists | Member | Compare | Match
Node: TypeAlias = Condition | Not | Group
