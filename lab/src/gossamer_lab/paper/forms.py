"""Tables in the form that the paper has them: our figure, then the printed one in brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gossamer_lab.evaluate.measures import PRINTED
from gossamer_lab.evaluate.run import Result
from gossamer_lab.paper.published import LATENCY, METHODS, Cell, Kind, cells, logged, printed
from gossamer_lab.paper.setting import Missing, Setting
from gossamer_lab.tables import Row, Table

Key = tuple[str, Kind, int]
"""A collection, the kind of a model, and a number of documents."""

NAMES: Final = {
    "dot@raw": "Dot product †", "best-first@raw": "Cobweb, best-first †", "path-sum@raw": "Cobweb, path-sum †",
    "dot@paper": "Dot product", "best-first@paper": "Cobweb, best-first", "path-sum@paper": "Cobweb, path-sum",
    "cosine@raw": "Cosine †", "l2@raw": "Distance †", "l2@paper": "Distance", "cosine@paper": "Cosine",
    "best-first@living": "Living tree, best-first", "path-sum@living": "Living tree, path-sum",
    "gain@paper": "Cobweb, path gain", "guided@default": "Default: living tree, guided",
    "guided@cobweb": "Default with a Cobweb tree, guided", "hybrid@default": "Default, with words",
    "bm25@words": "Words alone (BM25)",
}  # fmt: skip
"""Methods as the tables call them. † as in the paper: vectors as they came; else its whitening, unless said."""


@dataclass
class Figures:
    """Our figures by collection, kind, size, method and measure, under the paper's names of methods; or why not."""

    values: dict[tuple[Key, str, str], float] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)

    def add(self, setting: Setting, key: Key, results: Sequence[Result] | Missing) -> None:
        """Take the measures of results, or the reason why there are none."""
        if isinstance(results, Missing):
            self.missing[key] = results.reason
            return
        by_name = {each.method.name: each for each in results}
        for name in NAMES:
            found = by_name.get(setting.method(name))
            if found is not None:
                self.values |= {(key, name, measure): found.scores.mean(measure) for measure in PRINTED}

    def time(self, key: Key, method: str, milliseconds: float) -> None:
        """Take a time."""
        self.values[key, method, LATENCY] = milliseconds

    def of(self, cell: Cell) -> float | str | None:
        """Our figure beside a printed cell, the reason why there is none, or None where nothing was said."""
        key = (cell.collection, cell.kind, cell.documents)
        found = self.values.get((key, cell.method, cell.measure))
        return found if found is not None else self.missing.get(key)


def beside(ours: float | None, theirs: float | None, *, log: bool = False, digits: int = 2) -> str:
    """Our figure, and theirs in brackets."""
    left = "–" if ours is None else f"{ours:,.{digits}f}"
    return left if theirs is None else f"{left} [{theirs:,.{digits}f}{' in a log' if log else ''}]"


def cell_text(figures: Figures, key: Key, method: str, measure: str) -> str:
    """The text of a cell of quality."""
    ours = figures.values.get((key, method, measure))
    theirs = printed(*key).get((method, measure))
    if theirs is None and (in_log := logged(*key).get((method, measure))) is not None:
        return beside(ours, in_log, log=True)
    return beside(ours, theirs)


def by_depth(
    figures: Figures, methods: Sequence[str], columns: Mapping[str, tuple[Key, Sequence[str]]], depths: Sequence[str]
) -> list[Row]:
    """Rows by depth and method; for each key a column for each measure ("Recall", "MRR", "nDCG")."""
    rows: list[Row] = []
    for depth in depths:
        for method in methods:
            row: dict[str, str] = {"": depth, "method": NAMES[method]}
            for heading, (key, measures) in columns.items():
                for measure in measures:
                    name = f"{measure}{depth}" + (" (authors)" if measure == "nDCG" else "")
                    row[f"{heading} {measure}"] = cell_text(figures, key, method, name)
            if any(text != "–" for name, text in row.items() if name not in ("", "method")):
                rows.append(row)
    return rows


def reasons(figures: Figures, keys: Sequence[Key]) -> list[str]:
    """A note for each reason why figures are missing."""
    found: dict[str, list[str]] = {}
    for collection, kind, size in keys:
        if reason := figures.missing.get((collection, kind, size)):
            found.setdefault(reason, []).append(f"{collection}, {kind}, {size:,} documents")
    return [f"–, for {'; '.join(where)}: {reason}." for reason, where in found.items()]


def coverage(figures: Figures, tables: Sequence[str]) -> Table:
    """How many printed cells have our figure beside them, by table; every other has a reason."""
    rows: list[Row] = []
    for table in tables:
        printed_cells = [cell for cell in cells() if cell.table == table]
        found = [figures.of(cell) for cell in printed_cells]
        rows.append(
            {
                "table": table,
                "printed figures": len(found),
                "with ours beside": sum(isinstance(each, float) for each in found),
                "with a reason": sum(isinstance(each, str) for each in found),
            }
        )
    return Table("coverage", "Printed figures with ours beside them", rows)


FORM: Final = (
    *METHODS, "l2@raw", "l2@paper", "cosine@raw", "best-first@living", "path-sum@living", "guided@default",
    "guided@cobweb", "hybrid@default",
)  # fmt: skip
"""Rows of tables in the paper's form: first the paper's six, then baselines, then both structures of trees."""
