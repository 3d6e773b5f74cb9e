"""The parameters of a search, checked once → `SearchRequest` and `Restriction`, which travel to the rankers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from gossamer.array_types import NONE, Ints, Longs
from gossamer.checks import one_of, positive
from gossamer.errors import ParameterError
from gossamer.runtime.jit import kernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.scoring import Flags

Method: TypeAlias = Literal["guided", "path-sum", "best-first"]
Aggregate: TypeAlias = Literal["sum", "mean"]

_OPTIONS: Final = {
    "guided": {"budget", "recall", "context", "allowed", "within"},
    "path-sum": {"aggregate", "context", "allowed", "within"},
    "best-first": {"budget"},
}
"""The options of each method. One that a method does not have is refused, not ignored."""

METHODS: Final[tuple[Method, ...]] = ("guided", "path-sum", "best-first")

_MOST_NODES: Final = 2**31
"""More nodes than any tree has."""

_MOST: Final = 10_000_000
"""The largest k: about a gigabyte of answers for six queries."""


@dataclass(frozen=True)
class Restriction:
    """The documents that a search may return. It can be kept for other searches of the same state of a tree."""

    tree: TreeArrays
    flags: Flags
    """By document number: 1 where it may be returned, which is in the tree."""
    size: int
    """How many there are."""
    one_concept: bool
    """They lie below one concept. A walk leads to where the query is, which may be far from there, so all are scored.
    """

    @classmethod
    def to(cls, t: TreeArrays, allowed: Flags | None, below: Longs | None) -> Restriction | None:
        """To documents that have a flag, that are `below` a concept, or both; None for no restriction."""
        if below is not None:
            flags = as_flags(t, below)
            flags &= 1 if allowed is None else allowed
        elif allowed is not None:
            flags = allowed & (t.leaf[: len(allowed)] != NONE)
        else:
            return None
        return cls(t, flags, int(np.count_nonzero(flags)), below is not None)

    @cached_property
    def documents(self) -> Longs:
        """Their numbers, in ascending order."""
        return np.flatnonzero(self.flags)

    @cached_property
    def leaves(self) -> Flags:
        """By row of a leaf: 1 where it holds one of them."""
        t, flags = self.tree, np.zeros(len(self.tree.vectors), np.uint8)
        flag_leaves(self.flags, t.leaf, t.row, flags)
        return flags


@kernel
def flag_leaves(documents: Flags, leaf: Ints, row: Ints, out: Flags) -> None:
    """Set the flag of every leaf, by row, that holds a document with a flag."""
    for document in range(documents.shape[0]):
        if documents[document]:
            out[row[leaf[document]]] = 1


def as_flags(t: TreeArrays, documents: Longs) -> Flags:
    """A flag for each document ever in the tree, set for these."""
    flags = np.zeros(int(t.meta[Meta.NEXT_DOCUMENT]), np.uint8)
    flags[documents] = 1
    return flags


class SearchRequest(NamedTuple):
    """How many documents to return, and how to look for them."""

    k: int
    method: Method = "guided"
    budget: int | None = None
    """Nodes that a search may open (best-first), or scores before it ends, about as many (guided)."""
    recall: float | None = None
    """Share of the true answers to aim for, where there is no budget; None for `Calibration.usual_effort`."""
    aggregate: Aggregate = "sum"
    context: float = 0.0

    @classmethod
    def checked(cls, k: Any, method: Any, default_context: float, **options: Any) -> SearchRequest:
        """The request, or an error that says what is wrong with it. An option that is None was not given."""
        k = positive(k, "k")
        if k > _MOST:
            raise ParameterError(f"k is {k}, and a search returns at most {_MOST:,} documents: ask for fewer")
        one_of(method, "method", tuple(_OPTIONS))
        given = {name: value for name, value in options.items() if value is not None}
        if not given:
            return cls(k, method, context=default_context)
        aggregate = one_of(given.get("aggregate", "sum"), "aggregate", ("sum", "mean"))
        for name in given:
            if name not in _OPTIONS[method]:
                raise ParameterError(f"{name} has no meaning for method={method!r}: leave it out")
        if aggregate == "mean" and "context" in given:
            raise ParameterError('context applies to aggregate="sum" alone: leave one of the two out')
        if "recall" in given and "budget" in given:
            raise ParameterError("budget and recall are two ways to say the same: leave one of the two out")
        return cls(
            k=k,
            method=method,
            budget=min(_MOST_NODES, positive(given["budget"], "budget")) if "budget" in given else None,
            recall=as_recall(given["recall"]) if "recall" in given else None,
            aggregate="mean" if aggregate == "mean" else "sum",
            context=as_context(given["context"]) if "context" in given else default_context,
        )

    @property
    def is_guided(self) -> bool:
        """Whether a search graph can help: a recall of 1 takes an exhaustive search."""
        return self.method == "guided" and (self.recall is None or self.recall < 1.0)

    @property
    def reads_concepts(self) -> bool:
        """Whether scores depend on concepts other than the root."""
        return self.method == "best-first" or self.aggregate == "mean" or self.context != 0.0


def as_context(context: Any) -> float:
    """A context, checked: 0 scores by the path gain alone, 1 by the paper's sum over the path."""
    if not isinstance(context, int | float | np.number) or not 0.0 <= context <= 1.0:
        raise ParameterError(f"context must be a number from 0 (path gain) to 1 (the paper's sum), got {context!r}")
    return float(context)


def as_recall(recall: Any) -> float:
    """A recall, checked."""
    if not isinstance(recall, int | float | np.number) or not 0.0 < recall <= 1.0:
        raise ParameterError(f"recall must be a share of the true answers, above 0 and at most 1, got {recall!r}")
    return float(recall)
