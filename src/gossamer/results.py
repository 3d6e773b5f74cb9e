"""What the calls return: frozen values that carry their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

DocId: TypeAlias = int | str


@dataclass(frozen=True)
class SearchResult:
    """The answers to a batch of queries, best first.

    `ids` is (queries, k): int64, or object where the ids are strings; -1 past the end.
    `scores` is (queries, k), never rising along a row; NaN past the end.
    `visited` counts, for each query, the nodes whose density or distance was computed.
    """

    ids: npt.NDArray[Any]
    scores: npt.NDArray[np.float64]
    visited: npt.NDArray[np.int64]
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class PathStep:
    """One concept on the way from the root to a document's leaf."""

    node: int
    count: int
    log_p: float
    gain: float
    """Evidence gained by going here from the parent: log p of this node less its parent's; 0 at the root."""


@dataclass(frozen=True)
class Explanation:
    """Why a document scores as it does for a query: the gains of its path add up to `score`."""

    id: DocId
    score: float
    path: tuple[PathStep, ...]


@dataclass(frozen=True)
class TreeStats:
    """The shape of a tree and the work that made it."""

    documents: int
    nodes: int
    leaves: int
    depth: int
    widest: int
    branching: dict[int, int]
    """How many internal nodes have how many children."""
    operators: dict[str, int]
    """How often each operator was applied since the tree began."""
