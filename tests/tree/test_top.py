"""The top of a tree: moves lower the objective, levels are nested, and groups are better than Ward's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from gossamer.tree import top
from gossamer.tree.top import Levels, ladder, move_points, moved_levels, top_merges, typical_distance
from gossamer.tree.ward import inner_products, pooled_products, ward, ward_forest
from oracles import agglomeration
from oracles import top as oracle

Matrix = npt.NDArray[np.float64]


def mixture(points: int, classes: int, dim: int, seed: int) -> tuple[Matrix, Matrix]:
    """Overlapping classes of several sizes, and weights."""
    rng = np.random.default_rng(seed)
    which = np.sort(rng.integers(0, classes, points) * rng.integers(0, 2, points))
    X = rng.normal(size=(classes, dim))[which] * 1.5 + rng.normal(size=(points, dim))
    return X, rng.integers(1, 9, points).astype(np.float64)


def labels_by_level(levels: Levels) -> list[npt.NDArray[np.int64]]:
    """The group of each point at each level, coarse levels first, from 0 on."""
    found, group = [], levels.group
    while group[0] >= 0:
        found.append(np.unique(group, return_inverse=True)[1])
        group = levels.parent[group]
    return found[::-1]


def as_levels(labels: list[npt.NDArray[np.int64]]) -> Levels:
    """The opposite."""
    first = np.cumsum([0] + [level.max() + 1 for level in labels])
    parent = np.full(first[-1], -1, np.int64)
    for depth in range(1, len(labels)):
        parent[first[depth] + labels[depth]] = first[depth - 1] + labels[depth - 1]
    return Levels(first[-2] + labels[-1], parent, int(first[-2]))


def unit(X: Matrix) -> float:
    """What squared distances are multiplied by in `inner_products`."""
    products = inner_products(X)
    return float((products[0, 0] + products[1, 1] - 2.0 * products[0, 1]) / np.square(X[0] - X[1]).sum())


def penalties(X: Matrix, sizes: Matrix, counts: list[int], typical: list[float]) -> npt.NDArray[np.float64]:
    """Of each group."""
    of_levels = [top.EVENNESS * c * t * unit(X) / sizes.sum() for c, t in zip(counts, typical, strict=True)]
    return np.repeat(of_levels, counts)


def random_levels(points: int, counts: list[int], rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    finest = np.concatenate([np.arange(counts[-1]), rng.integers(0, counts[-1], points - counts[-1])])
    labels = [finest]
    for count, finer in zip(counts[-2::-1], counts[:0:-1], strict=True):
        above = np.concatenate([np.arange(count), rng.integers(0, count, finer - count)])
        labels.append(above[labels[-1]])
    return labels[::-1]


def same_groups(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> bool:
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    return len(pairs) == len(set(left.tolist())) == len(set(right.tolist()))


# -- moves -----------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), counts=st.sampled_from([[3], [2, 4], [2, 3, 5]]))
def test_moves_are_those_of_the_oracle(seed: int, counts: list[int]) -> None:
    X, sizes = mixture(16, 4, 3, seed)
    labels = random_levels(len(X), counts, np.random.default_rng(seed))
    levels, typical = as_levels(labels), [oracle.typical_distance(X, sizes, level) for level in labels]
    moves = move_points(inner_products(X), sizes, levels, penalties(X, sizes, counts, typical), 0.0)
    expected = oracle.moved(X, sizes, labels, typical)
    for ours, theirs in zip(labels_by_level(levels), expected, strict=True):
        assert same_groups(ours, theirs)
    before, after = (oracle.objective(X, sizes, some, typical) for some in (labels, expected))
    assert (moves > 0) == (after < before)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_move_is_left_that_lowers_the_objective(seed: int) -> None:
    X, sizes = mixture(80, 5, 4, seed)
    labels = random_levels(len(X), [3, 6], np.random.default_rng(seed))
    levels, products, typical = as_levels(labels), inner_products(X), [5.0, 4.0]
    penalty, before = penalties(X, sizes, [3, 6], typical), oracle.objective(X, sizes, labels, typical)
    for _ in range(10):
        moves = move_points(products, sizes, levels, penalty, 0.0)
        labels = labels_by_level(levels)
        after = oracle.objective(X, sizes, labels, typical)
        assert after < before or moves == 0
        before = after
        if moves == 0:
            break
    assert moves == 0
    for point in range(0, len(X), 7):
        if np.count_nonzero(labels[-1] == labels[-1][point]) > 1:
            for group in range(labels[-1].max() + 1):
                moved = oracle.placed(labels, point, group)
                assert oracle.objective(X, sizes, moved, typical) >= after * (1 - 1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_typical_distance(seed: int) -> None:
    X, sizes = mixture(40, 5, 4, seed)
    labels = random_levels(len(X), [3, 6], np.random.default_rng(seed))
    expected = oracle.typical_distance(X, sizes, labels[-1]) * unit(X)
    assert typical_distance(inner_products(X), sizes, as_levels(labels)) == pytest.approx(expected, rel=1e-3)


def test_the_last_point_of_a_group_stays() -> None:
    X = np.array([[0.0], [0.1], [0.2], [0.3]])
    levels = as_levels([np.array([0, 0, 0, 1])])
    move_points(inner_products(X), np.ones(4), levels, np.zeros(2), 0.0)
    assert set(levels.group.tolist()) == {0, 1}


# -- levels and the tree ---------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), counts=st.sampled_from([[], [3], [2, 4], [2, 4, 8]]))
def test_the_tree_is_that_of_the_oracle(seed: int, counts: list[int]) -> None:
    X, sizes = mixture(18, 4, 3, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top, "ladder", lambda points: counts)
        merges = top_merges(sizes, X)
    expected = oracle.unions(X, sizes, oracle.levels_of(X, sizes, counts))
    assert set(agglomeration.unions(merges, len(X))) == expected


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), points=st.integers(1, 200), few=st.booleans())
def test_it_is_a_binary_tree_in_which_every_level_is_found(seed: int, points: int, few: bool) -> None:
    X, sizes = mixture(points, 5, 3, seed)
    if few:
        X = np.round(X)  # many points are equal
    merges = top_merges(sizes, X)
    unions = agglomeration.unions(merges, points)
    assert sorted(name for pair in merges for name in pair) == list(range(2 * points - 2))
    assert all(one < points + number and other < points + number for number, (one, other) in enumerate(merges))
    assert len(unions) == points - 1
    assert points == 1 or unions[-1] == frozenset(range(points))
    found = {frozenset([point]) for point in range(points)} | set(unions)
    labels = labels_by_level(moved_levels(inner_products(X), sizes)) if ladder(points) else []
    assert [level.max() + 1 for level in labels] == ladder(points)
    for level in labels:
        assert all(frozenset(np.flatnonzero(level == group).tolist()) in found for group in np.unique(level))


def test_the_ladder() -> None:
    assert ladder(35) == []
    assert ladder(36) == [6]
    assert ladder(1500) == [6, 12, 24, 48, 96, 192]


@pytest.mark.parametrize("points", [1, 2, 3, 30])
def test_few_points_are_wards_tree(points: int) -> None:
    X, sizes = mixture(points, 3, 4, 0)
    assert top_merges(sizes, X) == ward(sizes, X)


@pytest.mark.parametrize("X", [np.zeros((100, 3)), np.full((100, 3), np.nan), np.full((100, 3), 1e300)])
def test_equal_points_are_merged_too(X: Matrix) -> None:
    assert len(top_merges(np.ones(100), X)) == 99


def test_nan_is_merged_too() -> None:
    X, sizes = mixture(100, 3, 4, 0)
    X[3, 1], X[50] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        assert len(set(agglomeration.unions(top_merges(sizes, X), 100))) == 99


def test_threads_that_multiply_make_no_difference() -> None:
    X, sizes = mixture(700, 9, 120, 0)
    with threadpool_limits(1):
        alone = top_merges(sizes, X)
    with threadpool_limits(2):
        assert alone == top_merges(sizes, X)
    assert alone == top_merges(sizes.copy(), np.asfortranarray(X))


def test_levels_have_a_lower_squared_error_than_wards_cuts() -> None:
    gains = []
    for seed in range(4):
        X, sizes = mixture(400, 12, 6, seed)
        products = inner_products(X)
        forest = ward_forest(products, sizes, np.zeros(len(X), np.int64), 1)
        for level in labels_by_level(moved_levels(products, sizes)):
            groups = int(level.max()) + 1
            within = pooled_products(products, sizes, level, groups).diagonal() @ np.bincount(level, sizes)
            wards = np.sort(forest.costs)[: len(X) - groups].sum()
            gains.append(1.0 - (sizes @ products.diagonal() - within) / wards)
    assert min(gains) > -0.02
    assert np.mean(gains) > 0.02
