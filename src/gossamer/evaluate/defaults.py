"""The defaults chosen on one half of the queries of QQP and MS MARCO, and reported on what did not choose them.

Dials are turned one after the other, each to the value with the best mean gain over the dot product on the choosing
halves; a value that gains less than `WORTH` over the present one is not worth a change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer.encoders import Progress
from gossamer.evaluate.compare import Difference, difference
from gossamer.evaluate.datasets import load
from gossamer.evaluate.dials import Dials, exact, guided
from gossamer.evaluate.embed import embed, ready_models
from gossamer.evaluate.methods import Method, method_of
from gossamer.evaluate.metrics import MAIN, Doubles
from gossamer.evaluate.places import kept
from gossamer.evaluate.prepared import Prepared
from gossamer.evaluate.run import BASELINE, Say, measure, silent
from gossamer.evaluate.runs import Runs
from gossamer.evaluate.summary import differing
from gossamer.evaluate.tables import Cell, Report, Row, Table
from gossamer.hybrid import WEIGHT
from gossamer.tree.cobweb import CobwebTree
from gossamer.whitening import Whitening

CHOOSING: Final = (("qqp", 40_000), ("msmarco", None))
HELD_BACK: Final = ("scifact", "cranfield", "cacm")
WEAK: Final = 10_000
"""Documents with vectors of weak models."""
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


def report(
    *,
    quick: bool = False,
    folder: Path | None = None,
    cache: Path | None = None,
    fresh: bool = False,
    say: Say = silent,
    command: str = "",
) -> Report:
    """Choose, then report; a quick run has smaller collections and fewer values."""
    start = time.perf_counter()
    where = kept(cache)
    chooser = Chooser(Runs(where, fresh=fresh), say)
    sets = [_measured(name, size, folder, where, quick, say) for name, size in CHOOSING]
    tables, chosen = choose(sets, chooser, quick=quick)
    others = [] if quick else [_measured(name, None, folder, where, quick, say) for name in HELD_BACK]
    tables.append(held_back([*sets, *others], chooser, chosen))
    tables.append(rule([*sets, *others, *([] if quick else _weak(folder, where, say))], chooser, chosen))
    data = ", ".join(f"{each.name} ({len(each.reporting.data.E):,} documents)" for each in (*sets, *others))
    return Report("defaults", command, data, tables, time.perf_counter() - start)


def _measured(name: str, size: int | None, folder: Path | None, cache: Path, quick: bool, say: Say) -> Measured:
    say(f"reading {name}", 0, 0)
    collection = load(name, folder=folder, documents=8_000 if quick else size, queries=800 if quick else None)
    data = embed(collection, "minilm", folder=folder, cache=cache, progress=_encoding(say, name))
    if name not in dict(CHOOSING):
        return Measured(name, None, Prepared(data, cache=cache))
    order = np.random.default_rng(0).permutation(len(data.Q))
    halves = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    return Measured(name, *(Prepared(data.asked(half), cache=cache) for half in halves))


def _weak(folder: Path | None, cache: Path, say: Say) -> list[Measured]:
    """QQP by models that were never trained for similarity, where their vectors are at hand."""
    found = []
    for model in ("t5", "smollm2"):
        if model in ready_models("qqp", folder):
            say(f"reading qqp, {model}", 0, 0)
            data = embed(load("qqp", folder=folder, documents=WEAK), model, folder=folder, cache=cache)
            found.append(Measured(f"qqp, {model}", None, Prepared(data, cache=cache)))
    return found


def _encoding(say: Say, name: str) -> Progress:
    return lambda done, total: say(f"encoding {name}", done, total)


# -- choosing --------------------------------------------------------------------------------------


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

    def turned(self, dials: Dials) -> str:
        """Where it stands, in words."""
        names = dict.fromkeys(name for option in self.options for name in option)
        return ", ".join(f"{name} {_short(getattr(dials, name))}" for name in names)


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
        _Dial("guided", "Acuity and refining, as guided search feels them", felt, guided),
        _Dial("weight", "Weight of BM25", [{"weight": weight} for weight in weights]),
    ]


def _turn(dial: _Dial, dials: Dials, sets: Sequence[Measured], chooser: Chooser) -> tuple[Table, Dials]:
    present = replace(dials, weight=WEIGHT) if dial.key == "weight" else dials
    tried = list(dict.fromkeys([present, *(replace(dials, **option) for option in dial.options)]))
    halves = [on.choosing for on in sets if on.choosing is not None]
    gains = {each: [chooser.over_dot(half, dial.ranked(each)).mean for half in halves] for each in tried}
    best = max(tried, key=lambda each: float(np.mean(gains[each])))
    worth = float(np.mean(gains[best])) - float(np.mean(gains[present])) >= WORTH
    chosen = best if worth else present
    rows: list[Row] = [
        {
            "setting": dial.turned(each),
            **{on.name: gain for on, gain in zip(sets, gains[each], strict=True)},
            "mean": float(np.mean(gains[each])),
            "": "chosen" if each == chosen else "best, but not worth a change" if each == best else "",
        }
        for each in tried
    ]
    notes = [f"{MAIN} over the dot product's, on the half of the queries that chooses. Other dials: {dials.name}."]
    digits = dict.fromkeys((*(on.name for on in sets), "mean"), 2)
    return Table(f"choose-{dial.key}", dial.title, rows, notes, digits), chosen


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# -- reporting -------------------------------------------------------------------------------------


def held_back(sets: Sequence[Measured], chooser: Chooser, chosen: Dials) -> Table:
    """What users get and what was chosen, on queries that chose nothing."""
    dense = replace(chosen, weight=0.0)
    listed = {
        "default, guided": method_of("guided@default"),
        "default, all scored": method_of("gain@default"),
        "default, hybrid": method_of("hybrid@default"),
        "chosen, all scored": exact(dense),
        "chosen, hybrid": exact(chosen),
        "chosen, but 0.98 of the variance": exact(replace(dense, n_components=0.98)),
        "chosen, but 0.99 of the variance": exact(replace(dense, n_components=0.99)),
        "chosen, guided": guided(dense),
        "chosen, less 0.1 × density": exact(replace(dense, density=0.1)),
        "chosen, hybrid, less 0.1 × density": exact(replace(chosen, density=0.1)),
    }
    rows: list[Row] = []
    for on in sets:
        task, asked = on.reporting, len(on.reporting.data.Q)
        base = float(chooser.values(task, method_of(BASELINE)).mean())
        rows.append({"collection": on.name, "queries": asked, "method": "flat dot product, raw", MAIN: base})
        for name, method in listed.items():
            found = chooser.over_dot(task, method)
            rows.append(
                {
                    "collection": on.name,
                    "queries": asked,
                    "method": name,
                    MAIN: base + found.mean,
                    **differing(found),
                }
            )
    notes = [
        f"Chosen: {chosen.name}. Queries of qqp and msmarco are the half that chose nothing; other collections "
        "took no part. Density: a document's mean cosine to its ten nearest, an idea past the paper, in no index.",
    ]
    return Table("held-back", "On queries held back", rows, notes, {f"Δ {MAIN}": 2, "p": 4, MAIN: 2})


def rule(sets: Sequence[Measured], chooser: Chooser, chosen: Dials) -> Table:
    """What every strength would have given, beside what a corpus tells about itself; looked at, not chosen by."""
    rows: list[Row] = []
    strengths = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
    for on in sets:
        task = on.choosing or on.reporting
        whitener = Whitening(n_components=1.0).fit(task.data.E)
        variances = whitener.explained_variance_
        row: dict[str, Cell] = {
            "collection": on.name,
            "mean cosine": whitener.mean_cosine_,
            "γ by the rule": whitener.strength_,
            "leading axis %": 100.0 * float(variances[0] / variances.sum()),
            "dot": float(chooser.values(task, method_of(BASELINE)).mean()),
        }
        for strength in strengths:
            dials = replace(chosen, weight=0.0, strength=strength)
            row[f"γ {strength:g}"] = float(chooser.values(task, exact(dials)).mean())
        rows.append(row)
    notes = [
        f"{MAIN}, every document scored. Leading axis: its share of the variance. qqp, msmarco: the choosing half."
    ]
    return Table(
        "rule", "Strength of whitening by collection and model", rows, notes, {"mean cosine": 2, "γ by the rule": 2}
    )
