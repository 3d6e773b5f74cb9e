"""All tables of the paper again; each says what was substituted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from gossamer.cli.evaluation import data_folder
from gossamer.errors import InputError
from gossamer_lab import pictures
from gossamer_lab.paper import architectures, cases, costs, forms, hierarchies, isotropy, recipe, scaling
from gossamer_lab.paper.published import cells
from gossamer_lab.paper.setting import Missing, Setting
from gossamer_lab.tables import Report, Table

PARTS: Final = {
    1: "table 1, QQP",
    2: "table 2, MS MARCO",
    3: "table 3 and appendix C, corpus scaling",
    4: "table 4 and appendix C, latency and build time",
    5: "figure 1, the decoder-only case",
    6: "shape and growth of the trees",
    7: "figure 2 and appendix B, parts of trees",
    8: "the recipe, part by part, and orders of insertion",
    9: "isotropy by dimension",
}


def report(setting: Setting, *, parts: Sequence[int] = (), texts: bool = False) -> Report:
    """Run the parts named, or all of them; `texts` shows texts of the collections."""
    for part in parts:
        if part not in PARTS:
            known = ", ".join(f"{number} ({what})" for number, what in PARTS.items())
            raise InputError(f"there is no table {part}: there are {known}")
    data_folder(setting.job.folder)  # without data nothing can be run
    figures = forms.Figures()
    functions: dict[int, Callable[[], list[Table]]] = {
        1: lambda: architectures.architectures(setting, "qqp", figures),
        2: lambda: [*architectures.architectures(setting, "msmarco", figures), *architectures.pool(setting)],
        3: lambda: scaling.scaling(setting, figures),
        4: lambda: costs.latency(setting, figures),
        5: partial(cases.decoder_case, setting, texts=texts),
        6: lambda: costs.growth(setting),
        7: partial(hierarchies.hierarchies, setting, texts=texts),
        8: lambda: [*recipe.recipe(setting), *architectures.orders(setting)],
        9: lambda: isotropy.isotropy(setting),
    }
    tables = [table for part in parts or PARTS for table in functions[part]()]
    if not parts:
        tables.append(forms.coverage(figures, list(dict.fromkeys(cell.table for cell in cells()))))
    models = ", ".join(setting.models)
    return setting.job.report("paper", f"QQP ({setting.qqp}), MS MARCO ({setting.msmarco}); {models}", tables)


def draw(report: Report, setting: Setting, out: Path, *, texts: bool = False) -> list[Path]:
    """Draw the latencies of a report, and parts of a tree if those are in it."""
    by_key = {table.key: table for table in report.tables}
    images = out / report.name
    drawn = []
    for name in ("qqp", "msmarco"):
        if f"latency-{name}" in by_key:
            path = images / f"latency-{name}.png"
            drawn.append(pictures.lines(by_key[f"latency-{name}"], path, up="milliseconds a query", logarithmic=True))
    task = setting.task_or_reason("qqp", setting.by_kind.get("encoder"), setting.sizes.documents)
    if "parts" in by_key and not isinstance(task, Missing):
        shown = task.data.collection.texts if texts else None
        drawn.append(pictures.hierarchies(cases.branches(task), images / "hierarchies.png", texts=shown))
    return drawn
