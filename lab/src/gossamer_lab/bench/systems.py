"""The systems compared, behind one interface: each is built once and then searched with several settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import faiss
import numpy as np
from usearch.index import Index as UsearchIndex

from gossamer import CobwebTree, VectorIndex
from gossamer_lab.bench.measures import Ids
from gossamer_lab.engine import Effort, Floats, Kernel, cores, tree_bytes
from gossamer_lab.methods.prepared import grow
from gossamer_lab.methods.rankers import has_hnswlib
from gossamer_lab.timing import Say, clock

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
"""M and ef_construction of every HNSW graph: hnswlib's usual values."""

LINKED, TREE, PATH_SUM, PAPER = "gossamer", "gossamer, tree alone", "gossamer, context 1", "gossamer, paper's tree"
HNSWLIB, USEARCH, FLAT, IVF, FAISS_HNSW = "hnswlib", "usearch", "faiss flat", "faiss IVF", "faiss HNSW"


@dataclass(frozen=True)
class Built:
    """An index and what it took to build."""

    index: Any
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Contender:
    """A system with one setting."""

    system: str
    setting: str
    built: Built
    search: Search
    prepare: Callable[[], object] = lambda: None
    """Applies the setting; not timed."""
    cost: Callable[[Floats], float | None] = lambda Q: None
    """Nodes or distances scored for a query, if known."""
    reference: Reference = "L2"
    nodes: int = 0
    """All nodes of the tree, if `cost` counts nodes."""

    @property
    def name(self) -> str:
        """System and setting."""
        return f"{self.system}, {self.setting}"


def missing(hnswlib: bool | None = None) -> list[str]:
    """A note if hnswlib is not installed; all other systems have wheels and come with the lab."""
    installed = has_hnswlib() if hnswlib is None else hnswlib
    return [] if installed else ["hnswlib is left out: it is not installed (pip install hnswlib, needs a C++ compiler)"]


def contenders(X: Floats, k: int, threads: int, say: Say, *, quick: bool = False) -> Iterator[Contender]:
    """Every system that is installed, with all its settings."""
    build_gossamer(X[:3000])  # compiles
    makers: list[Callable[[], Iterable[Contender]]] = [
        partial(gossamer, X, k), partial(tree_alone, X, k), partial(paper_tree, X, k),
        partial(faiss_flat, X, k), partial(faiss_ivf, X, k), partial(faiss_hnsw, X, k),
        *([partial(hnswlib, X, k, threads)] if has_hnswlib() else []), partial(usearch, X, k, threads),
    ]  # fmt: skip
    for number, maker in enumerate(makers, 1):
        say(f"building, {number} of {len(makers)}")
        for each in maker():
            if not quick or _in_quick_run(each):
                yield each


def _in_quick_run(contender: Contender) -> bool:
    """A quick run has every other step of long ladders of settings."""
    ladders: tuple[tuple[Sequence[float], str], ...] = ((SLACKS, "slack"), (EFS, "ef"), (PROBES, "probes"))
    for ladder, word in ladders:
        if contender.setting.startswith(f"{word} "):
            return ladder.index(float(contender.setting.split()[1])) % 2 == 0
    return True


# -- gossamer --------------------------------------------------------------------------------------


def build_gossamer(X: Floats, *, links: bool = True) -> Built:
    """The default index over vectors that are whitened already."""
    return _built(VectorIndex(X.shape[1], whitener=None, links=links), X)


def _built(index: VectorIndex, X: Floats) -> Built:
    seconds, _ = clock(lambda: grow(index, X))
    return Built(index, seconds, sum(tree_bytes(index).values()) + sum(Kernel.of(index).bytes().values()))


def _by_index(
    system: str, setting: str, built: Built, k: int, options: dict[str, Any], reference: Reference = "L2"
) -> Contender:
    """A contender that is searched through `VectorIndex.search`."""

    def search(Q: Floats) -> Any:
        return built.index.search(Q, k, **options)

    return Contender(
        system, setting, built, lambda Q: search(Q).ids, cost=lambda Q: float(search(Q).visited.mean()),
        reference=reference, nodes=built.index.tree.n_nodes,
    )  # fmt: skip


def _by_slack(built: Built, kernel: Kernel, k: int, slack: float) -> Contender:
    """A contender that follows links with a slack of its own instead of a calibrated one."""
    effort = Effort(slack)
    return Contender(
        LINKED, f"slack {slack}", built, lambda Q: kernel.search(Q, k, effort).documents,
        cost=lambda Q: float(kernel.search(Q, k, effort).visited.mean()), nodes=kernel.tree.n_nodes,
    )  # fmt: skip


def gossamer(X: Floats, k: int) -> Iterator[Contender]:
    """Guided search with links: calibrated targets, then fixed slacks; then the rankers of the paper."""
    built = build_gossamer(X)
    kernel = Kernel.of(built.index)
    kernel.check_ready()
    for target in TARGETS:
        yield _by_index(LINKED, f"guided, target {target}", built, k, {"recall": target})
    for slack in SLACKS:
        yield _by_slack(built, kernel, k, slack)
    yield _by_index(LINKED, "path gain, all", built, k, {"method": "path-sum"})
    for budget in OPENED:
        yield _by_index(LINKED, f"best-first, {budget} opened", built, k, {"method": "best-first", "budget": budget})
    yield from path_sum(PATH_SUM, built, k)


def path_sum(system: str, built: Built, k: int) -> Iterator[Contender]:
    """The paper's path-sum (context 1) by guided search, and over every document."""
    for target in (0.95, 0.98):
        yield _by_index(system, f"guided, target {target}", built, k, {"recall": target, "context": 1.0}, "path-sum")
    yield _by_index(system, "path-sum, all", built, k, {"method": "path-sum", "context": 1.0}, "path-sum")


def paper_tree(X: Floats, k: int) -> Iterator[Contender]:
    """Path-sum in the paper's tree: Cobweb's operators, and an acuity that makes flat trees."""
    index = VectorIndex(X.shape[1], whitener=None, structure="cobweb", acuity=CobwebTree.PAPER_ACUITY)
    yield from path_sum(PAPER, _built(index, X), k)


def tree_alone(X: Floats, k: int) -> Iterator[Contender]:
    """Guided search without links: targets and budgets."""
    built = build_gossamer(X, links=False)
    for target in (0.95, 0.98):
        yield _by_index(TREE, f"guided, target {target}", built, k, {"recall": target})
    for budget in BUDGETS:
        yield _by_index(TREE, f"budget {budget}", built, k, {"budget": budget})


# -- the others ------------------------------------------------------------------------------------


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
    return Built(index, seconds, int(faiss.serialize_index(index).nbytes))


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


def build_faiss_hnsw(X: Floats) -> Built:
    """HNSW in faiss, with the parameters of hnswlib."""
    index = faiss.IndexHNSWFlat(X.shape[1], M)
    index.hnsw.efConstruction = EF_CONSTRUCTION
    return build_faiss(index, X)


def faiss_hnsw(X: Floats, k: int) -> Iterator[Contender]:
    """HNSW in faiss."""
    built = build_faiss_hnsw(X)
    index = built.index
    cost = partial(_faiss_distances, "hnsw_stats", index, k=k)
    for ef in (ef for ef in EFS if ef >= k):
        prepare = partial(setattr, index.hnsw, "efSearch", ef)
        yield Contender(FAISS_HNSW, f"ef {ef}", built, _faiss_search(index, k), prepare=prepare, cost=cost)


def _faiss_search(index: Any, k: int) -> Search:
    return lambda Q: index.search(Q, k)[1]


def _faiss_distances(stats: str, index: Any, Q: Floats, k: int) -> float:
    """Distances computed for each query, by one of faiss's counters."""
    counter: Any = getattr(faiss.cvar, stats)
    counter.reset()
    index.search(Q, k)
    return float(counter.ndis / len(Q))
