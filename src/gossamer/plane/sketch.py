"""A tree and its search graph → `Sketch`: what a layout reads of them, copied.

A layout of a large index takes seconds, in which documents come and go. The copy takes some milliseconds (20 at 76,000
leaves on a quiet machine), and is all that has to be made while the index must not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs, aligned
from gossamer.graph.codes import Codes
from gossamer.graph.search_graph import SearchGraph
from gossamer.tree.arrays import Meta, TreeArrays

_GROUPS: Final = 100
"""Concepts at the coarsest level of a layout have at most this part of all documents: about 180 of them."""

_FINER: Final = 8
"""How many times smaller the concepts of the next level may be at most."""

_SMALLEST: Final = 6
"""Documents of a concept below which there is no further level: leaves come next."""


@dataclass(frozen=True)
class Links:
    """The links of a search graph and the codes by which their lengths are measured, by row of a leaf."""

    to: Ints
    degree: Ints
    codes: Codes


@dataclass(frozen=True)
class Sketch:
    """Leaves in the order of their rows, and what is known of their neighbours: links, or vectors to compare."""

    rows: Ints
    leaves: Ints
    """The node of each."""
    parent: Ints
    """By node."""
    size: Longs
    """By node."""
    links: Links | None
    vectors: Floats | None
    """Of the leaves, where there are no links."""
    groups: Ints
    """For each leaf, its place in `means`: the concept of the coarsest level that it lies in."""
    means: Doubles

    def __len__(self) -> int:
        return len(self.rows)

    def levels(self) -> list[Ints]:
        """From coarse to fine, the number of the concept that each leaf lies in; the last level is leaves alone."""
        found = []
        for most in thresholds(len(self)):
            above = _ancestors(self.parent, self.size, self.leaves, most)
            found.append(np.unique(above, return_inverse=True)[1].astype(np.int32))
        found.append(np.arange(len(self), dtype=np.int32))
        return found


def thresholds(leaves: int) -> list[int]:
    """The sizes up to which concepts of a level are joined, from coarse to fine; none where leaves are few."""
    found, most = [], leaves // _GROUPS
    while most >= _SMALLEST:
        found.append(most)
        most //= _FINER
    return found


def sketch_of(t: TreeArrays, graph: SearchGraph | None) -> Sketch:
    """Copy what a layout needs. The tree must not change meanwhile."""
    rows = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]])).astype(np.int32)
    leaves, parent, size = t.owner[rows], t.parent.copy(), t.size.copy()
    usable = graph is not None and graph.complete and graph.linked and graph.version == t.meta[Meta.CHANGES]
    links = _copied_links(graph) if graph is not None and usable else None
    coarsest = thresholds(len(rows))[:1]
    top = _ancestors(parent, size, leaves, coarsest[0]) if coarsest else leaves
    nodes, groups = np.unique(top, return_inverse=True)
    means = np.empty((len(nodes), t.vectors.shape[1]))
    alone = t.n_children[nodes] == 0
    means[alone] = t.vectors[t.row[nodes[alone]]]
    means[~alone] = t.mean[t.row[nodes[~alone]]]
    vectors = None if links is not None else t.vectors[rows]
    return Sketch(rows, leaves, parent, size, links, vectors, groups.astype(np.int32), means)


def _copied_links(graph: SearchGraph) -> Links:
    codes, links = graph.arrays.codes, graph.arrays.links
    leaf = aligned(codes.leaf.shape, np.int8)  # kernels read whole cache lines
    leaf[:] = codes.leaf
    return Links(links.to.copy(), links.degree.copy(), codes._replace(leaf=leaf, leaf_norm=codes.leaf_norm.copy()))


def _ancestors(parent: Ints, size: Longs, nodes: Ints, most: int) -> Ints:
    """The highest node at or above each one that has at most `most` documents, or the node itself."""
    found = nodes.copy()
    while True:
        above = parent[found]
        climbs = (above != NONE) & (size[above] <= most)
        if not climbs.any():
            return found
        found[climbs] = above[climbs]
