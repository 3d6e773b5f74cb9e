"""Pictures of tables and trees, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from gossamer.errors import MissingExtraError
from gossamer_lab.evaluate.cases import Theme
from gossamer_lab.evaluate.tables import Table

_COLOURS: Final = ("#c1272d", "#0b5394", "#38761d", "#e58e26", "#6a4c93", "#555555", "#3d85c6", "#a64d79", "#7f6000")
_CUT: Final = 64


def check_available() -> None:
    """Raise before the work is done, rather than after, if nothing can be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("drawing", "eval")


def lines(table: Table, path: Path, *, across: str, up: str, logarithmic: bool = False) -> Path:
    """A line for each row over the columns that name a number of documents (1k, 20k)."""
    figure, axes = _figure(7.5, 4.5)
    sizes = [name for name in table.columns if name[:-1].isdigit() and name.endswith("k")]
    for place, row in enumerate(table.rows):
        label = f"{row['method']}@{row['vectors']}" if "vectors" in row else str(row["method"])
        values = [row.get(name) for name in sizes]
        axes.plot([int(name[:-1]) * 1000 for name in sizes], values, marker="o", label=label, color=_COLOURS[place % 9])
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_title(table.title, fontsize=10)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _save(figure, path)


def bars(title: str, groups: Mapping[str, Mapping[str, float]], path: Path, *, up: str) -> Path:
    """Groups of bars: by group, then by label."""
    figure, axes = _figure(8.5, 4.2)
    labels = list(dict.fromkeys(label for group in groups.values() for label in group))
    width = 0.8 / max(1, len(labels))
    for place, label in enumerate(labels):
        heights = [group.get(label, 0.0) for group in groups.values()]
        at = [number + (place - (len(labels) - 1) / 2) * width for number in range(len(groups))]
        axes.bar(at, heights, width, label=label, color=_COLOURS[place % 9])
    axes.set_xticks(range(len(groups)), list(groups), fontsize=8)
    axes.set_ylabel(up)
    axes.set_title(title, fontsize=10)
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _save(figure, path)


def hierarchies(themes: Sequence[Theme], path: Path, *, texts: Sequence[str] | None = None) -> Path:
    """Sub-hierarchies side by side, a colour for each; with the texts of their documents where given."""
    leaves = sum(len(theme.leaves) for theme in themes)
    figure, axes = _figure(6.5 if texts is None else 11.0, 1.2 + 0.16 * leaves)
    top, deepest = 0.0, max(max(theme.depth.values()) for theme in themes)
    for number, theme in enumerate(themes):
        colour = _COLOURS[number % len(_COLOURS)]
        at = {node: top + place for node, place in theme.place.items()}
        for parent, child in theme.edges:
            axes.plot(
                [theme.depth[parent], theme.depth[parent], theme.depth[child]],
                [at[parent], at[child], at[child]],
                color=colour,
            )
        for node, document in theme.leaves.items():
            axes.plot(theme.depth[node], at[node], "o", color=colour, markersize=4)
            if texts is not None:
                axes.text(theme.depth[node] + 0.15, at[node], _short(texts[document]), fontsize=6, va="center")
        middle = top + (len(theme.leaves) - 1) / 2
        axes.text(-0.2, middle, " · ".join(theme.words), color=colour, ha="right", va="center", fontsize=9)
        top += len(theme.leaves) + 2
    axes.set_xlim(-3.2, deepest + (0.5 if texts is None else 6.0))
    axes.invert_yaxis()
    axes.axis("off")
    return _save(figure, path)


def _short(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def _figure(width: float, height: float) -> tuple[Any, Any]:
    check_available()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path
