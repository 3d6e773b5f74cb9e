"""The best cut is the best one: against every cut there is, on small trees of any shape and cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import ParameterError
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.cuts import CostTree, best_cut, nested_cuts
from oracles.cuts import Branch, branch, cost, every_cut, lowest_cost

Shape = tuple[list[int], list[float]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Numbers of children level by level, and a cost for each node: any costs, not only a tree's."""
    counts: list[int] = []
    waiting = 1
    while waiting:
        count = draw(st.sampled_from([0, 0, 2, 2, 3, 4])) if len(counts) < 9 else 0
        counts.append(count)
        waiting += count - 1
    whole = st.integers(0, 12).map(float)
    return counts, draw(st.lists(whole | st.floats(0, 100), min_size=len(counts), max_size=len(counts)))


def cost_tree(shape: Shape) -> CostTree:
    counts, costs = shape
    return CostTree.by_counts(np.arange(len(counts), dtype=np.int32), np.array(counts, np.int64), np.array(costs))


def groups(tree: Branch, cut: list[int]) -> list[Branch]:
    """The groups of a cut that was found, checked to be one."""
    named = {frozenset(group.name for group in every): every for every in every_cut(tree)}
    assert frozenset(cut) in named
    return named[frozenset(cut)]


@given(shapes(), st.integers(1, 20))
def test_no_cut_costs_less(shape: Shape, n: int) -> None:
    tree = branch(*shape)
    found = groups(tree, cost_tree(shape).cut(n))
    assert len(found) <= n
    assert cost(found) == pytest.approx(lowest_cost(tree, n), abs=1e-9)


@given(shapes(), st.integers(1, 6), st.integers(1, 8))
def test_a_finer_cut_is_the_best_within_the_coarser(shape: Shape, n: int, more: int) -> None:
    tree, costs = branch(*shape), cost_tree(shape)
    coarse = costs.cut(n)
    costs.refine_only(coarse)
    fine = groups(tree, costs.cut(n + more))
    assert cost(fine) == pytest.approx(lowest_cost(tree, n + more, within=groups(tree, coarse)), abs=1e-9)
    within = [group.leaves() for group in groups(tree, coarse)]
    assert all(any(group.leaves() <= whole for whole in within) for group in fine)


@given(shapes(), st.integers(1, 12))
def test_the_number_of_groups_is_the_nearest_there_is(shape: Shape, n: int) -> None:
    """With costs as a tree has them: opening a concept always saves something."""
    counts, _ = shape
    tree = branch(counts, [0.0] * len(counts))
    nodes = {group.name: group for cut in every_cut(tree) for group in cut}
    costs = [float(len(nodes[name].leaves()) ** 2 - 1) for name in range(len(counts))]
    tree = branch(counts, costs)
    found = groups(tree, cost_tree((counts, costs)).nearest_cut(n))
    nearest = min({len(cut) for cut in every_cut(tree)}, key=lambda count: (abs(count - n), count))
    assert len(found) == nearest
    assert cost(found) == min(cost(cut) for cut in every_cut(tree) if len(cut) == nearest)


def clustered(groups: int, each: int, seed: int = 0) -> CobwebTree:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(groups, 8)) * 10
    rows = np.repeat(centres, each, axis=0) + rng.normal(size=(groups * each, 8))
    tree = CobwebTree(dim=8, acuity=5.0)
    tree.insert_many(rows[rng.permutation(len(rows))])
    return tree


def test_groups_of_real_trees_partition_the_documents() -> None:
    tree = clustered(12, 40)
    for n in (1, 2, 5, 12, 60, 480, 1000):
        cut = best_cut(tree.arrays, n)
        assert abs(len(cut) - n) <= (3 if n < 480 else n - 480)
        held = np.concatenate([tree.documents_below(node) for node in cut])
        assert sorted(held.tolist()) == list(range(480))
        assert [tree.node(node).count for node in cut] == sorted((tree.node(node).count for node in cut), reverse=True)


def test_a_cut_finds_the_clusters_whatever_their_depth() -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [60.0, 0.0], [0.0, 60.0]])  # two near each other, two far away
    rows = np.repeat(centres, 50, axis=0) + rng.normal(size=(200, 2)) * 0.1
    tree = CobwebTree(dim=2, acuity=1.0)
    order = rng.permutation(200)
    tree.insert_many(rows[order])
    tree.rebuild()
    groups = [set((order[tree.documents_below(node)] // 50).tolist()) for node in best_cut(tree.arrays, 4)]
    assert sorted(map(sorted, groups)) == [[0], [1], [2], [3]]


def test_nested_cuts_nest() -> None:
    tree = clustered(30, 20)
    coarse, middle, fine = nested_cuts(tree.arrays, [4, 15, 100])
    assert 1 < len(coarse) < len(middle) <= 15 < len(fine) <= 100
    for outer, inner in ((coarse, middle), (middle, fine)):
        held = [set(tree.documents_below(node).tolist()) for node in outer]
        assert all(any(set(tree.documents_below(node).tolist()) <= group for group in held) for node in inner)
    assert nested_cuts(tree.arrays, [7])[0] == best_cut(tree.arrays, 7)


def test_small_and_empty_trees() -> None:
    tree = CobwebTree(dim=2)
    assert best_cut(tree.arrays, 3) == []
    assert nested_cuts(tree.arrays, [1, 2]) == [[], []]
    tree.insert_many(np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert best_cut(tree.arrays, 3) == [tree.root]
    tree.insert(np.array([3.0, 4.0]))
    assert best_cut(tree.arrays, 1) == [tree.root]
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
    tree = cost_tree((np.where(sizes > 1, 2, 0).tolist(), (sizes * np.log2(sizes)).tolist()))
    cut = tree.cut(100)
    assert len(cut) == 100
    assert tree.cost[cut].sum() == 64 * 8 * 3 - 36 * 8  # 64 groups of eight, 36 of which are opened
