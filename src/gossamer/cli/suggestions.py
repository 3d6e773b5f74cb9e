"""Which settings of a search would answer the queries of a judged collection better, and how surely.

Every setting is compared with the default, query by query. The best of them is chosen by a random half of the queries
and reported on the other half, since the best of several is better by chance alone on the queries that chose it. An
interval is the middle 95 % of means over queries drawn with replacement (bootstrap).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.cli.evaluation import JudgedCollection, measure_each
from gossamer.index import Index, Progress

SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "hybrid=False": {"hybrid": False},
    **{f"hybrid={weight}": {"hybrid": weight} for weight in (0.1, 0.2, 0.3, 0.5, 0.8, 1.2)},
    "recall=1.0": {"recall": 1.0},
}
"""Arguments of `Index.search` that are tried, each alone."""

_DRAWS: Final = 10_000

FEWEST: Final = 20
"""Queries below which nothing is chosen: half of them would tell nothing."""


@dataclass(frozen=True)
class Gain:
    """nDCG@10 of a setting less that of the default, in percent, with a 95 % interval."""

    setting: str
    mean: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval is above 0."""
        return self.low > 0.0


@dataclass(frozen=True)
class Suggestions:
    """What each setting would gain over all queries, and the one that half of them chose, on the other half."""

    gains: tuple[Gain, ...]
    chosen: Gain | None
    """None where there are too few queries, or no setting was better on the half that chooses."""
    queries: int

    @property
    def sentence(self) -> str:
        """What to do."""
        if self.queries < FEWEST:
            return f"{self.queries} queries are too few to choose settings by: judge at least {FEWEST}."
        if self.chosen is None:
            return "No setting is better than the default on half of the queries: keep the default."
        best = self.chosen
        gain = f"gains {best.mean:+.1f} nDCG@10 ({best.low:+.1f} to {best.high:+.1f})"
        told = f"{best.setting} was best on half of the queries, and {gain} on the other half"
        return f"{told}: {'pass it to search' if best.is_sure else 'that may be chance, so keep the default'}."


def suggest(index: Index, collection: JudgedCollection, progress: Progress | None = None) -> Suggestions:
    """Search for every query with every setting."""
    queries = len(collection.queries)
    total, done = queries * (1 + len(SETTINGS)), 0

    def values(options: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        nonlocal done
        before, done = done, done + queries
        step = None if progress is None else lambda at, _: progress(before + at, total)
        found = measure_each(index, collection, options, step)
        return 100.0 * np.array([each.ndcg for each in found])

    usual = values({})
    gains = {name: values(options) - usual for name, options in SETTINGS.items()}
    listed = tuple(_gain(name, each) for name, each in gains.items())
    if queries < FEWEST:
        return Suggestions(listed, None, queries)
    order = np.random.default_rng(0).permutation(queries)
    choosing, other = order[: queries // 2], order[queries // 2 :]
    best = max(gains, key=lambda name: float(gains[name][choosing].mean()))
    better = float(gains[best][choosing].mean()) > 0.0
    return Suggestions(listed, _gain(best, gains[best][other]) if better else None, queries)


def _gain(setting: str, apart: npt.NDArray[np.float64]) -> Gain:
    """The mean of differences. Equal ones are drawn together: n draws with replacement are one multinomial."""
    different, counts = np.unique(np.round(apart, 9), return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(apart), counts / len(apart), size=_DRAWS)
    low, high = np.percentile(drawn @ different / len(apart), [2.5, 97.5])
    return Gain(setting, float(apart.mean()), float(low), float(high))
