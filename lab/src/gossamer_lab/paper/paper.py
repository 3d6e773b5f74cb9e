"""All tables of the paper again; each says what was substituted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from gossamer.errors import InputError
from gossamer_lab import pictures
from gossamer_lab.paper import architectures, cases, costs
from gossamer_lab.paper.setting import Setting
from gossamer_lab.tables import Report, Table

PARTS: Final = {
    1: "architectures on QQP",
    2: "architectures on MS MARCO",
    3: "corpus scaling",
    4: "latency and build time",
    5: "the decoder-only case",
    6: "shape and growth of the trees",
}


def report(setting: Setting, *, parts: Sequence[int] = (), texts: bool = False) -> Report:
    """Run the parts named, or all of them; `texts` shows texts of the collections."""
    for part in parts:
        if part not in PARTS:
            known = ", ".join(f"{number} ({what})" for number, what in PARTS.items())
            raise InputError(f"there is no table {part}: there are {known}")
    functions: dict[int, Callable[[Setting], list[Table]]] = {
        1: architectures.qqp, 2: architectures.msmarco, 3: architectures.scaling, 4: costs.latency,
        5: partial(cases.decoder_case, texts=texts), 6: costs.growth,
    }  # fmt: skip
    tables = [table for part in parts or PARTS for table in functions[part](setting)]
    data = "QQP (76,000 ready questions) and MS MARCO (30,779 passages), ready vectors"
    return setting.job.report("paper", data, tables)


def draw(report: Report, setting: Setting, out: Path, *, texts: bool = False) -> list[Path]:
    """Draw the scaling and latency tables of a report, and parts of a tree if the decoder-only case is among them."""
    by_key = {table.key: table for table in report.tables}
    images = out / report.name
    drawn = []
    for key, table in by_key.items():
        if key.startswith("scaling-"):
            drawn.append(pictures.lines(table, images / f"{key}.png", up=table.title.split(" on ")[0]))
    if "latency" in by_key:
        path = images / "latency.png"
        drawn.append(pictures.lines(by_key["latency"], path, up="milliseconds a query", logarithmic=True))
    if "decoder-case" in by_key:
        task = setting.task("qqp", "minilm", setting.sizes.documents)
        shown = task.data.collection.texts if texts else None
        drawn.append(pictures.hierarchies(cases.branches(task), images / "hierarchies.png", texts=shown))
    return drawn
