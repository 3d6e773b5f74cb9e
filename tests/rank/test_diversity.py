"""Answers that cover more subjects."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.rank.diversity import spread


def plain(scores: list[float], units: np.ndarray, k: int, diversity: float) -> list[int]:
    """The rule as it is written, one candidate after the other."""
    left: list[int] = list(range(len(scores)))
    chosen: list[int] = []
    while left and len(chosen) < k:

        def worth(c: int) -> float:
            near = max((float(units[c] @ units[each]) for each in chosen), default=0.0)
            return (1 - diversity) * scores[c] - diversity * near

        best = max(left, key=lambda c: (round(worth(c), 12), -c))
        chosen.append(best)
        left.remove(best)
    return chosen


@pytest.mark.parametrize("diversity", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_it_is_the_rule(n: int, diversity: float) -> None:
    rng = np.random.default_rng(n)
    units = rng.normal(size=(n, 5))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    scores = np.sort(rng.uniform(size=n))[::-1]
    assert spread(scores, units.astype(np.float64), 10, diversity) == plain(scores.tolist(), units, 10, diversity)


def test_without_diversity_the_order_stays() -> None:
    assert spread(np.array([3.0, 2.0, 1.0]), np.eye(3, dtype=np.float32), 2, 0.0) == [0, 1]


def test_a_copy_of_an_answer_comes_late() -> None:
    units = np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]], np.float32)
    assert spread(np.array([0.9, 0.9, 0.8]), units, 3, 0.3) == [0, 2, 1]
