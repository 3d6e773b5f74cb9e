"""Building: the tree, what each further step adds, and the graphs of others, on the same cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from gossamer_lab.bench import peers, systems
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.peers import FAISS_HNSW, FAISS_SQ8, HNSWLIB, SYMPHONY, USEARCH, VAMANA, is_installed, missing
from gossamer_lab.bench.report import Report, Row, section
from gossamer_lab.bench.systems import Built
from gossamer_lab.engine import Floats, Kernel, auto_tree
from gossamer_lab.timing import Say, Times, threads

GROW, REBUILD, LOAD = "inserting by Cobweb's operators", "rebuilding the tree", "agglomerating all at once"
LINK, ADD = "linking its leaves", "VectorIndex.add"


@dataclass(frozen=True)
class Spent:
    """What a step took in every round: seconds on the clock, and seconds of all cores together."""

    wall: Times
    cores: Times


def run(data: Data, *, repeats: int, n_threads: int, say: Say) -> Report:
    """Time every step of ours and the build of others, in rounds; those that are installed take part."""
    with threads(n_threads):
        spent = measure(data.X, repeats, n_threads, say)
    rows = [_row(name, each, len(data.X)) for name, each in spent.items()]
    sections = [
        section("building", rows, [_NOTE, *missing()]),
        section(f"as a share of {HNSWLIB}'s time", compare(spent)),
    ]
    return Report("build", data.description, {"threads": n_threads, "rounds": repeats}, sections)


_NOTE: Final = (
    "Whitening is in none of these times. Inserting uses one core, all other steps use all for most of what they do. "
    "core seconds: of all cores together, best round; where other programs run they are the steadier figure."
)


def steps(X: Floats) -> Iterator[str]:
    """Build step by step; yields the name of each as it is done."""
    kernel = Kernel(auto_tree(X))
    kernel.tree.insert_many(X)
    yield GROW
    kernel.rebuild(keep=True)
    yield REBUILD
    kernel = Kernel(auto_tree(X))
    kernel.load(X)
    yield LOAD
    kernel.link()
    yield LINK


def measure(X: Floats, repeats: int, n_threads: int, say: Say) -> dict[str, Spent]:
    """Rounds in which ours and the others take turns."""
    systems.build_gossamer(X[:3000])  # compiles
    list(steps(X[:3000]))
    builds: dict[str, Callable[[], Built]] = {
        HNSWLIB: partial(peers.build_hnswlib, X, n_threads),
        USEARCH: partial(peers.build_usearch, X, n_threads),
        FAISS_HNSW: partial(peers.build_faiss_hnsw, X),
        FAISS_SQ8: partial(peers.build_faiss_hnsw, X, FAISS_SQ8),
        SYMPHONY: partial(peers.build_symphony, X, n_threads),
        VAMANA: partial(peers.build_vamana, X, n_threads),
    }
    works: dict[str, Callable[[], Iterable[str]]] = {
        "steps": lambda: steps(X),
        ADD: _whole(ADD, partial(systems.build_gossamer, X)),
    } | {name: _whole(name, build) for name, build in builds.items() if is_installed(name)}
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


def _whole(name: str, build: Callable[[], Built]) -> Callable[[], Iterable[str]]:
    """A build that is one step."""

    def work() -> Iterator[str]:
        build()
        yield name

    return work


def compare(spent: dict[str, Spent]) -> list[Row]:
    """The tree inserted, rebuilt and linked, and the tree agglomerated at once, over hnswlib's time."""
    if HNSWLIB not in spent:
        return []
    theirs = spent[HNSWLIB]
    sums: dict[str, tuple[str, ...]] = {
        "inserted": (GROW,), "inserted, rebuilt": (GROW, REBUILD), "inserted, rebuilt, linked": (GROW, REBUILD, LINK),
        "agglomerated at once": (LOAD,), "agglomerated at once, linked": (LOAD, LINK), ADD: (ADD,),
    }  # fmt: skip
    rows: list[Row] = []
    for name, parts in sums.items():
        wall = _sum([spent[part].wall for part in parts])
        cores = _sum([spent[part].cores for part in parts])
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


def _sum(parts: Sequence[Times]) -> Times:
    """The times of steps that follow each other in the same rounds."""
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
