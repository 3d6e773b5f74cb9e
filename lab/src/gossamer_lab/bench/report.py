"""Reports of benchmarks, shown as tables and written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from rich.console import Console

from gossamer_lab import tables
from gossamer_lab.tables import Table, machine, rich_table, to_json

Row: TypeAlias = dict[str, Any]

_FORMATS: Final = {
    "recall": ".4f", "queries/s": ",.0f", "µs": ",.1f", "share": ".3%", "spread": ".0%", "ratio": ".2f", "nDCG": ".2f",
    "bytes": ",.0f", "MB": ",.1f", "seconds": ",.2f", "scored": ",.0f", "selectivity": ".2%",
}  # fmt: skip
"""Formats of numbers by a word in the name of their column; the first that fits."""


class Section(Table):
    """A table whose cells can be anything that JSON has."""

    rows: Sequence[Row]


@dataclass(frozen=True)
class Report:
    """What one task found."""

    task: str
    data: str
    settings: Row
    sections: Sequence[Section]
    machine: Mapping[str, Any] = field(default_factory=machine)


def section(title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> Section:
    """A table whose numbers are formatted by the names of their columns."""
    columns = dict.fromkeys(name for row in rows for name in row)
    formats = {name: next((f for word, f in _FORMATS.items() if word in name), ".4g") for name in columns}
    return Section(title, title, rows, notes, formats)


def show(report: Report, console: Console) -> None:
    """Print the tables of a report, each with its notes below."""
    made = report.machine
    settings = "".join(f", {name} {value}" for name, value in report.settings.items())
    console.print(f"{report.data}\n{made['processor']}, {made['cores']} cores{settings}", highlight=False, markup=False)
    for each in report.sections:
        if each.rows:
            console.print("", rich_table(each))
        for note in each.notes:
            console.print(f"  {note}", style="dim", highlight=False, markup=False)


def write_json(report: Report | tables.Report, path: Path) -> None:
    """Write a report as JSON."""
    path.write_text(json.dumps(to_json(report), indent=1, ensure_ascii=False) + "\n")
