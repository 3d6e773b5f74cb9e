"""Defaults chosen on half of the queries of QQP and MS MARCO, and reported on the queries that did not choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gossamer_lab.data.embedded import ready_models
from gossamer_lab.engine import Whitening
from gossamer_lab.evaluate.choose import Chooser, Halves, choose
from gossamer_lab.evaluate.measures import MAIN
from gossamer_lab.evaluate.run import BASELINE, differing
from gossamer_lab.job import Job
from gossamer_lab.methods.rankers import method_of
from gossamer_lab.methods.settings import Settings, exact
from gossamer_lab.tables import Cell, Report, Row, Table

CHOOSING: Final[Mapping[str, int | None]] = {"qqp": 40_000, "msmarco": None}
"""Collections whose queries choose, and the documents used of each."""
HELD_BACK: Final = ("scifact", "cranfield", "cacm")
WEAK: Final = 10_000
"""Documents with vectors of weak models."""


def report(job: Job, *, choosing: Mapping[str, int | None] = CHOOSING, weak: int = WEAK) -> Report:
    """Choose, then report; a quick run has smaller collections and fewer values."""
    chooser = Chooser(job.rankings, job.say)
    if job.quick:
        sets, others, weaker = [_halves(job, name, 8_000, 800) for name in choosing], [], []
    else:
        sets = [_halves(job, name, size) for name, size in choosing.items()]
        others = [Halves(name, None, job.prepared(job.embedded(name))) for name in HELD_BACK]
        models = [model for model in ("t5", "smollm2") if model in ready_models("qqp", job.folder)]
        weaker = [
            Halves(f"qqp, {model}", None, job.prepared(job.embedded("qqp", model, documents=weak))) for model in models
        ]
    tables, chosen = choose(sets, chooser, quick=job.quick)
    tables.append(held_back([*sets, *others], chooser, chosen))
    tables.append(strengths([*sets, *others, *weaker], chooser, chosen))
    data = ", ".join(f"{each.name} ({len(each.reporting.data.E):,} documents)" for each in (*sets, *others))
    return job.report("defaults", data, tables)


def _halves(job: Job, name: str, documents: int | None, queries: int | None = None) -> Halves:
    data = job.embedded(name, documents=documents, queries=queries)
    order = np.random.default_rng(0).permutation(len(data.Q))
    halves = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    return Halves(name, *(job.prepared(data.with_queries(half)) for half in halves))


def held_back(sets: Sequence[Halves], chooser: Chooser, chosen: Settings) -> Table:
    """The default and the chosen settings, on queries that chose nothing."""
    dense = replace(chosen, weight=0.0)
    listed = {
        "default, guided": method_of("guided@default"),
        "default, all scored": method_of("gain@default"),
        "default, hybrid": method_of("hybrid@default"),
    }
    if dense != Settings():
        listed |= {"chosen, all scored": exact(dense), "chosen, hybrid": exact(chosen)}
    for share in (0.96, 1.0):
        listed[f"{share:g} of the variance, all scored"] = exact(replace(dense, n_components=share))
    rows: list[Row] = []
    for each in sets:
        task = each.reporting
        about: dict[str, Cell] = {"collection": each.name, "queries": len(task.data.Q)}
        base = float(chooser.values(task, method_of(BASELINE)).mean())
        rows.append({**about, "method": "flat dot product, raw", MAIN: base})
        for name, method in listed.items():
            found = chooser.over_dot(task, method)
            rows.append({**about, "method": name, MAIN: base + found.mean, **differing(found)})
    notes = [
        f"Chosen: {chosen.name}. Queries of qqp and msmarco are the half that chose nothing; other collections took "
        "no part. cranfield is so small that the default leaves its vectors as they are."
    ]
    return Table("held-back", "On queries held back", rows, notes, {f"Δ {MAIN}": 2, "p": 4, MAIN: 2})


def strengths(sets: Sequence[Halves], chooser: Chooser, chosen: Settings) -> Table:
    """nDCG@10 at every strength of whitening, beside what the rule for the strength sees. Nothing is chosen by it."""
    rows: list[Row] = []
    for each in sets:
        task = each.choosing or each.reporting
        whitener = Whitening(n_components=1.0).fit(task.data.E)
        variances = whitener.explained_variance_
        row: dict[str, Cell] = {
            "collection": each.name,
            "mean cosine": whitener.mean_cosine_,
            "γ by the rule": whitener.strength_,
            "leading axis %": 100.0 * float(variances[0] / variances.sum()),
            "dot": float(chooser.values(task, method_of(BASELINE)).mean()),
        }
        for strength in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
            settings = replace(chosen, weight=0.0, strength=strength)
            row[f"γ {strength:g}"] = float(chooser.values(task, exact(settings)).mean())
        rows.append(row)
    notes = [
        f"{MAIN}, every document scored. Leading axis: its share of the variance. qqp, msmarco: the choosing half."
    ]
    title, digits = "Strength of whitening by collection and model", {"mean cosine": 2, "γ by the rule": 2}
    return Table("rule", title, rows, notes, digits)
