"""Settings chosen one after the other, each to the value with the best mean gain over the dot product.

A value that gains less than `WORTH` over the present one changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gossamer import CobwebTree
from gossamer_lab.data.embedded import Say
from gossamer_lab.engine import Doubles
from gossamer_lab.evaluate.measures import MAIN
from gossamer_lab.evaluate.run import BASELINE, measure
from gossamer_lab.evaluate.significance import Difference, difference
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import Method, method_of
from gossamer_lab.methods.rankings import Rankings
from gossamer_lab.methods.settings import Settings, exact, guided
from gossamer_lab.tables import Row, Table

WORTH: Final = 0.1
"""nDCG@10 that a change of a default must gain: less is within the noise of half the queries."""


@dataclass(frozen=True)
class Halves:
    """A collection with the half of its queries by which settings are chosen, if it takes part, and the other."""

    name: str
    choosing: Prepared | None
    reporting: Prepared


class Chooser:
    """Measures methods query by query, each once."""

    def __init__(self, rankings: Rankings, say: Say) -> None:
        self._rankings, self._say = rankings, say
        self._seen: dict[tuple[str, str], Doubles] = {}

    def values(self, task: Prepared, method: Method) -> Doubles:
        """nDCG@10 of every query."""
        key = (task.data.fingerprint, method.name)
        if key not in self._seen:
            self._say(f"{task.data.collection.name}: {method.ranker} {method.about}", len(self._seen), 0)
            self._seen[key] = measure(task, method, self._rankings).scores[MAIN]
        return self._seen[key]

    def over_dot(self, task: Prepared, method: Method) -> Difference:
        """nDCG@10 less that of the dot product."""
        return difference(self.values(task, method), self.values(task, method_of(BASELINE)))


def choose(sets: Sequence[Halves], chooser: Chooser, *, quick: bool = False) -> tuple[list[Table], Settings]:
    """Choose one setting after the other: a table for each, and the settings chosen."""
    settings = Settings()
    tables = []
    for trial in _trials(quick):
        table, settings = _try(trial, settings, sets, chooser)
        tables.append(table)
    return tables, settings


@dataclass(frozen=True)
class _Trial:
    """Values of one or two settings to compare."""

    key: str
    title: str
    options: Sequence[dict[str, Any]]
    ranked: Callable[[Settings], Method] = exact
    decides: bool = True
    note: str = ""

    def values(self, settings: Settings) -> str:
        """The values that are tried here, in words."""
        names = dict.fromkeys(name for option in self.options for name in option)
        return ", ".join(f"{name} {_short(getattr(settings, name))}" for name in names)


_NOT_CHOSEN: Final = (
    " Nothing is chosen here: these settings change only what guided search misses, which its target for recall "
    "decides at a cost; with the paper's acuity it finds no cheap way to the recall it promises, and scores everything."
)


def _trials(quick: bool) -> list[_Trial]:
    paper = CobwebTree.PAPER_ACUITY
    strengths = (0.0, 0.25, 0.5, 1.0) if quick else (0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 1.0, "auto")
    shares = (0.96, 0.99) if quick else (0.9, 0.96, 0.98, 0.99, 1.0)
    contexts: list[dict[str, Any]] = [{"context": c} for c in (0.0, 0.05, 0.2, 1.0)]
    contexts += [{"context": c, "acuity": paper, "structure": "cobweb"} for c in (0.05, 0.1, 0.2, 1.0)]
    trees: list[dict[str, Any]] = [{}, {"structure": "cobweb"}, {"acuity": paper}, {"acuity": 1.0}]
    weights = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, "auto")
    return [
        _Trial("components", "Share of variance kept", [{"n_components": share} for share in shares]),
        _Trial("strength", "Strength of whitening γ", [{"strength": strength} for strength in strengths]),
        _Trial("sphere", "Sphere", [{"sphere": True}, {"sphere": False}]),
        _Trial("context", "Context, and the acuity and structure it depends on", contexts),
        _Trial("guided", "Acuity and structure in guided search", trees, guided, False, _NOT_CHOSEN),
        _Trial("weight", "Weight of BM25", [{"weight": weight} for weight in weights]),
    ]


def _try(trial: _Trial, settings: Settings, sets: Sequence[Halves], chooser: Chooser) -> tuple[Table, Settings]:
    present = replace(settings, weight="auto") if trial.key == "weight" else settings
    tried = list(dict.fromkeys([present, *(replace(settings, **option) for option in trial.options)]))
    halves = [each.choosing for each in sets if each.choosing is not None]
    gains = {each: [chooser.over_dot(half, trial.ranked(each)).mean for half in halves] for each in tried}
    best = max(tried, key=lambda each: float(np.mean(gains[each])))
    worth = trial.decides and float(np.mean(gains[best])) - float(np.mean(gains[present])) >= WORTH
    chosen = best if worth else present
    notable = {chosen: "chosen"} if chosen == best or not trial.decides else {
        best: "best, but not worth a change", chosen: "chosen",
    }  # fmt: skip
    rows: list[Row] = [
        {
            "setting": trial.values(each),
            **{half.name: gain for half, gain in zip(sets, gains[each], strict=True)},
            "mean": float(np.mean(gains[each])),
            "": notable.get(each, ""),
        }
        for each in tried
    ]
    notes = [
        f"{MAIN} over the dot product's, on the half of the queries that chooses. Other settings: {settings.name}."
        f"{trial.note}"
    ]
    digits = dict.fromkeys((*(each.name for each in sets), "mean"), 2)
    return Table(f"choose-{trial.key}", trial.title, rows, notes, digits), chosen


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
