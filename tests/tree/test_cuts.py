"""The best cut is the best one, with exactly n groups: against every cut there is, on small trees of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gossamer.array_types import NONE
from gossamer.errors import ParameterError
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.cuts import BinaryTree, Group, best_cut, nested_cuts
from oracles.cuts import Branch, best, branch, branch_of, cost, every_cut, refines
from tree.shapes import Nested, entropy, nested, tree_of_shape

Shape = tuple[list[tuple[int, int] | None], list[float]]


@st.composite
def pairs(draw: st.DrawFn) -> Shape:
    """Pairs level by level, and a cost for each place: any costs, not only a tree's."""
    found: list[tuple[int, int] | None] = []
    places = 1
    while len(found) < places:
        divided = places < 19 and draw(st.booleans() if found else st.just(True))
        found.append((places, places + 1) if divided else None)
        places += 2 if divided else 0
    whole = st.integers(0, 12).map(float)
    return found, draw(st.lists(whole | st.floats(0, 100), min_size=places, max_size=places))


def binary(shape: Shape) -> BinaryTree:
    left, right = np.array([pair or (NONE, NONE) for pair in shape[0]], np.int32).T
    nodes = np.arange(len(left), dtype=np.int32)
    return BinaryTree(left.copy(), right.copy(), np.array(shape[1]), nodes, np.zeros_like(nodes), np.zeros_like(nodes))


def groups(tree: Branch, cut: list[int]) -> list[Branch]:
    """The groups of a cut that was found, checked to be one."""
    named = {frozenset(group.name[0] for group in every): every for every in every_cut(tree)}
    assert frozenset(cut) in named
    return named[frozenset(cut)]


@given(pairs(), st.integers(1, 12))
def test_no_cut_costs_less(shape: Shape, n: int) -> None:
    tree, ours = branch(*shape), binary(shape)
    found = groups(tree, ours.cut(ours.cost, n))
    assert len(found) <= n
    assert cost(found) == pytest.approx(min(cost(cut) for cut in every_cut(tree) if len(cut) <= n), abs=1e-9)


@given(pairs(), st.integers(1, 6), st.integers(1, 6))
def test_a_finer_cut_is_the_best_within_the_coarser(shape: Shape, n: int, more: int) -> None:
    tree, ours = branch(*shape), binary(shape)
    coarse = ours.cut(ours.cost, n)
    fine = groups(tree, ours.cut(np.where(ours.inside(coarse), ours.cost, np.inf), n + more))
    allowed = [cut for cut in every_cut(tree) if len(cut) <= n + more and refines(cut, groups(tree, coarse))]
    assert cost(fine) == pytest.approx(min(map(cost, allowed)), abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(shape=nested(9), seed=st.integers(0, 999), n=st.integers(1, 9), more=st.integers(1, 9))
def test_cuts_of_trees_are_those_of_the_definition(shape: Nested, seed: int, n: int, more: int) -> None:
    t = tree_of_shape(shape, seed=seed)
    leaves = int(t.meta[Meta.LEAVES])
    assume(leaves > 1)
    tree = branch_of(t, int(t.meta[Meta.ROOT]))
    coarse, fine = nested_cuts(t, [n, n + more])
    assert [len(coarse), len(fine)] == [min(n, leaves), min(n + more, leaves)]
    first = best(tree, min(n, leaves), [tree])
    assert sum(group.cost for group in coarse) == pytest.approx(cost(first), rel=1e-9, abs=1e-7)
    named = {each.name: each for cut in every_cut(tree) for each in cut}
    second = best(tree, min(n + more, leaves), [named[group.node, group.without] for group in coarse])
    assert sum(group.cost for group in fine) == pytest.approx(cost(second), rel=1e-9, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(shape=nested(40), seed=st.integers(0, 99), grid=st.booleans())
def test_there_is_a_cut_for_every_number_of_groups(shape: Nested, seed: int, grid: bool) -> None:
    t = tree_of_shape(shape, seed=seed, grid=grid)
    leaves = int(t.meta[Meta.LEAVES])
    before = None
    for n, cut in enumerate(nested_cuts(t, list(range(1, leaves + 3))), 1):
        assert len(cut) == min(n, leaves)
        held = [set(check_group(t, group)) for group in cut]
        assert sorted(document for group in held for document in group) == list(range(int(t.meta[Meta.DOCUMENTS])))
        assert [group.size for group in cut] == sorted((group.size for group in cut), reverse=True)
        assert len({group.node for group in cut}) == len(cut)
        assert before is None or all(any(group <= whole for whole in before) for group in held)
        before = held
        assert len(best_cut(t, n)) == min(n, leaves)


def check_group(t: TreeArrays, group: Group) -> list[int]:
    """The documents of a group, which has the size and the cost that it says."""
    documents = group.documents(t)
    assert group.size == len(documents)
    assert group.cost == pytest.approx(len(documents) * entropy(t.vectors[t.row[t.leaf[documents]]]), abs=1e-6)
    found: list[int] = documents.tolist()
    return found


def test_one_concept_in_the_way_loses_its_furthest_members() -> None:
    t = tree_of_shape([1] * 7, seed=3)
    root = int(t.meta[Meta.ROOT])
    leaves = list(range(7))
    away = np.square(t.vectors[t.row[leaves]] - t.mean[t.row[root]]).sum(axis=1)
    furthest = np.argsort(-away).tolist()
    for n in range(2, 7):
        cut = best_cut(t, n)
        (rest,) = (group for group in cut if group.node == root)
        assert rest.without == tuple(furthest[: n - 1])
        assert rest.size == 8 - n
        assert {group.node for group in cut} == {root, *rest.without}
    assert {group.node for group in best_cut(t, 7)} == set(leaves)


def clustered(groups: int, each: int, seed: int = 0) -> CobwebTree:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(groups, 8)) * 10
    rows = np.repeat(centres, each, axis=0) + rng.normal(size=(groups * each, 8))
    tree = CobwebTree(dim=8, acuity=5.0)
    tree.insert_many(rows[rng.permutation(len(rows))])
    return tree


def test_groups_of_grown_trees_partition_the_documents() -> None:
    tree = clustered(12, 40)
    for n in (1, 2, 3, 5, 12, 60, 479, 480, 1000):
        cut = best_cut(tree.arrays, n)
        assert len(cut) == min(n, 480)
        held = np.concatenate([group.documents(tree.arrays) for group in cut])
        assert sorted(held.tolist()) == list(range(480))


def test_a_cut_finds_the_clusters_whatever_their_depth() -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [60.0, 0.0], [0.0, 60.0]])  # two near each other, two far away
    rows = np.repeat(centres, 50, axis=0) + rng.normal(size=(200, 2)) * 0.1
    tree = CobwebTree(dim=2, acuity=1.0)
    order = rng.permutation(200)
    tree.insert_many(rows[order])
    tree.rebuild()
    found = [set((order[group.documents(tree.arrays)] // 50).tolist()) for group in best_cut(tree.arrays, 4)]
    assert sorted(map(sorted, found)) == [[0], [1], [2], [3]]


def test_small_and_empty_trees() -> None:
    tree = CobwebTree(dim=2)
    assert best_cut(tree.arrays, 3) == []
    assert nested_cuts(tree.arrays, [1, 2]) == [[], []]
    tree.insert_many(np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert best_cut(tree.arrays, 3) == [Group(tree.root, (), 2, 0.0)]
    tree.insert(np.array([3.0, 4.0]))
    assert [group.node for group in best_cut(tree.arrays, 1)] == [tree.root]
    assert len(best_cut(tree.arrays, 2)) == 2


def test_wrong_numbers_of_groups() -> None:
    tree = clustered(2, 5).arrays
    with pytest.raises(ParameterError, match="number of groups"):
        best_cut(tree, 0)
    for sizes in ([], [5, 5], [8, 4]):
        with pytest.raises(ParameterError, match="rising numbers of groups"):
            nested_cuts(tree, sizes)


def test_ties_everywhere() -> None:
    """Siblings all alike: a price rules out hardly any cut, and dynamic programming has all the work."""
    levels = 10
    sizes = np.concatenate([np.full(2**level, 2.0 ** (levels - 1 - level)) for level in range(levels)])
    halves = [(2 * at + 1, 2 * at + 2) if size > 1 else None for at, size in enumerate(sizes)]
    tree = binary((halves, (sizes * np.log2(sizes)).tolist()))
    cut = tree.cut(tree.cost, 100)
    assert len(cut) == 100
    assert tree.cost[cut].sum() == 64 * 8 * 3 - 36 * 8  # 64 groups of eight, 36 of which are opened


def test_vectors_that_hardly_differ_are_groups_all_the_same() -> None:
    """Where opening saves nothing that a float can hold."""
    rows = np.full((40, 4), 1.0, np.float32)
    rows[:, 0] += np.arange(40, dtype=np.float32) * np.finfo(np.float32).eps
    tree = CobwebTree(dim=4, acuity=1e6)
    tree.insert_many(rows)
    for n in range(1, 41):
        assert len(best_cut(tree.arrays, n)) == n
