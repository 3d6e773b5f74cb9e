"""Methods × a collection: rank, measure, compare with the baseline, repeat over orders of insertion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gossamer_lab.evaluate.compare import Difference, difference
from gossamer_lab.evaluate.methods import Method, method_of
from gossamer_lab.evaluate.metrics import MAIN, Scores, depth_for, score
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.runs import Runs

BASELINE = "dot@raw"
DEFAULT = (
    BASELINE,
    "cosine@raw",
    "l2@pca",
    "bm25@words",
    "best-first@pca",
    "path-sum@pca",
    "guided@default",
    "hybrid@default",
)
"""What `gossamer eval run` measures unless told otherwise."""

Say = Callable[[str, int, int], None]
"""Told what is being done, how many are done, and of how many."""


def silent(what: str, done: int, total: int) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Result:
    """One method on one collection, query by query."""

    method: Method
    scores: Scores
    build: float
    search: float
    against: Difference | None = None
    """nDCG@10 less the baseline's."""
    orders: tuple[float, ...] = ()
    """nDCG@10 over other orders of insertion."""

    @property
    def spread(self) -> float | None:
        """Standard deviation over the orders."""
        return float(np.std(self.orders, ddof=1)) if len(self.orders) > 1 else None


def run(
    task: Prepared,
    names: Sequence[str],
    runs: Runs,
    *,
    baseline: str = BASELINE,
    orders: int = 0,
    say: Say = silent,
) -> list[Result]:
    """Measure the methods in the order given; each is compared with the baseline, if that is among them."""
    chosen = [method_of(name) for name in dict.fromkeys(names)]
    steps = len(chosen) + sum(orders for each in chosen if each.trees)
    done = 0
    results: list[Result] = []
    for each in chosen:
        say(each.name, done, steps)
        results.append(measure(task, each, runs))
        done += 1
    results = compared(results, baseline)
    others = [task.reordered(seed) for seed in range(1, orders + 1)]
    for place, result in enumerate(results):
        if result.method.trees and others:
            found = []
            for other in others:
                say(f"{result.method.name}, order {other.order}", done, steps)
                found.append(measure(other, result.method, runs).scores.mean(MAIN))
                done += 1
            results[place] = replace(result, orders=tuple(found))
    return results


def measure(task: Prepared, method: Method, runs: Runs) -> Result:
    """One method."""
    collection = task.data.collection
    found = runs.rank(task, method, depth_for(collection))
    return Result(method, score(collection, found.rows), found.build, found.search)


def compared(results: Sequence[Result], baseline: str = BASELINE) -> list[Result]:
    """The same, each with its difference from the baseline."""
    base = next((each for each in results if each.method.name == baseline), None)
    if base is None:
        return list(results)
    return [
        each if each is base else replace(each, against=difference(each.scores[MAIN], base.scores[MAIN]))
        for each in results
    ]
