"""Regrouping: the upper part of a tree made anew over its fine concepts, which stay what they are.

A tree that grows one document at a time finds good fine concepts, but what lies above them still shows the order of
arrival: a first split that was poor is mended document by document at best. So the fine concepts are taken as
points with a weight, as BIRCH does with its subclusters, and put together from below by Ward's rule: always the two
whose union adds least to the squared distances within. Of the binary tree that this gives, a level is left out
wherever that raises the partition utility clearly (the split operator of DESIGN 1.2).

It takes (fine concepts)² steps whatever the number of documents: a quarter of a second for 1,500.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from gossamer.explain.cuts import best_cut
from gossamer.interrupts import uninterrupted
from gossamer.tree.arrays import NONE, Doubles, Limit, Meta, TreeArrays
from gossamer.tree.cobweb import CobwebTree

if TYPE_CHECKING:
    from gossamer.whitening import Whitening

SHARE: Final = 0.1
"""Fine concepts for each document."""
MOST: Final = 1500
"""Fine concepts at most."""
_EXACT_BITS: Final = 53
"""Of whole numbers in float64."""
CLEARLY: Final = 0.3
"""A level is left out where utility rises by more than this share. At 0 trees are flatter than Ward's by so much that
a tenth of their dendrogram purity is lost; without limit they are binary, and twice as deep."""


def regroup(tree: CobwebTree, *, scale: npt.ArrayLike | None = None, most: int = MOST) -> None:
    """Make the upper part of `tree` anew. Documents, leaves and the concepts of up to a tenth as many groups stay.

    `scale` weighs the dimensions where concepts are compared: that which whitening shrank, say, to see them at the
    size they had. The same tree gives the same result.
    """
    t = tree.arrays
    fine = best_cut(t, max(1, min(most, int(SHARE * tree.n_documents))))
    if len(fine) < 3:
        return
    moments = _Moments.of(t, fine)
    weights = np.ones(tree.dim) if scale is None else np.asarray(scale, np.float64)
    pairs = ward(moments.size[: len(fine)], moments.mean[: len(fine)] * weights)
    for left, right in pairs:
        moments.unite(left, right)
    families = _flattened(pairs, moments)
    above = _above(t, fine)
    with uninterrupted():
        tree._make_room(0, max(0, len(families) - len(above)))
        _free(tree.arrays, above)
        _plant(tree.arrays, fine, families, moments)


def sizes_before(whitener: Whitening | None) -> Doubles | None:
    """The `scale` at which dimensions have the size they had before a whitener shrank them: λ^(γ/2).

    None without one, and after ICA, whose dimensions are mixtures of those that were shrunk.
    """
    if whitener is None or whitener.ica:
        return None
    scale: Doubles = whitener.explained_variance_ ** (whitener.strength_ / 2.0)
    return scale


@dataclass
class _Moments:
    """Of the fine concepts, and behind them of each union as it is made."""

    acuity: float
    count: int
    size: Doubles
    mean: Doubles
    m2: Doubles
    h: Doubles

    @classmethod
    def of(cls, t: TreeArrays, fine: Sequence[int]) -> _Moments:
        total, dim = 2 * len(fine) - 1, t.vectors.shape[1]
        moments = cls(
            float(t.limits[Limit.ACUITY]), len(fine),
            np.zeros(total), np.zeros((total, dim)), np.zeros((total, dim)), np.zeros(total),
        )  # fmt: skip
        for place, node in enumerate(fine):
            row = t.row[node]
            leaf = t.n_children[node] == 0
            moments.size[place] = t.size[node]
            moments.h[place] = t.h[node]
            moments.mean[place] = t.vectors[row] if leaf else t.mean[row]
            moments.m2[place] = 0.0 if leaf else t.m2[row]
        return moments

    def unite(self, left: int, right: int) -> None:
        """M2 = M2_l + M2_r + (μ_r − μ_l)²·n_l·n_r/n, and the mean between them by weight."""
        at, n, gap = self.count, self.size[left] + self.size[right], self.mean[right] - self.mean[left]
        self.size[at] = n
        self.mean[at] = self.mean[left] + gap * (self.size[right] / n)
        self.m2[at] = self.m2[left] + self.m2[right] + gap * gap * (self.size[left] * self.size[right] / n)
        self.h[at] = np.log1p(self.m2[at] / (n * self.acuity)).sum()
        self.count += 1


def ward(sizes: Doubles, means: Doubles) -> list[tuple[int, int]]:
    """Ward's tree over points with a weight: the pair united at each step, by place; a union takes the next place.

    By chains of nearest neighbours: from any point go to its nearest, from there to that one's nearest, until two are
    each other's. They are a pair of Ward's tree whatever is united before (its distances are reducible), so unions
    come out of order but are the same.
    """
    points = len(sizes)
    size, place = sizes.astype(np.float64), np.arange(points)  # of what stands in each row and column of `added`
    added = _added_by_pairs(size, means)
    pairs: list[tuple[int, int]] = []
    chain: list[int] = []
    for union in range(points, 2 * points - 1):
        if not chain:
            chain.append(int((place != NONE).argmax()))
        left, right = _mutual(added, chain)
        pairs.append((int(min(place[left], place[right])), int(max(place[left], place[right]))))
        # What uniting any other with this union adds follows from what it would with either (Lance and Williams 1967).
        n = size[left] + size[right]
        theirs = (size[left] + size) * added[left] + (size[right] + size) * added[right] - size * added[left, right]
        added[left] = added[:, left] = theirs / (n + size)
        added[right] = added[:, right] = np.inf
        size[left], place[left], place[right] = n, union, NONE
    return pairs


def _added_by_pairs(size: Doubles, mean: Doubles) -> Doubles:
    """What each pair, united, would add to the squared distances within, in some unit; infinite for a point and itself.

    Of coordinates as whole numbers, so large that products still add up exactly: then they add up to the same in any
    order, and the tree does not depend on how many threads multiply.
    """
    away = mean - mean.mean(axis=0)
    bits = (_EXACT_BITS - mean.shape[1].bit_length()) // 2
    whole = np.rint(away * (2.0**bits / max(float(np.abs(away).max()), 1e-300)))
    products = whole @ whole.T
    square = products.diagonal()
    squared = square[:, None] + square - 2.0 * products
    added: Doubles = squared * (size[:, None] * size / (size[:, None] + size))
    np.fill_diagonal(added, np.inf)
    return added


def _mutual(added: Doubles, chain: list[int]) -> tuple[int, int]:
    """Two that are each other's nearest; the chain goes on where it was, and loses the two."""
    while True:
        nearest = int(added[chain[-1]].argmin())
        # Of equals the one before, or a chain of equals would never end.
        if len(chain) > 1 and added[chain[-1], chain[-2]] <= added[chain[-1], nearest]:
            return chain.pop(), chain.pop()
        chain.append(nearest)


def _flattened(pairs: Sequence[tuple[int, int]], moments: _Moments) -> dict[int, list[int]]:
    """The children of every union that stays: those of one that goes become its parent's."""
    first = moments.count - len(pairs)
    families = {first + number: list(pair) for number, pair in enumerate(pairs)}
    for place in list(families):
        while (gone := _best_split(place, families, moments)) is not None:
            families[place].remove(gone)
            families[place] += families.pop(gone)
    return families


def _best_split(place: int, families: dict[int, list[int]], moments: _Moments) -> int | None:
    """The child whose children had better stand in its place; None where no one's clearly should."""
    n, h = moments.size, moments.h
    family = families[place]
    within = float(sum(n[child] * h[child] for child in family))
    best, gone = (1.0 + CLEARLY) * (h[place] - within / n[place]) / len(family), None
    for child in family:
        if child in families:
            below = float(sum(n[grandchild] * h[grandchild] for grandchild in families[child]))
            split = h[place] - (within - n[child] * h[child] + below) / n[place]
            utility = split / (len(family) - 1 + len(families[child]))
            if utility > best:
                best, gone = utility, child
    return gone


# -- putting it into the tree --------------------------------------------------------------------------


def _plant(t: TreeArrays, fine: Sequence[int], families: dict[int, list[int]], moments: _Moments) -> None:
    """Hang the fine concepts under new nodes, children before parents."""
    t.meta[Meta.CHANGES] += 1
    nodes = dict(enumerate(fine))
    for place in sorted(families):
        node = nodes[place] = _new_inner(t)
        row = t.row[node]
        t.size[node], t.h[node] = int(moments.size[place]), moments.h[place]
        t.mean[row], t.m2[row] = moments.mean[place], moments.m2[place]
        t.changed[row] = t.meta[Meta.CHANGES]
        _hang(t, node, [nodes[child] for child in families[place]])
    t.meta[Meta.ROOT] = nodes[max(families)]


def _above(t: TreeArrays, fine: Sequence[int]) -> set[int]:
    above: set[int] = set()
    for node in fine:
        parent = int(t.parent[node])
        while parent != NONE and parent not in above:
            above.add(parent)
            parent = int(t.parent[parent])
    return above


def _free(t: TreeArrays, above: set[int]) -> None:
    for node in sorted(above, reverse=True):  # the lowest is used again first
        t.size[node] = t.n_children[node] = 0
        t.next_sibling[node] = t.meta[Meta.FREE_INNER]
        t.meta[Meta.FREE_INNER] = node
    t.meta[Meta.NODES] -= len(above)


def _new_inner(t: TreeArrays) -> int:
    """An internal slot, as kernels take it; there is room."""
    node = int(t.meta[Meta.FREE_INNER])
    if node != NONE:
        t.meta[Meta.FREE_INNER] = t.next_sibling[node]
    else:
        node = int(t.meta[Meta.SLOTS])
        t.meta[Meta.SLOTS] += 1
        t.row[node] = t.meta[Meta.INNER_ROWS]
        t.meta[Meta.INNER_ROWS] += 1
    t.meta[Meta.NODES] += 1
    t.parent[node] = t.next_sibling[node] = t.prev_sibling[node] = t.first_document[node] = NONE
    return node


def _hang(t: TreeArrays, node: int, children: Sequence[int]) -> None:
    t.parent[children] = node
    t.first_child[node], t.n_children[node] = children[0], len(children)
    t.prev_sibling[children] = [NONE, *children[:-1]]
    t.next_sibling[children] = [*children[1:], NONE]
    t.s[node] = float((t.size[children] * t.h[children]).sum())
