"""Recall against time: every system, every setting, one query a call and all in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from gossamer import VectorIndex
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.measures import Ids, cost_at, exact_neighbours, first_reaching, front, overlap, recall
from gossamer_lab.bench.peers import EFS, FLAT, HNSWLIB, PROBES, Maker, missing, peers
from gossamer_lab.bench.report import Report, Row, section
from gossamer_lab.bench.systems import (
    LINKED,
    PAPER,
    PATH_SUM,
    SLACKS,
    TREE,
    Contender,
    build_gossamer,
    gossamer,
    gossamer_raw,
    paper_tree,
    tree_alone,
)
from gossamer_lab.engine import Floats, Kernel, cores
from gossamer_lab.timing import Say, Times, clock, take_turns, threads

RECALLS: Final = (0.95, 0.98)
RAW_RECALLS: Final = (0.95, 0.98, 0.99, 0.995, 0.999)
_SINGLES: Final = 0.3
"""Seconds of a round for single queries of one contender: a slow one gets fewer queries."""
_BATCHES: Final = 2.0
"""Seconds of a round for the batch of one contender."""
_LOWEST: Final = 0.8
"""The lowest recall that the picture shows."""

SAME_QUESTION: Final = (
    "All systems search the same vectors, whitened once. With context 0 gossamer's exhaustive ranking is exact L2, so "
    "all of them answer the same question; recall is against it. Rows with context 1 or the paper's tree "
    "search for the paper's path-sum instead: their recall is against path-sum over all documents of the same tree."
)


OWN_QUESTION: Final = (
    "Raw vectors in, for every system: gossamer whitens them, and its recall is against its own exhaustive ranking; "
    "that of the others is against exact L2 of the raw vectors."
)


@dataclass(frozen=True)
class Measured:
    """A contender with its recall, times and cost."""

    contender: Contender
    recall: float
    batch: Times
    """Times for each query, all queries in one call."""
    single: Times
    """Times for each query, one query a call."""
    cost: float | None

    def row(self) -> Row:
        """A row of the table."""
        it = self.contender
        return {
            "system": it.system,
            "setting": it.setting,
            "recall": self.recall,
            "µs single": self.single.best * 1e6,
            "µs single, median": self.single.median * 1e6,
            "µs batch": self.batch.best * 1e6,
            "µs batch, median": self.batch.median * 1e6,
            "spread": self.batch.spread,
            "queries/s": 1.0 / self.batch.best,
            "scored": self.cost,
            "share": self.cost / it.nodes if self.cost is not None and it.nodes else None,
            "build seconds": it.built.seconds,
            "bytes/vector": None,
        }


def run(data: Data, *, k: int = 10, raw: bool = False, repeats: int, n_threads: int, quick: bool, say: Say) -> Report:
    """Search with every system, and compare gossamer's curve with the others'.

    All systems search the same whitened vectors; with `raw` the vectors as they came, through their public calls.
    """
    searched = replace(data, X=data.raw, Q=data.raw_queries) if raw else data
    exact = exact_neighbours(searched.X, searched.Q, k)
    with threads(cores()):
        entered = list(_contenders(searched, k, say, quick=quick, raw=raw))
    with threads(n_threads):
        measured = measure(searched, k, entered, exact, repeats, say)
        ends = [] if raw or n_threads > 1 else end_to_end(data, k, entered, repeats, say)
    rows = [{**m.row(), "bytes/vector": m.contender.built.bytes / len(data.X)} for m in measured]
    notes = [OWN_QUESTION if raw else SAME_QUESTION, _LEGEND, *missing()]
    sections = [
        section("recall and time", rows, notes),
        section("gossamer's time as a share of others' at the same recall", compare(measured), [_COMPARED]),
        section("calibrated targets on real queries", targets(measured)),
        section("one raw query at a time, through VectorIndex.search", ends, [_ENDS] if ends else []),
    ]
    settings = {"threads": n_threads, "rounds": repeats, "k": k, "vectors": "raw" if raw else "whitened"}
    return Report("search", data.description, settings, sections)


def _contenders(data: Data, k: int, say: Say, *, quick: bool, raw: bool) -> Iterator[Contender]:
    """Every system that is installed, with all its settings."""
    X = data.X
    build_gossamer(X[:3000])  # compiles
    ours: dict[str, Maker] = {
        LINKED: partial(gossamer, X, k), TREE: partial(tree_alone, X, k), PAPER: partial(paper_tree, X, k)
    }  # fmt: skip
    if raw:
        ours = {LINKED: partial(gossamer_raw, X, data.whitener, k)}
    for name, maker in {**ours, **peers(X, k, cores())}.items():
        say(f"building {name}")
        for each in maker():
            if not quick or _in_quick_run(each):
                yield each


def _in_quick_run(contender: Contender) -> bool:
    """A quick run has every other step of long ladders of settings."""
    ladders: tuple[tuple[Sequence[float], str], ...] = ((SLACKS, "slack"), (EFS, "ef"), (PROBES, "probes"))
    for ladder, word in ladders:
        if contender.setting.startswith(f"{word} "):
            return ladder.index(float(contender.setting.split()[1])) % 2 == 0
    return True


def measure(data: Data, k: int, entered: Sequence[Contender], exact: Ids, repeats: int, say: Say) -> list[Measured]:
    """Recall once, then rounds of timing in which all take turns."""
    answers = {}
    costs = {}
    at_once: dict[str, Floats] = {}
    lots: dict[str, Floats] = {}
    for each in entered:
        say(f"answers of {each.name}")
        each.prepare()
        each.search(data.Q[:2])
        each.search(data.Q)
        seconds, answers[each.name] = clock(lambda each=each: each.search(data.Q))  # type: ignore[misc]
        costs[each.name] = each.cost(data.Q)
        batch = seconds / len(data.Q)
        at_once[each.name] = data.Q[: max(100, int(_BATCHES / batch))]
        lots[each.name] = data.Q[: _lot(each, data.Q, batch)]
    batches = take_turns({e.name: _batch(e, at_once[e.name]) for e in entered}, repeats, say)
    singles = take_turns({e.name: _singles(e, lots[e.name]) for e in entered}, repeats, say)
    return [
        Measured(
            each,
            _recall(each, data, k, answers[each.name], exact),
            batches[each.name].over(len(at_once[each.name])),
            singles[each.name].over(len(lots[each.name])),
            costs[each.name],
        )
        for each in entered
    ]


def _recall(contender: Contender, data: Data, k: int, found: Ids, exact: Ids) -> float:
    if contender.reference != "L2":
        index: VectorIndex = contender.built.index
        context = 1.0 if contender.reference == "path-sum" else None
        return overlap(found, index.search(data.Q, k, "path-sum", context=context).ids)
    return recall(data.X, data.Q, found, exact)


def _lot(contender: Contender, Q: Floats, batch: float) -> int:
    """How many single queries fit into a round, by a few that are timed."""
    seconds, _ = clock(lambda: [contender.search(Q[i : i + 1]) for i in range(min(5, len(Q)))])
    each = max(batch, seconds / min(5, len(Q)))
    return max(5, min(len(Q), int(_SINGLES / each)))


def _batch(contender: Contender, Q: Floats) -> Callable[[], float]:
    def work() -> float:
        contender.prepare()
        contender.search(Q[:20])
        return clock(lambda: contender.search(Q))[0]

    return work


def _singles(contender: Contender, Q: Floats) -> Callable[[], float]:
    def work() -> float:
        contender.prepare()
        search, rows = contender.search, [Q[i : i + 1] for i in range(len(Q))]
        for row in rows[:20]:
            search(row)
        return clock(lambda: [search(row) for row in rows])[0]

    return work


# -- gossamer beside the others --------------------------------------------------------------------

_COMPARED: Final = (
    "Gossamer's cheapest setting that reaches the recall, over the other's time interpolated to the recall it has "
    "(linear in recall and log time between settings). Batches: the best of all rounds, then both in the same "
    "round; single: one query a call, best rounds."
)


def compare(measured: Sequence[Measured]) -> list[Row]:
    """For each recall: gossamer's time over that of every other system."""
    ours = [m for m in measured if m.contender.system == LINKED and m.contender.setting.startswith(("slack", "target"))]
    raw = any(m.contender.reference == "own" for m in ours)
    others = dict.fromkeys(m.contender.system for m in measured if not m.contender.system.startswith(LINKED))
    rows: list[Row] = []
    for wanted in RAW_RECALLS if raw else RECALLS:
        at = first_reaching(wanted, [m.recall for m in ours], [m.batch.best for m in ours])
        if at is None:
            continue
        mine = ours[at]
        row: Row = {
            "recall wanted": wanted,
            "gossamer": mine.contender.setting,
            "recall": mine.recall,
            "µs": mine.batch.best * 1e6,
            "share": (mine.cost or 0.0) / mine.contender.nodes,
        }
        for other in others:
            theirs = [m for m in measured if m.contender.system == other]
            row[f"ratio {other}"] = _ratio(mine, theirs, lambda m: m.batch.best)
            row[f"ratio {other}, single"] = _ratio(mine, theirs, lambda m: m.single.best)
            if other in (HNSWLIB, FLAT):
                rounds = [_ratio(mine, theirs, _in_round(i)) for i in range(len(mine.batch.seconds))]
                known = [ratio for ratio in rounds if ratio is not None]
                row[f"ratio {other}, median round"] = float(np.median(known)) if known else None
                row[f"ratio {other}, worst round"] = max(known, default=None)
        rows.append(row)
    return rows


def _ratio(mine: Measured, theirs: Sequence[Measured], time: Callable[[Measured], float]) -> float | None:
    cost = cost_at(mine.recall, [m.recall for m in theirs], [time(m) for m in theirs])
    return None if cost is None else time(mine) / cost


def _in_round(number: int) -> Callable[[Measured], float]:
    return lambda m: m.batch.seconds[number]


def targets(measured: Sequence[Measured]) -> list[Row]:
    """The recall that was asked for, and the recall found."""
    return [
        {
            "system": m.contender.system,
            "target": float(m.contender.setting.rsplit(" ", 1)[1]),
            "recall": m.recall,
            "scored": m.cost,
            "µs batch": m.batch.best * 1e6,
        }
        for m in measured
        if m.contender.setting.startswith(("guided, target", "target"))
    ]


# -- end to end ------------------------------------------------------------------------------------

_ENDS: Final = (
    "above: what checks, whitening, locks and the result object add to the same search of whitened queries, handed to "
    "the kernel one at a time (each call costs some µs of its own) or all in one call."
)


def end_to_end(data: Data, k: int, entered: Sequence[Contender], repeats: int, say: Say) -> list[Row]:
    """Raw queries, one at a time, through the whole of `VectorIndex.search`, beside the kernel alone."""
    linked: VectorIndex = next(e.built.index for e in entered if e.system == LINKED)
    whole = VectorIndex(data.raw.shape[1], whitener=data.whitener)
    say("building gossamer on raw vectors")
    whole.add(data.raw)
    works: dict[str, Callable[[], float]] = {}
    for target in RECALLS:
        works[f"end to end {target}"] = _raw_singles(whole, data.raw_queries, k, target)
        works[f"kernel {target}"] = _kernel(linked, [data.Q], k, target)
        rows = [data.Q[i : i + 1] for i in range(len(data.Q))]
        works[f"kernel, single {target}"] = _kernel(linked, rows, k, target)
    times = {name: t.over(len(data.Q)) for name, t in take_turns(works, repeats, say).items()}
    found: list[Row] = []
    for target in RECALLS:
        end, core, single = (times[f"{what} {target}"] for what in ("end to end", "kernel", "kernel, single"))
        found.append(
            {
                "target": target,
                "µs end to end": end.best * 1e6,
                "µs kernel, single": single.best * 1e6,
                "µs kernel, batch": core.best * 1e6,
                "µs above single": (end.best - single.best) * 1e6,
                "median µs above single": (end.median - single.median) * 1e6,
                "µs above batch": (end.best - core.best) * 1e6,
                "median µs above batch": (end.median - core.median) * 1e6,
            }
        )
    return found


def _raw_singles(index: VectorIndex, Q: Floats, k: int, target: float) -> Callable[[], float]:
    rows = [Q[i] for i in range(len(Q))]
    return lambda: clock(lambda: [index.search(row, k, recall=target) for row in rows])[0]


def _kernel(index: VectorIndex, parts: Sequence[Floats], k: int, target: float) -> Callable[[], float]:
    """The search of whitened queries alone, one call a part."""
    kernel = Kernel.of(index)
    effort = kernel.effort(k, target)
    return lambda: clock(lambda: [kernel.search(part, k, effort) for part in parts])[0]


_LEGEND: Final = (
    "single: one query a call; batch: all queries in one call. µs a query, best and median round; "
    "spread: slowest less fastest round, over the median; queries/s: of the best batch. scored: nodes or distances "
    "computed for a query, where the system tells; share: of the tree's nodes."
)


def curves(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """By system: (recall, seconds a query) of the settings that no other of it beats, by rising recall.

    Gossamer's calibrated targets are left out, because they lie on the curve of the slacks.
    """
    ladders = ("slack", "target", "budget", "ef", "probes", "all")
    found: dict[str, list[tuple[float, float]]] = {}
    for system in dict.fromkeys(row["system"] for row in rows if row["system"] not in (PATH_SUM, PAPER)):
        own = [row for row in rows if row["system"] == system and row["setting"].split(" ")[0] in ladders]
        own = [row for row in own if row["recall"] >= _LOWEST]
        if points := front([row["recall"] for row in own], [1.0 / row["queries/s"] for row in own]):
            found[system] = points
    return found
