"""Latency and growth: what the paper's tables of times and its time analysis measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import faiss
import numpy as np

from gossamer import VectorIndex, Whitener
from gossamer.errors import DiskError
from gossamer_lab.bench.measures import exponent
from gossamer_lab.engine import Floats, default_whitening
from gossamer_lab.methods.prepared import Prepared, grow
from gossamer_lab.methods.rankers import has_hnswlib
from gossamer_lab.paper.architectures import TITLES
from gossamer_lab.paper.forms import Figures, beside
from gossamer_lab.paper.published import THEIRS, Kind
from gossamer_lab.paper.published import latency as printed
from gossamer_lab.paper.setting import Missing, Name, Setting, about
from gossamer_lab.tables import Row, Table
from gossamer_lab.timing import clock, take_turns, threads

_K: Final = 10

Search: TypeAlias = Callable[[Floats], Any]
Preset: TypeAlias = Literal["default", "paper"]


def latency(setting: Setting, figures: Figures) -> list[Table]:
    """Milliseconds for one query a call, end to end from the raw vector, on one thread; and seconds to build."""
    tables = []
    names: tuple[Name, ...] = ("qqp", "msmarco")
    for name in names:
        kind: Kind = "encoder" if name == "qqp" else "encoder-decoder"
        times: dict[str, dict[int, float]] = {}
        builds: dict[str, dict[int, float]] = {}
        model = _timed_model(setting, name, kind)
        for size in setting.sizes.latency[name][: 2 if setting.job.quick else None]:
            _time(setting, setting.task(name, model, size), size, times, builds)
        for method, by_size in times.items():
            for size, milliseconds in by_size.items():
                figures.time((name, kind, size), method.replace("@pca", "@paper"), milliseconds)
        for size in setting.sizes.latency[name]:
            if setting.job.quick:
                figures.missing.setdefault((name, kind, size), "a quick run has two sizes")
        tables.append(_latency_table(setting, name, kind, model, times))
        if name == "qqp":
            tables.append(_build_table(builds, model))
    return tables


def _timed_model(setting: Setting, name: Name, kind: Kind) -> str:
    """The model of the kind that the paper timed if there are vectors enough, else another; times ask for few."""
    sizes = setting.sizes.latency[name]
    for model in (setting.by_kind.get(kind), *setting.models):
        if model is not None and not isinstance(setting.task_or_reason(name, model, max(sizes)), Missing):
            return model
    raise DiskError(f"there are no vectors for {max(sizes):,} documents of {name}: name an encoder with --model")


def _time(
    setting: Setting, task: Prepared, size: int, times: dict[str, dict[int, float]], builds: dict[str, dict[int, float]]
) -> None:
    """Time every system at one size."""
    with threads(1):
        searches, built = _systems(task)
        Q = [task.data.Q[i : i + 1] for i in range(min(setting.sizes.timed, len(task.data.Q)))]
        rounds = {name: partial(_round, search, Q) for name, search in searches.items()}
        found = take_turns(rounds, 2 if setting.job.quick else 3, partial(_tell, setting, size))
    for method, seconds in found.items():
        times.setdefault(method, {})[size] = 1e3 * seconds.best / len(Q)
        builds.setdefault(method, {})[size] = built[method]


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
    living = VectorIndex(E.shape[1], whitener=whitener, links=False)
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
    living_seconds, _ = clock(lambda: grow(living, E))
    default_seconds, _ = clock(lambda: grow(default, E))
    cobweb = VectorIndex(E.shape[1], whitener=default.whitener, structure="cobweb")
    cobweb_seconds, _ = clock(lambda: grow(cobweb, E))
    trees = (("raw", raw, raw_seconds), ("pca", paper, paper_seconds), ("living", living, living_seconds))
    for name, index, built in trees:
        seconds = built + (0.0 if name == "raw" else fitting)
        systems[f"best-first@{name}"] = (_searching(index, "best-first"), seconds)
        systems[f"path-sum@{name}"] = (_searching(index, "path-sum", aggregate="mean"), seconds)
    systems["gain@default"] = (_searching(default, "path-sum"), default_seconds)
    systems["guided@default"] = (_searching(default, "guided"), default_seconds)
    systems["guided@cobweb"] = (_searching(cobweb, "guided"), cobweb_seconds)
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


def _latency_table(setting: Setting, name: Name, kind: Kind, model: str, times: dict[str, dict[int, float]]) -> Table:
    rows: list[Row] = []
    theirs = printed(name)
    for method, by_size in times.items():
        row: dict[str, str | float | None] = {"method": method}
        for size, each in by_size.items():
            row[f"{size / 1000:g}k"] = beside(each, theirs.get((method.replace("@pca", "@paper"), size)), digits=3)
        last = max(by_size)
        row["× faiss"] = by_size[last] / times["dot@raw"][last]
        rows.append(row)
    notes = [
        "One query a call, from the raw vector to the ids, one thread, best of the rounds. In brackets: the paper's, "
        f"with {THEIRS[kind]}, on the authors' machine; the last column is at the largest size, dot@raw being faiss "
        "IndexFlatIP. best-first and guided stop early; path-sum and gain score every document. ICA's rotation is "
        "left out: it is part of the same product.",
        *setting.left_out(),
    ]
    number = "4" if name == "msmarco" else "C"
    title = f"{'Table 4' if number == '4' else 'Appendix C'}: milliseconds a query, {TITLES[name]}, {about(model)}"
    return Table(f"latency-{name}", title, rows, notes, {"× faiss": 2})


def _build_table(builds: dict[str, dict[int, float]], model: str) -> Table:
    rows: list[Row] = [
        {"method": name, **{f"{size / 1000:g}k": seconds for size, seconds in each.items()}}
        for name, each in builds.items()
    ]
    digits = {column: 2 for row in rows for column in row if column.endswith("k")}
    return Table("build", f"Seconds to build, QQP, {about(model)}, one thread, fitting included", rows, digits=digits)


def growth(setting: Setting) -> list[Table]:
    """Nodes a document, depth, branching, and how the cost of an insertion and of an answer grows."""
    sizes = setting.sizes.growth[:4] if setting.job.quick else setting.sizes.growth
    model = setting.by_kind.get("encoder", setting.models[0])
    whole = setting.task("qqp", model, max(sizes))
    rows: list[Row] = []
    notes = [
        "The paper counts about 1.5 nodes a document, and a depth that grows with the logarithm of the documents. "
        "µs an insert: the whole build over the documents, inserted one by one by the paper's preset and agglomerated "
        "by the default, without links, one thread."
    ]
    presets: tuple[Preset, ...] = ("paper", "default")
    for preset in presets:
        costs, visits, depths = [], [], []
        for size in sizes:
            setting.job.say(f"{preset} tree of {size:,}", 0, 0)
            row, cost, visited = _grown(whole, preset, size)
            depths.append(float(row["depth"] or 0))
            rows.append(row)
            costs.append(cost)
            visits.append(visited or 1.0)
        slope = np.polyfit(np.log2(sizes), depths, 1)[0]
        growths = f"an insertion as N^{exponent(sizes, costs):.2f}, {slope:.1f} levels for each doubling"
        if preset == "default":
            growths += f", nodes scored by a guided search as N^{exponent(sizes[1:], visits[1:]):.2f}"
        notes.append(f"{preset}: {growths}.")
    title, digits = f"Trees by the number of documents, QQP, {about(model)}", {"nodes a document": 2, "branching": 2}
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
