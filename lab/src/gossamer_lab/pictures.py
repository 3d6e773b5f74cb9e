"""Pictures of tables and trees, as PNG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gossamer_lab.tables import Table

_COLOURS: Final = ("#c1272d", "#0b5394", "#38761d", "#e58e26", "#6a4c93", "#555555", "#3d85c6", "#a64d79", "#7f6000")
_TICKS: Final = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_HIGHEST: Final = 0.9995
"""A higher recall is drawn here: the axis shows misses on a log scale."""
_LONGEST: Final = 64
"""Characters of a document that are drawn."""


@dataclass(frozen=True)
class Branch:
    """A concept with the nodes below it, and where each is drawn."""

    words: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    """Parent and child, by node."""
    depth: dict[int, int]
    place: dict[int, float]
    """Down the page: leaves in order, a concept at the mean of its children."""
    leaves: dict[int, int]
    """The document of each leaf."""


def lines(table: Table, path: Path, *, up: str, logarithmic: bool = False) -> Path:
    """A line for each row over the columns that name a number of documents (1k, 20k)."""
    figure, axes = _figure(7.5, 4.5)
    sizes = [name for name in table.columns if name.endswith("k") and name[:-1].replace(".", "").isdigit()]
    for number, row in enumerate(table.rows):
        label = f"{row['method']}@{row['vectors']}" if "vectors" in row else str(row["method"])
        values = [_number(row.get(name)) for name in sizes]
        axes.plot([float(name[:-1]) * 1000 for name in sizes], values, marker="o", label=label, color=_colour(number))
    axes.set_xlabel("documents")
    axes.set_ylabel(up)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.grid(visible=True, which="both", alpha=0.25)
    _label(axes, table.title)
    return _save(figure, path)


def _number(cell: object) -> float | None:
    """A cell's number; of one with another figure in brackets the first."""
    if isinstance(cell, str):
        first = cell.split(" ")[0].replace(",", "")
        return float(first) if first.replace(".", "").isdigit() else None
    return float(cell) if isinstance(cell, int | float) else None


def bars(title: str, groups: Mapping[str, Mapping[str, float]], path: Path, *, up: str) -> Path:
    """Groups of bars: by group, then by label."""
    figure, axes = _figure(8.5, 4.2)
    labels = list(dict.fromkeys(label for group in groups.values() for label in group))
    width = 0.8 / max(1, len(labels))
    for number, label in enumerate(labels):
        heights = [group.get(label, 0.0) for group in groups.values()]
        at = [place + (number - (len(labels) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(at, heights, width, label=label, color=_colour(number))
    axes.set_xticks(range(len(groups)), list(groups), fontsize=8)
    axes.set_ylabel(up)
    axes.grid(visible=True, axis="y", alpha=0.25)
    _label(axes, title)
    return _save(figure, path)


@dataclass(frozen=True)
class Panel:
    """Curves with a title; points are (x, y)."""

    title: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    logarithmic: bool = False
    level: float | None = None
    """Where to draw a line across, as for a bar to reach."""


def panels(drawn: Sequence[Panel], path: Path, *, across: str, columns: int, logarithmic: bool = False) -> Path:
    """Several panels in rows of `columns`; `logarithmic` across. A label has the same colour in all of them."""
    rows = -(-len(drawn) // columns)
    figure = Figure(figsize=(4.2 * columns + 1.5, 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    labels = list(dict.fromkeys(label for panel in drawn for label in panel.curves))
    shown: dict[str, Any] = {}
    for number, panel in enumerate(drawn):
        axes = figure.add_subplot(rows, columns, number + 1)
        for label, points in panel.curves.items():
            x, y = [point[0] for point in points], [point[1] for point in points]
            (shown[label],) = axes.plot(x, y, marker="o", markersize=3, color=_colour(labels.index(label)))
        if panel.level is not None:
            axes.axhline(panel.level, color="#999999", linestyle="--", linewidth=1.0)
        if panel.logarithmic:
            axes.set_yscale("log")
        if logarithmic:
            axes.set_xscale("log")
        axes.set_xlabel(across)
        axes.set_title(panel.title, fontsize=10)
        axes.grid(visible=True, which="both", alpha=0.25)
    figure.legend(list(shown.values()), list(shown), fontsize=8, loc="outside right upper")
    return _save(figure, path)


def hierarchies(branches: Sequence[Branch], path: Path, *, texts: Sequence[str] | None = None) -> Path:
    """Parts of a tree below each other, a colour for each; with the texts of their documents if given."""
    leaves = sum(len(branch.leaves) for branch in branches)
    figure, axes = _figure(6.5 if texts is None else 11.0, 1.2 + 0.16 * leaves)
    top, deepest = 0.0, max(max(branch.depth.values()) for branch in branches)
    for number, branch in enumerate(branches):
        colour = _colour(number)
        at = {node: top + place for node, place in branch.place.items()}
        for parent, child in branch.edges:
            left, right = branch.depth[parent], branch.depth[child]
            axes.plot([left, left, right], [at[parent], at[child], at[child]], color=colour)
        for node, document in branch.leaves.items():
            axes.plot(branch.depth[node], at[node], "o", color=colour, markersize=4)
            if texts is not None:
                axes.text(branch.depth[node] + 0.15, at[node], _short(texts[document]), fontsize=6, va="center")
        middle = top + (len(branch.leaves) - 1) / 2
        axes.text(-0.2, middle, " · ".join(branch.words), color=colour, ha="right", va="center", fontsize=9)
        top += len(branch.leaves) + 2
    axes.set_xlim(-3.2, deepest + (0.5 if texts is None else 6.0))
    axes.invert_yaxis()
    axes.axis("off")
    return _save(figure, path)


def recall_curves(curves: Mapping[str, Sequence[tuple[float, float]]], path: Path, *, title: str) -> Path:
    """Queries a second against recall@10, a line for each system: points are (recall, seconds a query)."""
    figure, axes = _figure(8.0, 5.0)
    for number, (system, points) in enumerate(curves.items()):
        recalls, rates = [_misses(recall) for recall, _ in points], [1.0 / seconds for _, seconds in points]
        width = 2.2 if number == 0 else 1.3
        axes.plot(recalls, rates, marker="o", color=_colour(number), linewidth=width, label=system)
    axes.set_yscale("log")
    axes.set_xticks([_misses(tick) for tick in (*_TICKS, 1.0)], [*(f"{tick:g}" for tick in _TICKS), "1"])
    axes.set_xlabel("recall@10 against exact")
    axes.set_ylabel("queries a second, one call")
    axes.grid(visible=True, which="both", alpha=0.25)
    _label(axes, title)
    return _save(figure, path)


def _misses(recall: float) -> float:
    return -math.log10(1.0 - min(recall, _HIGHEST))


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _figure(width: float, height: float) -> tuple[Any, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _label(axes: Any, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path
