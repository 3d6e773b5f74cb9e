"""Building: the tree, what each further step adds, and the graphs of others, on the same cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from gossamer.array_types import Floats
from gossamer.rank.guided import Guide
from gossamer.tree.cobweb import CobwebTree
from gossamer.vector_index.vector_index import auto_acuity
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.report import Report, Row, Section
from gossamer_lab.bench.systems import (
    FAISS_HNSW,
    HNSWLIB,
    USEARCH,
    Built,
    build_faiss_hnsw,
    build_gossamer,
    build_hnswlib,
    build_usearch,
    missing,
)
from gossamer_lab.bench.timing import Say, Times, threads

GROW, REFINE, LOAD = "growing the tree", "refining it", "loading it at once, refined"
LINK, ADD = "linking its leaves", "VectorIndex.add"


@dataclass(frozen=True)
class Spent:
    """What a step took in every round: seconds on the clock, and seconds of all cores together."""

    wall: Times
    cores: Times


def run(data: Data, *, repeats: int, n_threads: int, say: Say) -> Report:
    """Time every step of ours and the build of others, in rounds."""
    with threads(n_threads):
        spent = measure(data.X, repeats, n_threads, say)
    sections = [
        Section("building", [_row(name, each, len(data.X)) for name, each in spent.items()], [*_NOTES, *missing()]),
        Section(f"as a share of {HNSWLIB}'s time", compare(spent)),
    ]
    return Report("build", data.description, {"threads": n_threads, "rounds": repeats}, sections)


_NOTES: Final = (
    "Whitening is in none of these times. Growing uses one core, all other steps use all for most of what they do. "
    "core seconds: of all cores together, best round; where other programs run they are the steadier figure.",
)


def auto_tree(X: Floats) -> CobwebTree:
    """An empty tree with the acuity that an index would choose for X."""
    return CobwebTree(X.shape[1], auto_acuity(X))


def steps(X: Floats) -> Iterator[str]:
    """Build step by step; yields the name of each as it is done."""
    tree, guide = auto_tree(X), Guide()
    tree.insert_many(X)
    yield GROW
    tree.refine(keep=guide.wanted(len(X)))
    yield REFINE
    tree = auto_tree(X)
    documents = tree.grow(X, keep=guide.wanted(len(X)))
    yield LOAD
    guide.learn(tree.arrays, documents, tree.take_neighbours())
    yield LINK


def measure(X: Floats, repeats: int, n_threads: int, say: Say) -> dict[str, Spent]:
    """Rounds in which ours and the others take turns."""
    build_gossamer(X[:3000])  # compiles
    list(steps(X[:3000]))
    works: dict[str, Callable[[], Iterable[str]]] = {"steps": lambda: steps(X), ADD: _whole(ADD, build_gossamer, X)}
    if find_spec("hnswlib") is not None:
        works[HNSWLIB] = _whole(HNSWLIB, build_hnswlib, X, n_threads)
    if find_spec("usearch") is not None:
        works[USEARCH] = _whole(USEARCH, build_usearch, X, n_threads)
    if find_spec("faiss") is not None:
        works[FAISS_HNSW] = _whole(FAISS_HNSW, build_faiss_hnsw, X)
    wall: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
    for number in range(repeats):
        for name, work in works.items():
            say(f"round {number + 1} of {repeats}: {name}")
            now, used = time.perf_counter(), time.process_time()
            for step in work():
                wall.setdefault(step, []).append(time.perf_counter() - now)
                cores.setdefault(step, []).append(time.process_time() - used)
                now, used = time.perf_counter(), time.process_time()
    return {step: Spent(Times(tuple(wall[step])), Times(tuple(cores[step]))) for step in wall}


def _whole(name: str, build: Callable[..., Built], *arguments: Any) -> Callable[[], Iterable[str]]:
    """A build that is one step."""

    def work() -> Iterator[str]:
        build(*arguments)
        yield name

    return work


def compare(spent: dict[str, Spent]) -> list[Row]:
    """Tree alone, with refining, and with links, over hnswlib's time."""
    if HNSWLIB not in spent:
        return []
    theirs = spent[HNSWLIB]
    sums: dict[str, tuple[str, ...]] = {
        "tree alone": (GROW,), "tree, refined": (GROW, REFINE), "tree, refined, linked": (GROW, REFINE, LINK),
        "tree loaded at once": (LOAD,), "tree loaded at once, linked": (LOAD, LINK), ADD: (ADD,),
    }  # fmt: skip
    rows: list[Row] = []
    for name, parts in sums.items():
        wall = _added([spent[part].wall for part in parts])
        cores = _added([spent[part].cores for part in parts])
        rounds = [a / b for a, b in zip(wall.seconds, theirs.wall.seconds, strict=True)]
        rows.append(
            {
                "what": name,
                "best seconds": wall.best,
                "ratio of best rounds": wall.best / theirs.wall.best,
                "ratio, median round": float(np.median(rounds)),
                "ratio, worst round": max(rounds),
                "ratio of core seconds": cores.best / theirs.cores.best,
            }
        )
    return rows


def _added(parts: Sequence[Times]) -> Times:
    """Steps of the same rounds, one after the other."""
    return Times(tuple(sum(each) for each in zip(*(part.seconds for part in parts), strict=True)))


def _row(name: str, spent: Spent, documents: int) -> Row:
    return {
        "what": name,
        "best seconds": spent.wall.best,
        "median seconds": spent.wall.median,
        "spread": spent.wall.spread,
        "core seconds": spent.cores.best,
        "µs/document": spent.wall.best / documents * 1e6,
    }
