"""Fair clocks: the same threads for every system, and rounds in which they take turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from gossamer.runtime.threads import cores

T = TypeVar("T")
Say = Callable[[str], None]
"""Told what is being done, for whoever waits."""


@dataclass(frozen=True)
class Times:
    """Seconds of one piece of work over several rounds."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The fastest round: what the work takes when nothing else disturbs it."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The middle round."""
        return float(np.median(self.seconds))

    @property
    def spread(self) -> float:
        """From the fastest round to the slowest, as a share of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median if self.median else 0.0

    def over(self, items: int) -> Times:
        """The same for one of `items` that were worked on together."""
        return Times(tuple(s / items for s in self.seconds))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Everything inside runs on `count` cores: this thread is bound to them, and pools of threads are cut down.

    Gossamer counts the cores it may use, BLAS and OpenMP are told, and what starts threads of its own is bound
    with this one.
    """
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


def all_cores() -> int:
    """The cores this process may use."""
    return cores()


def clock(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def take_turns(works: Mapping[str, Callable[[], float]], rounds: int, say: Say) -> dict[str, Times]:
    """Let each piece of work time itself once a round, so that a disturbance hits them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds):
        for name, work in works.items():
            say(f"round {number + 1} of {rounds}: {name}")
            seconds[name].append(work())
    return {name: Times(tuple(each)) for name, each in seconds.items()}
