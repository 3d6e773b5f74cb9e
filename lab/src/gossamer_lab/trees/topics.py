"""The top of a tree: `topics(n)` beside k-means with the same n, and the children of the root that people see.

A hierarchy whose first step is one giant beside crumbs tells nothing, so what counts here is the largest group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.data.embedded import Say
from gossamer_lab.engine import Floats, best_groups, shown_sizes
from gossamer_lab.tables import Row, Table

SIZES: Final = (5, 8, 12, 20, 50)
SETS: Final = ("qqp", "msmarco")
"""Collections without classes, of which there are ready vectors."""


@dataclass(frozen=True)
class Top:
    """The largest groups of one collection, as shares of all its documents."""

    collection: str
    documents: int
    groups: dict[int, int]
    """By the number of topics asked for: that given."""
    largest: dict[int, float]
    k_means: dict[int, float]
    """The largest group of k-means, on average over seeds."""
    shown: int
    """Children of the root in the view."""
    largest_shown: float

    @property
    def exact(self) -> bool:
        """Whether every number of topics was the one asked for."""
        return all(asked == given for asked, given in self.groups.items())

    @property
    def worst_ratio(self) -> float:
        """The largest group over that of k-means, for the worst number of topics."""
        return max(self.largest[n] / self.k_means[n] for n in self.largest)


def measure(name: str, E: Floats, seeds: int, say: Say) -> Top:
    """Build an index at once, cut it into each number of topics, and run k-means as often as there are seeds."""
    index = VectorIndex(E.shape[1], links=False)
    say(f"{name}: topics", 0, len(SIZES) + 1)
    index.add(E)
    groups, largest, k_means = {}, {}, {}
    for done, n in enumerate(SIZES, 1):
        say(f"{name}: {n} topics", done, len(SIZES) + 1)
        sizes = [len(documents) for documents in best_groups(index, n)]
        groups[n], largest[n] = len(sizes), max(sizes) / len(E)
        k_means[n] = float(np.mean([_largest_by_k_means(E, n, seed) for seed in range(seeds)]))
    shown = shown_sizes(index)
    return Top(name, len(E), groups, largest, k_means, len(shown), float(shown.max() / len(E)))


def _largest_by_k_means(E: Floats, n: int, seed: int) -> float:
    from sklearn.cluster import KMeans

    groups = KMeans(n, n_init=1, random_state=seed).fit_predict(E)
    return float(np.bincount(groups).max() / len(E))


def table(found: Sequence[Top]) -> Table:
    """A row for each collection and number of topics."""
    rows: list[Row] = [
        {
            "collection": top.collection,
            "n": n,
            "groups": top.groups[n],
            "largest group": top.largest[n],
            "k-means' largest": top.k_means[n],
            "ratio": top.largest[n] / top.k_means[n],
        }
        for top in found
        for n in SIZES
    ]
    digits: dict[str, int | str] = {"largest group": ".1%", "k-means' largest": ".1%", "ratio": 2}
    return Table("tree-topics", "topics(n): how even they are, beside k-means", rows, digits=digits)
