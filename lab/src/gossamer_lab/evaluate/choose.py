"""Dials turned one after the other, each to the value with the best mean gain over the dot product.

A value that gains less than `WORTH` over the present one is not worth a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gossamer.index.fusion import WEIGHT
from gossamer.tree.cobweb import CobwebTree
from gossamer_lab.evaluate.compare import Difference, difference
from gossamer_lab.evaluate.dials import Dials, exact, guided
from gossamer_lab.evaluate.methods import Method, method_of
from gossamer_lab.evaluate.metrics import MAIN, Doubles
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.run import BASELINE, Say, measure
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.tables import Row, Table

WORTH: Final = 0.1
"""nDCG@10 that a change of a default must gain: less is within the noise of half the queries."""


@dataclass(frozen=True)
class Measured:
    """A collection with the half of its queries that chooses, if it takes part, and the half that reports."""

    name: str
    choosing: Prepared | None
    reporting: Prepared


class Chooser:
    """Measures settings, query by query, and remembers them."""

    def __init__(self, runs: Runs, say: Say) -> None:
        self._runs, self._say = runs, say
        self._seen: dict[tuple[str, str], Doubles] = {}

    def values(self, task: Prepared, method: Method) -> Doubles:
        """nDCG@10 of every query."""
        key = (task.data.fingerprint, method.name)
        if key not in self._seen:
            self._say(f"{task.data.collection.name}: {method.ranker} {method.about}", len(self._seen), 0)
            self._seen[key] = measure(task, method, self._runs).scores[MAIN]
        return self._seen[key]

    def over_dot(self, task: Prepared, method: Method) -> Difference:
        """How much better than the dot product."""
        return difference(self.values(task, method), self.values(task, method_of(BASELINE)))


def choose(sets: Sequence[Measured], chooser: Chooser, *, quick: bool = False) -> tuple[list[Table], Dials]:
    """Turn the dials one after the other; a table for each, and what they were turned to."""
    dials = Dials()
    tables = []
    for dial in _dials(quick):
        table, dials = _turn(dial, dials, sets, chooser)
        tables.append(table)
    return tables, dials


@dataclass(frozen=True)
class _Dial:
    key: str
    title: str
    options: Sequence[dict[str, Any]]
    ranked: Callable[[Dials], Method] = exact
    decides: bool = True
    note: str = ""

    def turned(self, dials: Dials) -> str:
        """Where it stands, in words."""
        names = dict.fromkeys(name for option in self.options for name in option)
        return ", ".join(f"{name} {_short(getattr(dials, name))}" for name in names)


_FELT: Final = (
    " Nothing is chosen here: these settings move only what guided search misses, which its dial for recall decides "
    "at a cost; with the paper's acuity it finds no cheap way to the recall it promises, and scores everything."
)


def _dials(quick: bool) -> list[_Dial]:
    paper = CobwebTree.PAPER_ACUITY
    strengths = (0.0, 0.25, 0.5, 1.0) if quick else (0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 1.0, "auto")
    shares = (0.96, 0.99) if quick else (0.9, 0.96, 0.98, 0.99, 1.0)
    contexts = [{"context": c} for c in (0.0, 0.05, 0.2, 1.0)]
    contexts += [{"context": c, "acuity": paper} for c in (0.05, 0.1, 0.2, 1.0)]
    felt: list[dict[str, Any]] = [{}, {"refine": None}, {"acuity": paper}, {"acuity": 1.0}]
    weights = (0.0, 0.05, 0.1, WEIGHT, 0.2, 0.3)
    return [
        _Dial("components", "Share of variance kept", [{"n_components": share} for share in shares]),
        _Dial("strength", "Strength of whitening γ", [{"strength": strength} for strength in strengths]),
        _Dial("sphere", "Sphere", [{"sphere": True}, {"sphere": False}]),
        _Dial("context", "Context, and the acuity it depends on", contexts),
        _Dial("guided", "Acuity and refining, as guided search feels them", felt, guided, False, _FELT),
        _Dial("weight", "Weight of BM25", [{"weight": weight} for weight in weights]),
    ]


def _turn(dial: _Dial, dials: Dials, sets: Sequence[Measured], chooser: Chooser) -> tuple[Table, Dials]:
    present = replace(dials, weight=WEIGHT) if dial.key == "weight" else dials
    tried = list(dict.fromkeys([present, *(replace(dials, **option) for option in dial.options)]))
    halves = [on.choosing for on in sets if on.choosing is not None]
    gains = {each: [chooser.over_dot(half, dial.ranked(each)).mean for half in halves] for each in tried}
    best = max(tried, key=lambda each: float(np.mean(gains[each])))
    worth = dial.decides and float(np.mean(gains[best])) - float(np.mean(gains[present])) >= WORTH
    chosen = best if worth else present
    rows: list[Row] = [
        {
            "setting": dial.turned(each),
            **{on.name: gain for on, gain in zip(sets, gains[each], strict=True)},
            "mean": float(np.mean(gains[each])),
            "": "chosen" if each == chosen else "best, but not worth a change" if each == best and dial.decides else "",
        }
        for each in tried
    ]
    notes = [
        f"{MAIN} over the dot product's, on the half of the queries that chooses. Other dials: {dials.name}.{dial.note}"
    ]
    digits = dict.fromkeys((*(on.name for on in sets), "mean"), 2)
    return Table(f"choose-{dial.key}", dial.title, rows, notes, digits), chosen


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
