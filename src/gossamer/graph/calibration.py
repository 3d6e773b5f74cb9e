"""A wanted recall → the effort that a search needs for it.

Calibration searches for documents of the index, with noise added, at a ladder of efforts and exhaustively, and keeps
the recall of each step: the share of the true ten best that was found. `Calibration.effort` interpolates between the
steps. The ladder is one of slacks for a walk along links, and one of budgets where there are no links.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import Floats, Longs
from gossamer.tree.arrays import Meta, TreeArrays

SLACKS: Final = (0.93, 0.97, 1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.13, 1.17, 1.22, 1.3, 1.5)
BUDGETS: Final = (250.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 16_000.0)
"""The efforts that calibration tries, with links (slack) and without (nodes). A saved calibration that was measured
with other efforts is not used: it is measured again."""

_SAMPLE: Final = 300
"""Documents that calibration searches for."""

_ANSWERS: Final = 10
"""Documents that it wants for each."""

NOISE: Final = 2.5
"""The noise added to these documents, in units of the spread of all documents: so much that they are like none of them.
Real queries may be, and walks to them are the longest. (Of the best ten for a recall of 0.98, with 1.7 and a stretch of
1.5: 0.90 for texts of classes that a part of banking77 lacks, 0.90 for news among these, 0.9997 for MS MARCO and its
queries, at 179, 262 and 288 nodes. With 2.5 and the same stretch 0.975, 0.993 and 1.0 at 301, 628 and 318; with 4,
0.986, 0.998 and 1.0 at 370, 829 and 348, but among mixtures of documents no effort finds more than 0.99 of what is
nearest to such queries.)"""

NOISE_WITHOUT_LINKS: Final = 1.0
"""The same without links. Less noise suffices there, because all queries get the same budget. (QQP and MS
MARCO, whitened and raw, two more encoders: with 0.6 all targets are kept too; 1.7 spends up to twice the nodes.)"""

_MARGIN: Final = 2.0 / 3.0
"""The share of the allowed misses that is kept in reserve: for a recall of 0.97, calibration must have shown 0.99."""

_STRETCH: Final = 1.5
"""For ten answers, real queries get this factor on the slack beyond 1 that calibration needed: there are some that no
noisy document is like. For more answers a walk goes further anyway. (See NOISE, which was chosen with it.)"""

_GROWTH: Final = 1.5
"""A calibration holds until there are this factor more leaves than it was measured on."""

WIDTH: Final = 1024
"""Leaves that a walk keeps besides those it returns: a bound for queries to which everything is alike."""

_WIDER: Final = 4
WIDEST: Final = 1 << 14
_SHARE: Final = 64
"""Where the greatest slack does not find the usual recall, that bound is what ends its walks: calibration measures
again with a width _WIDER times as large, up to WIDEST and a _SHARE-th of the leaves. (Recall of queries with NOISE, in
mixtures of 16,000 questions of QQP: with a width of 1,024 0.999 among 100,000, 0.990 among 300,000 at any slack from
1.13 on; there 0.9997 with 4,096. Among some million there are more leaves alike.)"""

_CONTEXTS: Final = 8
"""Contexts for which a calibration is kept. To measure one takes as long as some hundred exhaustive searches."""

UNLIMITED: Final = 1 << 30

_RECALL: Final = 0.98
"""The recall of a search that does not say another."""

_RECALL_OF_SMALL: Final = 0.999
_SMALL: Final = 20_000
"""The same in an index of at most so many leaves, as far as calibration saw it: there nearly everything can be found in
a fifth of a millisecond, and one missing answer may be the only one of its query."""


class Effort(NamedTuple):
    """What a search may spend."""

    slack: float = math.inf
    """A walk follows links up to this factor beyond the distance of the k-th best."""
    most_nodes: int = UNLIMITED
    width: int = WIDTH
    """Leaves that a walk keeps."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The recalls measured at the first steps of a ladder, rising."""

    linked: bool
    recalls: tuple[float, ...]
    leaves: int
    """Leaves of the index when it was measured."""
    width: int = WIDTH
    """Leaves that walks kept. More do not find less."""

    @property
    def ladder(self) -> tuple[float, ...]:
        """The efforts that the recalls belong to."""
        return ladder(linked=self.linked)[: len(self.recalls)]

    def holds(self, leaves: int) -> bool:
        """Whether it can be used for an index of this size."""
        return leaves < _GROWTH * self.leaves

    def effort(self, k: int, recall: float) -> Effort | None:
        """What to spend for k documents at a recall: as much as showed it with a margin, or the most that helped.

        None where calibration never saw that recall: such data (tight clusters far apart, two dimensions) is better
        searched exhaustively than badly.
        """
        wanted, recalls, efforts = recall + _MARGIN * (1.0 - recall), self.recalls, SLACKS if self.linked else BUDGETS
        if not recalls or recalls[-1] < recall:
            return None
        wanted = min(wanted, recalls[-1])
        step = bisect_left(recalls, wanted)
        spent = efforts[step]
        if step > 0:  # interpolate
            share = (wanted - recalls[step - 1]) / (recalls[step] - recalls[step - 1])
            spent = efforts[step - 1] + (spent - efforts[step - 1]) * share
        if not self.linked:
            return Effort(math.inf, math.ceil(spent) + 5 * max(0, k - 10), 2 * k)
        stretch = max(1.0, _STRETCH * math.sqrt(10.0 / max(k, 10)))
        return Effort(max(spent, 1.0 + stretch * (spent - 1.0)), UNLIMITED, self.width + k)

    def usual_effort(self, k: int) -> Effort | None:
        """What to spend for k documents where no recall is wanted."""
        if self.leaves > _SMALL or not self.recalls:
            return self.effort(k, _RECALL)
        return self.effort(k, max(_RECALL, min(_RECALL_OF_SMALL, self.recalls[-1])))


class CalibrationCache:
    """The calibrations of one index for a `context` other than 0: measured when first wanted, the last few kept.

    One search measures a context while others that want one wait.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[float, Calibration] = {}  # the one unused for longest first

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, context: float, leaves: int, measure: Callable[[float], Calibration]) -> Calibration:
        """The calibration for a context, if there is one that holds; otherwise what `measure` returns."""
        with self._lock:
            calibration = self._kept.pop(context, None)
            if calibration is None or not calibration.holds(leaves):
                calibration = measure(context)
            if len(self._kept) >= _CONTEXTS:
                del self._kept[next(iter(self._kept))]
            self._kept[context] = calibration
            return calibration


def ladder(*, linked: bool) -> tuple[float, ...]:
    """The efforts that calibration tries, rising."""
    return SLACKS if linked else BUDGETS


def effort_for_budget(k: int, budget: int, *, linked: bool) -> Effort:
    """What to spend where a search may score `budget` nodes."""
    return Effort(most_nodes=budget, width=max(k, min(WIDTH, budget // 4)) if linked else 2 * k)


def calibrate(
    t: TreeArrays,
    search: Callable[[Floats, int, Effort], Longs],
    exact_search: Callable[[Floats, int], Longs],
    *,
    linked: bool,
    context: float = 0.0,
) -> Calibration:
    """Measure the share of the documents of `exact_search(queries, k)` that `search(queries, k, effort)` finds.

    A walk goes by distances. With context, the best may be elsewhere: where the greatest effort finds less than half of
    them, no recall is kept, and searches will be exhaustive.
    """
    leaves = int(t.meta[Meta.LEAVES])
    Q = noisy_documents(t, NOISE if linked else NOISE_WITHOUT_LINKS)
    exact = exact_search(Q, _ANSWERS)
    shares = np.zeros(len(Q))
    # Along links more effort continues where less would end, so a query that found everything keeps it. Where only a
    # few of the leaves met are scored, by context or without links, more effort may push answers out among them.
    keeps = linked and context == 0.0

    def recall_at(step: float, queries: Longs, width: int) -> float:
        """The recall over all queries; only those named are searched for again."""
        effort = Effort(step, width=width) if linked else Effort(most_nodes=int(step), width=2 * _ANSWERS)
        found = search(Q[queries], _ANSWERS, effort)
        shares[queries] = (found[:, :, None] == exact[queries][:, None, :]).any(axis=2).mean(axis=1)
        return float(shares.mean())

    def recalls_of(width: int) -> list[float]:
        """The recalls of the ladder, up to a step that found everything."""
        shares[:] = 0.0
        recalls: list[float] = []
        for step in ladder(linked=linked):
            recalls.append(recall_at(step, np.flatnonzero((shares < 1.0) | (not keeps)), width))
            if recalls[-1] > 0.9995:
                break
        return recalls

    width, recalls = WIDTH, []
    if context == 0.0 or recall_at(ladder(linked=linked)[-1], np.arange(len(Q)), width) > 0.5:
        recalls = recalls_of(width)
    while keeps and recalls[-1] < _RECALL and _WIDER * width <= min(WIDEST, leaves // _SHARE):
        width *= _WIDER
        recalls = recalls_of(width)
    return Calibration(linked, rising(recalls), leaves, width)


def rising(recalls: list[float]) -> tuple[float, ...]:
    """Recalls that never fall: a step that found less than the one before counts as that one."""
    return tuple(np.maximum.accumulate(np.array(recalls, np.float64)).tolist())


def noisy_documents(t: TreeArrays, noise: float) -> Floats:
    """Documents spread evenly over the rows, with Gaussian noise added, at their old distance from the centre."""
    rows = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]))
    X = t.vectors[rows[:: max(1, len(rows) // _SAMPLE)]][:_SAMPLE].astype(np.float64)
    root = t.row[t.meta[Meta.ROOT]]
    centre, spread = t.mean[root], math.sqrt(float(t.m2[root].mean()) / int(t.size[t.meta[Meta.ROOT]]))
    away = X - centre
    noisy = away + np.random.default_rng(0).normal(size=X.shape) * spread * noise
    lengths = np.linalg.norm(away, axis=1) / np.maximum(np.linalg.norm(noisy, axis=1), 1e-30)
    return (centre + noisy * lengths[:, None]).astype(np.float32)
