"""Recall and curves, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench.conftest import made_up
from gossamer_lab.bench.measures import (
    cost_at,
    distances,
    exact_neighbours,
    exponent,
    first_reaching,
    front,
    overlap,
    recall,
)


@pytest.mark.parametrize("rows", [3, 20, 500])
def test_exact_neighbours_are_those_of_brute_force(rows: int) -> None:
    X, Q = made_up(rows), made_up(30, seed=1)
    apart = np.square(Q[:, None, :].astype(np.float64) - X[None]).sum(axis=2)
    brute = np.argsort(apart, axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(exact_neighbours(X, Q, 10), brute)


def test_exact_neighbours_with_many_copies_are_the_first_of_them() -> None:
    X = np.repeat(made_up(5), 100, axis=0)
    found = exact_neighbours(X, X[:1], 10)
    assert (distances(X, X[:1], found) == 0.0).all()


def test_recall_counts_what_was_found_once() -> None:
    X = np.arange(10, dtype=np.float32)[:, None]
    Q = np.zeros((1, 1), np.float32)
    exact = exact_neighbours(X, Q, 4)
    assert exact.tolist() == [[0, 1, 2, 3]]
    assert recall(X, Q, np.array([[0, 1, 2, 3]]), exact) == 1.0
    assert recall(X, Q, np.array([[3, 0, 7, 8]]), exact) == 0.5
    assert recall(X, Q, np.array([[0, 0, 0, 0]]), exact) == 0.25
    assert recall(X, Q, np.array([[0, 1, -1, -1]]), exact) == 0.5


def test_recall_takes_any_of_equally_near_documents() -> None:
    X = np.array([[0.0], [1.0], [1.0], [1.0]], np.float32)
    Q = np.zeros((1, 1), np.float32)
    assert recall(X, Q, np.array([[0, 3]]), np.array([[0, 1]])) == 1.0
    assert recall(X, Q, np.array([[1, 2, 3]]), np.array([[0, 1]])) == 1.0


def test_overlap_goes_by_ids() -> None:
    assert overlap(np.array([[1, 2], [3, 4]]), np.array([[2, 9], [4, 3]])) == 0.75


def test_a_curve_is_read_linearly_in_recall_and_log_cost() -> None:
    recalls, costs = [0.9, 0.95, 0.99], [10.0, 20.0, 80.0]
    assert cost_at(0.95, recalls, costs) == pytest.approx(20.0)
    assert cost_at(0.97, recalls, costs) == pytest.approx(40.0)
    assert cost_at(0.92, recalls, costs) == pytest.approx(10.0 * 2**0.4)


def test_a_curve_ends_where_its_points_do() -> None:
    assert cost_at(0.5, [0.9, 0.95], [10.0, 20.0]) == 10.0
    assert cost_at(0.96, [0.9, 0.95], [10.0, 20.0]) is None
    assert cost_at(0.9, [], []) is None


def test_points_that_are_beaten_do_not_count() -> None:
    assert front([0.9, 0.8, 0.95, 0.95], [10.0, 12.0, 30.0, 20.0]) == [(0.9, 10.0), (0.95, 20.0)]
    assert cost_at(0.95, [0.9, 0.8, 0.95, 0.95], [10.0, 12.0, 30.0, 20.0]) == pytest.approx(20.0)


def test_the_cheapest_that_reaches_a_recall() -> None:
    assert first_reaching(0.95, [0.9, 0.96, 0.97], [1.0, 3.0, 2.0]) == 2
    assert first_reaching(0.98, [0.9, 0.96, 0.97], [1.0, 3.0, 2.0]) is None


def test_an_exponent_is_found_again() -> None:
    sizes = [10.0, 20.0, 40.0]
    assert exponent(sizes, [3 * n**0.25 for n in sizes]) == pytest.approx(0.25)
