"""Agglomeration: Ward's tree where every cluster knows all others, nearly Ward's otherwise, and better groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.metrics import normalized_mutual_info_score as nmi
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from gossamer import CobwebTree
from gossamer.neighbours.all_pairs import Nearest
from gossamer.neighbours.quantise import choose_robust_grid, to_steps
from gossamer.tree.agglomeration import (
    NEIGHBOURS,
    SMALL_CONCEPT,
    Clusters,
    agglomerate,
    children_first,
    codes_of,
    compared_exactly,
    near_by_links,
    nearest_neighbours,
)
from gossamer.tree.cuts import best_cut
from gossamer.tree.top import top_merges
from gossamer.tree.ward import inner_products, ward
from oracles import agglomeration as oracle
from oracles import content


def sorted_by_class(classes: int, each: int, dim: int = 8, seed: int = 0) -> tuple[CobwebTree, list[int]]:
    """The worst order: all of one class, then all of the next."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.normal(size=(classes, dim)) * 1.5, each, axis=0) + rng.normal(size=(classes * each, dim))
    tree = CobwebTree(dim, acuity=5.0)
    tree.insert_many(rows)
    return tree, np.repeat(np.arange(classes), each).tolist()


def agreement(tree: CobwebTree, classes: list[int]) -> float:
    groups = np.zeros(len(classes), np.int64)
    for group, found in enumerate(best_cut(tree.arrays, len(set(classes)))):
        groups[found.documents(tree.arrays)] = group
    return float(nmi(classes, groups))


def silent(share: float) -> None: ...


def in_steps(X: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    points = X.copy()
    to_steps(points, choose_robust_grid(points))
    return points


def costs_of(pairs: Iterable[Iterable[int]], X: npt.NDArray[Any]) -> list[float]:
    """What each union adds to the squared distances within."""
    sizes, means, costs = [1.0] * len(X), list(X.astype(np.float64)), []
    for left, right in pairs:
        n = sizes[left] + sizes[right]
        costs.append(float(np.square(means[left] - means[right]).sum() * sizes[left] * sizes[right] / n))
        means.append((sizes[left] * means[left] + sizes[right] * means[right]) / n)
        sizes.append(n)
    return costs


def wards_costs(X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(np.sort(np.square(linkage(X.astype(np.float64), "ward")[:, 2]) / 2.0))


# -- neighbours by links -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [3, 20])
def test_clusters_near_by_links_equal_the_oracles(width: int) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    links = rng.integers(-1, 300, (300, 5)).astype(np.int32)
    plain, members = oracle.Clusters(X, np.ones(300)), {point: [point] for point in range(300)}
    for _ in range(200):
        one, other = rng.choice(list(members), 2, replace=False).tolist()
        union = plain.merge(one, other)
        members[union] = members.pop(one) + members.pop(other)
    names = np.array(list(members), np.int32)
    clusters = Clusters(
        np.array([plain.mean[name] for name in names.tolist()], np.float32),
        np.array([plain.size[name] for name in names.tolist()]),
        names,
        np.ones(len(names), np.bool_),
    )
    near = near_by_links(clusters, links, np.array(plain.merges, np.int32), width)
    expected = oracle.near_by_links(plain, members, links.tolist(), width)
    for place, name in enumerate(names.tolist()):
        assert names[near[place][near[place] >= 0]].tolist() == expected[name]


def test_a_tree_by_links_is_nearly_wards() -> None:
    rng = np.random.default_rng(5)
    means = rng.normal(size=(40, 6))[rng.integers(0, 40, 6000)] * 3
    X = in_steps((means + rng.normal(size=(6000, 6))).astype(np.float32))
    ones, near = np.ones(6000, np.int64), nearest_neighbours(codes_of(X), 8, silent)
    compared = agglomerate(X.copy(), ones, near)
    linked = agglomerate(X.copy(), ones, near, links=near.places, by_links=0)
    assert not np.array_equal(compared, linked)
    assert sum(costs_of(linked[:4500], X)) < 1.01 * sum(costs_of(compared[:4500], X))


def test_links_that_lead_nowhere_are_not_needed() -> None:
    rng = np.random.default_rng(6)
    X, none = rng.normal(size=(2000, 4)).astype(np.float32), np.full((2000, 3), -1, np.int32)
    unknown = Nearest(none, np.full((2000, 3), np.inf, np.float32))
    ones = np.ones(2000, np.int64)
    merges = agglomerate(X.copy(), ones, unknown, links=none, by_links=0)
    assert len(np.unique(merges)) == merges.size == 2 * 1999


# -- the tree --------------------------------------------------------------------------------------------


def test_groups_agree_better_with_the_classes() -> None:
    gains = []
    for seed in range(5):
        tree, classes = sorted_by_class(6, 100, seed=seed)
        before = agreement(tree, classes)
        tree.rebuild()
        gains.append(agreement(tree, classes) - before)
    assert min(gains) > -0.05
    assert np.mean(gains) > 0.05


def test_documents_can_be_inserted_and_removed_afterwards() -> None:
    tree, _ = sorted_by_class(5, 60)
    tree.rebuild()
    tree.insert_many(np.random.default_rng(3).normal(size=(200, 8)))
    tree.check()
    tree.remove(range(0, 300, 2))
    tree.rebuild()
    tree.check()
    assert tree.n_documents == 350


@pytest.mark.parametrize("documents", [0, 1, 2, 3, 10, 29, 40])
def test_small_trees(documents: int) -> None:
    tree = CobwebTree(3)
    tree.insert_many(np.random.default_rng(0).normal(size=(documents, 3)))
    tree.rebuild()
    tree.check()
    assert tree.n_documents == documents
    other = CobwebTree(3)
    other.agglomerate(np.random.default_rng(0).normal(size=(documents, 3)))
    other.check()
    assert other.n_nodes == tree.n_nodes


def test_equal_documents() -> None:
    tree = CobwebTree(2)
    tree.insert_many(np.tile([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]], (40, 1)))
    tree.rebuild()
    tree.check()
    assert tree.stats().leaves == 2


@pytest.mark.parametrize("far", [0.0, 1e2, 1e4, 1e6, 1e15])
@pytest.mark.parametrize("documents", [300, 3000])
def test_a_document_far_from_all_others_does_no_harm(far: float, documents: int) -> None:
    rng = np.random.default_rng(0)
    classes = np.arange(documents) % 10
    X = rng.normal(size=(10, 8))[classes] * 5.0 + rng.normal(size=(documents, 8))
    tree = CobwebTree(8, acuity=5.0)
    tree.agglomerate(np.concatenate([X, [[far] + 7 * [0.0]]]))
    tree.check()
    groups = np.zeros(documents + 1, np.int64)
    for group, found in enumerate(best_cut(tree.arrays, 11)):
        groups[found.documents(tree.arrays)] = group
    assert nmi(classes, groups[:-1]) > 0.95


@pytest.mark.parametrize("values", [[-1.0, 1.0], [0.0, 1.0, 2.0]])
def test_of_one_hash_the_order_of_arrival_does_not_matter_either(values: list[float]) -> None:
    """Where coordinates have few values, many different documents have one hash."""
    rng = np.random.default_rng(0)
    X = np.unique(rng.choice(values, (1500, 12)), axis=0)
    order = rng.permutation(len(X))
    trees = [CobwebTree(12, acuity=1.0) for _ in range(2)]
    trees[0].agglomerate(X)
    trees[1].insert_many(X[order])
    trees[1].rebuild()
    assert len(np.unique(trees[0].arrays.key[: len(X)])) < len(X)
    concepts = [
        {frozenset(names[tree.documents_below(node)].tolist()) for d in range(len(X)) for node in tree.path(d)}
        for tree, names in zip(trees, (np.arange(len(X)), order), strict=True)
    ]
    assert concepts[0] == concepts[1]


@pytest.mark.parametrize("size", [1e-30, 1e-12, 1.0, 1e12, 5e15])
def test_vectors_of_any_size(size: float) -> None:
    """Groups are the same: what is squared on the way must not leave the range of float32."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), 50)
    X = rng.normal(size=(4, 6))[classes] * 5.0 + rng.normal(size=(200, 6))
    tree = CobwebTree(6, acuity=5.0 * min(max(size * size, 1e-59), 1e59))
    tree.agglomerate((size * X).astype(np.float32))
    tree.check()
    assert agreement(tree, classes.tolist()) > 0.95


def test_every_merge_is_a_level_but_for_those_within_small_concepts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5))[rng.integers(0, 30, 1500)] * 2.0 + rng.normal(size=(1500, 5))
    tree = CobwebTree(5, acuity=5.0)
    tree.agglomerate(X)
    concepts = [tree.node(node) for node in {node for document in range(1500) for node in tree.path(document)[:-1]}]
    small = [view for view in concepts if all(child.is_leaf for child in view.child_nodes)]
    binary = [view for view in concepts if view not in small]
    assert all(2 <= view.count == len(view.children) <= SMALL_CONCEPT for view in small)
    assert all(len(view.children) == 2 and view.count > SMALL_CONCEPT for view in binary)
    assert max(view.count for view in small) == SMALL_CONCEPT
    assert len(binary) > 100


def test_room_is_made_for_more_concepts_than_expected() -> None:
    """Far points on axes of their own join what is near the origin one after the other: a level for each."""
    X = np.concatenate([np.eye(20) * 3.0**power for power in range(30)])
    tree = CobwebTree(20, acuity=5.0)
    tree.agglomerate(X)
    tree.check()
    assert tree.n_nodes > 1.6 * 600


# -- more leaves than are compared each with each ----------------------------------------------------------

FEW = 1024


def test_more_leaves_are_compared_in_groups_around_pivots() -> None:
    tree, classes = sorted_by_class(12, 400)
    before = agreement(tree, classes)
    order = np.random.default_rng(1).permutation(len(classes))
    again = CobwebTree(8, acuity=5.0)
    X = np.array([tree.node(tree.leaf(document)).mean for document in range(len(classes))], np.float32)
    again.insert_many(X[order])
    again.rebuild(largest_group=FEW)
    reported: list[tuple[int, int]] = []
    tree.rebuild(largest_group=FEW, progress=lambda done, total: reported.append((done, total)))
    tree.check()
    assert agreement(tree, classes) > before + 0.05
    assert tree.n_nodes == again.n_nodes, "the order of arrival does not matter here, either"
    assert reported[-1] == (4800, 4800)


def test_groups_are_of_one_size() -> None:
    X = in_steps(np.random.default_rng(0).normal(size=(1030, 6)).astype(np.float32))
    places, distances = nearest_neighbours(codes_of(X), 8, silent, largest_group=FEW)
    assert (places >= 0).all()
    assert (places != np.arange(1030)[:, None]).all()
    exact = np.square(np.rint(X)[:, None] - np.rint(X)).sum(axis=2)
    assert np.allclose(distances, np.take_along_axis(exact, places.astype(np.int64), axis=1))
    np.fill_diagonal(exact, np.inf)
    nearest = exact.min(axis=1) == distances[:, 0]
    assert nearest.mean() > 0.6


def test_a_second_pass_groups_leaves_by_the_tree_of_the_first() -> None:
    once, _ = sorted_by_class(12, 400)
    twice, _ = sorted_by_class(12, 400)
    reported: list[int] = []
    once.rebuild(largest_group=FEW)
    done = twice.rebuild(2, largest_group=FEW, progress=lambda steps, _: reported.append(steps))
    twice.check()
    assert done.passes == 2
    assert reported == sorted(reported)
    assert reported[-1] == 4800
    assert twice.to_bundle().arrays["parent"].tolist() != once.to_bundle().arrays["parent"].tolist()


# -- neighbours that are kept --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["agglomerate", "rebuild"])
@pytest.mark.parametrize("keep", [3, 20])
def test_neighbours_are_kept_if_asked_for(how: str, keep: int) -> None:
    X = np.random.default_rng(0).integers(-127, 128, (700, 12)).astype(np.float32)
    tree = CobwebTree(12)
    if how == "agglomerate":
        tree.agglomerate(X, keep=keep)
    else:
        tree.insert_many(X)
        tree.rebuild(keep=keep)
    kept = tree.take_neighbours()
    assert kept is not None
    assert tree.take_neighbours() is None, "once"
    exact = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(exact, np.inf)
    document = tree.arrays.first_document[kept.leaves]
    assert sorted(document.tolist()) == list(range(700))
    places, distances = kept.places[:, :keep], kept.distances[:, :keep]
    assert np.allclose(distances, np.sort(exact, axis=1)[document, :keep], rtol=0.05)
    assert np.allclose(exact[document[:, None], document[places]], distances, rtol=0.05)


def test_neighbours_of_another_tree_are_not_given() -> None:
    tree = CobwebTree(4)
    tree.agglomerate(np.random.default_rng(0).normal(size=(50, 4)), keep=3)
    tree.insert([1.0, 2.0, 3.0, 4.0])
    assert tree.take_neighbours() is None
    tree.rebuild()
    assert tree.take_neighbours() is None, "none were to be kept"


# -- merges ------------------------------------------------------------------------------------------------


EXACT = compared_exactly(10**6)
"""Clusters that are left to `top`; more than these are merged among known neighbours."""


@settings(max_examples=8)
@given(st.integers(1, 150), st.integers(1, 5), st.integers(0, 1000))
def test_with_many_neighbours_known_the_first_merges_are_wards(merged: int, dim: int, seed: int) -> None:
    points = EXACT + merged
    X = np.random.default_rng(seed).normal(size=(points, dim)).astype(np.float32)
    found = nearest_neighbours(codes_of(in_steps(X)), 60, silent)
    merges = agglomerate(X.copy(), np.ones(points, np.int64), found, neighbours=60)
    assert sorted(merges.ravel().tolist()) == list(range(2 * points - 2))
    assert costs_of(merges[:merged].tolist(), X) == pytest.approx(wards_costs(X)[:merged], rel=1e-4)


@settings(max_examples=15)
@given(st.integers(1, 400), st.integers(1, 6), st.integers(1, NEIGHBOURS), st.integers(0, 1000))
def test_merges_among_known_neighbours_equal_the_oracles(merged: int, dim: int, width: int, seed: int) -> None:
    """Any others may be known, not only the nearest, and some of them twice."""
    rng, points = np.random.default_rng(seed), EXACT + merged
    X = rng.normal(size=(points, dim)).astype(np.float32)
    sizes = rng.integers(1, 5, points)
    near = (np.arange(points)[:, None] + rng.integers(1, points, (points, width))) % points
    nearest = Nearest(near.astype(np.int32), np.zeros(near.shape, np.float32))
    merges = agglomerate(X.copy(), sizes, nearest, neighbours=width)
    expected = oracle.ward_among_neighbours(X, sizes, nearest.places, EXACT)
    assert len(expected) <= merged, "fewer where too few are known"
    assert oracle.unions(merges.tolist(), points)[: len(expected)] == oracle.unions(expected, points)


def test_with_few_neighbours_known_the_tree_is_nearly_wards() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 12))[rng.integers(0, 40, 2500)] * 2.0 + rng.normal(size=(2500, 12))).astype(np.float32)
    merges = agglomerate(X.copy(), np.ones(len(X), np.int64))
    assert sorted(merges.ravel().tolist()) == list(range(2 * len(X) - 2))
    ours, theirs = np.sort(costs_of(merges.tolist(), X)), wards_costs(X)
    assert ours.sum() == pytest.approx(theirs.sum()), "the costs of any tree add up to the same"
    assert ours[:-250].sum() == pytest.approx(theirs[:-250].sum(), rel=0.02)
    assert ours[:-20].sum() == pytest.approx(theirs[:-20].sum(), rel=0.02)


def test_tight_clusters_that_know_no_others_are_merged_all_the_same() -> None:
    rng = np.random.default_rng(0)
    X = (100.0 * rng.normal(size=(400, 6))[np.repeat(np.arange(400), 20)] + rng.normal(size=(8000, 6))).astype(
        np.float32
    )
    merges = agglomerate(X.copy(), np.ones(8000, np.int64))
    assert sorted(merges.ravel().tolist()) == list(range(2 * 8000 - 2))
    sizes = [len(union) for union in oracle.unions(merges.tolist(), 8000)]
    assert sizes.count(20) >= 400, "each cluster first"


# -- concepts ----------------------------------------------------------------------------------------------


def test_children_come_before_their_union() -> None:
    merges = np.array([[0, 1], [3, 2], [5, 6], [4, 7]], np.int32)
    assert children_first(merges).tolist() in ([0, 1, 2, 3], [1, 0, 2, 3])
    assert children_first(np.zeros((0, 2), np.int32)).tolist() == []


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 90), st.integers(1, 4), st.integers(0, 1000))
def test_concepts_are_those_of_the_oracle(points: int, dim: int, seed: int) -> None:
    """The same leaves in the same order, merged, and the same levels kept."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(4, dim))[rng.integers(0, 4, points)] * 3 + rng.normal(size=(points, dim))).astype(np.float32)
    order = content.content_order(X)
    steps = in_steps(X[order])
    merges = agglomerate(steps.copy(), np.ones(points, np.int64), nearest_neighbours(codes_of(steps), 0, silent))
    expected = oracle.concepts(merges.tolist(), points, max(2, min(SMALL_CONCEPT, points // 12)))
    tree = CobwebTree(dim)
    tree.agglomerate(X)
    concepts = [tree.node(node).documents for node in {node for d in range(points) for node in tree.path(d)[:-1]}]
    assert set(map(frozenset, concepts)) == {frozenset(order[place] for place in concept) for concept in expected}
    assert len(concepts) == len(expected)


# -- Ward's rule ---------------------------------------------------------------------------------------------


@given(st.integers(2, 30), st.integers(0, 1000))
def test_ward_equals_scipy(points: int, seed: int) -> None:
    """The same costs where all weights are one."""
    X = np.random.default_rng(seed).normal(size=(points, 3))
    assert np.sort(costs_of(ward(np.ones(points), X), X)) == pytest.approx(wards_costs(X))


@given(st.integers(1, 25), st.integers(0, 1000))
def test_ward_equals_the_oracle(points: int, seed: int) -> None:
    """The same unions with any weights; they come in another order."""
    rng = np.random.default_rng(seed)
    X, sizes = rng.normal(size=(points, 3)), rng.integers(1, 6, points).astype(float)
    ours, theirs = ward(sizes, X), oracle.ward(X, sizes)
    assert set(oracle.unions(ours, points)) == set(oracle.unions(theirs, points))


@pytest.mark.parametrize("seed", range(20))
def test_ward_of_near_copies_far_from_zero_ends(seed: int) -> None:
    """Where rounding decides which is nearest, a chain must not go round in circles."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(2, 80)), int(rng.integers(1, 100))
    pairs = ward(
        rng.integers(1, 9, n).astype(float), 1e6 * rng.normal(size=(1, dim)) + 1e-3 * rng.normal(size=(n, dim))
    )
    assert sorted(place for pair in pairs for place in pair) == list(range(2 * n - 2))


@pytest.mark.parametrize("seed", [8, 13])
def test_copies_of_few_points_in_many_groups_are_all_merged(seed: int) -> None:
    """Sums over groups in two orders differ in the last bits, and of two copies each was once the other's nearest."""
    X = np.tile(np.repeat(np.random.default_rng(seed).normal(size=(3, 8)), 40, axis=0).astype(np.float32), (3, 1))
    pairs = top_merges(np.ones(360), X.astype(np.float64))
    assert sorted(place for pair in pairs for place in pair) == list(range(718))


@pytest.mark.parametrize(("points", "dim"), [(333, 64), (1000, 286)])
def test_wards_tree_does_not_depend_on_the_threads_of_blas(points: int, dim: int) -> None:
    """A log that is replayed elsewhere must give the same tree."""
    means = np.random.default_rng(0).normal(size=(points, dim))
    with threadpool_limits(1):
        alone = inner_products(means)
    with threadpool_limits(2):
        assert np.array_equal(alone, inner_products(means))


def test_a_weight_is_so_many_points() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [9.0, 1.0]])
    heavy = ward(np.array([3.0, 1.0, 2.0, 1.0]), X)
    light = ward(np.ones(7), np.repeat(X, [3, 1, 2, 1], axis=0))
    assert len(heavy) == 3
    assert len(light) == 6
    assert heavy[-1] == (4, 5)  # near ones first, then the two pairs
