"""Tables 1 to 3 of the paper: models, collections and sizes, by the six methods of the paper and those it left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.errors import DiskError
from gossamer_lab.evaluate.datasets import load
from gossamer_lab.evaluate.embed import embed, ready_models
from gossamer_lab.evaluate.metrics import MAIN
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.published import Log, log_for
from gossamer_lab.evaluate.run import Result, Say, run
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.summary import table
from gossamer_lab.evaluate.tables import Row, Table

KINDS: Final = {
    "minilm": "encoder (MiniLM for RoBERTa-large)",
    "t5": "encoder–decoder (a fine-tuned flan-t5-small for gtr-t5-large)",
    "smollm2": "decoder only (SmolLM2-135M for GPT-2)",
}
"""Models at hand, and those of the paper in whose place they stand."""

DOCUMENTS: Final = 10_000
QUERIES: Final = 1_000
"""Of the paper's main tables."""

SIX: Final = ("dot@raw", "dot@paper", "best-first@raw", "best-first@paper", "path-sum@raw", "path-sum@paper")
LEFT_OUT: Final = ("cosine@raw", "cosine@paper", "l2@raw", "l2@paper", "hnsw@raw", "hnsw@paper", "bm25@words")
OURS: Final = ("path-sum-sum@paper", "gain@paper", "gain-0.2@paper", "gain@default", "guided@default", "hybrid@default")
SHOWN: Final = ("Recall@5", "Recall@10", "MRR@10", "nDCG@10")


@dataclass(frozen=True)
class Setting:
    """What the parts of `gossamer eval paper` share."""

    folder: Path | None
    cache: Path
    runs: Runs
    quick: bool
    say: Say

    def named(self, methods: Sequence[str], collection: str) -> list[str]:
        """ICA's rotation changes no distance and takes the most time: whole runs have it, on QQP."""
        rotated = collection == "qqp" and not self.quick
        return list(methods) if rotated else [name.replace("@paper", "@pca") for name in methods]

    def task(self, name: str, model: str, documents: int | None, queries: int | None = None) -> Prepared:
        """A collection as the paper has it: a query's own text is a document like any other."""
        self.say(f"reading {name}", 0, 0)
        collection = load(name, folder=self.folder, documents=documents, queries=queries, own="keep")
        encoding = f"encoding {name} with {model}"
        data = embed(
            collection, model, folder=self.folder, cache=self.cache,
            progress=lambda done, total: self.say(encoding, done, total),
        )  # fmt: skip
        return Prepared(data, cache=self.cache)


def qqp(setting: Setting) -> list[Table]:
    """Table 1: QQP, 10,000 documents, 1,000 queries, by the kind of model."""
    models = [model for model in KINDS if model in ready_models("qqp", setting.folder)]
    if not models:
        raise DiskError("there are no ready vectors of QQP in the folder of data: name it with --data")
    return [_architecture(setting, "qqp", model) for model in models]


def msmarco(setting: Setting) -> list[Table]:
    """Table 2: MS MARCO, 10,000 documents, 1,000 queries; and all passages, where it is hard."""
    tables = [_architecture(setting, "msmarco", "minilm")]
    return tables if setting.quick else [*tables, _architecture(setting, "msmarco", "minilm", whole=True)]


def _architecture(setting: Setting, name: str, model: str, *, whole: bool = False) -> Table:
    task = setting.task(name, model, *((None, None) if whole else (DOCUMENTS, QUERIES)))
    methods = setting.named([*SIX, *LEFT_OUT, *OURS], name)
    results = run(task, methods, setting.runs, say=setting.say, orders=0 if setting.quick else 3)
    log = None if whole else log_for(name, model, DOCUMENTS)
    title = f"{name}, {len(task.data.E):,} documents, {len(task.data.Q):,} queries, {KINDS[model]}"
    notes = _notes(setting, name, log)
    key = f"{name}-{model}-all" if whole else f"{name}-{model}"
    return table(
        key, title, results, measures=SHOWN, beside=figures(log), notes=notes, authors=log is not None, times=False
    )


def figures(log: Log | None) -> dict[str, dict[str, float]]:
    """The authors' figures by our names of methods; those of a quick run stand under @pca."""
    if log is None:
        return {}
    shown = ("Recall@5", "MRR@10", "nDCG@10 (authors)")
    named = {method: {k: v for k, v in log.figures(method).items() if k in shown} for method in log.lines}
    return named | {method.replace("@paper", "@pca"): each for method, each in named.items()}


def _notes(setting: Setting, name: str, log: Log | None) -> list[str]:
    notes = ["±: standard deviation over three other orders of insertion. A query's own text counts as any document."]
    if log is not None:
        notes.append(
            f"In brackets: the authors' figures with {log.model}, from their log at commit {log.commit}. nDCG@10 "
            "(authors) is their program's, which tells only whether the hit is first or merely present."
        )
    if name == "msmarco":
        notes.append(
            "Substituted: queries of the sources dev_bm25, v21 and explain over their passages and others drawn from "
            "the pool; the authors take each query's own ten passages and fillers."
        )
    if setting.quick:
        notes[0] = "A query's own text counts as any document."
    if setting.quick or name == "msmarco":
        notes.append("pca: the paper's whitening without ICA's rotation.")
    return notes


# -- corpus scaling --------------------------------------------------------------------------------

SIZES: Final = {"qqp": (5_000, 10_000, 20_000, 40_000), "msmarco": (5_000, 10_000, 20_000, 30_000)}
SCALED: Final = (
    "dot@raw",
    "dot@pca",
    "l2@pca",
    "best-first@pca",
    "path-sum@pca",
    "gain@default",
    "guided@default",
    "hybrid@default",
)


def scaling(setting: Setting) -> list[Table]:
    """Table 3 and the appendix: recall@5 and nDCG@10 as the corpus grows."""
    tables = []
    for name, sizes in SIZES.items():
        results: dict[int, list[Result]] = {}
        for size in sizes[: 2 if setting.quick else None]:
            queries = min(QUERIES, size // 10) if name == "msmarco" else None
            results[size] = run(setting.task(name, "minilm", size, queries), SCALED, setting.runs, say=setting.say)
        tables += [_scaled(name, measure, results) for measure in ("Recall@5", MAIN)]
    return tables


def _scaled(name: str, measure: str, results: dict[int, list[Result]]) -> Table:
    rows: list[Row] = []
    for place in range(len(SCALED)):
        method = next(iter(results.values()))[place].method
        row: dict[str, str | float | None] = {"method": method.ranker, "vectors": method.space}
        for size, each in results.items():
            row[f"{size // 1000}k"] = each[place].scores.mean(measure)
            if measure == "Recall@5":
                row[f"[{size // 1000}k]"] = figures(log_for(name, "minilm", size)).get(method.name, {}).get(measure)
        rows.append(row)
    note = (
        "In brackets: the authors' figures with RoBERTa-large, where a log of theirs has them."
        if measure == "Recall@5"
        else ""
    )
    slug = measure.lower().replace("@", "-")
    return Table(
        f"scaling-{name}-{slug}",
        f"{measure} on {name} by the number of documents, MiniLM",
        rows,
        [note] if note else [],
    )
