"""The text index as people call it: `Index.search` and `Index.explain` with the query's vector given; and one call of
`VectorIndex.search` beside the compiled walk alone.

Latency of each kind of call, for queries never seen before and again; memory above a process that has searched a small
index; bytes on disk. A flat NumPy scan of the same vectors runs in the same process, in turns with the calls.

Run as a program (``python -m gossamer_lab.bench.text PART FOLDER``), this module is the process that is
measured: it prints what it found as JSON.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gossamer import Index, VectorIndex
from gossamer.errors import InputError
from gossamer_lab.bench.data import embeddings_folder, load_set
from gossamer_lab.engine import Doubles, Floats, cores, walk_alone
from gossamer_lab.job import Job
from gossamer_lab.tables import Cell, Report, Row, Table
from gossamer_lab.timing import clock, threads

K: Final = 10
_SMALL: Final = 2_000
"""Documents of the index that is searched first, so that code and libraries are in memory before anything counts."""
_BATCHES: Final = 9
_TOGETHER: Final = 400
"""Queries that are asked together."""
_TURN: Final = 20
"""Calls of one kind before those of the next."""
_MEGABYTE: Final = 2**20
_STATM: Final = Path("/proc/self/statm")
_STATUS: Final = Path("/proc/self/status")

_BARS: Final = {"dense": (1.0, 0.2), "hybrid": (2.0, 0.3), "filter, 1 %": (3.0, 0.5), "explain": (15.0, 2.0)}
"""By kind of call: milliseconds at most, and times a flat scan at most."""

_WALK: Final = "the walk alone"
_ABOVE: Final = 20.0
"""Microseconds that one call of `VectorIndex.search` takes above the walk, at most."""

Ask = Callable[[str, Floats], object]


@dataclass(frozen=True)
class Wanted:
    """What is measured: so many documents of QQP, and queries of each kind."""

    rows: int | None = None
    queries: int = 200


def given(texts: list[str]) -> Floats:
    """Stands for the encoder: every vector is given."""
    raise InputError(f"vectors are given here, also those of {len(texts)} texts")


def report(wanted: Wanted, job: Job) -> Report:
    """Build an index of QQP, and measure it in a process of its own."""
    folder = embeddings_folder(job.folder)
    job.say("reading texts and vectors", 0, 0)
    E, Q = load_set(folder, "qqp")
    setup = json.loads(gzip.decompress((folder / "qqp-setup.json.gz").read_bytes()))
    corpus = Corpus(setup["corpus"][: wanted.rows], E[: wanted.rows], setup["queries"], Q)
    with tempfile.TemporaryDirectory() as name:
        corpus.write(Path(name), wanted.queries)
        job.say("building the index", 0, 0)
        built = run_part("build", Path(name))
        job.say("searching", 0, 0)
        found = run_part("search", Path(name))
        job.say("searching by vectors alone", 0, 0)
        vectors = run_part("vectors", Path(name))
    tables = [_latencies(found["calls"]), _batches(found["batch"]), _vectors(vectors)]
    tables.append(_sizes(found["memory"], built))
    about = f"QQP, {len(corpus.texts):,} questions, minilm vectors of {E.shape[1]} dimensions"
    return job.report("text", about, tables)


@dataclass(frozen=True)
class Corpus:
    """Texts and queries with their vectors."""

    texts: list[str]
    E: Floats
    queries: list[str]
    Q: Floats

    def write(self, folder: Path, count: int) -> None:
        """Write all that the measured processes read: `count` queries of each kind are asked."""
        np.save(folder / "documents.npy", self.E)
        np.save(folder / "queries.npy", self.Q)
        (folder / "texts.json").write_text(json.dumps(self.texts))
        (folder / "queries.json").write_text(json.dumps({"texts": self.queries, "count": count}))


Part: TypeAlias = Literal["build", "search", "search alone", "vectors"]
"""What a process does: build an index, search it in turns with a flat scan, or without one, which needs all vectors, or
search an index of vectors alone."""


def run_part(part: Part, folder: Path, enter: Callable[[], None] | None = None) -> dict[str, Any]:
    """Do one part in a process of its own, in which `enter` is called first; returns what it found."""
    command = [sys.executable, "-m", "gossamer_lab.bench.text", part, str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=enter)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def build(path: Path, texts: list[str], E: Floats) -> dict[str, float]:
    """An index of texts with their vectors; a hundredth of the documents, and half of them, can be filtered.

    Returns the seconds of each stage.
    """
    index = Index.create(path, given)
    metadata = [{"hundredth": at % 100, "half": at % 2} for at in range(len(texts))]
    ids = [f"q{at}" for at in range(len(texts))]
    adding, _ = clock(lambda: index.add(texts, ids, metadata, vectors=E))
    labelling, _ = clock(index.settle)
    closing, _ = clock(index.close)
    return {"adding, vectors given": adding, "labels": labelling, "closing, with a snapshot": closing}


def on_disk(folder: Path) -> dict[str, int]:
    """Bytes of each part of a closed index."""
    sizes: dict[str, int] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            part = "snapshots" if "snapshot-" in str(file.relative_to(folder)) else "documents.sqlite"
            sizes[part] = sizes.get(part, 0) + file.stat().st_size
    return {**sizes, "all": sum(sizes.values())}


# -- tables ----------------------------------------------------------------------------------------


def _latencies(calls: dict[str, dict[str, float]]) -> Table:
    rows: list[Row] = []
    for kind, times in calls.items():
        bar, ratio_bar = _BARS.get(kind, (None, None))
        ratio = None if kind == "flat scan" else times["first_sight"] / calls["flat scan"]["again"]
        row: dict[str, Cell] = {
            "call": kind, "first of all": times["first"], "first sight": times["first_sight"], "p95": times["p95"],
            "again": times["again"], "× flat scan": ratio, "bar, ms": bar, "bar, ×": ratio_bar,
        }  # fmt: skip
        if bar is not None and ratio is not None and ratio_bar is not None:
            row["met"] = times["first_sight"] <= bar and ratio <= ratio_bar
        rows.append(row)
    notes = [
        "Milliseconds for one call, the vector of the query given, ten answers, one core. first of all: the first call "
        "of its kind to this index. first sight: the median over queries not asked before, and their 95th percentile. "
        "again: the median when they are asked a second time. flat scan: matrix times vector and argpartition of "
        f"float32 in NumPy; it finds rows, the others documents with their paths. Kinds take turns, {_TURN} calls each."
    ]
    digits: dict[str, int | str] = dict.fromkeys(("first sight", "p95", "again"), 3)
    digits |= {"first of all": 2, "× flat scan": 2, "bar, ms": "g", "bar, ×": "g"}
    return Table("text-latency", "latency of one call", rows, notes, digits)


def _batches(batch: dict[str, float]) -> Table:
    rows: list[Row] = [{"call": kind, "ms a query": milliseconds} for kind, milliseconds in batch.items()]
    note = (
        f"{_TOGETHER} queries: given to one call as a list, or one a call from as many threads as there are cores "
        f"({cores()}); best of {_BATCHES}."
    )
    return Table("text-batch", "several queries at once", rows, [note], {"ms a query": 3})


def _vectors(micros: dict[str, float]) -> Table:
    rows: list[Row] = [{"call": call, "µs": each} for call, each in micros.items()]
    if _WALK in micros:
        above = micros["VectorIndex.search"] - micros[_WALK]
        rows.append({"call": "above the walk", "µs": above, "bar": _ABOVE, "met": above <= _ABOVE})
    note = (
        "One raw vector a call, ten answers, one core; best of "
        f"{_BATCHES} rounds over all queries. The walk alone: the compiled function, its query already projected."
    )
    return Table("text-vector", "one vector a call", rows, [note], {"µs": 1, "bar": "g"})


def _sizes(memory: dict[str, float], built: dict[str, Any]) -> Table:
    sizes = {f"memory, {name}": size for name, size in memory.items()}
    sizes |= {f"disk, {name}": size for name, size in built["disk"].items()}
    rows: list[Row] = [{"what": what, "value": size / _MEGABYTE, "unit": "MB"} for what, size in sizes.items()]
    rows.append({"what": "building it, vectors given", "value": sum(built["seconds"].values()), "unit": "s"})
    note = "Memory: growth of the resident set of a process that has searched a small index before."
    return Table("text-size", "memory and disk", rows, [note])


# -- the processes that are measured ---------------------------------------------------------------


def _built(folder: Path) -> dict[str, Any]:
    texts, E = json.loads((folder / "texts.json").read_text()), np.load(folder / "documents.npy")
    build(folder / "small.gsm", texts[:_SMALL], E[:_SMALL])
    before = resident()
    seconds = build(folder / "index.gsm", texts, E)
    return {"seconds": seconds, "peak": peak() - before, "disk": on_disk(folder / "index.gsm")}


def calls_of(index: Index) -> dict[str, Ask]:
    """The kinds of calls that are measured."""
    return {
        "dense": lambda text, x: index.search(text, K, vector=x, hybrid=False),
        "hybrid": lambda text, x: index.search(text, K, vector=x),
        "filter, 1 %": lambda text, x: index.search(text, K, vector=x, where={"hundredth": 7}),
        "filter, 50 %": lambda text, x: index.search(text, K, vector=x, where={"half": 1}),
        "hybrid, explained": lambda text, x: index.search(text, K, vector=x, explain=True),
        "explain": lambda text, x: index.explain(text, f"q{int(1e6 * abs(x[0])) % 100}", vector=x),
    }


def flat_scan(E: Floats) -> Ask:
    """The ten nearest rows by NumPy alone."""
    return lambda text, x: np.argpartition(E @ x, -K)[-K:]


def _searched(folder: Path, *, scan: bool = True) -> dict[str, Any]:
    asked = json.loads((folder / "queries.json").read_text())
    Q = np.load(folder / "queries.npy").astype(np.float32)
    pairs = list(zip(asked["texts"], Q, strict=False))
    queries = iter(pairs)
    with Index.open(folder / "small.gsm", given, mode="r") as small:
        for ask in calls_of(small).values():
            for _ in range(3):
                ask(*next(queries))
    before = resident()
    seconds, index = clock(lambda: Index.open(folder / "index.gsm", given, mode="r"))
    memory: dict[str, float] = {"opened": resident() - before}
    calls = calls_of(index)
    first = {kind: 1e3 * clock(_bound(ask, next(queries)))[0] for kind, ask in calls.items()}
    found = _in_turns(calls, queries, asked["count"], first, folder if scan else None)
    memory["after searches"] = found.pop("resident")["bytes"] - before
    batch = {}
    for kind, hybrid in (("dense", False), ("hybrid", True)):
        batch[f"{kind}, a list"] = _list(index, pairs[-_TOGETHER:], hybrid=hybrid)
        batch[f"{kind}, from threads"] = _from_threads(calls[kind], pairs[-_TOGETHER:])
    index.close()
    return {"calls": found, "memory": memory, "batch": batch, "opening": seconds}


def _in_turns(
    calls: dict[str, Ask],
    queries: Iterator[tuple[str, Floats]],
    count: int,
    first: dict[str, float],
    folder: Path | None,
) -> dict[str, dict[str, float]]:
    """Every kind of call with queries of its own: seen for the first time, then again, in turns with the flat scan of
    the vectors in `folder`, if one is given.

    A turn is several calls of one kind, as people make them; after each kind the caches hold what another one read.
    """
    own = {kind: [next(queries) for _ in range(count)] for kind in calls}
    turns = [range(start, min(start + _TURN, count)) for start in range(0, count, _TURN)]

    def timed(ask: Ask, kind: str, into: Doubles, turn: range) -> None:
        for at in turn:
            into[at] = 1e3 * clock(_bound(ask, own[kind][at]))[0]

    sight, again = ({kind: np.empty(count) for kind in calls} for _ in range(2))
    scanned = np.empty(count)
    with threads(1):
        for turn in turns:
            for kind, ask in calls.items():
                timed(ask, kind, sight[kind], turn)
        used = resident()  # before the vectors of the flat scan come in
        scan = None if folder is None else flat_scan(np.load(folder / "documents.npy").astype(np.float32))
        for turn in turns:
            for kind, ask in calls.items():
                timed(ask, kind, again[kind], turn)
            if scan is not None:
                timed(scan, "dense", scanned, turn)
    found = {kind: _summary(first[kind], sight[kind], again[kind]) for kind in calls}
    if scan is not None:
        found["flat scan"] = _summary(float(scanned[0]), scanned, scanned)
    return {**found, "resident": {"bytes": used}}


def _summary(first: float, sight: Doubles, again: Doubles) -> dict[str, float]:
    return {
        "first": first,
        "first_sight": float(np.median(sight)),
        "p95": float(np.percentile(sight, 95)),
        "again": float(np.median(again)),
    }


def _bound(ask: Ask, query: tuple[str, Floats]) -> Callable[[], object]:
    return lambda: ask(*query)


def _by_vectors(folder: Path) -> dict[str, float]:
    """Microseconds of one call with one raw vector, and of the walk in it."""
    E = np.load(folder / "documents.npy").astype(np.float32)
    Q = np.load(folder / "queries.npy").astype(np.float32)
    with VectorIndex(E.shape[1]) as index, threads(1):
        index.add(E)
        index.settle()
        walk = walk_alone(index, Q, K)
        calls: dict[str, Callable[[int], object]] = {"VectorIndex.search": lambda at: index.search(Q[at], K)}
        if walk is not None:
            calls[_WALK] = walk
        best = dict.fromkeys(calls, np.inf)
        for _ in range(_BATCHES):
            for name, call in calls.items():
                # Answers are let go of, as by a program that has read them.
                seconds, _ = clock(lambda call=call: deque(map(call, range(len(Q))), maxlen=0))  # type: ignore[misc]
                best[name] = min(best[name], seconds)
        return {name: 1e6 * seconds / len(Q) for name, seconds in best.items()}


def _list(index: Index, queries: list[tuple[str, Floats]], *, hybrid: bool) -> float:
    """Milliseconds a query when all are given to one call."""
    texts, vectors = [text for text, _ in queries], np.stack([x for _, x in queries])
    ask = partial(index.search, texts, K, vector=vectors, hybrid=hybrid)
    return 1e3 * min(clock(ask)[0] for _ in range(_BATCHES)) / len(queries)


def _from_threads(ask: Ask, queries: list[tuple[str, Floats]]) -> float:
    """Milliseconds a query when many threads ask."""
    with ThreadPoolExecutor(cores()) as pool:
        seconds = [clock(lambda: list(pool.map(lambda query: ask(*query), queries)))[0] for _ in range(_BATCHES)]
    return 1e3 * min(seconds) / len(queries)


def resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not tell."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if _STATM.exists() else 0


def peak() -> int:
    """The most bytes of this process that were in memory at once; 0 where the system does not tell.

    Not `getrusage`: there a process begins with what the one that started it had.
    """
    lines = _STATUS.read_text().splitlines() if _STATUS.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    from gossamer_lab.bench import text

    parts: dict[str, Callable[[Path], dict[str, Any]]]
    parts = {"build": text._built, "search": text._searched, "search alone": partial(text._searched, scan=False)}
    parts["vectors"] = text._by_vectors
    json.dump(parts[sys.argv[1]](Path(sys.argv[2])), sys.stdout)
