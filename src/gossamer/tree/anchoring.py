"""Points for a rebuild that prefers the concepts there are: Ward's tree over them keeps groups that are about as good.

Ward's tree is not stable: many of its merges are nearly ties, and a tenth more documents decide them otherwise. So
before leaves are agglomerated again, they are moved apart a little where the tree so far divides them. The path of a
leaf x from the root is a sum of steps from mean to mean,

    x = μ₀ + (μ₁ − μ₀) + … + (x − μ_k),

in which each step is multiplied by a weight that falls with the size n of the concepts,

    x' = Σ w_i (μ_{i+1} − μ_i),   w_0 = 1,   w_{i+1} = w_i (n_{i+1} / n_i)^(η·trust_i).

With η = 0 this is Ward's tree of the leaves as they are; with a large η it is the tree so far.

A division is trusted as far as documents that came since the last rebuild confirm it. With p_c the share of child c of
the older documents of a concept, and q_c of the m that came since,

    trust = max(0, 1 − 8·max(0, ½ Σ_c |q_c − p_c| − 2·½ Σ_c √(p_c (1 − p_c) / m))):

they are divided as the older ones, but for chance. Where documents of a new kind arrive the tree so far is wrong.

Concepts with 50 or more documents that keep their id when the last tenth is added (MiniLM, γ = 0.15, binary trees), and
dendrogram purity after growing from 600 documents by tenths, divided by that of a tree built at once:

                 ids kept: η = 0   η = 0.07   purity: random order   sorted by class
    20newsgroups          0.40       0.97             1.04                0.98
    banking77             0.74       0.98             1.00                1.00
    bbc_news              0.67       0.97             0.97–1.07           0.97–1.04
    QQP 76,000            0.36       0.98

Without trust, η = 0.05 keeps 0.90 of 20newsgroups, and sorted by class banking77 falls to 0.94.
"""

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints, Longs
from gossamer.runtime.jit import kernel, subkernel
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.structure import parents_first

_STRENGTH: Final = 0.08
_GROWN: Final = 8192
"""η of the formula for a tree of as many leaves as this, or more; it falls with the root of their number below. (In an
index that grows, over the last tenth of 20newsgroups: 0.88 of the ids are kept with 0.07, 0.90 with 0.08 and 0.94 with
0.11. A tree of few documents knows little: with 0.08 from the beginning, early groups of bbc_news stayed too long, and
at the end of streams of 2,225 documents its NMI was 0.93 to 0.98 of that of a bulk build.)"""

_DOUBT: Final = 8.0
"""How fast trust falls with the difference of two divisions,"""

_CHANCE: Final = 2.0
"""and the standard deviations of it that are chance."""


class _Anchors(NamedTuple):
    """By row of a concept."""

    offsets: Floats  # where its mean is moved to
    weights: Doubles  # of the steps from its mean to those of its children


def strength(leaves: int) -> float:
    """η for a tree of so many leaves."""
    return _STRENGTH * min(1.0, leaves / _GROWN) ** 0.5


def anchored_points(t: TreeArrays, leaves: Ints, points: Floats, near: Ints, settled: int) -> Floats:
    """The points of leaves, moved apart where the tree `t` divides them: `points`, overwritten.

    `leaves` are slots as in `t`; one that is not in `t` is placed beside the first of its neighbours that is, which are
    rows of `near`: places in `leaves`, nearest first. Documents from number `settled` on came since the last rebuild.
    """
    root = int(t.meta[Meta.ROOT])
    if root == NONE or not t.n_children[root]:
        return points
    hosts = _hosts(t, leaves, near)
    nodes = parents_first(t, root)
    older, added = _counts(t, nodes, hosts[(hosts != leaves) & (hosts != NONE)], settled)
    rows = int(t.meta[Meta.INNER_ROWS])
    anchors = _Anchors(np.empty((rows, points.shape[1]), np.float32), np.empty(rows))
    eta = strength(int(t.meta[Meta.LEAVES]))
    _move_concepts(t, nodes[t.n_children[nodes] > 0], older, added, eta, anchors)
    _move_points(t, np.where(hosts == NONE, root, t.parent[hosts]), points, anchors)
    return points


def with_means(t: TreeArrays) -> TreeArrays:
    """`t`, which lacks the moments of its concepts, with their means."""
    t = t._replace(mean=np.zeros((int(t.meta[Meta.INNER_ROWS]), t.vectors.shape[1])))
    if t.meta[Meta.ROOT] != NONE:
        _average(t, parents_first(t, int(t.meta[Meta.ROOT])))
    return t


@kernel
def _average(t: TreeArrays, nodes: Ints) -> None:
    """Compute the means of concepts from those of their children; nodes are listed parents first."""
    for i in range(nodes.shape[0] - 1, 0, -1):
        node = nodes[i]
        row, above = t.row[node], t.row[t.parent[node]]
        share = t.size[node] / t.size[t.parent[node]]
        for d in range(t.mean.shape[1]):
            t.mean[above, d] += share * (t.vectors[row, d] if t.n_children[node] == 0 else t.mean[row, d])


def _hosts(t: TreeArrays, leaves: Ints, near: Ints) -> Ints:
    """For each leaf itself, if it is in `t`, or the first of its neighbours that is; NONE if there is none."""
    inside = leaves < t.meta[Meta.SLOTS]
    inside[inside] = (t.size[leaves[inside]] > 0) & (t.n_children[leaves[inside]] == 0)
    hosts = np.where(inside, leaves, np.int32(NONE))
    outside = np.flatnonzero(~inside)
    if len(outside) and near.shape[1]:
        known = (near[outside] != NONE) & inside[near[outside]]
        beside = near[outside, known.argmax(axis=1)]
        hosts[outside] = np.where(known.any(axis=1), leaves[beside], np.int32(NONE))
    return hosts


def _counts(t: TreeArrays, nodes: Ints, hosts: Ints, settled: int) -> tuple[Longs, Longs]:
    """By slot, the documents numbered below `settled`, and the others, with one more for each of `hosts`."""
    documents = t.leaf[: t.meta[Meta.NEXT_DOCUMENT]]
    older, recent = documents[:settled], np.concatenate([documents[settled:], hosts])
    counts = []
    for some in (older, recent):
        counts.append(np.bincount(some[some != NONE], minlength=len(t.size)))
        _sum_up(t, nodes, counts[-1])
    return counts[0], counts[1]


@kernel
def _sum_up(t: TreeArrays, nodes: Ints, counts: Longs) -> None:
    """Add the counts of all nodes, listed parents first, to those of their parents."""
    for i in range(nodes.shape[0] - 1, 0, -1):
        counts[t.parent[nodes[i]]] += counts[nodes[i]]


@kernel
def _move_concepts(t: TreeArrays, concepts: Ints, older: Longs, added: Longs, eta: float, out: _Anchors) -> None:
    """Compute where the means of concepts, listed parents first, are moved to, and the weights of the steps below."""
    dim = t.mean.shape[1]
    trust = np.empty(out.weights.shape[0])
    for i in range(concepts.shape[0]):
        node, row = concepts[i], t.row[concepts[i]]
        trust[row] = _trust(t, node, older, added)
        parent = t.parent[node]
        if parent == NONE:
            out.weights[row] = 1.0
            out.offsets[row, :] = 0.0
            continue
        above = t.row[parent]
        weight = out.weights[above]
        out.weights[row] = weight * (t.size[node] / t.size[parent]) ** (eta * trust[above])
        for d in range(dim):
            out.offsets[row, d] = out.offsets[above, d] + weight * (t.mean[row, d] - t.mean[above, d])


@subkernel
def _trust(t: TreeArrays, node: int, older: Longs, added: Longs) -> float:
    """How far the documents added since the last rebuild confirm a concept's division: see the module's formula."""
    if older[node] == 0:
        return 0.0
    if added[node] == 0:
        return 1.0
    difference = chance = 0.0
    child = t.first_child[node]
    while child != NONE:
        share = older[child] / older[node]
        difference += 0.5 * abs(added[child] / added[node] - share)
        chance += 0.5 * np.sqrt(share * (1.0 - share) / added[node])
        child = t.next_sibling[child]
    return max(0.0, 1.0 - _DOUBT * max(0.0, difference - _CHANCE * chance))


@kernel
def _move_points(t: TreeArrays, parents: Ints, points: Floats, anchors: _Anchors) -> None:
    """Move each point to: offset of the parent + weight · (point − mean of the parent)."""
    for i in range(points.shape[0]):
        row = t.row[parents[i]]
        weight = anchors.weights[row]
        for d in range(points.shape[1]):
            points[i, d] = anchors.offsets[row, d] + weight * (points[i, d] - t.mean[row, d])
