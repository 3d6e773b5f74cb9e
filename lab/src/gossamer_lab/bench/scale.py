"""Growth: what an insertion and an answer cost as the corpus grows, and the shape of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gossamer_lab.bench.build import GROW, LINK, REBUILD
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.measures import Ids, cost_at, exact_neighbours, exponent, recall
from gossamer_lab.bench.report import Report, Row, section
from gossamer_lab.bench.search import K
from gossamer_lab.bench.systems import SLACKS
from gossamer_lab.engine import Effort, Floats, Kernel, auto_tree
from gossamer_lab.timing import Say, Times, clock

SIZES: Final = (10_000, 20_000, 40_000, 76_000)
WANTED: Final = 0.95
_TIGHT: Final = (80, 100, 125, 150, 175, 200, 250, 300, 400, 500)
_BUDGETS: Final = (125, 250, 500, 1000, 2000, 4000, 8000, 16_000)


def sizes_for(rows: int, *, quick: bool) -> list[int]:
    """The sizes to measure: those of the table that fit, and all rows if there are fewer than the largest."""
    wanted = (2_500, 5_000, 10_000) if quick else SIZES
    fitting = [size for size in wanted if size <= rows]
    return fitting if fitting and rows >= wanted[-1] else [*fitting, rows]


def run(data: Data, *, repeats: int, quick: bool, say: Say) -> Report:
    """Build and search at every size."""
    sizes = sizes_for(len(data.X), quick=quick)
    _Grown(data.X[:2000]).nodes_needed(data.X[:2000], data.Q[:10])  # compiles
    shapes: list[Row] = []
    rows: list[Row] = []
    for size in sizes:
        say(f"{size:,} documents")
        X = data.X[:size]
        builds = [_Grown(X) for _ in range(repeats)]
        shapes.append(_shape(builds))
        rows.append({"documents": size, **builds[0].nodes_needed(X, data.Q)})
    notes = [
        "linked and tree alone: nodes scored for recall@10 of 0.95, read between settings (linear in recall and log "
        "nodes); target: what the calibrated recall=0.95 spent and found."
    ]
    sections = [
        section("growing, by size", shapes),
        section(f"nodes scored for recall {WANTED}", rows, notes),
        section("growth: cost ~ N^b", growth(shapes, rows)),
    ]
    return Report("scale", data.description, {"rounds": repeats, "k": K}, sections)


class _Grown:
    """A tree with links, and the seconds of each step."""

    def __init__(self, X: Floats) -> None:
        self.linked = Kernel(auto_tree(X))
        self.tree = self.linked.tree
        self.seconds: dict[str, float] = {}
        self.seconds[GROW], _ = clock(lambda: self.tree.insert_many(X))
        self.seconds[REBUILD], _ = clock(self.linked.rebuild)
        self.seconds[LINK], _ = clock(self.linked.link)
        self.linked.check_ready()

    def nodes_needed(self, X: Floats, Q: Floats) -> Row:
        """Nodes scored for the recall wanted: with links, with the tree alone, and by the calibrated target."""
        bare = Kernel(self.tree, links=False)
        bare.link()
        exact = exact_neighbours(X, Q, K)
        walks = [Effort(slack) for slack in SLACKS] + [Effort(most_nodes=budget, width=K) for budget in _TIGHT]
        budgets = [Effort(most_nodes=budget, width=2 * K) for budget in _BUDGETS]
        with_links = cost_at(WANTED, *_curve(self.linked, X, Q, exact, walks))
        without = cost_at(WANTED, *_curve(bare, X, Q, exact, budgets))
        recalls, scored = _curve(self.linked, X, Q, exact, [self.linked.effort(K, WANTED)])
        return {
            "linked": with_links,
            "share linked": None if with_links is None else with_links / self.tree.n_nodes,
            "tree alone": without,
            "share alone": None if without is None else without / self.tree.n_nodes,
            "target scored": scored[0],
            "target recall": recalls[0],
        }


def _curve(
    kernel: Kernel, X: Floats, Q: Floats, exact: Ids, efforts: Sequence[Effort]
) -> tuple[list[float], list[float]]:
    """Recall and nodes scored for each effort."""
    recalls, nodes = [], []
    for effort in efforts:
        found = kernel.search(Q, K, effort)
        recalls.append(recall(X, Q, found.documents, exact))
        nodes.append(float(found.visited.mean()))
    return recalls, nodes


def _shape(builds: Sequence[_Grown]) -> Row:
    stats = builds[0].tree.stats()
    inner = sum(stats.branching.values())
    times = {
        step: Times(tuple(b.seconds[step] for b in builds)).over(stats.documents) for step in (GROW, REBUILD, LINK)
    }
    return {
        "documents": stats.documents,
        "µs/insert": times[GROW].best * 1e6,
        "median µs": times[GROW].median * 1e6,
        "µs/rebuild": times[REBUILD].best * 1e6,
        "µs/link": times[LINK].best * 1e6,
        "depth": stats.depth,
        "nodes/document": stats.nodes / stats.documents,
        "mean children": sum(n * count for n, count in stats.branching.items()) / max(1, inner),
        "widest": stats.widest,
    }


def growth(shapes: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """The exponent b of cost ~ N^b of what grows."""
    if len(shapes) < 2:
        return []
    sizes = [row["documents"] for row in shapes]
    costs = {
        "an insertion": [row["µs/insert"] for row in shapes],
        "nodes scored, linked": [row["linked"] for row in rows],
        "nodes scored, tree alone": [row["tree alone"] for row in rows],
        "nodes scored, target": [row["target scored"] for row in rows],
    }
    return [{"what": name, "exponent": exponent(sizes, values)} for name, values in costs.items() if None not in values]
