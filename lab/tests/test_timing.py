"""Clocks: the same threads for all, and turns."""

from __future__ import annotations

import os

import pytest

from gossamer_lab.engine import cores
from gossamer_lab.timing import Times, take_turns, threads


def test_best_median_and_spread() -> None:
    times = Times((3.0, 1.0, 2.0))
    assert (times.best, times.median, times.spread) == (1.0, 2.0, 1.0)
    assert times.over(10).best == 0.1


def test_rounds_take_turns() -> None:
    seen: list[str] = []

    def work(name: str) -> float:
        seen.append(name)
        return float(len(seen))

    said: list[str] = []
    times = take_turns({"a": lambda: work("a"), "b": lambda: work("b")}, 2, said.append)
    assert seen == ["a", "b", "a", "b"]
    assert times["a"].seconds == (1.0, 3.0)
    assert said[0] == "round 1 of 2: a"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not bind threads to cores")
def test_one_thread_means_one_for_everybody() -> None:
    before = os.sched_getaffinity(0)
    import faiss

    with threads(1):
        assert cores() == 1
        assert faiss.omp_get_max_threads() == 1
    assert os.sched_getaffinity(0) == before
    with pytest.raises(ZeroDivisionError), threads(1):
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before
