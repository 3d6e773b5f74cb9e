"""What people see of a tree is what the rules say, covers every leaf once, and is never wider than it should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.array_types import NONE
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.browsing import (
    concepts_of,
    outline,
    shown_below,
    shown_children,
    shown_children_of,
    shown_concepts,
    shown_path,
    shown_paths,
    top_paths,
)
from gossamer.tree.cobweb import CobwebTree
from grown import topics
from oracles import browsing as oracle
from tree.shapes import Nested, nested, tree_of_shape


def nodes_of(t: TreeArrays) -> list[int]:
    return np.flatnonzero(t.size[: t.meta[Meta.SLOTS]] > 0).tolist()


@settings(max_examples=60)
@given(shape=nested(), seed=st.integers(0, 99), grid=st.booleans())
def test_shown_children_and_paths_are_those_of_the_rules(shape: Nested, seed: int, grid: bool) -> None:
    t = tree_of_shape(shape, seed=seed, grid=grid)
    nodes = nodes_of(t)
    expected = [oracle.shown(t, node) for node in nodes]
    assert [shown_children(t, node).tolist() for node in nodes] == expected
    assert shown_children_of(t, nodes) == [tuple(children) for children in expected]
    assert shown_paths(t, nodes) == [oracle.path(t, node) for node in nodes]
    for node, children in zip(nodes, expected, strict=True):
        covered = [leaf for child in children for leaf in oracle.leaves(t, child)]
        assert sorted(covered) == (sorted(oracle.leaves(t, node)) if children else [])
        assert not children or 2 <= len(children) <= max(12, int(t.n_children[node]))


@settings(max_examples=40)
@given(shape=nested(), seed=st.integers(0, 99), depth=st.integers(0, 4) | st.none())
def test_the_view_below_a_node(shape: Nested, seed: int, depth: int | None) -> None:
    t = tree_of_shape(shape, seed=seed)
    root = int(t.meta[Meta.ROOT])
    nodes, parents, counts = shown_below(t, root, depth)
    paths = [oracle.path(t, int(node)) for node in nodes]
    assert all(len(path) - 1 <= (len(nodes) if depth is None else depth) for path in paths)
    assert [NONE if above == NONE else int(nodes[above]) for above in parents] == [
        path[-2] if len(path) > 1 else NONE for path in paths
    ]
    assert counts.tolist() == [len(oracle.shown(t, int(node))) for node in nodes]
    assert sorted(top_paths(t, depth)) == sorted(paths)
    if depth is None:
        assert set(nodes.tolist()) >= set(oracle.leaves(t, root))
        inner = {path[-1]: path[-2] if len(path) > 1 else NONE for path in paths if t.n_children[path[-1]]}
        assert shown_concepts(t) == inner == concepts_of(t, paths)
        listed = list(shown_concepts(t))
        assert all(inner[node] == NONE or listed.index(inner[node]) < at for at, node in enumerate(listed))


def test_a_node_that_is_not_shown_comes_after_the_last_shown_one_above_it() -> None:
    t = tree_of_shape([[[1] * 9, [1] * 9], [[1] * 9, [[1] * 9, [1] * 9]]])
    root = int(t.meta[Meta.ROOT])
    shown = shown_children(t, root).tolist()
    assert len(shown) == 5
    hidden = int(t.parent[shown[0]])
    assert hidden not in (*shown, root)
    assert shown_path(t, hidden) == (root, hidden)
    assert shown_path(t, root) == (root,)
    assert set(shown_children(t, hidden).tolist()) <= set(shown)


def test_a_giant_beside_crumbs_is_opened() -> None:
    """A chain that splits off one concept after the other is one level."""
    chain: Nested = [1] * 10
    for _ in range(9):
        chain = [chain, [1] * 13]
    t = tree_of_shape(chain)
    root = int(t.meta[Meta.ROOT])
    shown = shown_children(t, root)
    assert t.size[list(t_children(t, root))].max() > 0.8 * t.size[root]
    assert t.size[shown].max() < 0.25 * t.size[root]
    assert 8 <= len(shown) <= 12


def t_children(t: TreeArrays, node: int) -> list[int]:
    return [child for child in nodes_of(t) if t.parent[child] == node]


def test_wide_nodes_and_small_trees() -> None:
    for leaves in (13, 300):
        t = tree_of_shape([1] * leaves)
        assert len(shown_children(t, int(t.meta[Meta.ROOT]))) == leaves
        assert shown_path(t, 5) == (int(t.meta[Meta.ROOT]), 5)
    shapes: list[Nested] = [[1, 1], [[1, 1], [1, [1, 30]]], [[1] * 6, [1] * 6]]
    for shape in shapes:
        t = tree_of_shape(shape)
        root = int(t.meta[Meta.ROOT])
        assert shown_children(t, root).tolist() == sorted(oracle.leaves(t, root))
    t = tree_of_shape(7)
    assert shown_children(t, 0).tolist() == []
    assert shown_paths(t, [0, 0]) == [(0,), (0,)]
    assert list(top_paths(t, None)) == [(0,)]
    assert shown_concepts(t) == {} == shown_concepts(CobwebTree(dim=2).arrays)
    assert shown_paths(t, []) == []


def test_an_outline_opens_the_largest_first() -> None:
    tree = CobwebTree(dim=24)
    tree.agglomerate(topics(3000))
    t = tree.arrays
    whole = outline(t, (tree.root,), None, 1, None)
    assert whole.ids == tuple(path[-1] for path in top_paths(t, None))
    assert sorted(whole.ids) == sorted(shown_below(t, tree.root).nodes.tolist())
    part = outline(t, (tree.root,), None, 5, 60)
    assert len(part) <= 60
    assert min(part.sizes) >= 5
    one = outline(t, (tree.root,), 1, 1, None)
    assert set(one.ids[1:]) == set(shown_children(t, tree.root).tolist())
    assert one.children == tuple(len(shown_children(t, id)) for id in one.ids)


@pytest.mark.parametrize("n", [400, 3000])
def test_no_step_of_a_real_tree_holds_nearly_everything(n: int) -> None:
    tree = CobwebTree(dim=24)
    tree.agglomerate(topics(n))
    shown = shown_children(tree.arrays, tree.root)
    assert 5 <= len(shown) <= 12
    assert tree.arrays.size[shown].max() <= 0.4 * n
