"""A parsed filter and the columns of its fields → which documents match."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from gossamer.array_types import Bools
from gossamer.filters.column import Column
from gossamer.filters.nodes import Condition, Exists, Group, Node, Not, Path


def evaluate(node: Node, column: Callable[[Path], Column], rows: int) -> Bools:
    """By row, of which there are so many: whether the document matches."""
    match node:
        case Not(inner):
            return ~evaluate(inner, column, rows)
        case Group(every, nodes):
            if not nodes:
                return np.full(rows, every)
            parts = (evaluate(each, column, rows) for each in nodes)
            return reduce(np.logical_and if every else np.logical_or, parts)
        case _:
            return column(node.path).test(node)


def conditions(node: Node) -> list[Condition]:
    """All conditions of a filter."""
    match node:
        case Not(inner):
            return conditions(inner)
        case Group(_, nodes):
            return [condition for each in nodes for condition in conditions(each)]
        case _:
            return [node]


def compared_fields(node: Node) -> list[Path]:
    """The fields whose values a filter asks for, each once; $exists asks only whether there is one."""
    return list(dict.fromkeys(each.path for each in conditions(node) if not isinstance(each, Exists)))
