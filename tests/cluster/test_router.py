"""The router: concepts of a sample, given to shards, and which shards a query asks. No Ray is needed."""

from __future__ import annotations

import numpy as np
import pytest

from bag import encode
from cluster.themes import corpus
from gossamer.cluster.concepts import global_id, local_id, upper_tree
from gossamer.cluster.keeper import planned
from gossamer.cluster.router import RECALLS, Router, fit, least_by_shard, slack_for
from gossamer.index.part import Space


@pytest.fixture(scope="module")
def sample() -> np.ndarray:
    E = encode(corpus(3000)[0])
    return Space.fitted(E).project(E)


def test_neighbours_in_the_tree_go_to_one_shard_and_shards_are_alike_in_size(sample: np.ndarray) -> None:
    router, assignment, _ = fit(sample, 4)
    order = [assignment[concept] for concept in router.order()]
    assert order == sorted(order)
    concepts = router.concepts_of(sample)
    sizes = np.bincount(np.array(assignment)[concepts], minlength=4)
    largest = np.bincount(concepts).max()
    assert sizes.max() - sizes.min() <= 2 * largest
    assert sizes.min() > 0


def test_a_row_belongs_to_the_nearest_mean(sample: np.ndarray) -> None:
    router = fit(sample, 2)[0]
    distances = np.square(sample[:50, None] - router.means).sum(axis=2)
    assert np.array_equal(router.concepts_of(sample[:50]), distances.argmin(axis=1))


def test_the_slack_finds_the_share_of_neighbours_it_promises(sample: np.ndarray) -> None:
    router, assignment, curve = fit(sample, 4)
    assert [recall for recall, _ in curve] == list(RECALLS)
    concepts = router.concepts_of(sample)
    members = np.bincount(concepts, minlength=len(router))
    E = encode(corpus(300, seed=9)[0])
    X = Space.fitted(encode(corpus(3000)[0])).project(E)
    near = np.argsort(-(X @ sample.T), axis=1)[:, :10]
    owners = np.array(assignment)[concepts][near]
    least = least_by_shard(router.estimates(X, members), [(shard,) for shard in assignment], 4)
    for wanted in (0.9, 0.99):
        asked = least <= least.min(axis=1, keepdims=True) + slack_for(curve, wanted)
        found = np.take_along_axis(asked, owners, axis=1).mean()
        assert found >= wanted - 0.02
        assert asked.mean() < 0.9
    assert slack_for(curve, 1.0) == np.inf
    slacks = [slack_for(curve, recall) for recall in np.linspace(0.5, 0.999, 20)]
    assert slacks == sorted(slacks)


def test_too_small_a_sample_asks_all_shards() -> None:
    X = encode(corpus(30)[0])
    _, assignment, curve = fit(X, 3)
    assert set(assignment) == {0, 1, 2}
    assert slack_for(curve, 0.5) == np.inf


def test_a_router_survives_saving(sample: np.ndarray) -> None:
    router = fit(sample[:500], 2)[0]
    again = Router.from_bundle(router.to_bundle())
    for name in ("means", "variances", "counts", "linkage"):
        assert np.array_equal(getattr(router, name), getattr(again, name))


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_the_upper_tree_holds_every_shard_once(sample: np.ndarray, shards: int) -> None:
    router, assignment, _ = fit(sample[:1000], shards)
    top = upper_tree(router, assignment, range(shards))
    assert top is not None
    assert sorted(top.shards) == list(range(shards))
    waiting = [top]
    while waiting:
        here = waiting.pop()
        assert (here.shard is None) == (len(here.children) > 1)
        assert all(child.path[:-1] == here.path for child in here.children)
        waiting += here.children
    assert upper_tree(router, assignment, []) is None


def test_ids_of_concepts_name_their_shard() -> None:
    seen = {global_id(number, shard): (number, shard) for number in (0, 1, 999) for shard in (None, 0, 1, 999)}
    assert len(seen) == 12
    assert all(local_id(id) == place for id, place in seen.items())


def test_a_plan_moves_concepts_off_the_largest_shard() -> None:
    rng = np.random.default_rng(0)
    means, sizes = rng.normal(size=(40, 8)).astype(np.float32), rng.integers(1, 30, 40)
    assignment = [0] * 30 + [1] * 9 + [2]
    moves = planned(means, list(assignment), sizes, 4, 1.2)
    for concept, source, target in moves:
        assert assignment[concept] == source
        assignment[concept] = target
    held = np.bincount(assignment, weights=sizes, minlength=4)
    assert held.max() <= 1.2 * held.mean()
    assert planned(means, assignment, sizes, 4, 1.2) == []
