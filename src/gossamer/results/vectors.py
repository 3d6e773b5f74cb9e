"""What `VectorIndex` and `CobwebTree` return: documents by id, concepts by node number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DocId: TypeAlias = int | str


@dataclass(frozen=True)
class SearchResult:
    """The answers to a batch of queries, best first.

    >>> found = vx.search([0.9, 0.1, 0.0], k=1)
    >>> found.ids.tolist(), found.visited.tolist()
    ([['fox']], [3])
    """

    ids: npt.NDArray[Any]
    """Shape (queries, k): int64, or object where ids are strings; -1 past the end."""
    scores: npt.NDArray[np.float64]
    """Shape (queries, k), never rising along a row; NaN past the end."""
    visited: npt.NDArray[np.int64]
    """Nodes scored, for each query."""
    seconds: float = 0.0
    """Time taken by the whole batch."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class PathStep:
    """One node on the path from the root to a document's leaf.

    >>> step = vx.explain([0.9, 0.1, 0.0], "fox").path[0]
    >>> step.count, step.gain
    (3, 0.0)
    """

    node: int
    count: int
    """Documents below the node."""
    log_p: float
    """Log density of the query under the node's Gaussian."""
    gain: float
    """`log_p` less the parent's; 0 at the root."""
    margin: float | None = None
    """`log_p` less the best sibling's: below 0, the query fits the sibling better. None at the root."""
    rival: int | None = None
    """The best sibling. None at the root."""


@dataclass(frozen=True)
class Axis:
    """One axis of an ICA whitener and its share of a score.

    >>> import numpy as np
    >>> from gossamer import VectorIndex
    >>> rng = np.random.default_rng(0)
    >>> paper = VectorIndex(dim=4, preset="paper")
    >>> added = paper.add(rng.laplace(size=(300, 4)))
    >>> why = paper.explain(np.ones(4), 7)
    >>> abs(sum(axis.contribution for axis in why.axes) - why.score) < 1e-6
    False
    """

    axis: int
    contribution: float
    """Gain along this axis. Over all axes, contributions add up to the score."""
    query: float
    """Coordinate of the query."""
    document: float
    """Coordinate of the document."""
    extremes: tuple[DocId, ...]
    """The documents furthest out on the document's side: they show what this end of the axis is about."""


@dataclass(frozen=True, repr=False)
class VectorExplanation:
    """Why a document scores as it does for a query vector: the gains of its path add up to `score`.

    >>> why = vx.explain([0.9, 0.1, 0.0], "fox")
    >>> abs(sum(step.gain for step in why.path) - why.score) < 1e-6
    True
    """

    id: DocId
    score: float
    path: tuple[PathStep, ...]
    """From the root to the leaf."""
    axes: tuple[Axis, ...] = ()
    """The axes with the largest contributions, largest first. Empty without ICA: other axes have no meaning alone."""

    def __repr__(self) -> str:
        return f"VectorExplanation({self.id!r}, score {self.score:.3f}, {len(self.path)} steps)"

    def __str__(self) -> str:
        steps = [f"{step.node:>10} {step.count:>12,} {step.log_p:>9.1f} {step.gain:>+9.3f}" for step in self.path]
        head = f"{'node':>10} {'documents':>12} {'log p':>9} {'gain':>9}"
        return "\n".join([repr(self), head, *steps])


@dataclass(frozen=True)
class Refinement:
    """What `refine` did to a tree. Utility is summed over all partitions, weighted by the documents below them.

    >>> result = vx.rebuild()
    >>> result.passes
    1
    """

    passes: int
    utility_before: float
    utility_after: float


@dataclass(frozen=True)
class TreeStats:
    """The shape of a tree and the operators that made it.

    >>> from gossamer import CobwebTree
    >>> tree = CobwebTree(2)
    >>> numbers = tree.insert_many([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> tree.stats().documents, tree.stats().leaves
    (3, 3)
    """

    documents: int
    nodes: int
    leaves: int
    depth: int
    """Steps from the root to the deepest leaf."""
    widest: int
    """Children of the node that has most."""
    branching: dict[int, int]
    """Number of children to the number of internal nodes that have so many."""
    operators: dict[str, int]
    """Operator to how often it was applied since the tree was created."""
