"""Entry points against their oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.array_types import NONE
from gossamer.graph.codes import Scale, encode_tree, grid_of
from gossamer.graph.entry_points import choose_entry_points, cut_by_size, nearest_by_descent
from gossamer.graph.workspace import new_workspace
from gossamer.tree.arrays import Meta, TreeArrays
from grown import topics
from kernel_wrappers import encode_query, nearest_parts
from oracles import graph as oracle
from properties.strategies import Matrix, matrices


def tree_of(X: Matrix) -> CobwebTree:
    tree = CobwebTree(X.shape[1], 1.0)
    tree.insert_many(X)
    return tree


def children_in_order(t: TreeArrays) -> dict[int, list[int]]:
    """The children of every node in the order in which the tree links them."""
    found = {}
    for node in range(int(t.meta[Meta.SLOTS])):
        children, child = [], int(t.first_child[node]) if t.n_children[node] > 0 else NONE
        while child != NONE:
            children.append(child)
            child = int(t.next_sibling[child])
        found[node] = children
    return found


@settings(max_examples=100)
@given(X=matrices(max_rows=60), most=st.integers(1, 12))
def test_a_cut_opens_the_largest_node_again_and_again(X: Matrix, most: int) -> None:
    tree = tree_of(X)
    out = np.empty(most, np.int32)
    n = cut_by_size(tree.arrays, tree.root, out)
    assert out[:n].tolist() == oracle.cut_by_size(tree, tree.root, most, children_in_order(tree.arrays))
    assert sum(tree.node(node).count for node in out[:n].tolist()) == len(X), "a partition"


@settings(max_examples=100)
@given(X=matrices(max_rows=60), seed=st.integers(0, 99))
def test_a_descent_goes_to_the_nearest_child(X: Matrix, seed: int) -> None:
    tree = tree_of(X)
    x = np.asarray(np.random.default_rng(seed).normal(size=X.shape[1]), np.float64)
    leaf = oracle.nearest_by_descent(tree, tree.root, x)
    assert nearest_by_descent(tree.arrays, tree.root, x) == tree.arrays.row[leaf]


@pytest.fixture(scope="module")
def tree() -> CobwebTree:
    made = CobwebTree(24)
    made.agglomerate(topics(3000))
    return made


def test_each_part_is_entered_by_a_leaf_below_it(tree: CobwebTree) -> None:
    t = tree.arrays
    codes, _ = encode_tree(t, grid_of(t), concepts=False)
    entry = choose_entry_points(t, codes)
    assert 1 < len(entry.concepts) <= 32
    assert entry.first.tolist()[-1] == len(entry.parts) == len(entry.leaves)
    room = np.empty(max(8, round(3000**0.25)), np.int32)
    concepts = room[: cut_by_size(t, tree.root, room)].tolist()
    below = [set(tree.documents_below(concept).tolist()) for concept in concepts]
    for concept, first, last in zip(below, entry.first, entry.first[1:], strict=False):
        entered = {int(t.first_document[t.owner[row]]) for row in entry.leaves[first:last]}
        assert entered <= concept


def test_the_nearest_parts_of_the_nearest_concept_are_found(tree: CobwebTree) -> None:
    t = tree.arrays
    codes, _ = encode_tree(t, grid_of(t), concepts=False)
    entry, workspace, out = choose_entry_points(t, codes), new_workspace(t, 16), np.empty(3, np.int32)
    for x in topics(40, seed=7):
        scale = Scale(*encode_query(x, codes, workspace.query))
        scored = nearest_parts(entry, scale, 1 << 30, workspace, out)
        query = workspace.query.astype(np.int64)
        concept = int(np.argmin(entry.concept_norms - scale.factor * (entry.concepts @ query)))
        parts = np.arange(entry.first[concept], entry.first[concept + 1])
        distances = entry.part_norms[parts] - scale.factor * (entry.parts[parts] @ query)
        assert out.tolist() == parts[np.argsort(distances)][:3].tolist()
        assert scored == len(entry.concepts) + len(parts)
        assert nearest_parts(entry, scale, 8, workspace, out) <= 4, "half of what may be scored"


def test_codes_of_entry_concepts_are_those_of_their_means(tree: CobwebTree) -> None:
    t = tree.arrays
    codes, _ = encode_tree(t, grid_of(t), concepts=True)
    entry = choose_entry_points(t, codes)
    room = np.empty(len(entry.concepts), np.int32)
    rows = t.row[room[: cut_by_size(t, tree.root, room)]]
    assert np.array_equal(entry.concepts, codes.inner[rows])
    assert np.array_equal(entry.concept_norms, codes.inner_norm[rows])


def test_entry_points_that_were_removed_are_not_used(tree: CobwebTree) -> None:
    t = tree.arrays
    codes, _ = encode_tree(t, grid_of(t), concepts=False)
    entry = choose_entry_points(t, codes)
    first = entry.leaves[: entry.first[1]]
    left = entry.without(first)
    assert left.concept_norms[0] == np.inf
    assert np.isfinite(left.concept_norms[1:]).all()
    assert left.any_left
    assert not entry.without(entry.leaves).any_left
    assert np.isfinite(entry.part_norms).all(), "the old ones are as they were"
