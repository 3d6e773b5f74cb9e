"""The indexes of others: each is built once, with its usual parameters, and then searched with several settings."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import faiss
import numpy as np
from usearch.index import Index as UsearchIndex

from gossamer_lab.bench.measures import Ids
from gossamer_lab.bench.systems import Built, Contender, Search
from gossamer_lab.engine import Floats, cores
from gossamer_lab.timing import clock

EFS: Final = (10, 12, 14, 17, 20, 25, 30, 40, 50, 64, 80, 100, 128, 180, 256, 400, 600)
PROBES: Final = (1, 2, 4, 8, 16, 32, 64)

M: Final = 16
EF_CONSTRUCTION: Final = 200
"""M and ef_construction of every HNSW graph: hnswlib's usual values. Other graphs get the same degree."""

_FEWEST_DIMENSIONS: Final = 64
"""Of SymphonyQG."""

HNSWLIB, USEARCH, FLAT, IVF = "hnswlib", "usearch", "faiss flat", "faiss IVF"
FAISS_HNSW, FAISS_SQ8, SYMPHONY, VAMANA = "faiss HNSW", "faiss HNSW SQ8", "SymphonyQG", "Vamana"

_INSTALLED: Final = {HNSWLIB: "hnswlib", SYMPHONY: "rabitqlib", VAMANA: "svs"}
"""By system: its module. The others come with the lab."""
_CURES: Final = {
    HNSWLIB: "pip install hnswlib, needs a C++ compiler",
    SYMPHONY: "pip install rabitqlib, wheels for Linux on x86-64",
    VAMANA: "pip install scalable-vs, wheels for Linux on x86-64",
}

Maker = Callable[[], Iterable[Contender]]


def is_installed(system: str) -> bool:
    """Whether the package of a system is there."""
    return system not in _INSTALLED or find_spec(_INSTALLED[system]) is not None


def missing(systems: Sequence[str] = tuple(_INSTALLED)) -> list[str]:
    """A note for each of some systems that is not installed."""
    return [f"{name} is left out: it is not installed ({_CURES[name]})" for name in systems if not is_installed(name)]


def peers(X: Floats, k: int, threads: int) -> dict[str, Maker]:
    """Every system that is installed, with all its settings, built when its contenders are listed."""
    makers: dict[str, Maker] = {
        FLAT: partial(faiss_flat, X, k),
        IVF: partial(faiss_ivf, X, k),
        FAISS_HNSW: partial(faiss_hnsw, X, k, FAISS_HNSW),
        FAISS_SQ8: partial(faiss_hnsw, X, k, FAISS_SQ8),
        HNSWLIB: partial(hnswlib, X, k, threads),
        USEARCH: partial(usearch, X, k, threads),
        SYMPHONY: partial(symphony, X, k, threads),
        VAMANA: partial(vamana, X, k, threads),
    }
    return {name: maker for name, maker in makers.items() if is_installed(name)}


def build_hnswlib(X: Floats, threads: int) -> Built:
    """hnswlib with its usual parameters."""
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=M, ef_construction=EF_CONSTRUCTION)
    seconds, _ = clock(lambda: index.add_items(X, num_threads=threads))
    return Built(index, seconds, int(index.index_file_size()))


def hnswlib(X: Floats, k: int, threads: int) -> Iterator[Contender]:
    """HNSW in hnswlib."""
    built = build_hnswlib(X, threads)
    index = built.index

    def search(Q: Floats) -> Ids:
        found: Ids = index.knn_query(Q, k, num_threads=cores())[0].astype(np.int64)
        return found

    for ef in (ef for ef in EFS if ef >= k):
        yield Contender(HNSWLIB, f"ef {ef}", built, search, prepare=partial(index.set_ef, ef))


def build_usearch(X: Floats, threads: int) -> Built:
    """usearch with the parameters of hnswlib."""
    index = UsearchIndex(ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=M, expansion_add=EF_CONSTRUCTION)
    seconds, _ = clock(lambda: index.add(np.arange(len(X)), X, threads=threads))
    return Built(index, seconds, int(index.serialized_length))


def usearch(X: Floats, k: int, threads: int) -> Iterator[Contender]:
    """HNSW in usearch."""
    built = build_usearch(X, threads)
    index = built.index

    def search(Q: Floats) -> Ids:
        return np.atleast_2d(index.search(Q, k, threads=cores()).keys).astype(np.int64)

    def cost(Q: Floats) -> float:
        return float(index.search(Q, k, threads=cores()).computed_distances) / len(Q)

    for ef in (ef for ef in EFS if ef >= k):
        prepare = partial(setattr, index, "expansion_search", ef)
        yield Contender(USEARCH, f"ef {ef}", built, search, prepare=prepare, cost=cost)


def build_faiss(index: Any, X: Floats) -> Built:
    """Train if needed, and add."""

    def build() -> None:
        if not index.is_trained:
            index.train(X)
        index.add(X)

    seconds, _ = clock(build)
    return Built(index, seconds, _saved(lambda folder: faiss.write_index(index, f"{folder}/index")))


def faiss_flat(X: Floats, k: int) -> Iterator[Contender]:
    """Every distance, by matrix products."""
    built = build_faiss(faiss.IndexFlatL2(X.shape[1]), X)
    yield Contender(FLAT, "all", built, _faiss_search(built.index, k), cost=lambda Q: float(len(X)))


def faiss_ivf(X: Floats, k: int) -> Iterator[Contender]:
    """Inverted lists around 2√N centres found by k-means."""
    lists = max(1, min(len(X) // 39, 2 * math.isqrt(len(X))))
    built = build_faiss(faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], lists), X)
    index = built.index

    def cost(Q: Floats) -> float:
        return float(lists) + _faiss_distances("indexIVF_stats", index, Q, k)

    for probes in (p for p in PROBES if p <= lists):
        prepare = partial(setattr, index, "nprobe", probes)
        yield Contender(IVF, f"probes {probes}", built, _faiss_search(index, k), prepare=prepare, cost=cost)


def build_faiss_hnsw(X: Floats, system: str = FAISS_HNSW) -> Built:
    """HNSW in faiss, with the parameters of hnswlib: over float32, or over numbers of one byte (SQ8)."""
    index: Any
    if system == FAISS_SQ8:
        index = faiss.IndexHNSWSQ(X.shape[1], faiss.ScalarQuantizer.QT_8bit, M)  # type: ignore[arg-type]
    else:
        index = faiss.IndexHNSWFlat(X.shape[1], M)
    index.hnsw.efConstruction = EF_CONSTRUCTION
    return build_faiss(index, X)


def faiss_hnsw(X: Floats, k: int, system: str) -> Iterator[Contender]:
    """HNSW in faiss."""
    built = build_faiss_hnsw(X, system)
    index = built.index
    cost = partial(_faiss_distances, "hnsw_stats", index, k=k)
    for ef in (ef for ef in EFS if ef >= k):
        prepare = partial(setattr, index.hnsw, "efSearch", ef)
        yield Contender(system, f"ef {ef}", built, _faiss_search(index, k), prepare=prepare, cost=cost)


def _faiss_search(index: Any, k: int) -> Search:
    return lambda Q: index.search(Q, k)[1]


def _faiss_distances(stats: str, index: Any, Q: Floats, k: int) -> float:
    """Distances computed for each query, by one of faiss's counters."""
    counter: Any = getattr(faiss.cvar, stats)
    counter.reset()
    index.search(Q, k)
    return float(counter.ndis / len(Q))


def build_symphony(X: Floats, threads: int) -> Built:
    """SymphonyQG (Gou et al. 2025): a graph whose links carry codes of one bit a dimension."""
    from rabitqlib import SymqgIndex

    X = _padded(X)
    index = SymqgIndex(X.shape[1], 2 * M, "l2")
    seconds, _ = clock(lambda: index.build(X, EF_CONSTRUCTION, threads))
    return Built(index, seconds, _saved(lambda folder: index.save(f"{folder}/index")))


def _padded(X: Floats) -> Floats:
    """X with as many columns as SymphonyQG needs at least."""
    return X if X.shape[1] >= _FEWEST_DIMENSIONS else np.pad(X, ((0, 0), (0, _FEWEST_DIMENSIONS - X.shape[1])))


def symphony(X: Floats, k: int, threads: int) -> Iterator[Contender]:
    """SymphonyQG, by the authors' package."""
    built = build_symphony(X, threads)

    def search(Q: Floats, ef: int) -> Ids:
        found: Ids = built.index.search_batch(_padded(Q), k, ef, cores())[0].astype(np.int64)
        return found

    for ef in (ef for ef in EFS if ef >= k):
        yield Contender(SYMPHONY, f"ef {ef}", built, partial(search, ef=ef))


def build_vamana(X: Floats, threads: int) -> Built:
    """Vamana (the graph of DiskANN) in Intel's Scalable Vector Search, over float32."""
    import svs

    parameters = svs.VamanaBuildParameters(graph_max_degree=2 * M, window_size=EF_CONSTRUCTION, alpha=1.2)
    build = partial(svs.Vamana.build, parameters, X, svs.DistanceType.L2, num_threads=threads)
    seconds, index = clock(build)
    parts = "settings", "graph", "vectors"
    return Built(index, seconds, _saved(lambda folder: index.save(*(f"{folder}/{part}" for part in parts))))


def vamana(X: Floats, k: int, threads: int) -> Iterator[Contender]:
    """Vamana, searched with a window of several sizes."""
    built = build_vamana(X, threads)
    index = built.index

    def search(Q: Floats) -> Ids:
        found: Ids = index.search(Q, k)[0].astype(np.int64)
        return found

    def prepare(window: int) -> None:
        index.num_threads, index.search_window_size = cores(), window

    for window in (ef for ef in EFS if ef >= k):
        yield Contender(VAMANA, f"ef {window}", built, search, prepare=partial(prepare, window))


def _saved(save: Callable[[str], object]) -> int:
    """Bytes that an index takes on disk."""
    with tempfile.TemporaryDirectory() as folder:
        save(folder)
        return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
