"""Trees of any shape, made by hand: also those that no insertion or agglomeration makes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from gossamer.array_types import NONE
from gossamer.tree.arrays import Meta, TreeArrays, empty_arrays, with_room

Nested = int | list["Nested"]
"""A leaf, with its number of documents, or a list of children."""


@st.composite
def nested(draw: st.DrawFn, most: int = 60) -> Nested:
    """Shapes with few leaves or many: binary, wide, chains, and mixtures of them."""
    branching = draw(st.sampled_from([[2], [2, 2, 2, 3], [2, 5, 12], [2, 15], [3, 4]]))
    lopsided = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def part(leaves: int) -> Nested:
        if leaves == 1:
            return int(rng.choice([1, 1, 1, 2, 30]))
        count = min(leaves, int(rng.choice(branching)))
        if lopsided:
            sizes = [leaves - count + 1, *[1] * (count - 1)]
        else:
            bounds = np.sort(rng.choice(np.arange(1, leaves), count - 1, replace=False))
            sizes = np.diff([0, *bounds.tolist(), leaves]).tolist()
        return [part(size) for size in sizes]

    return part(draw(st.integers(1, most)))


def tree_of_shape(shape: Nested, dim: int = 3, seed: int = 0, grid: bool = False) -> TreeArrays:
    """The arrays of a tree of that shape over random vectors: on a coarse `grid`, many distances are equal."""
    rng = np.random.default_rng(seed)
    t = with_room(empty_arrays(dim, 1.0), 4000, 4000)
    for field in ("parent", "first_child", "next_sibling", "prev_sibling", "first_document"):
        getattr(t, field)[:] = NONE
    members: dict[int, list[int]] = {}

    def add(part: Nested) -> int:
        children = [] if isinstance(part, int) else [add(child) for child in part]
        node = int(t.meta[Meta.SLOTS])
        t.meta[[Meta.SLOTS, Meta.NODES]] += 1
        t.n_children[node], t.h[node], t.s[node] = len(children), 0.0, 0.0
        if isinstance(part, int):
            row = int(t.meta[Meta.LEAF_ROWS])
            vector = rng.integers(0, 3, dim) if grid else rng.normal(size=dim) * rng.choice([0.1, 1.0, 5.0])
            t.vectors[row], t.row[node], t.size[node] = vector, row, part
            first = int(t.meta[Meta.DOCUMENTS])
            members[node] = list(range(first, first + part))
            t.first_document[node], t.leaf[first : first + part] = first, node
            t.next_document[first : first + part] = [*members[node][1:], NONE]
            t.meta[[Meta.LEAF_ROWS, Meta.LEAVES]] += 1
            t.meta[Meta.DOCUMENTS] += part
            return node
        row = int(t.meta[Meta.INNER_ROWS])
        t.meta[Meta.INNER_ROWS] += 1
        members[node] = [document for child in children for document in members[child]]
        X = t.vectors[t.row[t.leaf[members[node]]]].astype(np.float64)
        t.row[node], t.size[node], t.mean[row] = row, len(X), X.mean(axis=0)
        t.m2[row] = np.square(X - X.mean(axis=0)).sum(axis=0)
        t.h[node] = entropy(X)
        t.s[node] = sum(t.size[child] * t.h[child] for child in children)
        order = rng.permutation(children).tolist()
        t.parent[order], t.first_child[node] = node, order[0]
        t.next_sibling[order] = [*order[1:], NONE]
        return node

    t.limits[1:] = -100.0, 100.0
    t.meta[Meta.ROOT] = add(shape)
    t.meta[Meta.NEXT_DOCUMENT] = t.meta[Meta.DOCUMENTS]
    return t


def entropy(X: np.ndarray) -> float:
    """h of documents at an acuity of 1: Σ_d log(1 + variance)."""
    return float(np.log1p(X.astype(np.float64).var(axis=0)).sum())
