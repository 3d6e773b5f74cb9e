"""Table 3 and the tables of appendix C: quality as the corpus grows."""

from __future__ import annotations

from typing import Final

from gossamer_lab.evaluate.run import run
from gossamer_lab.paper.forms import Figures, Key, by_depth, reasons
from gossamer_lab.paper.published import Kind
from gossamer_lab.paper.setting import Missing, Name, Setting, about
from gossamer_lab.tables import Table

_TABLES: Final[dict[str, tuple[str, Name, Kind, tuple[str, ...]]]] = {
    "3": ("Table 3: QQP by number of documents, {}", "qqp", "encoder", ("@10",)),
    "C-qqp": ("Appendix C: QQP by number of documents, {}", "qqp", "encoder-decoder", ("@5", "@10")),
    "C-msmarco": ("Appendix C: MS MARCO by number of documents, {}", "msmarco", "encoder-decoder", ("@5", "@10")),
    "C-msmarco-encoder": ("The same with {}, which the paper has in its logs", "msmarco", "encoder", ("@5", "@10")),
}
"""By key: title, collection, kind of model, depths."""

METHODS: Final = (
    "dot@raw", "best-first@paper", "path-sum@paper", "l2@paper", "best-first@living", "path-sum@living",
    "guided@default", "guided@cobweb", "hybrid@default",
)  # fmt: skip


def scaling(setting: Setting, figures: Figures) -> list[Table]:
    """Recall and MRR by the number of documents."""
    return [_table(setting, figures, key) for key in _TABLES]


def _table(setting: Setting, figures: Figures, name: str) -> Table:
    title, collection, kind, depths = _TABLES[name]
    model = setting.by_kind.get(kind)
    sizes = setting.sizes.scaling[: 2 if setting.job.quick else None]
    keys: dict[str, tuple[Key, tuple[str, ...]]] = {}
    for size in setting.sizes.scaling:
        key: Key = (collection, kind, size)
        keys[f"{size / 1000:g}k"] = (key, ("Recall", "MRR"))
        if size not in sizes:
            figures.missing[key] = "a quick run has two sizes"
            continue
        task = setting.task_or_reason(collection, model, size)
        if isinstance(task, Missing):
            figures.add(setting, key, task)
        else:
            found = run(task, setting.available(METHODS), setting.job.rankings, say=setting.job.say)
            figures.add(setting, key, found)
    rows = by_depth(figures, METHODS, keys, depths)
    shown = "no model" if model is None else about(model)
    notes = ["In brackets: the paper's.", *reasons(figures, [key for key, _ in keys.values()])]
    return Table(f"table-{name}", title.format(shown), rows, notes)
