"""Reports: rows of named values, shown as Rich tables and written as JSON."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gossamer.version import __version__
from gossamer_lab.bench.timing import all_cores

Row: TypeAlias = dict[str, Any]

_DIGITS: Final = {
    "recall": ".4f",
    "queries/s": ",.0f",
    "µs": ",.1f",
    "share": ".3%",
    "spread": ".0%",
    "ratio": ".2f",
    "nDCG": ".2f",
    "bytes": ",.0f",
    "MB": ",.1f",
    "seconds": ",.2f",
    "scored": ",.0f",
    "selectivity": ".2%",
}
"""How numbers are written, by the word their column's name contains; the first that fits."""


@dataclass(frozen=True)
class Section:
    """One table. Its columns are the keys of its rows, in order of appearance."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """What one task found."""

    task: str
    data: str
    settings: Row
    sections: Sequence[Section]
    machine: Row = field(default_factory=lambda: machine())


def machine() -> Row:
    """Where and when a report was made."""
    return {
        "processor": _processor(),
        "cores": all_cores(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "gossamer": __version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def show(report: Report, console: Console) -> None:
    """Print the tables of a report, each with its notes below."""
    made = report.machine
    settings = "".join(f", {name} {value}" for name, value in report.settings.items())
    console.print(f"{report.data}\n{made['processor']}, {made['cores']} cores{settings}", highlight=False, markup=False)
    for section in report.sections:
        if section.rows:
            console.print(f"\n{section.title}", style="bold", highlight=False, markup=False)
            console.print(_table(section))
        for note in section.notes:
            console.print(f"  {note}", style="dim", highlight=False, markup=False)


def write_json(report: Report, path: Path) -> None:
    """Write a report as JSON."""
    path.write_text(json.dumps(asdict(report), indent=1, ensure_ascii=False, default=_plain) + "\n")


def written(column: str, value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else value
    if isinstance(value, float):
        if np.isnan(value):
            return "–"
        return format(value, next((f for word, f in _DIGITS.items() if word in column), ".4g"))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(section: Section) -> Table:
    columns = list(dict.fromkeys(name for row in section.rows for name in row))
    table = Table(box=box.SIMPLE_HEAD)
    for name in columns:
        words = any(isinstance(row.get(name), str) for row in section.rows)
        # Headers of numbers stand one word a line: their columns are narrow.
        header = name if words else name.replace(", ", "\n").replace(" ", "\n")
        table.add_column(header, justify="left" if words else "right", no_wrap=True)
    for row in section.rows:
        table.add_row(*(escape(written(name, row.get(name))) for name in columns))
    return table


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a report")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
