"""Times that can be compared: the same threads for every system, and rounds in which they take turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

T = TypeVar("T")
Say = Callable[[str], None]
"""Called with what is being done, for a status line."""


@dataclass(frozen=True)
class Times:
    """Seconds of one piece of work in each round."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The fastest round: the one least disturbed by other programs."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The median round."""
        return float(np.median(self.seconds))

    @property
    def spread(self) -> float:
        """From the fastest round to the slowest, as a share of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median if self.median else 0.0

    def over(self, items: int) -> Times:
        """The times for one of `items` that were worked on together."""
        return Times(tuple(s / items for s in self.seconds))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the block on `count` cores: this thread and those it starts are bound to them, BLAS and OpenMP limited."""
    bindable = hasattr(os, "sched_setaffinity")
    before = os.sched_getaffinity(0) if bindable else set()
    if bindable:
        os.sched_setaffinity(0, set(sorted(before)[-count:]))
    try:
        with threadpool_limits(count):
            yield
    finally:
        if bindable:
            os.sched_setaffinity(0, before)


def clock(work: Callable[[], T]) -> tuple[float, T]:
    """The seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def take_turns(works: Mapping[str, Callable[[], float]], rounds: int, say: Say) -> dict[str, Times]:
    """Let each piece of work time itself once a round, so that a disturbance hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name, work in works.items():
            say(f"round {number + 1} of {rounds}: {name}")
            seconds[name].append(work())
    return {name: Times(tuple(each)) for name, each in seconds.items()}
