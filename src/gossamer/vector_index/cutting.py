"""The documents of a tree in n groups, and how well a vector fits each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.array_types import Doubles, Floats
from gossamer.results import DocId
from gossamer.tree.arrays import Limit
from gossamer.tree.cuts import best_cut, linkage
from gossamer.vector_index.state import VectorState


@dataclass(frozen=True, repr=False)
class Cut:
    """Groups that cover every document once, large ones first.

    >>> vx.cut(2)
    Cut(2 groups: 2, 1 documents)
    """

    members: tuple[list[DocId], ...]
    """The ids of the documents of each group."""
    linkage: Doubles
    """How the tree merges the groups further, as a linkage matrix of SciPy, see `tree.cuts.linkage`."""
    means: Doubles
    """Shape (groups, dimensions), in the space of the tree."""
    variances: Doubles
    """The same shape: σ² = M2/n + acuity."""

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(each)) for each in self.members[:8]) + (", …" if len(self) > 8 else "")
        return f"Cut({len(self)} groups: {sizes} documents)"

    def __len__(self) -> int:
        return len(self.members)

    def memberships(self, X: Floats) -> Doubles:
        """P(c given x) for each row of X, which `project` made, and each group c; rows add up to 1.

        Bayes' rule with the Gaussians by which the tree ranks: P(c given x) ∝ n_c · p(x given c).

        >>> vx.cut(2).memberships(vx.project([[1, 0, 0]])).shape
        (1, 2)
        """
        precision = 1.0 / self.variances
        wide = X.astype(np.float64)
        distance = (wide**2) @ precision.T - 2.0 * wide @ (self.means * precision).T
        distance += (self.means**2 * precision).sum(axis=1)
        sizes = np.array([len(each) for each in self.members], np.float64)
        log_p: Doubles = np.log(sizes) - 0.5 * (np.log(self.variances).sum(axis=1) + distance)
        log_p -= log_p.max(axis=1, keepdims=True)
        shares: Doubles = np.exp(log_p)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares


def cut_into(state: VectorState, n: int) -> Cut:
    """The best cut into n groups, or one for each leaf where there are fewer; the caller holds the lock for reading."""
    t = state.tree.arrays
    groups = best_cut(t, n)
    means, variances = np.empty((2, len(groups), t.vectors.shape[1]))
    members = []
    for at, group in enumerate(groups):
        documents = group.documents(t)
        vectors = t.vectors[t.row[t.leaf[documents]]]
        means[at] = vectors.mean(axis=0, dtype=np.float64)
        variances[at] = vectors.var(axis=0, dtype=np.float64) + t.limits[Limit.ACUITY]
        members.append(state.ids.listed(documents))
    return Cut(tuple(members), linkage(t, groups), means, variances)
