"""The same methods as the embedding gets worse: fewer dimensions, int8, noise, anisotropy, weaker models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Final

import numpy as np

from gossamer_lab import pictures
from gossamer_lab.data.embedded import Embedded, ready_models
from gossamer_lab.engine import Floats, default_whitening
from gossamer_lab.evaluate.measures import MAIN
from gossamer_lab.evaluate.run import run
from gossamer_lab.job import Job
from gossamer_lab.methods.rankers import unit_rows
from gossamer_lab.tables import Cell, Report, Row, Table

METHODS: Final = (
    "dot@raw", "cosine@raw", "l2@raw", "l2@pca", "best-first@pca", "path-sum@pca", "guided@default", "hybrid@default",
)  # fmt: skip

Worsening = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Takes documents and queries, returns those of a worse embedding."""


def cut_to(dimensions: int) -> Worsening:
    """Keep the leading coordinates, at unit length again."""
    return lambda E, Q: (unit_rows(E[:, :dimensions]), unit_rows(Q[:, :dimensions]))


def int8(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """Round to 255 steps over the range of the documents."""
    step = np.float32(np.abs(E).max() / 127)
    return _rounded(E, step), _rounded(Q, step)


def _rounded(X: Floats, step: np.float32) -> Floats:
    return np.asarray(np.clip(np.round(X / step), -127, 127) * step, np.float32)


def offset(size: float, seed: int = 0) -> Worsening:
    """Add one direction to every vector: all then point the same way, as those of language models do."""

    def worsen(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
        common = np.asarray(np.random.default_rng(seed).normal(size=(1, E.shape[1])), np.float32)
        common *= np.float32(size / np.linalg.norm(common))
        return E + common, Q + common

    return worsen


def rogue(factor: float, count: int = 3) -> Worsening:
    """Multiply a few coordinates, which dominate in the vectors of some language models."""

    def worsen(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
        scale = np.ones(E.shape[1], np.float32)
        scale[:count] = factor
        return E * scale, Q * scale

    return worsen


def noise(size: float, seed: int = 0) -> Worsening:
    """Add noise of that length to every vector of length one."""

    def worsen(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(seed)
        width = size / np.sqrt(E.shape[1])
        added = [np.asarray(rng.normal(0, width, X.shape), np.float32) for X in (E, Q)]
        return E + added[0], Q + added[1]

    return worsen


WORSE: Final[dict[str, Worsening]] = {
    "as it is": lambda E, Q: (E, Q),
    "int8": int8,
    "64 dimensions": cut_to(64),
    "noise of half its length": noise(0.5),
    "one direction added": offset(2.0),
    "three coordinates × 20": rogue(20.0),
}


def report(job: Job, *, documents: int = 10_000) -> Report:
    """Measure QQP with every worse embedding, and with the ready vectors of weaker models."""
    queries = 300 if job.quick else None
    data = job.embedded("qqp", documents=documents, queries=queries)
    embeddings = {f"MiniLM, {name}": worsened(data, worse) for name, worse in WORSE.items()}
    for model, name in (("t5", "T5 encoder"), ("smollm2", "SmolLM2, decoder only")):
        if model in ready_models("qqp", job.folder):
            embeddings[name] = job.embedded("qqp", model, documents=documents, queries=queries)
    rows = [_row(name, each, job) for name, each in embeddings.items()]
    notes = [
        f"{MAIN} in percent, {len(data.Q):,} queries; queries' own texts dropped. mean cosine: of two different "
        "documents, by which the default chooses its strength γ."
    ]
    table = Table("robustness", f"QQP, {len(data.E):,} documents", rows, notes, {"mean cosine": 2, "γ": 2})
    return job.report("robustness", f"QQP, {len(data.E):,} documents, {len(data.Q):,} queries", [table])


def worsened(data: Embedded, worse: Worsening) -> Embedded:
    """The same texts with worse vectors."""
    E, Q = worse(data.E, data.Q)
    return replace(data, E=np.ascontiguousarray(E), Q=np.ascontiguousarray(Q))


def _row(name: str, data: Embedded, job: Job) -> Row:
    def say(method: str, done: int, total: int) -> None:
        job.say(f"{name}: {method}", done, total)

    results = run(job.prepared(data), METHODS, job.rankings, say=say)
    whitener = default_whitening().fit(data.E)
    row: dict[str, Cell] = {"embedding": name, "mean cosine": whitener.mean_cosine_, "γ": whitener.strength_}
    return row | {each.method.name: each.scores.mean(MAIN) for each in results}


def picture(report: Report, out: Path) -> list[Path]:
    """Draw bars, a group for each embedding."""
    (table,) = report.tables
    groups = {
        fill(str(row["embedding"]), 15): {name: value for name in METHODS if isinstance(value := row[name], float)}
        for row in table.rows
    }
    path = out / report.name / "robustness.png"
    return [pictures.bars(f"{MAIN} as the embedding gets worse", groups, path, up=MAIN)]
