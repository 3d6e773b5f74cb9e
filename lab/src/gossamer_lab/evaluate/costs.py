"""Latency and growth: what the paper's tables of times and its time analysis measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.vector_index.presets import PRESETS
from gossamer.vector_index.vector_index import VectorIndex
from gossamer.whitening.whitener import Whitener
from gossamer_lab.bench.measures import exponent
from gossamer_lab.bench.systems import grow
from gossamer_lab.bench.timing import clock, take_turns, threads
from gossamer_lab.evaluate.architectures import Setting
from gossamer_lab.evaluate.prepared import Prepared
from gossamer_lab.evaluate.published import log_for
from gossamer_lab.evaluate.tables import Row, Table

_SIZES: Final = (1_000, 5_000, 10_000, 20_000)
_GROWTH: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
_ASKED: Final = 100
_K: Final = 10

Ask = Callable[[Floats], Any]


def latency(setting: Setting) -> list[Table]:
    """Milliseconds for one query, asked one at a time, end to end from the raw vector, on one thread."""
    sizes = _SIZES[:3] if setting.quick else _SIZES
    times: dict[str, dict[int, float]] = {}
    builds: dict[str, dict[int, float]] = {}
    for size in sizes:
        task = setting.task("qqp", "minilm", size)
        with threads(1):
            asked, built = _systems(task)
            Q = [task.data.Q[i : i + 1] for i in range(min(_ASKED, len(task.data.Q)))]
            rounds = {name: _round(ask, Q) for name, ask in asked.items()}
            found = take_turns(rounds, 2 if setting.quick else 3, partial(_tell, setting, size))
        for name, seconds in found.items():
            times.setdefault(name, {})[size] = 1e3 * seconds.best / len(Q)
            builds.setdefault(name, {})[size] = built[name]
    return [_times(times), _builds(builds)]


def _tell(setting: Setting, size: int, what: str) -> None:
    setting.say(f"{size:,} documents, {what}", 0, 0)


def _systems(task: Prepared) -> tuple[dict[str, Ask], dict[str, float]]:
    """Every system as a function of a raw query, and the seconds each took to build."""
    import faiss
    import hnswlib

    E = task.data.E
    fitting, whitener = clock(lambda: Whitener(strength=1.0, sphere=False).fit(E))
    X = whitener.project(E)
    flat, white = faiss.IndexFlatIP(E.shape[1]), faiss.IndexFlatL2(X.shape[1])
    graph = hnswlib.Index("cosine", E.shape[1])
    graph.init_index(len(E), M=16, ef_construction=200)
    graph.set_num_threads(1)
    raw = VectorIndex(E.shape[1], "paper", whitener=None, links=False)
    paper = VectorIndex(E.shape[1], "paper", whitener=whitener, links=False)
    default = VectorIndex(E.shape[1])
    seconds = {
        "dot@raw": clock(lambda: flat.add(E))[0],
        "l2@pca": clock(lambda: white.add(X))[0] + fitting,
        "hnsw@raw": clock(lambda: graph.add_items(E))[0],
        "path-sum@raw": clock(lambda: grow(raw, E))[0],
        "path-sum@pca": clock(lambda: grow(paper, E))[0] + fitting,
        "guided@default": clock(lambda: grow(default, E))[0],
    }
    graph.set_ef(64)
    asked: dict[str, Ask] = {
        "dot@raw": lambda q: flat.search(q, _K),
        "l2@pca": lambda q: white.search(whitener.project(q), _K),
        "hnsw@raw": lambda q: graph.knn_query(q, _K),
        "best-first@raw": lambda q: raw.search(q, _K, "best-first"),
        "path-sum@raw": lambda q: raw.search(q, _K, "path-sum", aggregate="mean"),
        "best-first@pca": lambda q: paper.search(q, _K, "best-first"),
        "path-sum@pca": lambda q: paper.search(q, _K, "path-sum", aggregate="mean"),
        "gain@default": lambda q: default.search(q, _K, "path-sum"),
        "guided@default": lambda q: default.search(q, _K),
    }
    seconds |= {"best-first@raw": seconds["path-sum@raw"], "best-first@pca": seconds["path-sum@pca"]}
    return asked, seconds | {"gain@default": seconds["guided@default"]}


def _round(ask: Ask, Q: list[Floats]) -> Callable[[], float]:
    def work() -> float:
        ask(Q[0])

        def everything() -> None:
            for q in Q:
                ask(q)

        return clock(everything)[0]

    return work


def _times(times: dict[str, dict[int, float]]) -> Table:
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
    ]
    return Table("latency", "Milliseconds a query, QQP, MiniLM", rows, notes, digits)


def _builds(builds: dict[str, dict[int, float]]) -> Table:
    rows: list[Row] = [
        {"method": name, **{f"{size // 1000}k": seconds for size, seconds in each.items()}}
        for name, each in builds.items()
    ]
    digits = {column: 2 for row in rows for column in row if column.endswith("k")}
    return Table("build", "Seconds to build, QQP, MiniLM, one thread, fitting included", rows, digits=digits)


def growth(setting: Setting) -> list[Table]:
    """Nodes a document, depth, branching, and how the cost of an insertion and of an answer grows."""
    sizes = _GROWTH[:4] if setting.quick else _GROWTH
    rows: list[Row] = []
    notes = [
        "µs an insert: the whole build over the documents, with refining for the default, without links, one thread."
    ]
    whole = setting.task("qqp", "minilm", max(sizes))
    for preset in ("paper", "default"):
        costs, visits = [], []
        for size in sizes:
            setting.say(f"{preset} tree of {size:,}", 0, 0)
            row, insert, visited = _grown(whole, preset, size)
            rows.append(row)
            costs.append(insert)
            visits.append(visited)
        growths = f"an insertion as N^{exponent(sizes, costs):.2f}"
        if preset == "default":
            growths += f", nodes scored by a guided search as N^{exponent(sizes[1:], visits[1:]):.2f}"
        notes.append(f"{preset}: {growths}.")
    return [
        Table(
            "growth",
            "Trees by the number of documents, QQP, MiniLM",
            rows,
            notes,
            {"nodes a document": 2, "branching": 2},
        )
    ]


def _grown(whole: Prepared, preset: str, size: int) -> tuple[Row, float, float]:
    E, Q = whole.data.E[:size], whole.data.Q[:200]
    if preset == "paper":
        whitener = Whitener(strength=1.0, sphere=False).fit(E)
        index = VectorIndex(E.shape[1], "paper", whitener=whitener, links=False)
    else:
        index = VectorIndex(E.shape[1], whitener=PRESETS["default"].whitening().fit(E))
    tree_alone = VectorIndex(
        E.shape[1], "paper" if preset == "paper" else "default", whitener=index.whitener, links=False
    )
    with threads(1):
        seconds, _ = clock(lambda: grow(tree_alone, E))
    visited = float("nan")
    if preset == "default":
        index.add(E)
        visited = float(index.search(Q, _K).visited.mean())
    stats = tree_alone.tree.stats()
    inner = stats.nodes - stats.leaves
    row: Row = {
        "preset": preset,
        "documents": size,
        "nodes a document": stats.nodes / stats.documents,
        "depth": stats.depth,
        "branching": (stats.nodes - 1) / max(1, inner),
        "widest": stats.widest,
        "µs an insert": 1e6 * seconds / size,
        "nodes scored, guided": None if np.isnan(visited) else visited,
    }
    return row, 1e6 * seconds / size, visited
