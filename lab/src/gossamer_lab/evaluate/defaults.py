"""The defaults chosen on one half of the queries of QQP and MS MARCO, and reported on what did not choose them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.encoders import Progress
from gossamer.whitening.whitening import Whitening
from gossamer_lab.evaluate.choose import Chooser, Measured, choose
from gossamer_lab.evaluate.datasets import load
from gossamer_lab.evaluate.dials import Dials, exact
from gossamer_lab.evaluate.embed import embed, ready_models
from gossamer_lab.evaluate.methods import method_of
from gossamer_lab.evaluate.metrics import MAIN
from gossamer_lab.evaluate.places import kept
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.run import BASELINE, Say, silent
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.summary import differing
from gossamer_lab.evaluate.tables import Cell, Report, Row, Table

CHOOSING: Final = (("qqp", 40_000), ("msmarco", None))
HELD_BACK: Final = ("scifact", "cranfield", "cacm")
WEAK: Final = 10_000
"""Documents with vectors of weak models."""


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


# -- reporting -------------------------------------------------------------------------------------


def held_back(sets: Sequence[Measured], chooser: Chooser, chosen: Dials) -> Table:
    """What users get and what was chosen, on queries that chose nothing."""
    dense = replace(chosen, weight=0.0)
    listed = {
        "default, guided": method_of("guided@default"),
        "default, all scored": method_of("gain@default"),
        "default, hybrid": method_of("hybrid@default"),
    }
    if dense != Dials():
        listed |= {"chosen, all scored": exact(dense), "chosen, hybrid": exact(chosen)}
    listed |= {
        f"{share:g} of the variance, all scored": exact(replace(dense, n_components=share)) for share in (0.96, 1.0)
    }
    listed |= {
        "less 0.1 × density, all scored": exact(replace(dense, density=0.1)),
        "less 0.1 × density, hybrid": exact(replace(chosen, density=0.1)),
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
        f"Chosen: {chosen.name}. Queries of qqp and msmarco are the half that chose nothing; other collections took "
        "no part. cranfield is so small that the default leaves its vectors as they are. Density: a document's mean "
        "cosine to its ten nearest, an idea past the paper, in no index.",
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
