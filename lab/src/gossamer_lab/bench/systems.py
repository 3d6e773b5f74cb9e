"""The systems compared, behind one face: each is built once and then asked with several settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gossamer.array_types import Floats
from gossamer.errors import InputError
from gossamer.graph.calibration import Effort
from gossamer.rank.guided import Guide
from gossamer.tree.cobweb import CobwebTree
from gossamer.vector_index.vector_index import VectorIndex
from gossamer_lab.bench.measures import Ids
from gossamer_lab.bench.timing import Say, all_cores, clock

Search: TypeAlias = Callable[[Floats], Ids]
Reference: TypeAlias = Literal["L2", "path-sum"]

TARGETS: Final = (0.90, 0.95, 0.98, 0.99)
SLACKS: Final = (
    0.94, 0.96, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.075, 1.08, 1.1, 1.13, 1.16, 1.2,
    1.25, 1.3,
)  # fmt: skip
BUDGETS: Final = (500, 1000, 2000, 4000, 8000)
OPENED: Final = (200, 1000)
EFS: Final = (10, 12, 14, 17, 20, 25, 30, 40, 50, 64, 80, 100, 128, 180, 256, 400)
PROBES: Final = (1, 2, 4, 8, 16, 32, 64)

M: Final = 16
EF_CONSTRUCTION: Final = 200
"""Of every graph that takes them: hnswlib's usual values."""

LINKED, TREE, PATH_SUM, PAPER = "gossamer", "gossamer, tree alone", "gossamer, context 1", "gossamer, paper's acuity"
HNSWLIB, USEARCH, FLAT, IVF, FAISS_HNSW = "hnswlib", "usearch", "faiss flat", "faiss IVF", "faiss HNSW"

PACKAGES: Final = {"faiss": (FLAT, IVF, FAISS_HNSW), "hnswlib": (HNSWLIB,), "usearch": (USEARCH,)}


@dataclass(frozen=True)
class Built:
    """An index and what it took to build."""

    index: Any
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Contender:
    """A system with one setting. `prepare` is not timed; `cost` is nodes or distances a query, where known."""

    system: str
    setting: str
    built: Built
    search: Search
    prepare: Callable[[], object] = lambda: None
    cost: Callable[[Floats], float | None] = lambda Q: None
    reference: Reference = "L2"
    nodes: int = 0
    """Nodes there are, where `cost` counts nodes."""

    @property
    def name(self) -> str:
        """System and setting."""
        return f"{self.system}, {self.setting}"


def missing() -> list[str]:
    """A sentence for each package that is not installed."""
    return [
        f'{", ".join(names)} left out: {package} is not installed (pip install "gossamer[bench]")'
        for package, names in PACKAGES.items()
        if find_spec(package) is None
    ]


def contenders(X: Floats, k: int, threads: int, say: Say, *, quick: bool = False) -> Iterator[Contender]:
    """Every system that is installed, with all its settings."""
    build_gossamer(X[:3000])  # compiles
    makers: list[Callable[[], Iterable[Contender]]] = [
        lambda: gossamer(X, k, say), lambda: tree_alone(X, k, say), lambda: paper_tree(X, k, say),
    ]  # fmt: skip
    if find_spec("faiss") is not None:
        makers += [lambda: faiss_flat(X, k), lambda: faiss_ivf(X, k), lambda: faiss_hnsw(X, k)]
    if find_spec("hnswlib") is not None:
        makers.append(lambda: hnswlib(X, k, threads))
    if find_spec("usearch") is not None:
        makers.append(lambda: usearch(X, k, threads))
    for maker in makers:
        say("building")
        for each in maker():
            if not quick or _sketched(each):
                yield each


def _sketched(contender: Contender) -> bool:
    """Whether a quick run has time for it: every other step of long ladders is left out."""
    ladders: tuple[tuple[Sequence[float], str], ...] = ((SLACKS, "slack"), (EFS, "ef"), (PROBES, "probes"))
    for ladder, word in ladders:
        if contender.setting.startswith(f"{word} "):
            return ladder.index(float(contender.setting.split()[1])) % 2 == 0
    return True


# -- gossamer --------------------------------------------------------------------------------------


def build_gossamer(X: Floats, *, links: bool = True, acuity: float | Literal["auto"] = "auto") -> Built:
    """The default index over vectors that are whitened already."""
    index = VectorIndex(X.shape[1], whitener=None, acuity=acuity, links=links)
    seconds, _ = clock(lambda: grow(index, X))
    return Built(index, seconds, index_bytes(index))


def grow(index: VectorIndex, X: Floats, ids: Sequence[int] | None = None) -> None:
    """Add everything, and link it at once: left to the first search, that would be missing from the time."""
    index.add(X, ids=ids)
    index.settle()


def guide_of(index: VectorIndex) -> Guide:
    """What guides the searches of an index: not public, and the only way to set a slack."""
    return index._guide


def effort_for(guide: Guide, tree: CobwebTree, k: int, recall: float) -> Effort:
    """What calibration found to be needed; the longest walk where it never saw that recall."""
    return guide.effort(tree.arrays, k, None, recall) or Effort(SLACKS[-1])


def check_ready(guide: Guide, tree: CobwebTree) -> None:
    """Raise if there is so little that nothing is guided."""
    if not guide.ready(tree.arrays):
        raise InputError(f"{len(tree):,} documents are too few: gossamer scores them all. Give a few thousand")


def array_bytes(value: object) -> int:
    """Bytes of the arrays in a (nested) tuple of arrays."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(array_bytes(each) for each in value) if isinstance(value, tuple) else 0


def index_bytes(index: VectorIndex) -> int:
    """Bytes of the arrays of an index: its tree, and what guides searches."""
    return array_bytes(index.tree.arrays) + array_bytes(guide_of(index)._g)


def effort_search(tree: CobwebTree, guide: Guide, k: int, effort: Effort) -> Search:
    """Guided search with an effort that no calibration chose."""
    return lambda Q: guide.search(tree.arrays, Q, k, effort).documents


def effort_cost(tree: CobwebTree, guide: Guide, k: int, effort: Effort) -> Callable[[Floats], float]:
    """Nodes scored by `effort_search`, for each query."""
    return lambda Q: float(guide.search(tree.arrays, Q, k, effort).visited.mean())


def _index_search(index: VectorIndex, k: int, options: dict[str, Any]) -> Search:
    return lambda Q: index.search(Q, k, **options).ids


def _index_cost(index: VectorIndex, k: int, options: dict[str, Any]) -> Callable[[Floats], float]:
    return lambda Q: float(index.search(Q, k, **options).visited.mean())


def _asked(
    system: str, setting: str, built: Built, k: int, options: dict[str, Any], reference: Reference = "L2"
) -> Contender:
    """A contender that is asked through `VectorIndex.search`."""
    search, cost = _index_search(built.index, k, options), _index_cost(built.index, k, options)
    nodes = built.index.tree.n_nodes
    return Contender(system, setting, built, search, cost=cost, reference=reference, nodes=nodes)


def gossamer(X: Floats, k: int, say: Say) -> Iterator[Contender]:
    """Guided search with links: calibrated targets, then fixed slacks; then the rankers of the paper."""
    say("building gossamer")
    built = build_gossamer(X)
    tree, guide = built.index.tree, guide_of(built.index)
    check_ready(guide, tree)
    for target in TARGETS:
        yield _asked(LINKED, f"guided, target {target}", built, k, {"recall": target})
    for slack in SLACKS:
        effort = Effort(slack)
        search, cost = effort_search(tree, guide, k, effort), effort_cost(tree, guide, k, effort)
        yield Contender(LINKED, f"slack {slack}", built, search, cost=cost, nodes=tree.n_nodes)
    yield _asked(LINKED, "path gain, all", built, k, {"method": "path-sum"})
    for budget in OPENED:
        options: dict[str, Any] = {"method": "best-first", "budget": budget}
        yield _asked(LINKED, f"best-first, {budget} opened", built, k, options)
    yield from path_sum(PATH_SUM, built, k)


def path_sum(system: str, built: Built, k: int) -> Iterator[Contender]:
    """The paper's path-sum as what guided search is to find, and path-sum over everything."""
    for target in (0.95, 0.98):
        yield _asked(system, f"guided, target {target}", built, k, {"recall": target, "context": 1.0}, "path-sum")
    yield _asked(system, "path-sum, all", built, k, {"method": "path-sum", "context": 1.0}, "path-sum")


def paper_tree(X: Floats, k: int, say: Say) -> Iterator[Contender]:
    """The same with the paper's acuity: its trees are flatter, and its path-sum is nearer to the leaf's density."""
    say("building gossamer with the paper's acuity")
    yield from path_sum(PAPER, build_gossamer(X, acuity=CobwebTree.PAPER_ACUITY), k)


def tree_alone(X: Floats, k: int, say: Say) -> Iterator[Contender]:
    """Guided search without links: targets and budgets."""
    say("building gossamer without links")
    built = build_gossamer(X, links=False)
    for target in (0.95, 0.98):
        yield _asked(TREE, f"guided, target {target}", built, k, {"recall": target})
    for budget in BUDGETS:
        yield _asked(TREE, f"budget {budget}", built, k, {"budget": budget})


# -- the others ------------------------------------------------------------------------------------


def build_hnswlib(X: Floats, threads: int) -> Built:
    """hnswlib with its usual parameters."""
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=M, ef_construction=EF_CONSTRUCTION)
    seconds, _ = clock(lambda: index.add_items(X, num_threads=threads))
    return Built(index, seconds, int(index.index_file_size()))


def hnswlib(X: Floats, k: int, threads: int, efs: Sequence[int] = EFS) -> Iterator[Contender]:
    """The graph most people mean by HNSW."""
    built = build_hnswlib(X, threads)
    index = built.index

    def search(Q: Floats) -> Ids:
        found: Ids = index.knn_query(Q, k, num_threads=all_cores())[0].astype(np.int64)
        return found

    for ef in (ef for ef in efs if ef >= k):
        yield Contender(HNSWLIB, f"ef {ef}", built, search, prepare=_calling(index.set_ef, ef))


def build_usearch(X: Floats, threads: int) -> Built:
    """usearch with the parameters of hnswlib."""
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=M, expansion_add=EF_CONSTRUCTION)
    seconds, _ = clock(lambda: index.add(np.arange(len(X)), X, threads=threads))
    return Built(index, seconds, int(index.serialized_length))


def usearch(X: Floats, k: int, threads: int) -> Iterator[Contender]:
    """HNSW once more."""
    built = build_usearch(X, threads)
    index = built.index

    def search(Q: Floats) -> Ids:
        return np.atleast_2d(index.search(Q, k, threads=all_cores()).keys).astype(np.int64)

    def cost(Q: Floats) -> float:
        return float(index.search(Q, k, threads=all_cores()).computed_distances) / len(Q)

    for ef in (ef for ef in EFS if ef >= k):
        yield Contender(
            USEARCH, f"ef {ef}", built, search, prepare=_setting(index, "expansion_search", ef), cost=cost
        )  # fmt: skip


def build_faiss(index: Any, X: Floats) -> Built:
    """Train where that is needed, add, and ask for the size."""
    import faiss

    def build() -> None:
        if not index.is_trained:
            index.train(X)
        index.add(X)

    seconds, _ = clock(build)
    return Built(index, seconds, int(faiss.serialize_index(index).nbytes))


def faiss_flat(X: Floats, k: int) -> Iterator[Contender]:
    """Every distance, by matrix products."""
    import faiss

    built = build_faiss(faiss.IndexFlatL2(X.shape[1]), X)
    yield Contender(FLAT, "all", built, _faiss_search(built.index, k), cost=lambda Q: float(len(X)))


def faiss_ivf(X: Floats, k: int) -> Iterator[Contender]:
    """Lists around 2√N centres found by k-means."""
    import faiss

    lists = max(1, min(len(X) // 39, 2 * math.isqrt(len(X))))
    flat = faiss.IndexFlatL2(X.shape[1])
    built = build_faiss(faiss.IndexIVFFlat(flat, X.shape[1], lists), X)
    index = built.index

    def cost(Q: Floats) -> float:
        return float(lists) + _faiss_distances("indexIVF_stats", index, Q, k)

    for probes in (p for p in PROBES if p <= lists):
        prepare = _setting(index, "nprobe", probes)
        yield Contender(IVF, f"probes {probes}", built, _faiss_search(index, k), prepare=prepare, cost=cost)


def build_faiss_hnsw(X: Floats) -> Built:
    """HNSW in faiss, with the parameters of hnswlib."""
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], M)
    index.hnsw.efConstruction = EF_CONSTRUCTION
    return build_faiss(index, X)


def faiss_hnsw(X: Floats, k: int) -> Iterator[Contender]:
    """HNSW in faiss."""
    built = build_faiss_hnsw(X)
    index = built.index

    def cost(Q: Floats) -> float:
        return _faiss_distances("hnsw_stats", index, Q, k)

    for ef in (ef for ef in EFS if ef >= k):
        prepare = _setting(index.hnsw, "efSearch", ef)
        yield Contender(FAISS_HNSW, f"ef {ef}", built, _faiss_search(index, k), prepare=prepare, cost=cost)


def _faiss_search(index: Any, k: int) -> Search:
    return lambda Q: index.search(Q, k)[1]


def _faiss_distances(stats: str, index: Any, Q: Floats, k: int) -> float:
    """Distances computed for each query, by one of faiss's counters."""
    import faiss

    counter: Any = getattr(faiss.cvar, stats)
    counter.reset()
    index.search(Q, k)
    return float(counter.ndis / len(Q))


def _calling(function: Callable[[int], object], value: int) -> Callable[[], object]:
    return lambda: function(value)


def _setting(target: Any, name: str, value: int) -> Callable[[], object]:
    return lambda: setattr(target, name, value)
