"""The same methods as the embedding gets worse."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.vector_index.presets import PRESETS
from gossamer_lab.evaluate import figures
from gossamer_lab.evaluate.datasets import load
from gossamer_lab.evaluate.embed import Embedded, embed, ready_models
from gossamer_lab.evaluate.methods import unit_rows
from gossamer_lab.evaluate.metrics import MAIN
from gossamer_lab.evaluate.places import kept
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.run import Say, run, silent
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.tables import Cell, Report, Row, Table

METHODS: Final = (
    "dot@raw",
    "cosine@raw",
    "l2@raw",
    "l2@pca",
    "best-first@pca",
    "path-sum@pca",
    "guided@default",
    "hybrid@default",
)

DOCUMENTS: Final = 10_000

Worsening = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Documents and queries in, the same of a worse embedding out."""


def cut_to(dimensions: int) -> Worsening:
    """The leading coordinates alone, at unit length again."""
    return lambda E, Q: (unit_rows(E[:, :dimensions]), unit_rows(Q[:, :dimensions]))


def int8(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """Rounded to 255 steps over the range of the documents."""
    step = np.float32(np.abs(E).max() / 127)
    return _rounded(E, step), _rounded(Q, step)


def _rounded(X: Floats, step: np.float32) -> Floats:
    return np.asarray(np.clip(np.round(X / step), -127, 127) * step, np.float32)


def offset(size: float, seed: int = 0) -> Worsening:
    """One direction added to every vector: all point the same way, as those of language models do."""

    def worsen(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
        common = np.asarray(np.random.default_rng(seed).normal(size=(1, E.shape[1])), np.float32)
        common *= np.float32(size / np.linalg.norm(common))
        return E + common, Q + common

    return worsen


def rogue(factor: float, count: int = 3) -> Worsening:
    """A few coordinates blown up, as a few of language models' are."""

    def worsen(E: Floats, Q: Floats) -> tuple[Floats, Floats]:
        scale = np.ones(E.shape[1], np.float32)
        scale[:count] = factor
        return E * scale, Q * scale

    return worsen


def noise(size: float, seed: int = 0) -> Worsening:
    """Noise of that length added to every vector of length one."""

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


def report(
    *,
    quick: bool = False,
    folder: Path | None = None,
    cache: Path | None = None,
    fresh: bool = False,
    say: Say = silent,
    command: str = "",
) -> Report:
    """QQP with 10,000 documents by every way an embedding can be worse."""
    start = time.perf_counter()
    where = kept(cache)
    runs = Runs(where, fresh=fresh)
    collection = load("qqp", folder=folder, documents=DOCUMENTS, queries=300 if quick else None)
    data = embed(collection, "minilm", folder=folder, cache=cache)
    embeddings = {f"MiniLM, {name}": worsened(data, worse) for name, worse in WORSE.items()}
    for model, name in (("t5", "T5 encoder"), ("smollm2", "SmolLM2, decoder only")):
        if model in ready_models("qqp", folder):
            embeddings[name] = embed(collection, model, folder=folder, cache=cache)
    rows = [_row(name, each, runs, where, say) for name, each in embeddings.items()]
    notes = [
        f"{MAIN} in percent, {len(data.Q):,} queries; queries' own texts dropped. mean cosine: of two different "
        "documents, by which the default chooses its strength γ.",
    ]
    table = Table("robustness", f"QQP, {len(data.E):,} documents", rows, notes, {"mean cosine": 2, "γ": 2})
    about = f"QQP, {len(data.E):,} documents, {len(data.Q):,} queries"
    return Report("robustness", command, about, [table], time.perf_counter() - start)


def worsened(data: Embedded, worse: Worsening) -> Embedded:
    """The same texts with worse vectors."""
    E, Q = worse(data.E, data.Q)
    return replace(data, E=np.ascontiguousarray(E), Q=np.ascontiguousarray(Q))


def picture(report: Report, out: Path) -> list[Path]:
    """Bars, a group for each embedding."""
    (table,) = report.tables
    groups = {
        fill(str(row["embedding"]), 15): {name: value for name in METHODS if isinstance(value := row[name], float)}
        for row in table.rows
    }
    path = out / report.name / "robustness.png"
    return [figures.bars(f"{MAIN} as the embedding gets worse", groups, path, up=MAIN)]


def _row(name: str, data: Embedded, runs: Runs, cache: Path, say: Say) -> Row:
    def tell(method: str, done: int, total: int) -> None:
        say(f"{name}: {method}", done, total)

    results = run(Prepared(data, cache=cache), METHODS, runs, say=tell)
    whitener = PRESETS["default"].whitening().fit(data.E)
    row: dict[str, Cell] = {"embedding": name, "mean cosine": whitener.mean_cosine_, "γ": whitener.strength_}
    return row | {each.method.name: each.scores.mean(MAIN) for each in results}
