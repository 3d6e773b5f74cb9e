"""Agglomeration by Cobweb's loss and by Ward's rule: beside plain versions, and the limit in which they agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

from gossamer_lab.engine import Doubles, Longs
from gossamer_lab.trees import criteria
from gossamer_lab.trees.criteria import WARD, Pairs, agglomerate, groups_of, in_common, unions


def points(seed: int, count: int = 40, dim: int = 5) -> Doubles:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, dim)) * np.linspace(0.5, 2.0, dim) + 2.0 * rng.integers(0, 3, (count, 1))


def cost(X: Doubles, acuity: float) -> float:
    """n·h of a set of points; of acuity WARD, its squared error."""
    if acuity == WARD:
        return float(((X - X.mean(axis=0)) ** 2).sum())
    return float(len(X) * np.log1p(X.var(axis=0) / acuity).sum())


def plain(X: Doubles, acuity: float) -> list[tuple[int, int]]:
    """Compare all pairs at each step, from the points themselves."""
    clusters = {name: [name] for name in range(len(X))}
    merges = []
    for step in range(len(X) - 1):
        losses = {
            (one, other): cost(X[clusters[one] + clusters[other]], acuity)
            - cost(X[clusters[one]], acuity)
            - cost(X[clusters[other]], acuity)
            for one, other in combinations(sorted(clusters), 2)
        }
        one, other = min(losses, key=lambda pair: losses[pair])
        clusters[len(X) + step] = clusters.pop(one) + clusters.pop(other)
        merges.append((one, other))
    return merges


def named(merges: Longs) -> list[tuple[int, int]]:
    return [(min(one, other), max(one, other)) for one, other in merges.tolist()]


@given(st.integers(0, 10_000), st.sampled_from([0.06, 0.5, 5.0, WARD]), st.integers(2, 14), st.integers(1, 40))
def test_merges_are_those_of_the_plain_version(seed: int, acuity: float, count: int, dim: int) -> None:
    X = points(seed, count, dim)
    assert named(agglomerate(X, acuity)) == plain(X, acuity)


def test_the_limit_is_scipys_ward() -> None:
    X = points(1)
    assert named(agglomerate(X, WARD)) == named(linkage(X, "ward")[:, :2].astype(np.int64))


def test_a_large_acuity_is_wards_rule_and_a_small_one_is_not() -> None:
    X = points(2)
    ward = unions(agglomerate(X, WARD))
    assert in_common(ward, unions(agglomerate(X, 1e6))) == (1.0, 1.0)
    assert in_common(ward, unions(agglomerate(X, 0.001)))[0] < 0.8


def test_the_first_order_of_the_loss() -> None:
    X = points(3)
    pairs = Pairs(X, agglomerate(X, WARD))
    errors = [np.abs(acuity * pairs.losses(acuity) / pairs.ward - 1.0).max() for acuity in (1e3, 1e4)]
    assert errors[0] < 0.02
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.1)  # of first order in 1/a


def test_losses_of_pairs_are_those_of_the_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criteria, "CLUSTERS", 4)
    X = points(4)
    merges = agglomerate(X, WARD)
    group, pairs = groups_of(merges, 4), Pairs(X, merges)
    for number, (one, other) in enumerate(combinations(range(4), 2)):
        for acuity, found in ((WARD, pairs.ward), (0.5, pairs.losses(0.5))):
            both, parts = cost(X[np.isin(group, (one, other))], acuity), (X[group == one], X[group == other])
            assert found[number] == pytest.approx(both - sum(cost(part, acuity) for part in parts))


def test_groups_in_common_by_hand() -> None:
    merges = np.array([[0, 1], [2, 3], [4, 5]])
    assert unions(merges).tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert groups_of(merges, 4).tolist() == [0, 1, 2, 3]
    assert groups_of(merges, 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert groups_of(merges, 1).tolist() == [0, 0, 0, 0]
    exactly, nearly = in_common(unions(merges), unions(np.array([[0, 1], [2, 4], [3, 5]])))
    assert exactly == 0.5
    assert np.isnan(nearly)  # no group is large
    whole = np.ones((1, 20), np.float32)
    without_one, without_three = whole.copy(), whole.copy()
    without_one[0, :1], without_three[0, :3] = 0.0, 0.0
    assert in_common(whole, without_one) == (0.0, 1.0)  # 19 of 20
    assert in_common(whole, without_three) == (0.0, 0.0)  # 17 of 20
