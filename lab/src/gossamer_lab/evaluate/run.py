"""Methods × a collection: rank, measure, compare with the baseline, repeat over orders of insertion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gossamer_lab.data.embedded import Say, silent
from gossamer_lab.evaluate.measures import AUTHORS, MAIN, MEASURES, Scores, depth_for, score
from gossamer_lab.evaluate.significance import Difference, difference
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import Method, method_of
from gossamer_lab.methods.rankings import Rankings
from gossamer_lab.tables import Cell, Row, Table

BASELINE = "dot@raw"


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
        """Standard deviation of nDCG@10 over the orders."""
        return float(np.std(self.orders, ddof=1)) if len(self.orders) > 1 else None


def run(
    task: Prepared,
    names: Sequence[str],
    rankings: Rankings,
    *,
    baseline: str = BASELINE,
    orders: int = 0,
    say: Say = silent,
) -> list[Result]:
    """Measure the methods in the order given; each is compared with the baseline, if that is among them."""
    chosen = [method_of(name) for name in dict.fromkeys(names)]
    steps = len(chosen) + sum(orders for each in chosen if each.trees)
    results: list[Result] = []
    for each in chosen:
        say(each.name, len(results), steps)
        results.append(measure(task, each, rankings))
    results = compared(results, baseline)
    others = [task.reordered(seed) for seed in range(1, orders + 1)]
    done = len(results)
    for place, result in enumerate(results):
        if result.method.trees and others:
            found = []
            for other in others:
                say(f"{result.method.name}, order {other.order}", done, steps)
                found.append(measure(other, result.method, rankings).scores.mean(MAIN))
                done += 1
            results[place] = replace(result, orders=tuple(found))
    return results


def measure(task: Prepared, method: Method, rankings: Rankings) -> Result:
    """Measure one method."""
    collection = task.data.collection
    found = rankings.rank(task, method, depth_for(collection))
    return Result(method, score(collection, found.rows), found.build, found.search)


def compared(results: Sequence[Result], baseline: str) -> list[Result]:
    """The results, each with its difference from the baseline."""
    base = next((each for each in results if each.method.name == baseline), None)
    if base is None:
        return list(results)
    return [
        each if each is base else replace(each, against=difference(each.scores[MAIN], base.scores[MAIN]))
        for each in results
    ]


# -- results as a table ----------------------------------------------------------------------------

_BRIEF = ("method", "vectors", "Recall@5", MAIN, f"Δ {MAIN}", "95 %", "p")
_DIGITS = {"p": 4, f"Δ {MAIN}": 2, "±": 2, "build s": 2, "ms a query": 3}
NOTE = f"In percent. Δ {MAIN}: less the baseline's, with a 95 % bootstrap interval and p of a paired permutation test."


def results_table(key: str, title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> Table:
    """A table of rows made by `result_row`."""
    return Table(key, title, rows, [NOTE, *notes], _DIGITS, _BRIEF)


def result_row(result: Result, beside: dict[str, float | None] | None = None) -> dict[str, Cell]:
    """A result as a row; `beside` has the authors' figures by measure, which get columns in brackets."""
    printed = beside or {}
    row: dict[str, Cell] = {"method": result.method.ranker, "vectors": result.method.space}
    for name in (*MEASURES, *([AUTHORS] if beside else [])):
        row[name] = result.scores.mean(name)
        if name in printed:
            row[f"[{name}]"] = printed[name]
    row |= {f"Δ {MAIN}": None, "95 %": "", "p": None, **differing(result.against)}
    return row if result.spread is None else {**row, "±": result.spread}


def differing(against: Difference | None) -> Row:
    """A difference as three cells."""
    if against is None:
        return {}
    low, high = (f"{value:+.2f}".replace("-", "−") for value in (against.low, against.high))
    return {f"Δ {MAIN}": against.mean, "95 %": f"{low} to {high}", "p": against.p}
