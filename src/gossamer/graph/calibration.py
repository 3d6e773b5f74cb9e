"""The recall dial: what a search may spend, for a budget or for a share of the true answers.

The share is turned into an effort by calibration: the index's own documents, with noise added, are searched for at
every step of a ladder of efforts, and exhaustively.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Doubles, Floats, Longs
from gossamer.files.bundle import Bundle
from gossamer.tree.arrays import Meta, TreeArrays

_SAMPLE: Final = 300
_DISTURBANCE: Final = 1.7
"""Calibration asks for documents with noise nearly twice as large as the documents' own spread."""

_DISTURBANCE_ALONE: Final = 1.0
"""Without links less noise does: a budget is the same for all, and no query ends early for want of links. (QQP and MS
MARCO, whitened and raw, two more encoders: with 0.6 all targets are kept too; 1.7 spends up to twice the nodes.)"""

_STRETCH: Final = 1.5
"""For ten answers, real queries get so many times the slack beyond 1 that those need. Among questions against passages
(MS MARCO) there are some that nothing made of documents is like: asked for 0.98, walks without this find 0.987 of the
best ten, but for one query in 127 not the very best; with it 0.996 and one in 463 (twice as much slack: 0.999, one in
5,000, at twice the nodes). For more answers a walk goes further anyway."""

_MARGIN: Final = 2.0 / 3.0
"""The share of the misses allowed that is kept in reserve: asked for 0.97, calibration must show 0.99."""

_GROWN: Final = 1.5
"""When there are so many times the leaves, it is measured again."""

_SLACKS: Final = (0.93, 0.97, 1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.13, 1.17, 1.22, 1.3, 1.5)
_BUDGETS: Final = (250, 500, 1000, 2000, 4000, 8000, 16_000)

_WIDEST: Final = 1024
"""Leaves that a walk keeps in sight, beside those it is asked for: an end for queries to which everything is alike."""

_REMEMBERED: Final = 1000
"""Pairs of k and recall for which the effort is not worked out again."""

UNLIMITED: Final = 1 << 30


class Effort(NamedTuple):
    """What a search may spend: how far beyond the best it follows links, how many nodes it may score, and how many
    leaves it keeps in sight."""

    slack: float = math.inf
    most: int = UNLIMITED
    width: int = _WIDEST


class Dial:
    """What was measured of one index, by step of the ladder: slacks of a walk along links, or budgets without links."""

    def __init__(self, *, linked: bool) -> None:
        self._linked = linked
        self._recalls: Doubles = np.zeros(0)
        self._measured_for = 0  # leaves then
        self._efforts: dict[tuple[int, float], Effort | None] = {}  # by k and recall: most searches ask for the same

    def holds(self, leaves: int) -> bool:
        """Whether what was measured is still of an index of about this size."""
        return leaves < _GROWN * self._measured_for

    def reset(self) -> None:
        """Have it measured again before it is used."""
        self._measured_for = 0

    def measure(
        self,
        t: TreeArrays,
        search: Callable[[Floats, int, Effort], Longs],
        exact_search: Callable[[Floats, int], Longs],
        context: float = 0.0,
    ) -> None:
        """The share of true answers, those of `exact_search(queries, k)`, that `search(queries, k, effort)` finds.

        What guides a search are distances. With context, the best may be elsewhere: where most of them are not found
        with the greatest effort, there is no need to look further.
        """
        Q = _disturbed(t, _DISTURBANCE if self._linked else _DISTURBANCE_ALONE)
        exact = exact_search(Q, 10)
        shares = np.zeros(len(Q))
        # Along links more effort goes on from where less would end: who has found everything keeps it. Where only a few
        # of what was met are scored, by context or without links, more may push answers out among them.
        keeps = self._linked and context == 0.0

        def share_found(step: float, queries: Longs) -> float:
            """By all queries; of those not named, by what was found before."""
            effort = Effort(step) if self._linked else Effort(most=int(step), width=20)
            found = search(Q[queries], 10, effort)
            shares[queries] = (found[:, :, None] == exact[queries][:, None, :]).any(axis=2).mean(axis=1)
            return float(shares.mean())

        recalls: list[float] = []
        if context == 0.0 or share_found(self._ladder[-1], np.arange(len(Q))) > 0.5:
            shares[:] = 0.0
            for step in self._ladder.tolist():
                recalls.append(share_found(step, np.flatnonzero((shares < 1.0) | (not keeps))))
                if recalls[-1] > 0.9995:
                    break
        # More recall takes no less effort: where a step found less than the one before, it counts as that.
        self._recalls = np.maximum.accumulate(np.array(recalls))
        self._measured_for = int(t.meta[Meta.LEAVES])
        self._efforts = {}

    def effort(self, k: int, budget: int | None, recall: float) -> Effort | None:
        """What to spend for a budget of nodes, or else for a share of the true answers.

        None where calibration never saw that share: such data (tight clusters far apart, two dimensions) is better
        searched exhaustively than badly.
        """
        if budget is not None:
            return Effort(most=budget, width=max(k, min(1024, budget // 4)) if self._linked else 2 * k)
        efforts = self._efforts
        if (k, recall) not in efforts:
            if len(efforts) >= _REMEMBERED:
                efforts = self._efforts = {}
            efforts[k, recall] = self._effort_for(k, recall)
        return efforts[k, recall]

    def _effort_for(self, k: int, recall: float) -> Effort | None:
        wanted = recall + _MARGIN * (1.0 - recall)
        recalls: list[float] = self._recalls.tolist()  # a few numbers, for which NumPy would take longer
        step = bisect_left(recalls, wanted)
        if step == len(recalls):
            return None
        ladder = self._ladder.tolist()
        spent = ladder[step]
        if step > 0:  # the recall wanted lies between this step and the one below
            share = (wanted - recalls[step - 1]) / (recalls[step] - recalls[step - 1])
            spent = ladder[step - 1] + (spent - ladder[step - 1]) * share
        if not self._linked:
            return Effort(most=math.ceil(spent) + 5 * max(0, k - 10), width=2 * k)
        stretch = max(1.0, _STRETCH * math.sqrt(10.0 / max(k, 10)))
        return Effort(max(spent, 1.0 + stretch * (spent - 1.0)), width=_WIDEST + k)

    @property
    def _ladder(self) -> Doubles:
        """The efforts that calibration tries, in rising order."""
        return np.array(_SLACKS if self._linked else _BUDGETS, np.float64)

    # -- disk --------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, int], dict[str, npt.NDArray[np.generic]]]:
        """Settings and arrays."""
        return {"calibrated_for": self._measured_for}, {
            "recalls": self._recalls,
            "ladder": self._ladder[: len(self._recalls)],
        }

    def restore(self, bundle: Bundle) -> None:
        """Take over what `to_parts` gave. What was measured on another ladder is to be measured again."""
        measured_for = bundle.whole("calibrated_for")
        recalls, ladder = np.zeros(0), np.zeros(0)
        if "recalls" in bundle.arrays:
            recalls = bundle.numbers("recalls", np.float64, None, least=0.0, most=1.0)
        if "ladder" in bundle.arrays:
            ladder = bundle.array("ladder", np.float64, None)
        if len(recalls) == len(ladder) and np.array_equal(ladder, self._ladder[: len(ladder)]):
            self._recalls, self._measured_for = np.maximum.accumulate(recalls), measured_for
            self._efforts = {}


def _disturbed(t: TreeArrays, noise: float) -> Floats:
    """Documents spread evenly over the rows, with noise added, at their old distance from the centre."""
    rows = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]))
    X = t.vectors[rows[:: max(1, len(rows) // _SAMPLE)]][:_SAMPLE].astype(np.float64)
    root = t.row[t.meta[Meta.ROOT]]
    centre, spread = t.mean[root], math.sqrt(float(t.m2[root].mean()) / int(t.size[t.meta[Meta.ROOT]]))
    away = X - centre
    noisy = away + np.random.default_rng(0).normal(size=X.shape) * spread * noise
    lengths = np.linalg.norm(away, axis=1) / np.maximum(np.linalg.norm(noisy, axis=1), 1e-30)
    return (centre + noisy * lengths[:, None]).astype(np.float32)
