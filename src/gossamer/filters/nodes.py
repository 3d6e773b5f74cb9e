"""What a filter is made of once it is parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = tuple[str, ...]

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$and", "$or", "$not")


@dataclass(frozen=True)
class Exists:
    """The key is there, be it null."""

    path: Path


@dataclass(frozen=True)
class Member:
    """The value, or an element of it, is one of `values`; None stands for a missing key too."""

    path: Path
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Compare:
    """The value, or an element of it, is of the operand's kind and stands in this order to it."""

    path: Path
    order: str
    operand: str | int | float


@dataclass(frozen=True)
class Not:
    """The opposite."""

    node: Node


@dataclass(frozen=True)
class Group:
    """All of the nodes, or any of them."""

    every: bool
    nodes: tuple[Node, ...]


Node: TypeAlias = Exists | Member | Compare | Not | Group
