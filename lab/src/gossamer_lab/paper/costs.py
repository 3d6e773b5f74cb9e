"""Latency and growth: what the paper's tables of times and its time analysis measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import faiss

from gossamer import VectorIndex, Whitener
from gossamer_lab.bench.measures import exponent
from gossamer_lab.engine import Floats, default_whitening
from gossamer_lab.methods.prepared import Prepared, grow
from gossamer_lab.methods.rankers import has_hnswlib
from gossamer_lab.paper.published import log_for
from gossamer_lab.paper.setting import Setting
from gossamer_lab.tables import Row, Table
from gossamer_lab.timing import clock, take_turns, threads

_K: Final = 10

Search: TypeAlias = Callable[[Floats], Any]
Preset: TypeAlias = Literal["default", "paper"]


def latency(setting: Setting) -> list[Table]:
    """Milliseconds for one query a call, end to end from the raw vector, on one thread; and seconds to build."""
    sizes = setting.sizes.latency[:3] if setting.job.quick else setting.sizes.latency
    times: dict[str, dict[int, float]] = {}
    builds: dict[str, dict[int, float]] = {}
    for size in sizes:
        task = setting.task("qqp", "minilm", size)
        with threads(1):
            searches, built = _systems(task)
            Q = [task.data.Q[i : i + 1] for i in range(min(setting.sizes.timed, len(task.data.Q)))]
            rounds = {name: partial(_round, search, Q) for name, search in searches.items()}
            found = take_turns(rounds, 2 if setting.job.quick else 3, partial(_tell, setting, size))
        for name, seconds in found.items():
            times.setdefault(name, {})[size] = 1e3 * seconds.best / len(Q)
            builds.setdefault(name, {})[size] = built[name]
    return [_latency_table(times, setting.left_out()), _build_table(builds)]


def _tell(setting: Setting, size: int, what: str) -> None:
    setting.job.say(f"{size:,} documents, {what}", 0, 0)


def _systems(task: Prepared) -> tuple[dict[str, Search], dict[str, float]]:
    """Every system as a function of a raw query, and the seconds each took to build."""
    E = task.data.E
    fitting, whitener = clock(lambda: Whitener(strength=1.0, sphere=False).fit(E))
    X = whitener.project(E)
    flat, white = faiss.IndexFlatIP(E.shape[1]), faiss.IndexFlatL2(X.shape[1])
    raw = VectorIndex(E.shape[1], "paper", whitener=None, links=False)
    paper = VectorIndex(E.shape[1], "paper", whitener=whitener, links=False)
    default = VectorIndex(E.shape[1])
    dot_seconds, _ = clock(lambda: flat.add(E))
    l2_seconds, _ = clock(lambda: white.add(X))
    systems: dict[str, tuple[Search, float]] = {
        "dot@raw": (lambda q: flat.search(q, _K), dot_seconds),
        "l2@pca": (lambda q: white.search(whitener.project(q), _K), l2_seconds + fitting),
    }
    if has_hnswlib():
        systems["hnsw@raw"] = _hnsw(E)
    raw_seconds, _ = clock(lambda: grow(raw, E))
    paper_seconds, _ = clock(lambda: grow(paper, E))
    default_seconds, _ = clock(lambda: grow(default, E))
    for name, index, seconds in (("raw", raw, raw_seconds), ("pca", paper, paper_seconds + fitting)):
        systems[f"best-first@{name}"] = (_searching(index, "best-first"), seconds)
        systems[f"path-sum@{name}"] = (_searching(index, "path-sum", aggregate="mean"), seconds)
    systems["gain@default"] = (_searching(default, "path-sum"), default_seconds)
    systems["guided@default"] = (_searching(default, "guided"), default_seconds)
    return {name: each[0] for name, each in systems.items()}, {name: each[1] for name, each in systems.items()}


def _searching(index: VectorIndex, method: Any, **options: Any) -> Search:
    return lambda q: index.search(q, _K, method, **options)


def _hnsw(E: Floats) -> tuple[Search, float]:
    import hnswlib

    graph = hnswlib.Index("cosine", E.shape[1])
    graph.init_index(len(E), M=16, ef_construction=200)
    graph.set_num_threads(1)
    seconds, _ = clock(lambda: graph.add_items(E))
    graph.set_ef(64)
    return lambda q: graph.knn_query(q, _K), seconds


def _round(search: Search, Q: list[Floats]) -> float:
    search(Q[0])
    return clock(lambda: [search(q) for q in Q])[0]


def _latency_table(times: dict[str, dict[int, float]], left_out: Sequence[str]) -> Table:
    rows: list[Row] = []
    for name, by_size in times.items():
        row: dict[str, str | float | None] = {"method": name}
        for size, each in by_size.items():
            log = log_for("qqp", "minilm", size)
            row[f"{size // 1000}k"] = each
            row[f"[{size // 1000}k]"] = None if log is None else log.milliseconds.get(name.replace("@pca", "@paper"))
        last = max(by_size)
        row["× faiss"] = by_size[last] / times["dot@raw"][last]
        rows.append(row)
    digits = {column: 3 for row in rows for column in row if column.endswith("k")} | {"× faiss": 2}
    notes = [
        "One query a call, from the raw vector to the ids, one thread, best of the rounds. In brackets: the authors' "
        "program on their machine, RoBERTa-large (1,024 dimensions); the last column is at the largest size, dot@raw "
        "being faiss IndexFlatIP. best-first and guided stop early; path-sum and gain score every document.",
        *left_out,
    ]
    return Table("latency", "Milliseconds a query, QQP, MiniLM", rows, notes, digits)


def _build_table(builds: dict[str, dict[int, float]]) -> Table:
    rows: list[Row] = [
        {"method": name, **{f"{size // 1000}k": seconds for size, seconds in each.items()}}
        for name, each in builds.items()
    ]
    digits = {column: 2 for row in rows for column in row if column.endswith("k")}
    return Table("build", "Seconds to build, QQP, MiniLM, one thread, fitting included", rows, digits=digits)


def growth(setting: Setting) -> list[Table]:
    """Nodes a document, depth, branching, and how the cost of an insertion and of an answer grows."""
    sizes = setting.sizes.growth[:4] if setting.job.quick else setting.sizes.growth
    whole = setting.task("qqp", "minilm", max(sizes))
    rows: list[Row] = []
    notes = [
        "µs an insert: the whole build over the documents, inserted one by one by the paper's preset and agglomerated "
        "by the default, without links, one thread."
    ]
    presets: tuple[Preset, ...] = ("paper", "default")
    for preset in presets:
        costs, visits = [], []
        for size in sizes:
            setting.job.say(f"{preset} tree of {size:,}", 0, 0)
            row, cost, visited = _grown(whole, preset, size)
            rows.append(row)
            costs.append(cost)
            visits.append(visited or 1.0)
        growths = f"an insertion as N^{exponent(sizes, costs):.2f}"
        if preset == "default":
            growths += f", nodes scored by a guided search as N^{exponent(sizes[1:], visits[1:]):.2f}"
        notes.append(f"{preset}: {growths}.")
    title, digits = "Trees by the number of documents, QQP, MiniLM", {"nodes a document": 2, "branching": 2}
    return [Table("growth", title, rows, notes, digits)]


def _grown(whole: Prepared, preset: Preset, size: int) -> tuple[Row, float, float | None]:
    """A row, microseconds an insert, and the nodes that a guided search of the default preset scores."""
    E, Q = whole.data.E[:size], whole.data.Q[:200]
    recipe = Whitener(strength=1.0, sphere=False) if preset == "paper" else default_whitening()
    whitener = recipe.fit(E)
    bare = VectorIndex(E.shape[1], preset, whitener=whitener, links=False)
    with threads(1):
        seconds, _ = clock(lambda: grow(bare, E))
    visited = None
    if preset == "default":
        linked = VectorIndex(E.shape[1], whitener=whitener)
        linked.add(E)
        visited = float(linked.search(Q, _K).visited.mean())
    stats = bare.tree.stats()
    row: Row = {
        "preset": preset,
        "documents": size,
        "nodes a document": stats.nodes / stats.documents,
        "depth": stats.depth,
        "branching": (stats.nodes - 1) / max(1, stats.nodes - stats.leaves),
        "widest": stats.widest,
        "µs an insert": 1e6 * seconds / size,
        "nodes scored, guided": visited,
    }
    return row, 1e6 * seconds / size, visited
