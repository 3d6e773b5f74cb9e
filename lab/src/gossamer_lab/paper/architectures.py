"""Tables 1 and 2 of the paper: three kinds of models on two collections."""

from __future__ import annotations

from typing import Final

from gossamer_lab.evaluate.run import Result, result_row, results_table, run
from gossamer_lab.paper.forms import FORM, Figures, Key, by_depth, reasons
from gossamer_lab.paper.published import SHORT, THEIRS, Kind
from gossamer_lab.paper.setting import Missing, Name, Setting, about
from gossamer_lab.tables import Table

TITLES: Final = {"qqp": "QQP", "msmarco": "MS MARCO"}

MORE: Final = (
    "hnsw@raw", "hnsw@paper", "cosine@paper", "bm25@words", "path-sum-sum@paper", "gain@paper", "gain-0.2@paper",
    "gain@default",
)  # fmt: skip
"""Methods of the full tables that are not in the paper's form."""

ORDERED: Final = ("best-first@raw", "path-sum@raw", "path-sum@paper", "path-sum-sum@paper", "path-sum@living")
"""Methods whose ranking depends on the order of insertion by more than ties."""


def architectures(setting: Setting, name: Name, figures: Figures) -> list[Table]:
    """A table in the paper's form, and a full table for each model."""
    size, number = setting.sizes.documents, "1" if name == "qqp" else "2"
    methods = setting.available((*FORM, *MORE))
    full: list[Table] = []
    headings: dict[str, tuple[Key, tuple[str, ...]]] = {}
    sizes = ""
    for kind in THEIRS:
        key: Key = (name, kind, size)
        model = setting.by_kind.get(kind)
        headings[SHORT[kind]] = (key, ("Recall", "MRR", "nDCG"))
        task = setting.task_or_reason(name, model, size, setting.sizes.queries)
        if isinstance(task, Missing):
            figures.add(setting, key, task)
            continue
        results = run(task, methods, setting.job.rankings, say=setting.job.say)
        figures.add(setting, key, results)
        sizes = f"{len(task.data.E):,} documents, {len(task.data.Q):,} queries"
        full.append(_full(setting, name, kind, sizes, results))
    rows = by_depth(figures, FORM, headings, ("@5", "@10"))
    notes = [*_notes(setting, name), *reasons(figures, [key for key, _ in headings.values()])]
    title = f"Table {number}: {TITLES[name]}, {sizes}; ours, and the paper's in brackets"
    return [Table(f"table-{number}", title, rows, notes), *full]


def _full(setting: Setting, name: Name, kind: Kind, sizes: str, results: list[Result]) -> Table:
    model = setting.by_kind[kind]
    rows = [result_row(each, {}) for each in results]
    title = f"{TITLES[name]}, {sizes}, {about(model)}, for {THEIRS[kind]}"
    return results_table(f"{name}-{kind}", title, rows, setting.left_out())


def _notes(setting: Setting, name: Name) -> list[str]:
    models = "; ".join(f"{SHORT[kind]}: {about(model)}" for kind, model in setting.by_kind.items())
    notes = [
        f"†: vectors as they came; otherwise whitened by PCA and ICA. In the place of {models}. nDCG as the authors' "
        "program computes it; the full tables below have nDCG@10 as everybody else does."
    ]
    if name == "msmarco" and setting.msmarco == "msmarco-v21":
        notes.append(
            "Queries are those rows of MS MARCO 2.1 at hand that have a selected passage, each with its ten passages; "
            "then passages of other rows, then others of the pool. The authors have 1,000 such queries."
        )
    if setting.job.quick:
        notes.append("A quick run: without ICA's rotation.")
    return notes


def pool(setting: Setting) -> list[Table]:
    """MS MARCO with all passages of the pool, by more queries than the authors' form allows."""
    model = setting.by_kind.get("encoder")
    if model is None or setting.job.quick:
        return []
    data = setting.job.embedded("msmarco", model, keep_own=True)
    results = run(
        setting.job.prepared(data), setting.available((*FORM, *MORE)), setting.job.rankings,
        say=setting.job.say,
    )  # fmt: skip
    title = f"MS MARCO, all {len(data.E):,} passages of the pool, {len(data.Q):,} queries, {about(model)}"
    return [results_table("msmarco-pool", title, [result_row(each) for each in results])]


def orders(setting: Setting) -> list[Table]:
    """How much the order of insertion moves nDCG@10."""
    rows = []
    model = setting.by_kind.get("encoder")
    for name in ("qqp", "msmarco") if model is not None else ():
        task = setting.task(name, model, setting.sizes.documents, setting.sizes.queries)  # type: ignore[arg-type]
        count = 2 if setting.job.quick else 3
        methods = setting.available(ORDERED)
        for each in run(task, methods, setting.job.rankings, orders=count, say=setting.job.say):
            row = {"collection": TITLES[name], "method": each.method.ranker, "vectors": each.method.space}
            values = (each.scores.mean("nDCG@10"), *each.orders)
            rows.append({**row, "nDCG@10": values[0], "lowest": min(values), "highest": max(values), "±": each.spread})
    return [Table("orders", "nDCG@10 by the order of insertion: the authors', and others drawn", rows, digits={"±": 2})]
