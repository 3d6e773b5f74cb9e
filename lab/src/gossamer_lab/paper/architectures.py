"""Tables 1 to 3 of the paper: models, collections and sizes, by the paper's six methods and those it left out."""

from __future__ import annotations

from typing import Final

from gossamer.errors import DiskError
from gossamer_lab.data.embedded import ready_models
from gossamer_lab.evaluate.measures import AUTHORS, MAIN
from gossamer_lab.evaluate.run import Result, result_row, results_table, run
from gossamer_lab.paper.published import Log, log_for
from gossamer_lab.paper.setting import Setting
from gossamer_lab.tables import Row, Table

KINDS: Final = {
    "minilm": "encoder (MiniLM for RoBERTa-large)",
    "t5": "encoder–decoder (a fine-tuned flan-t5-small for gtr-t5-large)",
    "smollm2": "decoder only (SmolLM2-135M for GPT-2)",
}
"""Models at hand, and those of the paper that they stand for."""

METHODS: Final = (
    "dot@raw", "dot@paper", "best-first@raw", "best-first@paper", "path-sum@raw", "path-sum@paper",
    "cosine@raw", "cosine@paper", "l2@raw", "l2@paper", "hnsw@raw", "hnsw@paper", "bm25@words",
    "path-sum-sum@paper", "gain@paper", "gain-0.2@paper", "gain@default", "guided@default", "hybrid@default",
)  # fmt: skip
"""First the paper's six, then those it left out, then ours."""

SCALED: Final = (
    "dot@raw", "dot@pca", "l2@pca", "best-first@pca", "path-sum@pca", "gain@default", "guided@default",
    "hybrid@default",
)  # fmt: skip
"""The methods whose quality is measured as the corpus grows."""


def qqp(setting: Setting) -> list[Table]:
    """Table 1: QQP, 10,000 documents, 1,000 queries, by the kind of model."""
    models = [model for model in KINDS if model in ready_models("qqp", setting.job.folder)]
    if not models:
        raise DiskError("there are no ready vectors of QQP in the data folder: name it with --data")
    return [_architecture(setting, "qqp", model) for model in models]


def msmarco(setting: Setting) -> list[Table]:
    """Table 2: MS MARCO, 10,000 documents, 1,000 queries; a whole run also has all passages, where it is hard."""
    tables = [_architecture(setting, "msmarco", "minilm")]
    return tables if setting.job.quick else [*tables, _architecture(setting, "msmarco", "minilm", whole=True)]


def _architecture(setting: Setting, name: str, model: str, *, whole: bool = False) -> Table:
    sizes = setting.sizes
    task = setting.task(name, model, *((None, None) if whole else (sizes.documents, sizes.queries)))
    methods = setting.available(METHODS, name)
    results = run(task, methods, setting.job.rankings, say=setting.job.say, orders=0 if setting.job.quick else 3)
    log = None if whole else log_for(name, model, sizes.documents)
    figures = authors_figures(log)
    printed = {measure for each in figures.values() for measure in each}
    rows = []
    for each in results:
        theirs = figures.get(each.method.name, {})
        rows.append(result_row(each, {measure: theirs.get(measure) for measure in printed}))
    title = f"{name}, {len(task.data.E):,} documents, {len(task.data.Q):,} queries, {KINDS[model]}"
    key = f"{name}-{model}-all" if whole else f"{name}-{model}"
    return results_table(key, title, rows, [*_notes(setting, name, log), *setting.left_out()])


def authors_figures(log: Log | None) -> dict[str, dict[str, float]]:
    """The authors' figures by our names of methods; those under @paper stand under @pca as well."""
    if log is None:
        return {}
    shown = ("Recall@5", "MRR@10", AUTHORS)
    named = {method: {k: v for k, v in log.figures(method).items() if k in shown} for method in log.lines}
    return named | {method.replace("@paper", "@pca"): each for method, each in named.items()}


def _notes(setting: Setting, name: str, log: Log | None) -> list[str]:
    orders = "" if setting.job.quick else "±: standard deviation over three other orders of insertion. "
    notes = [f"{orders}A query's own text counts as any document."]
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
    if setting.job.quick or name == "msmarco":
        notes.append("pca: the paper's whitening without ICA's rotation.")
    return notes


# -- corpus scaling --------------------------------------------------------------------------------


def scaling(setting: Setting) -> list[Table]:
    """Table 3 and the appendix: recall@5 and nDCG@10 as the corpus grows."""
    tables = []
    for name, sizes in setting.sizes.scaling.items():
        results: dict[int, list[Result]] = {}
        for size in sizes[: 2 if setting.job.quick else None]:
            queries = min(setting.sizes.queries, size // 10) if name == "msmarco" else None
            task = setting.task(name, "minilm", size, queries)
            results[size] = run(task, SCALED, setting.job.rankings, say=setting.job.say)
        tables += [_scaled(name, measure, results) for measure in ("Recall@5", MAIN)]
    return tables


def _scaled(name: str, measure: str, results: dict[int, list[Result]]) -> Table:
    rows: list[Row] = []
    for place, method in enumerate(each.method for each in next(iter(results.values()))):
        row: dict[str, str | float | None] = {"method": method.ranker, "vectors": method.space}
        for size, each in results.items():
            row[f"{size // 1000}k"] = each[place].scores.mean(measure)
            if measure == "Recall@5":
                theirs = authors_figures(log_for(name, "minilm", size)).get(method.name, {})
                row[f"[{size // 1000}k]"] = theirs.get(measure)
        rows.append(row)
    notes = ["In brackets: the authors' figures with RoBERTa-large, where a log of theirs has them."]
    key = f"scaling-{name}-{measure.lower().replace('@', '-')}"
    title = f"{measure} on {name} by the number of documents, MiniLM"
    return Table(key, title, rows, notes if measure == "Recall@5" else [])
