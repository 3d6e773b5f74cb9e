"""Tables, and a report of several: as Rich tables, Markdown, CSV, LaTeX and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from gossamer_lab.bench.report import machine

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Cell: TypeAlias = str | float | int | bool | None
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True)
class Table:
    """Rows of named cells. Columns are the keys of the rows, in order of appearance."""

    key: str
    """Names its files, and its place in a page."""
    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    digits: Mapping[str, int] = field(default_factory=dict)
    """Digits after the point by column; 1 otherwise."""
    brief: Sequence[str] = ()
    """The columns for a narrow terminal; all of them where none are named."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def written(self, column: str, value: Cell) -> str:
        """A cell as people read it; empty where there is nothing."""
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:,.{self.digits.get(column, 1)}f}".replace("-", "−")
        return f"{value:,}" if isinstance(value, int) else value

    def cells(self) -> list[list[str]]:
        """All cells as people read them."""
        return [[self.written(name, row.get(name)) for name in self.columns] for row in self.rows]

    def numeric(self, column: str) -> bool:
        """Whether a column holds numbers."""
        return not any(isinstance(row.get(column), str) for row in self.rows)


@dataclass(frozen=True)
class Report:
    """What one command found: with the command, the data, the date and the machine."""

    name: str
    command: str
    data: str
    tables: Sequence[Table]
    seconds: float
    machine: Mapping[str, Any] = field(default_factory=machine)
    attached: Sequence[Table] = ()
    """Tables for other programs, too long to show: written as CSV alone."""

    @property
    def made(self) -> str:
        """Where the figures come from, in a line."""
        where = f"{self.machine['processor']}, {self.machine['cores']} cores"
        return f"`{self.command}` · {self.data} · {self.machine['date']} · {where} · {self.seconds:,.0f} s"


# -- one table -------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """As GitHub shows it."""
    lines = [f"**{table.title}**", "", _line(table.columns)]
    lines.append(_line(["---:" if table.numeric(name) else "---" for name in table.columns]))
    lines += [_line([cell.replace("|", "\\|") for cell in row]) for row in table.cells()]
    lines += [f"\n{note}" for note in table.notes]
    return "\n".join(lines) + "\n"


def csv_text(table: Table) -> str:
    """With all digits, for other programs."""
    out = io.StringIO()
    writer = csv.DictWriter(out, table.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows([{name: row.get(name) for name in table.columns} for row in table.rows])
    return out.getvalue()


def latex(table: Table) -> str:
    """A booktabs tabular."""
    columns = "".join("r" if table.numeric(name) else "l" for name in table.columns)
    lines = [f"% {table.title}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _tex(table.columns), r"\midrule"]
    lines += [_tex(row) for row in table.cells()]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def rich_table(table: Table, *, narrow: bool = False) -> RichTable:
    """For a terminal."""
    from rich import box
    from rich.table import Table as RichTable

    names = [name for name in table.columns if name in table.brief] if narrow and table.brief else table.columns
    shown = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=table.title,
        title_justify="left",
        title_style="bold",
    )
    for name in names:
        numeric = table.numeric(name)
        shown.add_column(
            name.replace(" ", "\n") if numeric else name, justify="right" if numeric else "left", no_wrap=True
        )
    for row in table.rows:
        shown.add_row(*(table.written(name, row.get(name)) for name in names))
    return shown


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


_SPECIAL: Final = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "$": r"\$", "−": "$-$", "±": r"$\pm$",
    "Δ": r"$\Delta$", "×": r"$\times$", "≥": r"$\geq$", "µ": r"$\mu$",
}  # fmt: skip


def _tex(cells: Sequence[str]) -> str:
    return " & ".join("".join(_SPECIAL.get(c, c) for c in cell) for cell in cells) + r" \\"


# -- a report --------------------------------------------------------------------------------------


def to_json(report: Report) -> dict[str, Any]:
    """All of it, for machines."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(report), default=_plain))
    del plain["attached"]
    return plain


def write(report: Report, folder: Path) -> list[Path]:
    """Write ``<name>.md``, ``<name>.json``, and each table as CSV and LaTeX under ``<name>/``; returns the files.

    A Markdown page that is there keeps its words: only what stands between ``<!-- table KEY -->`` marks is replaced.
    """
    tables = folder / report.name
    tables.mkdir(parents=True, exist_ok=True)
    page, data = folder / f"{report.name}.md", folder / f"{report.name}.json"
    page.write_text(fill(page.read_text() if page.exists() else None, report))
    data.write_text(json.dumps(to_json(report), indent=1, ensure_ascii=False) + "\n")
    files = [page, data]
    for table in report.tables:
        for ending, text in (("csv", csv_text(table)), ("tex", latex(table))):
            files.append(tables / f"{table.key}.{ending}")
            files[-1].write_text(text)
    for table in report.attached:
        files.append(tables / f"{table.key}.csv")
        files[-1].write_text(csv_text(table))
    return files


def fill(page: str | None, report: Report) -> str:
    """A page with the report's tables in their places; one that has no place yet comes at the end."""
    blocks = {"made": f"Made by {report.made}.\n"} | {table.key: markdown(table) for table in report.tables}
    page = f"# {report.name}\n" if page is None else page
    for key, text in blocks.items():
        if f"<!-- table {key} -->\n" not in page:
            page += f"\n<!-- table {key} -->\n<!-- end -->\n"
        place = re.compile(rf"(<!-- table {re.escape(key)} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = place.sub(partial(_between, text), page)
    return page


def _between(text: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}{text}{marks[2]}"


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no place in a report")
