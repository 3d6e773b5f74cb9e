"""Calibration: it keeps what a search at every step would find, and turns a recall into an effort."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.graph.calibration import (
    BUDGETS,
    NOISE,
    NOISE_WITHOUT_LINKS,
    SLACKS,
    Calibration,
    CalibrationCache,
    Effort,
    calibrate,
    effort_for_budget,
    noisy_documents,
)
from gossamer.rank.exact import Scoring
from gossamer.rank.guided import search_with_effort
from gossamer.rank.path_sum import PathSum
from grown import Grown, Matrix, share_found, topics
from oracles import graph as oracle

recalls = st.lists(st.floats(0.0, 1.0), min_size=0, max_size=len(BUDGETS)).map(sorted).map(tuple)


@given(recalls=recalls, recall=st.floats(0.01, 0.999), k=st.integers(1, 200), linked=st.booleans())
def test_an_effort_lies_between_the_steps_that_reach_a_recall(
    recalls: tuple[float, ...], recall: float, k: int, linked: bool
) -> None:
    effort = Calibration(linked, recalls, 1000).effort(k, recall)
    spent = oracle.effort(SLACKS if linked else BUDGETS, recalls, recall)
    if spent is None:
        assert effort is None
    elif linked:
        stretch = max(1.0, 1.5 * math.sqrt(10 / max(k, 10)))
        assert effort is not None
        assert effort.slack == pytest.approx(max(spent, 1 + stretch * (spent - 1)))
        assert (effort.most_nodes, effort.width) == (1 << 30, 1024 + k)
    else:
        assert effort is not None
        assert effort.most_nodes == pytest.approx(spent + 5 * max(0, k - 10), abs=1.01)
        assert effort.width == 2 * k


@pytest.mark.parametrize(
    ("leaves", "recalls", "same_as"),
    [
        (20_000, (0.9, 0.99, 0.9999), 0.999),
        (20_000, (0.9, 0.99, 0.995), 0.995),
        (20_000, (0.9, 0.95), 0.98),
        (20_001, (0.9, 0.99, 0.9999), 0.98),
        (20_000, (), 0.98),
    ],
)
def test_a_small_index_finds_nearly_everything(leaves: int, recalls: tuple[float, ...], same_as: float) -> None:
    calibration = Calibration(True, recalls, leaves)
    assert calibration.usual_effort(10) == calibration.effort(10, same_as)


def test_a_budget_bounds_the_nodes_and_the_leaves_kept() -> None:
    assert effort_for_budget(10, 400, linked=True) == Effort(most_nodes=400, width=100)
    assert effort_for_budget(300, 400, linked=True).width == 300
    assert effort_for_budget(10, 10**6, linked=True).width == 1024
    assert effort_for_budget(10, 400, linked=False) == Effort(most_nodes=400, width=20)


def test_a_calibration_holds_until_the_index_has_grown_by_half() -> None:
    calibration = Calibration(True, (0.5,), 1000)
    assert calibration.holds(1499)
    assert not calibration.holds(1500)


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("context", [0.0, 0.002])
def test_calibration_shows_what_searching_for_all_at_every_step_would(linked: bool, context: float) -> None:
    grown = Grown(topics(4000), linked=linked)
    t, asked = grown.t, list[tuple[Effort, int]]()

    def found(Q: Matrix, k: int, effort: Effort) -> npt.NDArray[np.int64]:
        return search_with_effort(t, grown.graph, Q, k, effort, context).documents

    def search(Q: Matrix, k: int, effort: Effort) -> npt.NDArray[np.int64]:
        asked.append((effort, len(Q)))
        return found(Q, k, effort)

    def exact_search(Q: Matrix, k: int) -> npt.NDArray[np.int64]:
        return PathSum().search(t, Q, k, Scoring(False, context)).documents

    measured = calibrate(t, search, exact_search, linked=linked, context=context)
    Q = noisy_documents(t, NOISE if linked else NOISE_WITHOUT_LINKS)
    exact = exact_search(Q, 10)
    alone = [share_found(found(Q, 10, effort), exact) for effort, _ in asked[int(context > 0) :]]
    assert len(alone) > 1
    # A query that found everything is not asked again, and might rarely lose one of its answers with more effort.
    assert measured.recalls == pytest.approx(np.maximum.accumulate(alone).tolist(), abs=0.001)
    assert measured.leaves == 4000
    if linked and context == 0.0:
        assert asked[-1][1] < len(Q), "what was found in full was not searched for again"


def test_where_distances_lead_elsewhere_no_recall_is_kept() -> None:
    grown = Grown(topics(1500))
    nowhere = np.full((300, 10), -1)
    measured = calibrate(
        grown.t, lambda Q, k, effort: nowhere[: len(Q)], lambda Q, k: nowhere[: len(Q)] - 1, linked=True, context=0.5
    )
    assert measured.recalls == ()
    assert measured.effort(10, 0.5) is None


@pytest.mark.parametrize(("needed", "share", "width", "enough"), [
    (1024, 1, 1024, True),  # the usual width is never exceeded where it suffices
    (4096, 1, 4096, True),
    (4096, 2, 1024, False),  # 4,096 would be more than half of the leaves
    (1 << 14, 1, 4096, False),  # there are not so many leaves
])  # fmt: skip
def test_walks_are_widened_where_no_slack_finds_the_usual_recall(
    monkeypatch: pytest.MonkeyPatch, needed: int, share: int, width: int, enough: bool
) -> None:
    monkeypatch.setattr("gossamer.graph.calibration._SHARE", share)
    grown = Grown(topics(4500))
    exact = np.arange(10) + np.zeros((300, 1), np.int64)

    def search(Q: Matrix, k: int, effort: Effort) -> npt.NDArray[np.int64]:
        return np.where(effort.slack < 1.1 or effort.width < needed, -1, exact[: len(Q)])

    measured = calibrate(grown.t, search, lambda Q, k: exact[: len(Q)], linked=True)
    assert measured.width == width
    effort = measured.effort(10, 0.98)
    assert (effort is not None) == enough
    if effort is not None:
        assert effort.width == width + 10


def test_noisy_documents_keep_their_distance_from_the_centre() -> None:
    X = topics(3000)
    noisy = noisy_documents(Grown(X).t, 1.7)
    assert len(noisy) == 300
    centre = X.mean(axis=0)
    lengths = np.linalg.norm(noisy - centre, axis=1)
    usual = np.linalg.norm(X - centre, axis=1)
    assert usual.min() * 0.999 < lengths.min() < lengths.max() < usual.max() * 1.001


def test_the_cache_of_contexts_is_bounded_and_drops_the_one_unused_for_longest() -> None:
    cache, made = CalibrationCache(), list[float]()

    def measure(context: float) -> Calibration:
        made.append(context)
        return Calibration(True, (1.0,), 100)

    for context in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.1, 0.9):
        cache.get(context, 100, measure)
    assert len(cache) == 8
    cache.get(0.1, 100, measure)
    assert made == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    cache.get(0.2, 100, measure)
    assert made[-1] == 0.2, "it was dropped"
    cache.get(0.2, 150, measure)
    assert made[-2:] == [0.2, 0.2], "it held no longer"


def test_many_threads_measure_a_context_once() -> None:
    cache, made = CalibrationCache(), list[float]()

    def measure(context: float) -> Calibration:
        made.append(context)
        return Calibration(True, (1.0,), 100)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: cache.get(0.7, 100, measure), range(8)))
    assert made == [0.7]
