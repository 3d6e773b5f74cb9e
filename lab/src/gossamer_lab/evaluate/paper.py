"""The paper again, table by table, with what is at hand; each table says what was substituted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.errors import InputError
from gossamer_lab.evaluate import architectures, cases, costs, figures
from gossamer_lab.evaluate.architectures import Setting
from gossamer_lab.evaluate.places import kept
from gossamer_lab.evaluate.run import Say, silent
from gossamer_lab.evaluate.runs import Runs
from gossamer_lab.evaluate.tables import Report, Table

PARTS: Final = {
    1: "architectures on QQP",
    2: "architectures on MS MARCO",
    3: "corpus scaling",
    4: "latency and build time",
    5: "the decoder-only case",
    6: "shape and growth of the trees",
}


def report(
    *,
    parts: Sequence[int] = (),
    quick: bool = False,
    texts: bool = False,
    folder: Path | None = None,
    cache: Path | None = None,
    fresh: bool = False,
    say: Say = silent,
    command: str = "",
) -> Report:
    """Run the parts named, or all of them."""
    start = time.perf_counter()
    for part in parts:
        if part not in PARTS:
            known = ", ".join(f"{number} ({what})" for number, what in PARTS.items())
            raise InputError(f"there is no table {part}: there are {known}")
    setting = _setting(folder, cache, fresh, quick, say)
    tables: list[Table] = []
    for part in parts or PARTS:
        tables += _part(part, setting, texts)
    data = "QQP (76,000 ready questions) and MS MARCO (30,779 passages), ready vectors"
    return Report("paper", command, data, tables, time.perf_counter() - start)


def pictures(report: Report, out: Path, *, texts: bool = False, folder: Path | None, cache: Path | None) -> list[Path]:
    """The figures of the tables there are, and the sub-hierarchies where the case is among them."""
    figures.check_available()
    by_key = {table.key: table for table in report.tables}
    images = out / report.name
    drawn = []
    for key in by_key:
        if key.startswith("scaling-"):
            up = by_key[key].title.split(" on ")[0]
            drawn.append(figures.lines(by_key[key], images / f"{key}.png", across="documents", up=up))
    if "latency" in by_key:
        up = "milliseconds a query"
        drawn.append(
            figures.lines(by_key["latency"], images / "latency.png", across="documents", up=up, logarithmic=True)
        )
    if "decoder-case" in by_key:
        task = _setting(folder, cache, False, True, silent).task("qqp", "minilm", architectures.DOCUMENTS)
        shown = task.data.collection.texts if texts else None
        drawn.append(figures.hierarchies(cases.themes(task), images / "hierarchies.png", texts=shown))
    return drawn


def _setting(folder: Path | None, cache: Path | None, fresh: bool, quick: bool, say: Say) -> Setting:
    where = kept(cache)
    return Setting(folder, where, Runs(where, fresh=fresh), quick, say)


def _part(part: int, setting: Setting, texts: bool) -> list[Table]:
    if part == 5:
        return cases.decoder_case(setting, texts=texts)
    functions = {
        1: architectures.qqp, 2: architectures.msmarco, 3: architectures.scaling, 4: costs.latency, 6: costs.growth,
    }  # fmt: skip
    return functions[part](setting)
