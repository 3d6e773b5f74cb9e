"""The systems compared, behind one interface: each is built once and then searched with several settings.

Those of others are in `gossamer_lab.bench.peers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from gossamer import CobwebTree, VectorIndex
from gossamer_lab.bench.measures import Ids
from gossamer_lab.engine import Effort, Floats, Kernel, Whitening, tree_bytes
from gossamer_lab.methods.prepared import grow
from gossamer_lab.timing import clock

Search: TypeAlias = Callable[[Floats], Ids]
Reference: TypeAlias = Literal["L2", "path-sum", "own"]
"""What the answers are compared with: exact L2 in the space all share, the paper's path-sum over all documents, or the
system's own exhaustive ranking."""

TARGETS: Final = (0.90, 0.95, 0.98, 0.99)
FINE_TARGETS: Final = (*TARGETS, 0.995, 0.998, 0.999)
SLACKS: Final = (
    0.94, 0.96, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.075, 1.08, 1.1, 1.13, 1.16, 1.2,
    1.25, 1.3,
)  # fmt: skip
BUDGETS: Final = (500, 1000, 2000, 4000, 8000)
OPENED: Final = (200, 1000)
LINKED, TREE, PATH_SUM, PAPER = "gossamer", "gossamer, tree alone", "gossamer, context 1", "gossamer, paper's tree"


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


def gossamer_raw(raw: Floats, whitener: Whitening | None, k: int) -> Iterator[Contender]:
    """`VectorIndex` as people use it: raw vectors in, whitened inside, by a fit of its own or one given."""
    index = VectorIndex(raw.shape[1], whitener=whitener or "preset")
    built = _built(index, raw)
    Kernel.of(index).check_ready()
    for target in FINE_TARGETS:
        yield _by_index(LINKED, f"target {target}", built, k, {"recall": target}, "own")
