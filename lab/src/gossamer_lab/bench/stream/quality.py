"""The tree of a stream beside the tree built at once over the same documents, at several points on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.errors import InputError
from gossamer_lab.bench.data import spread_evenly
from gossamer_lab.bench.stream import systems
from gossamer_lab.bench.stream.measures import LARGE, SAME, Concepts, Kept, assigned_right, kept, recall_at_10
from gossamer_lab.bench.stream.orders import ORDERS, SORTED, Stream
from gossamer_lab.bench.stream.systems import GOSSAMER, Look, OfIndex, System
from gossamer_lab.data.embedded import Say
from gossamer_lab.engine import Longs
from gossamer_lab.job import Job
from gossamer_lab.pictures import Panel, panels
from gossamer_lab.tables import Cell, Report, Row, Table
from gossamer_lab.trees.labelled import NAMES, Labelled, load
from gossamer_lab.trees.measures import dendrogram_purity, nmi

GROWTH: Final = 1.1
"""Ids of concepts are compared over this growth, to the end of the stream."""
POINTS: Final = (0.25, 0.5, 0.75, 1.0 / GROWTH, 1.0)
"""Shares of all documents at which a tree is looked at."""
BAR: Final = 0.97
"""The least ratio to the bulk build that is wanted, of purity and of NMI."""
LATE: Final = 0.75
"""The share of documents from which on the lowest ratio is looked for: before, there are few classes in some orders."""
_QUERIES: Final = 300
_FEWEST: Final = 20


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

    collections: tuple[str, ...] = NAMES
    orders: tuple[str, ...] = tuple(ORDERS)
    model: str = "minilm"
    documents: int | None = None
    """Documents of each collection, at most."""
    seed: int = 0


def check_orders(names: Sequence[str]) -> tuple[str, ...]:
    """The orders, or the error that names those that there are."""
    unknown = [name for name in names if name not in ORDERS]
    if unknown:
        raise InputError(f"there is no order {unknown[0]!r}: choose among {', '.join(ORDERS)}")
    return tuple(names)


@dataclass(frozen=True)
class Figures:
    """A tree and its best cut, by known classes."""

    documents: int
    purity: float | None
    nmi: float | None
    seconds: float
    """All operations up to here."""


@dataclass
class Streamed:
    """What was found for one collection in one order."""

    collection: str
    order: str
    operations: int
    bulk: list[Figures] = field(default_factory=list)
    systems: dict[str, list[Figures]] = field(default_factory=dict)
    recalls: list[float] = field(default_factory=list)
    kept: Kept | None = None
    kept_by_bulk: Kept | None = None
    """Between two bulk builds: how stable the groups themselves are."""
    assigned: float | None = None


def report(wanted: Wanted, job: Job) -> Report:
    """Stream every collection in every order, and write tables of the end and of the way to it."""
    found: list[Streamed] = []
    about: list[str] = []
    for name in wanted.collections:
        data = load(name, job, model=wanted.model, most=wanted.documents, seed=wanted.seed)
        about.append(f"{data.name} {len(data):,} documents, {data.n_classes} classes")
        found += _Streams(data, wanted.seed, job.say).all(wanted.orders)
    names = dict.fromkeys(each.collection for each in found)
    ways = [_way(name, [each for each in found if each.collection == name]) for name in names]
    described = f"{wanted.model} vectors; {'; '.join(about)}"
    return job.report("stream", described, [_end(found), _others(found), *ways])


# -- measuring -------------------------------------------------------------------------------------


class _Streams:
    """One collection, streamed in several orders."""

    def __init__(self, data: Labelled, seed: int, say: Say) -> None:
        if len(data) < _FEWEST:
            raise InputError(f"{data.name} has {len(data)} documents: a stream needs at least {_FEWEST}")
        self._data, self._seed, self._say = data, seed, say
        self._sizes = sorted({max(2, round(share * len(data))) for share in POINTS})
        self._queries = data.E[spread_evenly(len(data), _QUERIES)]
        everything = np.arange(len(data))
        self._at_once = OfIndex.built_at_once(data.E, everything)
        self._of_all = self._figures(self._at_once, everything, 0.0)

    def all(self, orders: tuple[str, ...]) -> Iterator[Streamed]:
        """What is found in each order."""
        makers = systems.systems()
        for done, order in enumerate(orders):
            stream = ORDERS[order](self._data.classes, np.random.default_rng(self._seed))
            self._tell(order, "built at once", done, len(orders))
            streamed = Streamed(self._data.name, order, len(stream))
            self._build(streamed, stream.present_at(self._sizes))
            for name, make in makers.items():
                self._tell(order, name, done, len(orders))
                system = make(self._data, self._seed)
                streamed.systems[name] = self._watch(streamed, stream, system)
            yield streamed

    def _tell(self, order: str, system: str, done: int, total: int) -> None:
        self._say(f"{self._data.name}, {order}: {system}", done, total)

    def _build(self, streamed: Streamed, points: list[Longs]) -> None:
        """Build an index at once over the documents of each point; that over all of them serves every order."""
        *earlier, everything = points
        for rows in earlier:
            built = OfIndex.built_at_once(self._data.E, rows)
            streamed.bulk.append(self._figures(built, rows, 0.0))
        streamed.bulk.append(self._of_all)
        before, after = self._concepts(built, rows, LARGE), self._concepts(self._at_once, everything, LARGE * SAME)
        streamed.kept_by_bulk = kept(before, after)

    def _concepts(self, system: OfIndex, rows: Longs, fewest: float) -> Concepts:
        return Concepts.of(system.index, rows, len(self._data), int(fewest))

    def _watch(self, streamed: Streamed, stream: Stream, system: System) -> list[Figures]:
        """Play a stream to a system and look at it at every point; at the default index more closely."""
        figures: list[Figures] = []
        for rows, seconds in played(stream, system, self._sizes):
            figures.append(self._figures(system, rows, seconds))
            if isinstance(system, OfIndex) and GOSSAMER not in streamed.systems:
                self._look_closely(streamed, system, rows)
        return figures

    def _look_closely(self, streamed: Streamed, system: OfIndex, rows: Longs) -> None:
        data, index = self._data, system.index
        streamed.recalls.append(recall_at_10(index, self._queries))
        if len(rows) == self._sizes[-2]:
            self._before = self._concepts(system, rows, LARGE)
            if streamed.order != SORTED:  # there the documents to come are of classes that the index has not seen
                n = len(np.unique(data.classes[rows]))
                streamed.assigned = assigned_right(index, data.E, data.classes, rows, n)
        elif len(rows) == self._sizes[-1]:
            streamed.kept = kept(self._before, self._concepts(system, rows, LARGE * SAME))

    def _figures(self, system: System, rows: Longs, seconds: float) -> Figures:
        classes = np.unique(self._data.classes[rows], return_inverse=True)[1]
        look: Look | None = system.look(rows, int(classes.max()) + 1)
        if look is None:
            return Figures(len(rows), None, None, seconds)
        purity = None if look.tree is None else dendrogram_purity(look.tree, classes)
        return Figures(len(rows), purity, nmi(look.groups, classes), seconds)


def played(stream: Stream, system: System, sizes: list[int]) -> Iterator[tuple[Longs, float]]:
    """Play a stream; when the number of documents first reaches each size, the documents and the seconds so far."""
    waiting = list(zip(sizes, stream.present_at(sizes), strict=True))
    present, seconds = 0, 0.0
    for document, removed in stream:
        start = time.perf_counter()
        if removed:
            system.remove(document)
        else:
            system.add(document)
        seconds += time.perf_counter() - start
        present += -1 if removed else 1
        if waiting and not removed and present == waiting[0][0]:
            yield waiting.pop(0)[1], seconds


# -- tables ----------------------------------------------------------------------------------------


def _ratio(value: float | None, reference: float | None) -> float | None:
    return None if value is None or not reference else value / reference


def _lowest(found: Streamed) -> float:
    """The lowest ratio of purity or NMI, late in the stream: the end may by chance come just after a rebuild."""
    late = LATE * found.bulk[-1].documents - 1
    points = [pair for pair in zip(found.systems[GOSSAMER], found.bulk, strict=True) if pair[1].documents >= late]
    ratios = [_ratio(here.purity, bulk.purity) for here, bulk in points]
    ratios += [_ratio(here.nmi, bulk.nmi) for here, bulk in points]
    return min(ratio for ratio in ratios if ratio is not None)


def _end(found: list[Streamed]) -> Table:
    """One row for each stream: the default index at its end."""
    rows: list[Row] = []
    for each in found:
        bulk, end = each.bulk[-1], each.systems[GOSSAMER][-1]
        purity, agreement = _ratio(end.purity, bulk.purity), _ratio(end.nmi, bulk.nmi)
        rows.append(
            {
                "collection": each.collection,
                "order": each.order,
                "purity, bulk": bulk.purity,
                "purity, stream": end.purity,
                "purity ratio": purity,
                "NMI, bulk": bulk.nmi,
                "NMI, stream": end.nmi,
                "NMI ratio": agreement,
                f"both ≥ {BAR}": (purity or 0.0) >= BAR and (agreement or 0.0) >= BAR,
                f"lowest of both, from {LATE:.0%}": _lowest(each),
                "recall@10, lowest": min(each.recalls),
                "ids kept": None if each.kept is None else each.kept.ids,
                "groups kept": None if each.kept is None else each.kept.groups,
                "groups kept, bulk": None if each.kept_by_bulk is None else each.kept_by_bulk.groups,
                "assigned": each.assigned,
                "ms/operation": end.seconds / each.operations * 1e3,
            }
        )
    notes = [
        f"ids kept: of the concepts with {LARGE} or more documents, those that after the last growth of a tenth have "
        f"the same id and a Jaccard index of members of at least {SAME:g}. groups kept: those that still exist under "
        "any id; bulk: those of one bulk build that are in another over the grown collection too. assigned: of the "
        "documents of that last tenth, before they are added, those that `assign` leads into a group where their class "
        "is most frequent."
    ]
    title = f"the end of a stream beside one bulk build; the bar: ≥ {BAR} of its purity and NMI"
    return Table("stream-end", title, rows, notes, _DIGITS, ("collection", "order", "purity ratio", "NMI ratio"))


def _others(found: list[Streamed]) -> Table:
    """One row for each stream and system, at the end."""
    rows: list[Row] = []
    for each in found:
        for name, figures in each.systems.items():
            bulk, end = each.bulk[-1], figures[-1]
            rows.append(
                {
                    "collection": each.collection,
                    "order": each.order,
                    "system": name,
                    "purity": end.purity,
                    "purity ratio": _ratio(end.purity, bulk.purity),
                    "NMI": end.nmi,
                    "NMI ratio": _ratio(end.nmi, bulk.nmi),
                    "ms/operation": end.seconds / each.operations * 1e3,
                }
            )
    notes = ["Ratios are to Gossamer's bulk build.", *systems.missing()]
    return Table("stream-others", "the end of a stream, beside other systems", rows, notes, _DIGITS)


def _way(name: str, found: list[Streamed]) -> Table:
    """One row for each order and point: ratios to the bulk build of the same documents."""
    rows: list[Row] = []
    for each in found:
        for place, bulk in enumerate(each.bulk):
            at = {system: figures[place] for system, figures in each.systems.items()}
            row: dict[str, Cell] = {"order": each.order, "documents": bulk.documents, "purity, bulk": bulk.purity}
            trees = {system: figures for system, figures in at.items() if figures.purity is not None}
            row |= {f"purity ratio, {system}": _ratio(here.purity, bulk.purity) for system, here in trees.items()}
            row["NMI, bulk"] = bulk.nmi
            row |= {f"NMI ratio, {system}": _ratio(here.nmi, bulk.nmi) for system, here in at.items()}
            row["recall@10"] = each.recalls[place]
            rows.append(row)
    brief = ("order", "documents", f"purity ratio, {GOSSAMER}", f"NMI ratio, {GOSSAMER}", "recall@10")
    return Table(f"stream-{name}", f"{name}: on the way", rows, digits=_DIGITS, brief=brief)


_NAMES: Final = (GOSSAMER, systems.COBWEB, systems.KMEANS, systems.BERTOPIC)
_DIGITS: Final[dict[str, int | str]] = {
    **dict.fromkeys(("purity", "purity, bulk", "purity, stream", "purity ratio"), 3),
    **dict.fromkeys(("NMI", "NMI, bulk", "NMI, stream", "NMI ratio"), 3),
    **{f"{figure} ratio, {name}": 3 for figure in ("purity", "NMI") for name in _NAMES},
    **dict.fromkeys(("recall@10", "recall@10, lowest"), 4),
    **dict.fromkeys(("ids kept", "groups kept", "assigned"), ".1%"),
    "ms/operation": 3,
    "groups kept, bulk": ".1%",
    f"lowest of both, from {LATE:.0%}": 3,
}


def picture(report: Report, out: Path) -> list[Path]:
    """Draw ratios to the bulk build over time: a panel for each collection and measure, a line for each order."""
    drawn = []
    for measure in ("purity", "NMI"):
        for table in report.tables[2:]:
            curves: dict[str, list[tuple[float, float]]] = {}
            for row in table.rows:
                value, size = row.get(f"{measure} ratio, {GOSSAMER}"), row["documents"]
                if isinstance(value, float) and isinstance(size, int):
                    curves.setdefault(str(row["order"]), []).append((size, value))
            name = table.key.removeprefix("stream-")
            drawn.append(Panel(f"{name}: {measure}, ratio to the bulk build", curves, level=BAR))
    columns = len(report.tables) - 2
    return [panels(drawn, out / report.name / "stream.png", across="documents", columns=columns)]
