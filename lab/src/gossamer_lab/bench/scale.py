"""Growth: building, memory and searching from ten thousand vectors to a million, beside other indexes; one index of
half a million texts, also with less memory than it has bytes.

Every index is built and searched in a process of its own, so that its memory can be told. Run as a program
(``python -m gossamer_lab.bench.scale FOLDER SYSTEM SIZE``), this module is that process: it prints JSON.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer_lab.bench import text
from gossamer_lab.bench.data import embeddings_folder, load_set, spread_evenly
from gossamer_lab.bench.limits import memory_limit
from gossamer_lab.bench.measures import Ids, cost_at, exact_neighbours, exponent, overlap, recall
from gossamer_lab.bench.peers import FAISS_HNSW, FAISS_SQ8, HNSWLIB, SYMPHONY, is_installed, missing, peers
from gossamer_lab.bench.stream.waits import mixtures
from gossamer_lab.bench.systems import LINKED, Contender, build_gossamer, gossamer_raw
from gossamer_lab.data.embedded import encode
from gossamer_lab.data.files import kept
from gossamer_lab.engine import Floats, cores
from gossamer_lab.job import Job
from gossamer_lab.pictures import Panel, panels
from gossamer_lab.tables import Cell, Report, Row, Table
from gossamer_lab.timing import clock, threads

SIZES: Final = (10_000, 50_000, 100_000, 250_000, 400_000, 537_018, 1_000_000)
SYSTEMS: Final = (LINKED, HNSWLIB, FAISS_HNSW, FAISS_SQ8, SYMPHONY)
_FEWER: Final = {400_000: (LINKED, HNSWLIB), 1_000_000: (LINKED,)}
"""Sizes at which not all systems are built: it would take another hour."""
RECALLS: Final = (0.95, 0.98, 0.99)
K: Final = 10
_QUERIES: Final = 500
_ROUNDS: Final = 3
_SINGLES: Final = 200
_MEGABYTE: Final = 2**20
_LIMIT: Final = 2**30
_LIMITED: Final = 400_000
"""Bytes of memory of a process that searches an index of so many texts, which is larger than that."""


@dataclass(frozen=True)
class Wanted:
    """What is measured: sizes, systems, and whether an index of all texts is made."""

    sizes: Sequence[int] = SIZES
    systems: Sequence[str] = SYSTEMS
    texts: bool = True
    model: str = "minilm"
    seed: int = 0
    resume: bool = False
    """Whether to take what a run that was stopped has measured."""

    def systems_at(self, size: int) -> list[str]:
        """The systems that are built over so many documents, as far as they are installed."""
        systems = _FEWER.get(size, SYSTEMS) if tuple(self.systems) == SYSTEMS else self.systems
        return [system for system in systems if is_installed(system)]


@dataclass(frozen=True)
class Setting:
    """One setting of a system: its recall, seconds a query, and nodes scored where they are known."""

    name: str
    recall: float
    batch: float
    single: float
    scored: float | None


@dataclass(frozen=True)
class Built:
    """What building an index took, and what its searches take."""

    system: str
    documents: int
    seconds: float
    core_seconds: float
    peak: int
    """Bytes in memory at most, beyond the vectors that were given."""
    bytes: int
    """Of the index, as it is saved or held."""
    settings: Sequence[Setting] = field(default_factory=list)


def report(wanted: Wanted, job: Job) -> Report:
    """Build every size by every system, then an index of texts."""
    texts = _questions(embeddings_folder(job.folder).parent)
    encoding, (E, _) = clock(lambda: encode(wanted.model, texts, cache=job.cache, say=job.say))
    steps = _Steps(kept(job.cache) / "scale", resume=wanted.resume)
    built: list[Built] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _, Q = load_set(embeddings_folder(job.folder), "qqp")
        _write(folder, E, Q, max(wanted.sizes), wanted.seed)
        pairs = [(size, system) for size in wanted.sizes for system in wanted.systems_at(size)]
        for number, (size, system) in enumerate(pairs):
            job.say(f"{system}, {size:,}", number, len(pairs))
            measured = steps.done(f"{system}-{size}", lambda: _in_process(folder, system, size))  # noqa: B023
            built.append(Built(**{**measured, "settings": [Setting(**each) for each in measured["settings"]]}))
    tables = [_buildings(built), _searches(built), _exponents(built)]
    if wanted.texts:
        job.say("an index of texts", 0, 0)
        tables += _text_tables(texts, E, encoding, steps, job)
    about = (
        f"QQP, {len(texts):,} questions by {wanted.model}, {E.shape[1]} dimensions; mixtures of near ones beyond that"
    )
    return job.report("scale", about, tables)


def _questions(shared: Path) -> list[str]:
    with gzip.open(shared / "data" / "qqp" / "corpus.jsonl.gz", "rt") as lines:
        return [json.loads(line)["text"] for line in lines]


def _write(folder: Path, E: Floats, Q: Floats, most: int, seed: int) -> None:
    """Write the vectors that the measured processes read: all there are, and mixtures of near ones up to `most`."""
    if most > len(E):
        E = np.concatenate([E, mixtures(E, most - len(E), seed)])
    np.save(folder / "documents.npy", E[:most])
    np.save(folder / "queries.npy", Q[spread_evenly(len(Q), _QUERIES)])


@dataclass(frozen=True)
class _Steps:
    """What was measured so far, a file for each step: a run takes an hour, and can be stopped and taken up again."""

    folder: Path
    resume: bool

    def __post_init__(self) -> None:
        """Forget an earlier run, unless this one goes on with it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in () if self.resume else self.folder.glob("*.json"):
            file.unlink()

    def done(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a step has measured, now or before."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            file.write_text(json.dumps(work()))
        found: dict[str, Any] = json.loads(file.read_text())
        return found


def _in_process(folder: Path, system: str, size: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "gossamer_lab.bench.scale", str(folder), system, str(size)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


# -- tables ----------------------------------------------------------------------------------------


def _buildings(built: Sequence[Built]) -> Table:
    rows: list[Row] = []
    theirs = {each.documents: each for each in built if each.system == HNSWLIB}
    for each in built:
        other = theirs.get(each.documents)
        rows.append(
            {
                "documents": each.documents,
                "system": each.system,
                "seconds": each.seconds,
                "× hnswlib": each.seconds / other.seconds if other else None,
                "core seconds": each.core_seconds,
                "peak, MB": each.peak / _MEGABYTE,
                "bytes a document": each.bytes / each.documents,
            }
        )
    notes = [
        f"Raw vectors in, {cores()} cores. peak: the most memory while building, beyond the vectors given. bytes a "
        "document: the arrays of gossamer with room to grow, less the vectors as they came; of the others, as saved.",
        *missing(),
    ]
    return Table("scale-building", "building", rows, notes, {"× hnswlib": 2, "seconds": 1, "peak, MB": 0})


def _searches(built: Sequence[Built]) -> Table:
    rows: list[Row] = []
    for each in built:
        row: dict[str, Cell] = {"documents": each.documents, "system": each.system}
        for wanted in RECALLS:
            row[f"µs at {wanted}"] = _micros(each, wanted, [one.batch for one in each.settings])
        for wanted in RECALLS:
            row[f"µs at {wanted}, one a call"] = _micros(each, wanted, [one.single for one in each.settings])
        scored = [one for one in each.settings if one.scored is not None and one.recall >= RECALLS[1]]
        row["nodes scored"] = min(scored, key=lambda one: one.batch).scored if scored else None
        row["best recall"] = max(one.recall for one in each.settings)
        rows.append(row)
    notes = [
        f"µs a query for recall@{K}, one thread: {_QUERIES} queries in one call, and one a call; between two settings "
        "linear in recall and log time. Recall is against each system's own exact answers: gossamer's exhaustive "
        "ranking, and exact L2. gossamer has calibrated targets, the cheapest of which may reach more than is asked."
    ]
    digits: dict[str, int | str] = {"best recall": 4, "nodes scored": 0}
    return Table("scale-search", "searching", rows, notes, digits)


def _micros(each: Built, wanted: float, seconds: Sequence[float]) -> float | None:
    cost = cost_at(wanted, [one.recall for one in each.settings], seconds)
    return None if cost is None else 1e6 * cost


def _exponents(built: Sequence[Built]) -> Table:
    """The b of cost ~ N^b of each system."""
    rows: list[Row] = []
    for system in dict.fromkeys(each.system for each in built):
        own = [each for each in built if each.system == system]
        times = [_micros(each, RECALLS[1], [one.batch for one in each.settings]) for each in own]
        known = [(each.documents, each.seconds, time) for each, time in zip(own, times, strict=True) if time]
        if len(known) > 1:
            sizes, seconds, micros = zip(*known, strict=True)
            rows.append({"system": system, "building": exponent(sizes, seconds), "searching": exponent(sizes, micros)})
    note = f"The b of time ~ N^b, by least squares on logarithms: of building, and of searching at recall {RECALLS[1]}."
    return Table("scale-growth", "growth", rows, [note], {"building": 2, "searching": 2})


def picture(report: Report, out: Path) -> list[Path]:
    """Seconds of building, and µs of searching, by size."""
    building, searching = report.tables[0], report.tables[1]
    drawn = [
        Panel("building, seconds", _curves(building, "seconds"), logarithmic=True),
        Panel(f"µs at recall {RECALLS[1]}", _curves(searching, f"µs at {RECALLS[1]}"), logarithmic=True),
        Panel("peak memory, MB", _curves(building, "peak, MB"), logarithmic=True),
    ]
    return [panels(drawn, out / "scale" / "scale.png", across="documents", columns=3, logarithmic=True)]


def _curves(table: Table, column: str) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        value = row.get(column)
        if isinstance(value, int | float):
            found.setdefault(str(row["system"]), []).append((float(row["documents"] or 0), float(value)))
    return found


# -- an index of texts -----------------------------------------------------------------------------


def _text_tables(texts: list[str], E: Floats, encoding: float, steps: _Steps, job: Job) -> list[Table]:
    folder = embeddings_folder(job.folder)
    setup = json.loads(gzip.decompress((folder / "qqp-setup.json.gz").read_bytes()))
    _, Q = load_set(folder, "qqp")

    def measured(count: int, *, limited: bool) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as name:
            there = Path(name)
            text.Corpus(texts[:count], E[:count], setup["queries"], Q).write(there, min(100, len(Q) // 12))
            found: dict[str, Any] = {"built": text.run_part("build", there)}
            if not limited:
                return {**found, "search": text.run_part("search alone", there)}
            with memory_limit(_LIMIT) as enter, suppress(subprocess.CalledProcessError):  # it was killed
                return found if enter is None else {**found, "search": text.run_part("search alone", there, enter)}
            return found

    whole = steps.done("texts", lambda: measured(len(texts), limited=False))
    fewer = min(_LIMITED, len(texts))
    limited = steps.done("texts-limited", lambda: measured(fewer, limited=True))
    built, found = whole["built"], {(len(texts), "all there is"): whole["search"]}
    if "search" in limited:
        found[fewer, "1 GB"] = limited["search"]
    stages: list[Row] = [{"what": "encoding, or reading from the cache", "value": encoding, "unit": "s"}]
    stages += [{"what": stage, "value": seconds, "unit": "s"} for stage, seconds in built["seconds"].items()]
    stages += [
        {"what": "most memory while building", "value": built["peak"] / _MEGABYTE, "unit": "MB"},
        {"what": "folder", "value": built["disk"]["all"] / _MEGABYTE, "unit": "MB"},
        {"what": "folder, a document", "value": float(built["disk"]["all"] / len(texts)), "unit": "bytes"},
    ]
    rows: list[Row] = []
    for (count, limit), each in found.items():
        row: dict[str, Cell] = {"documents": count, "memory": limit, "opening, s": each["opening"]}
        row["opened, MB"] = each["memory"]["opened"] / _MEGABYTE
        row["after searches, MB"] = each["memory"]["after searches"] / _MEGABYTE
        rows.append(row | {kind: times["first_sight"] for kind, times in each["calls"].items()})
    notes = [
        "Milliseconds for one call at first sight, median, the vector of the query given; memory: growth of the "
        "resident set of the process. 1 GB: a control group of one GB, page cache included, in which the index does "
        "not fit: pages are read from disk again and again." + ("" if len(found) > 1 else " That did not succeed here.")
    ]
    digits: dict[str, int | str] = dict.fromkeys(whole["search"]["calls"], 2)
    return [
        Table("scale-stages", f"an index of {len(texts):,} texts", stages),
        Table("scale-text", "what a call costs there", rows, notes, {**digits, "opening, s": 2}),
    ]


# -- the process that is measured ------------------------------------------------------------------


def _measured(folder: Path, system: str, size: int) -> Built:
    X = np.array(np.load(folder / "documents.npy", mmap_mode="r")[:size])
    Q = np.load(folder / "queries.npy")
    if system == LINKED:
        build_gossamer(X[:3000])  # compiles
    before, now, used = text.resident(), time.perf_counter(), time.process_time()
    entered = iter(gossamer_raw(X, None, K) if system == LINKED else peers(X, K, cores())[system]())
    first = next(entered)
    seconds, spent, peak = time.perf_counter() - now, time.process_time() - used, text.peak() - before
    with threads(1):
        settings = list(_settings([first, *entered], X, Q))
    built = first.built
    return Built(system, size, min(seconds, built.seconds), spent, peak, built.bytes, settings)


def _settings(entered: Iterable[Contender], X: Floats, Q: Floats) -> Iterable[Setting]:
    exact: Ids | None = None
    rows = [Q[at : at + 1] for at in range(min(_SINGLES, len(Q)))]
    for each in entered:
        if exact is None:
            own = each.reference == "own"
            exact = each.built.index.search(Q, K, "path-sum").ids if own else exact_neighbours(X, Q, K)
        each.prepare()
        each.search(Q[:20])
        batch = min(clock(lambda each=each: each.search(Q))[0] for _ in range(_ROUNDS)) / len(Q)  # type: ignore[misc]
        single = min(clock(lambda each=each: list(map(each.search, rows)))[0] for _ in range(_ROUNDS))  # type: ignore[misc]
        found = each.search(Q)
        share = overlap(found, exact) if each.reference == "own" else recall(X, Q, found, exact)
        yield Setting(each.setting, share, batch, single / len(rows), each.cost(Q))


if __name__ == "__main__":
    from gossamer_lab.bench import scale

    os.environ.setdefault("OMP_NUM_THREADS", str(cores()))
    json.dump(asdict(scale._measured(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))), sys.stdout)
