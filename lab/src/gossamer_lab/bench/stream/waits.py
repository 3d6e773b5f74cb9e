"""Searches beside an index that grows one document at a time: how long a search and an addition wait."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Final, Self

import numpy as np

from gossamer import VectorIndex
from gossamer.errors import InputError
from gossamer_lab.bench.data import embeddings_folder, load_set, spread_evenly
from gossamer_lab.bench.stream.measures import K, recall_at_10
from gossamer_lab.bench.stream.stalls import Stalls
from gossamer_lab.engine import Doubles, Floats, use_kernels_of_large_renewals
from gossamer_lab.job import Job
from gossamer_lab.pictures import Panel, panels
from gossamer_lab.tables import Cell, Report, Row, Table

SLICES: Final = 10
SEARCH_BAR, ADD_BAR, MEAN_BAR, RECALL_BAR = 50.0, 100.0, 1.0, 0.98
"""Milliseconds that a search and an addition may wait at most, those of a mean addition, and the default recall."""

_ALONE: Final = 2.0
"""Seconds of searching before the index grows: what a wait is without additions."""
_QUERIES: Final = 200
"""Queries of each set with which recall is measured."""
_BLOCK, _OTHERS = 4096, 8192
"""Mixtures made at once, and the documents among which the nearest of each is looked for."""


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

    first: int = 30_000
    """Documents that are added at once, before the growth."""
    last: int = 150_000
    threads: int = 4
    """Threads that search."""
    pause: float = 1.0
    """Milliseconds that each of them waits between two searches. Without, they take every core and the interpreter's
    lock from each other, and wait for that longer than for the index."""
    minutes: float | None = None
    """The growth ends after this time, wherever it is."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that there is something to grow."""
        if self.last - self.first < SLICES:
            raise InputError(f"the index grows from {self.first:,} to {self.last:,}: give at least {SLICES} more")


@dataclass(frozen=True)
class Growth:
    """Documents in order of arrival, where each source begins, and queries by source."""

    E: Floats
    starts: dict[str, int]
    queries: dict[str, Floats]


@dataclass
class Slice:
    """A part of the growth: seconds that each search and each addition waited, and the recall after it."""

    documents: int
    searches: Doubles
    adds: Doubles
    cpu: float = 0.0
    """Seconds of processor time of the thread that adds."""
    stall: float = 0.0
    """The longest time, in seconds, that a process which only sleeps was not run."""
    recalls: dict[str, float] = field(default_factory=dict)


def report(wanted: Wanted, job: Job) -> Report:
    """Grow an index while threads search, and write a table of waits over time."""
    job.say("reading vectors", 0, 0)
    growth = load(embeddings_folder(job.folder), wanted.last, wanted.seed)
    job.say("compiling", 0, 0)
    _warm_up(growth)
    slices = grow(growth, wanted, job)
    reached = slices[-1].documents
    notes = [
        "ms that a call waited, by the clock, with all threads of this process at work: median, 99th and 99.9th "
        "percentile, and the longest. CPU: processor time of the adding thread. stall: the longest time that processes "
        "which only sleep, one on each core, were not run: such a stall of the machine is in every wait that it meets. "
        "recall@10: default search against the exhaustive ranking, measured while searches and additions rest."
    ]
    if reached < wanted.last:
        notes.append(f"Stopped after {wanted.minutes:g} minutes, at {reached:,} of {wanted.last:,} documents.")
    tables = [_bars(slices), Table("stream-waits-time", "waits over time", _rows(slices), notes, _DIGITS)]
    sources = ", ".join(f"{name} from {start + 1:,}" for name, start in growth.starts.items() if start < reached)
    about = f"minilm vectors, from {wanted.first:,} to {reached:,} documents ({sources})"
    pause = f", each pausing {wanted.pause:g} ms between two" if wanted.pause else ""
    return job.report("stream-waits", f"{about}; {wanted.threads} threads search{pause}", tables)


# -- vectors ---------------------------------------------------------------------------------------


def load(folder: Path, rows: int, seed: int) -> Growth:
    """QQP, then MS MARCO, then mixtures of near documents of both, as many as are needed."""
    parts, starts, queries = [], {}, {}
    total = 0
    for label, name in (("QQP", "qqp"), ("MS MARCO", "msmarco")):
        if total >= rows:
            break
        E, Q = load_set(folder, name)
        starts[label], queries[label] = total, Q[spread_evenly(len(Q), 5 * _QUERIES)]
        parts.append(E[: rows - total])
        total += len(parts[-1])
    if total < rows:
        starts["mixtures"] = total
        parts.append(mixtures(np.concatenate(parts), rows - total, seed))
    return Growth(np.concatenate(parts), starts, queries)


def mixtures(E: Floats, count: int, seed: int) -> Floats:
    """Vectors between two near documents: the mean of a random one and its nearest among some thousands, at length one.

    Which documents, and which thousands, is chosen by the seed.
    """
    rng = np.random.default_rng(seed)
    made = np.empty((count, E.shape[1]), np.float32)
    for start in range(0, count, _BLOCK):
        some = rng.integers(0, len(E), min(_BLOCK, count - start))
        others = rng.permutation(len(E))[:_OTHERS]
        cosines = E[some] @ E[others].T
        cosines[some[:, None] == others[None, :]] = -np.inf
        mean = E[some] + E[others[cosines.argmax(axis=1)]]
        made[start : start + len(some)] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return made


# -- growing ---------------------------------------------------------------------------------------


class Searchers:
    """Threads that search with one query a call until they are told to rest, and note how long each call took."""

    def __init__(self, index: VectorIndex, Q: Floats, count: int, pause: float) -> None:
        self._index, self._Q, self._pause = index, Q, pause
        self._go, self._end, self._idle = Event(), Event(), Semaphore(0)
        self._waits: list[list[float]] = [[] for _ in range(count)]
        self._error: BaseException | None = None
        self._threads = [Thread(target=self._work, args=(number,), daemon=True) for number in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self._all_idle()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._go.set()
        for thread in self._threads:
            thread.join()

    def resume(self) -> None:
        """Let all of them search."""
        self._go.set()

    def rest(self) -> Doubles:
        """Wait until none is searching; the seconds of every search since the last rest."""
        self._go.clear()
        self._all_idle()
        if self._error is not None:
            raise self._error
        waits = np.array([wait for each in self._waits for wait in each])
        for each in self._waits:
            each.clear()
        return waits

    def _all_idle(self) -> None:
        for _ in self._threads:
            self._idle.acquire()

    def _work(self, number: int) -> None:
        waits = self._waits[number]
        order = np.random.default_rng(number).permutation(len(self._Q))
        place = 0
        while not self._end.is_set():
            if not self._go.is_set():
                self._idle.release()
                self._go.wait()
                continue
            try:
                start = time.perf_counter()
                self._index.search(self._Q[order[place % len(order)]], K)
                waits.append(time.perf_counter() - start)
            except BaseException as error:
                self._error = error
                self._go.clear()
            place += 1
            if self._pause:
                time.sleep(self._pause / 1e3)


def grow(growth: Growth, wanted: Wanted, job: Job) -> list[Slice]:
    """The first part without additions, then the slices of the growth."""
    job.say(f"adding {wanted.first:,} at once", 0, 0)
    index = VectorIndex(growth.E.shape[1])
    index.add(growth.E[: wanted.first], list(range(wanted.first)))
    index.settle()
    edges = np.linspace(wanted.first, wanted.last, SLICES + 1).astype(int).tolist()
    with Stalls() as stalls, Searchers(index, _mixed(growth.queries), wanted.threads, wanted.pause) as searchers:
        searchers.resume()
        stalls.longest()
        time.sleep(_ALONE)
        alone = Slice(wanted.first, searchers.rest(), np.zeros(0), stall=stalls.longest())
        slices = [replace(alone, recalls=_recalls(index, growth))]
        deadline = None if wanted.minutes is None else time.perf_counter() + 60.0 * wanted.minutes
        for done, (start, stop) in enumerate(pairwise(edges)):
            job.say(f"growing to {stop:,}", done, SLICES)
            stalls.longest()
            searchers.resume()
            before = time.thread_time()
            adds = _add(index, growth.E, range(start, stop), deadline)
            cpu = time.thread_time() - before
            waits, stall = searchers.rest(), stalls.longest()
            slices.append(Slice(start + len(adds), waits, np.array(adds), cpu, stall, _recalls(index, growth)))
            if len(adds) < stop - start:
                break
    return slices


def _add(index: VectorIndex, E: Floats, rows: range, deadline: float | None) -> list[float]:
    """Add documents one by one until the deadline; the seconds of each."""
    waits = []
    for row in rows:
        start = time.perf_counter()
        if deadline is not None and start > deadline:
            break
        index.add(E[row : row + 1], [row])
        waits.append(time.perf_counter() - start)
    return waits


def _mixed(queries: dict[str, Floats]) -> Floats:
    return np.concatenate(list(queries.values()))


def _recalls(index: VectorIndex, growth: Growth) -> dict[str, float]:
    """By queries of the sources that the index has documents of."""
    there = {name: Q for name, Q in growth.queries.items() if growth.starts[name] < len(index)}
    return {name: recall_at_10(index, Q[spread_evenly(len(Q), _QUERIES)]) for name, Q in there.items()}


def _warm_up(growth: Growth) -> None:
    """Load every kernel: what is compiled while it is measured would be the longest wait.

    Another process compiles what is not cached yet. What compiling leaves behind in memory, a million small objects,
    would delay every thread for a third of a second whenever Python looks for garbage.
    """
    count = 5 * growth.E.shape[1]
    first = replace(growth, E=growth.E[: count + count // 8])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(_use_every_kernel, first).result()
    _use_every_kernel(first)
    # Nor is it the index that waits while Python looks for garbage of the progress display through all modules.
    gc.collect()
    gc.freeze()


def _use_every_kernel(growth: Growth) -> None:
    index = VectorIndex(growth.E.shape[1])
    count = min(len(growth.E), 5 * growth.E.shape[1])
    index.add(growth.E[:count], list(range(count)))
    for row in range(count, min(len(growth.E), count + count // 8)):
        index.add(growth.E[row : row + 1], [row])
        index.search(growth.E[row], K)
    recall_at_10(index, _mixed(growth.queries)[:2])
    use_kernels_of_large_renewals()


# -- tables ----------------------------------------------------------------------------------------

_SHARES: Final = {"median": 50.0, "99 %": 99.0, "99.9 %": 99.9, "longest": 100.0}


def _percentiles(what: str, seconds: Doubles) -> dict[str, Cell]:
    found = np.percentile(seconds, list(_SHARES.values())) * 1e3 if len(seconds) else [None] * len(_SHARES)
    return {f"{what} ms, {name}": None if ms is None else float(ms) for name, ms in zip(_SHARES, found, strict=True)}


def _row(label: str, part: Slice) -> Row:
    n = len(part.adds)
    return {
        "documents": label,
        "searches": len(part.searches),
        **_percentiles("search", part.searches),
        "adds": n,
        **_percentiles("add", part.adds),
        "add ms, mean": float(part.adds.mean()) * 1e3 if n else None,
        "add ms, CPU": part.cpu / n * 1e3 if n else None,
        "stall, ms": part.stall * 1e3,
        **{f"recall@10, {name}": value for name, value in part.recalls.items()},
    }


def _rows(slices: Sequence[Slice]) -> list[Row]:
    alone, *grown = slices
    rows = [_row(f"{alone.documents:,}, no additions", alone)]
    rows += [_row(f"to {part.documents:,}", part) for part in grown if len(part.adds)]
    return [*rows, _row("the whole growth", _together(grown))]


def _together(slices: Sequence[Slice]) -> Slice:
    """All slices as one, with the lowest recall of each set of queries."""
    names = dict.fromkeys(name for part in slices for name in part.recalls)
    return Slice(
        slices[-1].documents,
        np.concatenate([part.searches for part in slices]),
        np.concatenate([part.adds for part in slices]),
        sum(part.cpu for part in slices),
        max(part.stall for part in slices),
        {name: min(part.recalls[name] for part in slices if name in part.recalls) for name in names},
    )


def _bars(slices: Sequence[Slice]) -> Table:
    whole = _together(slices[1:])
    measured = {
        "longest wait of a search, ms": (1e3 * whole.searches.max(initial=0.0), SEARCH_BAR),
        "longest wait of an addition, ms": (1e3 * whole.adds.max(initial=0.0), ADD_BAR),
        "mean addition, ms": (1e3 * float(whole.adds.mean()), MEAN_BAR),
        "mean addition, ms of CPU": (1e3 * whole.cpu / len(whole.adds), MEAN_BAR),
    }
    rows: list[Row] = [
        {"what": what, "measured": float(value), "bar": f"≤ {bar:g}", "met": bool(value <= bar)}
        for what, (value, bar) in measured.items()
    ]
    rows.append({"what": "longest stall of the machine, ms", "measured": 1e3 * whole.stall, "bar": "", "met": None})
    lowest = min(value for part in slices for value in part.recalls.values())
    rows.append({"what": "lowest recall@10", "measured": lowest, "bar": f"≥ {RECALL_BAR}", "met": lowest >= RECALL_BAR})
    return Table("stream-waits-bars", "the bars", rows, digits={"measured": ".6g"})


_DIGITS: Final = {
    **{f"{what} ms, {share}": 2 for what in ("search", "add") for share in (*_SHARES, "mean", "CPU")},
    "stall, ms": 1,
    **{f"recall@10, {name}": 4 for name in ("QQP", "MS MARCO")},
}


def picture(report: Report, out: Path) -> list[Path]:
    """Draw waits of searches and of additions, and recall, over the number of documents."""
    over_time = report.tables[-1]
    rows = [(float(str(row["documents"])[3:].replace(",", "")), row) for row in over_time.rows[1:-1]]
    drawn = []
    for what, level in (("search", SEARCH_BAR), ("add", ADD_BAR)):
        curves = {share: _curve(rows, f"{what} ms, {share}") for share in _SHARES}
        drawn.append(Panel(f"{what}: ms waited", curves, logarithmic=True, level=level))
    names = [name for name in over_time.columns if name.startswith("recall@10")]
    recalls = {f"{name} queries": _curve(rows, name) for name in names}
    drawn.append(Panel("recall@10", recalls, level=RECALL_BAR))
    return [panels(drawn, out / report.name / "waits.png", across="documents", columns=3)]


def _curve(rows: Sequence[tuple[float, Row]], column: str) -> list[tuple[float, float]]:
    return [(size, value) for size, row in rows if isinstance(value := row.get(column), float)]
