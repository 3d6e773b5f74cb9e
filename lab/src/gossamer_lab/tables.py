"""Tables, and a report of several: shown by Rich, written as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from rich import box
from rich.table import Table as RichTable

from gossamer import __version__
from gossamer_lab.engine import cores

Cell: TypeAlias = str | float | int | bool | None
Row: TypeAlias = Mapping[str, Cell]

_USUAL: Final = 1
"""Digits after the point of a column for which a table names none."""


@dataclass(frozen=True)
class Table:
    """Rows of named cells. Columns are the keys of the rows, in order of appearance."""

    key: str
    """The name of its CSV file, and of its place in a page."""
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    digits: Mapping[str, int | str] = field(default_factory=dict)
    """By column: digits after the point, or a format specification such as ".1%"."""
    brief: Sequence[str] = ()
    """The columns that a narrow terminal shows; all if empty."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def written(self, column: str, value: Cell) -> str:
        """A cell as text; empty for None and NaN."""
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            digits = self.digits.get(column, _USUAL)
            return format(value, digits if isinstance(digits, str) else f",.{digits}f").replace("-", "−")
        return f"{value:,}" if isinstance(value, int) else value

    def cells(self) -> list[list[str]]:
        """All cells as text."""
        return [[self.written(name, row.get(name)) for name in self.columns] for row in self.rows]

    def numeric(self, column: str) -> bool:
        """Whether no cell of a column is a text."""
        return not any(isinstance(row.get(column), str) for row in self.rows)


@dataclass(frozen=True)
class Report:
    """What one command found, with the command, the data, the date and the machine."""

    name: str
    command: str
    data: str
    tables: Sequence[Table]
    seconds: float
    machine: Mapping[str, Any] = field(default_factory=lambda: machine())
    engine: str = ""
    """The fingerprint of the engine that made it, see `gossamer_lab.fingerprint`; empty where it was not taken."""

    @property
    def made(self) -> str:
        """Where the figures come from, in a line."""
        where = f"{self.machine['processor']}, {self.machine['cores']} cores"
        engine = f"Gossamer {self.machine['gossamer']}" + (f", engine {self.engine}" if self.engine else "")
        return f"`{self.command}` · {self.data} · {engine} · {self.machine['date']} · {where} · {self.seconds:,.0f} s"


def machine() -> dict[str, Any]:
    """Where and when a report is made."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "gossamer": __version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# -- one table -------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """A table in GitHub's Markdown."""
    lines = [f"**{table.title}**", "", _line(table.columns)]
    lines.append(_line(["---:" if table.numeric(name) else "---" for name in table.columns]))
    lines += [_line([cell.replace("|", "\\|") for cell in row]) for row in table.cells()]
    lines += [f"\n{note}" for note in table.notes]
    return "\n".join(lines) + "\n"


def csv_text(table: Table) -> str:
    """A table as CSV, with all digits."""
    out = io.StringIO()
    writer = csv.DictWriter(out, table.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows([{name: row.get(name) for name in table.columns} for row in table.rows])
    return out.getvalue()


def rich_table(table: Table, *, narrow: bool = False) -> RichTable:
    """A table for a terminal. Headers of numbers have one word a line, because their columns are narrow."""
    names = [name for name in table.columns if name in table.brief] if narrow and table.brief else table.columns
    look: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    shown = RichTable(title=table.title, title_justify="left", title_style="bold", **look)
    for name in names:
        if table.numeric(name):
            shown.add_column(name.replace(", ", "\n").replace(" ", "\n"), justify="right", no_wrap=True)
        else:
            shown.add_column(name, no_wrap=True)
    for row in table.rows:
        shown.add_row(*(table.written(name, row.get(name)) for name in names))
    return shown


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


# -- a report --------------------------------------------------------------------------------------


def to_json(report: Any) -> dict[str, Any]:
    """A report's fields as plain values."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report), default=_plain))
    return plain


def write(report: Report, folder: Path) -> list[Path]:
    """Write ``<name>.md``, ``<name>.json``, and each table as CSV under ``<name>/``; returns the files.

    A Markdown page that exists keeps its text: only what stands between ``<!-- table KEY -->`` marks is replaced.
    """
    tables = folder / report.name
    tables.mkdir(parents=True, exist_ok=True)
    page, data = folder / f"{report.name}.md", folder / f"{report.name}.json"
    page.write_text(fill(page.read_text() if page.exists() else None, report))
    data.write_text(json.dumps(to_json(report), indent=1, ensure_ascii=False) + "\n")
    files = [tables / f"{table.key}.csv" for table in report.tables]
    for file, table in zip(files, report.tables, strict=True):
        file.write_text(csv_text(table))
    return [page, data, *files]


def fill(page: str | None, report: Report) -> str:
    """A page with the report's tables between their marks; a table without marks is added at the end."""
    blocks = {"made": f"Made by {report.made}.\n"} | {table.key: markdown(table) for table in report.tables}
    page = f"# {report.name}\n" if page is None else page
    for key, text in blocks.items():
        start, end = f"<!-- table {key} -->\n", "<!-- end -->"
        if start not in page:
            page += f"\n{start}{end}\n"
        before, after = page.split(start, 1)
        page = before + start + text + end + after.split(end, 1)[1]
    return page


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a report")
