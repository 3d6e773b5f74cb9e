"""Rankers by name. A method is written ``ranker@vectors``, as in ``best-first@paper``; a few lines add one:

@method("random", "any order", trees=False)
def random_order(task: Prepared, space: str, k: int) -> Found:
    ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

import faiss
import numpy as np

from gossamer.errors import InputError
from gossamer_lab.engine import Floats, Longs, Weight, cores
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.spaces import SPACES
from gossamer_lab.timing import clock

_BLOCK: Final = 256
"""Queries whose scores with every document are in memory at once."""


@dataclass(frozen=True)
class Found:
    """Rows of documents for each query, best first, -1 past the end; seconds to build and to answer all queries."""

    rows: Longs
    build: float
    search: float


Ranker: TypeAlias = Callable[[Prepared, str, int], Found]


@dataclass(frozen=True)
class Method:
    """A ranker over one kind of vectors."""

    ranker: str
    space: str
    about: str
    rank: Callable[[Prepared, int], Found]
    trees: bool
    """Whether the order of insertion can matter."""

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"{self.ranker}@{self.space}"


@dataclass(frozen=True)
class _Registered:
    about: str
    rank: Ranker
    trees: bool
    spaces: tuple[str, ...]


_RANKERS: dict[str, _Registered] = {}


def method(
    name: str, about: str, *, trees: bool, spaces: tuple[str, ...] = tuple(SPACES)
) -> Callable[[Ranker], Ranker]:
    """Register a ranker."""

    def register(rank: Ranker) -> Ranker:
        _RANKERS[name] = _Registered(about, rank, trees, spaces)
        return rank

    return register


def methods() -> dict[str, str]:
    """Every ranker with a line about it."""
    from gossamer_lab.methods import path_weights  # noqa: F401 - registers more rankers

    return {name: each.about for name, each in _RANKERS.items()}


def method_of(name: str) -> Method:
    """A method by its name; without ``@vectors``, over those of the default index."""
    ranker, _, space = name.partition("@")
    from gossamer_lab.methods import path_weights  # noqa: F401 - registers more rankers

    if ranker not in _RANKERS:
        raise InputError(f"there is no ranker {ranker!r}: choose one of {', '.join(_RANKERS)}")
    known = _RANKERS[ranker]
    space = space or ("default" if "default" in known.spaces else known.spaces[0])
    if space not in known.spaces:
        raise InputError(f"{ranker} goes with {', '.join(known.spaces)} vectors, not with {space!r}")
    return Method(ranker, space, known.about, lambda task, k: known.rank(task, space, k), known.trees)


def has_hnswlib() -> bool:
    """Whether hnswlib is installed; it has no wheels, so it needs a C++ compiler."""
    return find_spec("hnswlib") is not None


# -- every document scored -------------------------------------------------------------------------


@method("dot", "dot product with every document (faiss IndexFlatIP)", trees=False)
def _dot(task: Prepared, space: str, k: int) -> Found:
    return flat(task.vectors(space).X, task.vectors(space).Y, k, "IndexFlatIP", task.vectors(space).seconds)


@method("cosine", "cosine with every document (faiss IndexFlatIP)", trees=False)
def _cosine(task: Prepared, space: str, k: int) -> Found:
    return flat(*_unit(task, space), k, "IndexFlatIP", task.vectors(space).seconds)


@method("l2", "distance to every document (faiss IndexFlatL2)", trees=False)
def _l2(task: Prepared, space: str, k: int) -> Found:
    return flat(task.vectors(space).X, task.vectors(space).Y, k, "IndexFlatL2", task.vectors(space).seconds)


@method("bm25", "shared words alone", trees=False, spaces=("words",))
def _bm25(task: Prepared, space: str, k: int) -> Found:
    seconds, words = clock(task.lexical)
    rows = np.full((len(words.rows), k), -1, np.int64)
    for place, (found, shares) in enumerate(zip(words.rows, words.shares, strict=True)):
        order = np.lexsort((found, -shares))[:k]
        rows[place, : len(order)] = found[order]
    return Found(rows, 0.0, seconds)


@method("hybrid", "cosine + weight × share of the best BM25, as Index.search", trees=False)
def _hybrid(task: Prepared, space: str, k: int) -> Found:
    task.lexical()  # its time is not the search's
    seconds, rows = clock(lambda: fused(task, *_unit(task, space), k, "auto"))
    return Found(rows, task.vectors(space).seconds, seconds)


# -- graphs and trees ------------------------------------------------------------------------------


@method("hnsw", "hnswlib, M=16, ef_construction=200, ef=64, cosine", trees=True)
def _hnsw(task: Prepared, space: str, k: int) -> Found:
    if not has_hnswlib():
        raise InputError("hnsw needs hnswlib: run pip install hnswlib (it needs a C++ compiler)")
    import hnswlib

    X, Y = _unit(task, space)
    graph = hnswlib.Index("ip", X.shape[1])
    graph.init_index(len(X), M=16, ef_construction=200)
    graph.set_num_threads(cores())
    order = task.arrival()
    building, _ = clock(lambda: graph.add_items(X[order], order))
    graph.set_ef(max(64, k))
    searching, (rows, _) = clock(lambda: graph.knn_query(Y, k))
    return Found(rows.astype(np.int64), building + task.vectors(space).seconds, searching)


def _searches(**options: Any) -> Ranker:
    """A ranker that calls `VectorIndex.search`."""

    def rank(task: Prepared, space: str, k: int) -> Found:
        tree = task.tree(space)
        fitting = 0.0 if space == "default" else task.vectors(space).seconds
        tree.index.search(task.data.Q[:1], k, **options)  # compiles and calibrates
        found = tree.index.search(task.data.Q, k, **options)
        return Found(found.ids.astype(np.int64), tree.seconds + fitting, found.seconds)

    return rank


for _name, _about, _options in (
    ("best-first", "the paper's best-first search", {"method": "best-first"}),
    ("path-sum", "the paper's path-sum as its program has it: the mean", {"method": "path-sum", "aggregate": "mean"}),
    ("path-sum-sum", "the paper's path-sum as its formula has it: the sum", {"method": "path-sum", "context": 1.0}),
    ("gain", "path gain: the leaf's density over the root's", {"method": "path-sum", "context": 0.0}),
    ("gain-0.2", "path gain with a fifth of its context", {"method": "path-sum", "context": 0.2}),
    ("guided", "guided search, the default: nearly all of the best path gains", {"method": "guided", "context": 0.0}),
):  # fmt: skip
    method(_name, _about, trees=True)(_searches(**_options))


for _budget in (100, 500, 2_000):
    method(f"best-first-{_budget}", f"the paper's best-first search, at most {_budget:,} nodes opened", trees=True)(
        _searches(method="best-first", budget=_budget)
    )


# -- arithmetic ------------------------------------------------------------------------------------


def _unit(task: Prepared, space: str) -> tuple[Floats, Floats]:
    vectors = task.vectors(space)
    return unit_rows(vectors.X), unit_rows(vectors.Y)


def unit_rows(X: Floats) -> Floats:
    """Each row at unit length; a zero row stays zero."""
    lengths = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return np.ascontiguousarray(X / lengths, dtype=np.float32)


def fused(task: Prepared, X: Floats, Y: Floats, k: int, weight: Weight) -> Longs:
    """The k best documents by cosine + weight · BM25 / (best BM25); rows of X and Y have unit length."""
    words = task.lexical()
    rows = np.empty((len(Y), min(k, len(X))), np.int64)
    for start in range(0, len(Y), _BLOCK):
        rows[start : start + _BLOCK] = best(words.added_to(Y[start : start + _BLOCK] @ X.T, start, weight), k)
    return rows


def best(scores: Floats, k: int) -> Longs:
    """The k highest of each row; equal ones by their place."""
    n = scores.shape[1]
    k = min(k, n)
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k] if k < n else np.tile(np.arange(n), (len(scores), 1))
    some.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1).astype(np.int64)


def flat(X: Floats, Y: Floats, k: int, kind: str, before: float = 0.0) -> Found:
    """Every document scored by one of faiss' flat indexes; `before` are seconds spent already."""
    index = getattr(faiss, kind)(X.shape[1])
    building, _ = clock(lambda: index.add(X))
    searching, (_, rows) = clock(lambda: index.search(Y, k))
    return Found(rows.astype(np.int64), building + before, searching)
