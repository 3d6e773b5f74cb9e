"""A picture of recall against queries a second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gossamer.errors import MissingExtraError
from gossamer_lab.bench.measures import front
from gossamer_lab.bench.report import Report, Row
from gossamer_lab.bench.systems import FAISS_HNSW, FLAT, HNSWLIB, IVF, LINKED, TREE, USEARCH

_LOOKS: Final = {
    LINKED: ("#c1272d", "o"), TREE: ("#e58e26", "s"), HNSWLIB: ("#0b5394", "^"), USEARCH: ("#3d85c6", "v"),
    FAISS_HNSW: ("#6a4c93", "D"), IVF: ("#38761d", "P"), FLAT: ("#555555", "*"),
}  # fmt: skip
_LOWEST: Final = 0.8
_TICKS: Final = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_HIGHEST: Final = 0.9995
"""What is nearer to one is drawn here: the axis counts misses, on a log scale."""


def check_available() -> None:
    """Raise before the work is done, rather than after, if nothing can be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("--plot", "bench")


def draw(report: Report, path: Path) -> None:
    """Write the curves of a search report as a picture."""
    check_available()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for system, points in curves(report.sections[0].rows).items():
        colour, marker = _LOOKS[system]
        recalls, rates = [_place(p[0]) for p in points], [1.0 / p[1] for p in points]
        wide = 2.2 if system == LINKED else 1.3
        axes.plot(recalls, rates, marker=marker, color=colour, linewidth=wide, markersize=5, label=system)
    axes.set_yscale("log")
    axes.set_xticks([_place(tick) for tick in _TICKS] + [_place(1.0)], [f"{tick:g}" for tick in _TICKS] + ["1"])
    axes.set_xlabel("recall@10 against exact")
    axes.set_ylabel("queries a second, one call")
    axes.set_title(f"{report.data}\n{report.machine['processor']}, threads: {report.settings['threads']}", fontsize=9)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)


def _place(recall: float) -> float:
    return -math.log10(1.0 - min(recall, _HIGHEST))


def curves(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """By system: (recall, seconds a query) of the settings that no other of the same system beats, by rising recall."""
    found: dict[str, list[tuple[float, float]]] = {}
    for system in _LOOKS:
        # Calibrated targets lie on the curve of the slacks.
        own = [r for r in rows if r["system"] == system and r["setting"].split(" ")[0] in _DIALS]
        own = [r for r in own if r["recall@10"] >= _LOWEST]
        points = front([r["recall@10"] for r in own], [1.0 / r["queries/s"] for r in own])
        if points:
            found[system] = points
    return found


_DIALS: Final = ("slack", "budget", "ef", "probes", "all")
