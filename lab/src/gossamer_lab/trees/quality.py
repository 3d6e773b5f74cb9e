"""The tree beside k-means, Ward and Cobweb alone on the same vectors, by known classes; and the report of it all.

Cobweb's operators insert documents one after the other, and files of labelled texts are often sorted by class: so its
figures are means over several random orders, with the order of the file as a row of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer_lab.bench.data import embeddings_folder, load_set
from gossamer_lab.data.embedded import Say
from gossamer_lab.job import Job
from gossamer_lab.tables import Cell, Report, Row, Table
from gossamer_lab.trees import criteria, methods, topics
from gossamer_lab.trees.labelled import NAMES, Labelled, load
from gossamer_lab.trees.measures import dendrogram_purity, nmi
from gossamer_lab.trees.methods import DEFAULT, KMEANS, Method
from gossamer_lab.trees.topics import Top

NMI_BAR, VIEW_BAR, LARGEST_BAR = 0.98, 0.4, 2.0
"""NMI of topics over that of k-means, at least; the largest child of the root's view, and the largest group of topics
over that of k-means, at most."""


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

    collections: tuple[str, ...] = NAMES
    sets: tuple[str, ...] = topics.SETS
    """Collections without classes."""
    model: str = "minilm"
    orders: int = 3
    sample: int = 6000
    """Documents of the comparison with Ward, whose memory grows with their square."""
    documents: int | None = None
    """Documents of each collection, at most."""
    seed: int = 0


Figures = dict[str, float | None]


def report(wanted: Wanted, job: Job) -> Report:
    """The bars; figures by known classes; the top of each tree; and both criteria of agglomeration."""
    labelled: list[Row] = []
    tops: list[Top] = []
    ratios: dict[str, float] = {}
    both: list[Row] = []
    about: list[str] = []
    for name in wanted.collections:
        data = load(name, job, model=wanted.model, most=wanted.documents, seed=wanted.seed)
        whole = measure(data, methods.whole_methods(), wanted.orders, job.say)
        sampled, compared = data.sample(wanted.sample, wanted.seed), methods.tree_methods()
        if len(sampled) == len(data):
            del compared[DEFAULT]  # it is among those over all documents
        labelled += _rows(data, whole) + _rows(sampled, measure(sampled, compared, 1, job.say))
        ratios[data.name] = (whole[DEFAULT]["NMI"] or 0.0) / (whole[KMEANS]["NMI"] or np.nan)
        tops.append(topics.measure(data.name, data.E, wanted.orders, job.say))
        both += criteria.rows(data, job.say, wanted.seed)
        about.append(f"{data.name} {len(data):,} documents, {data.n_classes} classes")
    for name in wanted.sets:
        E, _ = load_set(embeddings_folder(job.folder), name)
        tops.append(topics.measure(name, E[: wanted.documents], wanted.orders, job.say))
        about.append(f"{name} {tops[-1].documents:,} documents")
    tables = [_bars(tops, ratios), _table(labelled), topics.table(tops), criteria.table(both)]
    return job.report("tree", f"{wanted.model} vectors; {'; '.join(about)}; {wanted.orders} orders", tables)


def measure(data: Labelled, compared: dict[str, Method], orders: int, say: Say) -> dict[str, Figures]:
    """The figures of each method: means over orders, or over seeds, if there is chance in it."""
    rows: dict[str, Figures] = {}
    for done, (name, method) in enumerate(compared.items()):
        once: list[dict[str, float]] = []
        for seed in range(1 if name in methods.FIXED else orders):
            say(f"{data.name}: {name}, {seed + 1} of {orders}", done, len(compared))
            found = method(data, seed)
            once.append(
                {
                    "groups": float(found.groups.max() + 1),
                    _PURITY: np.nan if found.tree is None else dendrogram_purity(found.tree, data.classes),
                    "NMI": nmi(found.groups, data.classes),
                    "seconds": found.seconds,
                }
            )
        means: Figures = {figure: float(np.mean([row[figure] for row in once])) for figure in once[0]}
        spread = float(np.std([row["NMI"] for row in once], ddof=1)) if len(once) > 1 else None
        rows[name] = {**means, "NMI ±": spread}
    return rows


_PURITY: Final = "dendrogram purity"
_COLUMNS: Final = ("groups", _PURITY, "NMI", "NMI ±", "seconds")


def _rows(data: Labelled, figures: dict[str, Figures]) -> list[Row]:
    about: dict[str, Cell] = {"collection": data.name, "documents": len(data)}
    return [{**about, "method": name, **{column: row[column] for column in _COLUMNS}} for name, row in figures.items()]


def _table(rows: list[Row]) -> Table:
    digits = {"groups": 0, _PURITY: 3, "NMI": 3, "NMI ±": 3}
    brief = ("collection", "method", _PURITY, "NMI")
    return Table("tree-labelled", "agreement with classes that people gave", rows, digits=digits, brief=brief)


def _bars(tops: list[Top], ratios: dict[str, float]) -> Table:
    """Each collection against the bars."""
    rows: list[Row] = []
    for top in tops:
        ratio = ratios.get(top.collection)
        rows.append(
            {
                "collection": top.collection,
                "NMI, topics / k-means": ratio,
                f"≥ {NMI_BAR}": None if ratio is None else ratio >= NMI_BAR,
                "children of the view": top.shown,
                "largest child": top.largest_shown,
                f"≤ {VIEW_BAR:.0%}": top.largest_shown <= VIEW_BAR,
                "topics(n) are n": top.exact,
                "largest topic / k-means, worst n": top.worst_ratio,
                f"≤ {LARGEST_BAR:g}": top.worst_ratio <= LARGEST_BAR,
            }
        )
    digits: dict[str, int | str] = {"NMI, topics / k-means": 3, "largest child": ".1%"}
    digits["largest topic / k-means, worst n"] = 2
    return Table("tree-bars", "the bars", rows, digits=digits)
