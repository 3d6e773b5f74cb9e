"""The parts of a parsed filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = tuple[str, ...]

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$and", "$or", "$not")


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
    """The value, or an element of it, is of the operand's kind and compares to it as `order` ($gt, $gte, …) says."""

    path: Path
    order: str
    operand: str | int | float


@dataclass(frozen=True)
class Not:
    """The node does not match."""

    node: Node


@dataclass(frozen=True)
class Group:
    """All of the nodes match (`every`), or any of them."""

    every: bool
    nodes: tuple[Node, ...]


Node: TypeAlias = Exists | Member | Compare | Not | Group
