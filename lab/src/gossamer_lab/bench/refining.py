"""What one pass of refining gives: more found by the pure tree, and less that depends on the order of insertion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer.array_types import Floats, Longs
from gossamer.graph.calibration import Effort
from gossamer.rank.guided import Guide
from gossamer.rank.path_sum import PathSum
from gossamer.tree.cobweb import CobwebTree
from gossamer.whitening.whitener import Whitener
from gossamer_lab.bench.build import auto_tree
from gossamer_lab.bench.data import Data
from gossamer_lab.bench.measures import exact_neighbours, ndcg, recall
from gossamer_lab.bench.report import Report, Row, Section
from gossamer_lab.bench.search import K
from gossamer_lab.bench.systems import check_ready
from gossamer_lab.bench.timing import Say

Duplicates: TypeAlias = tuple[Data, npt.NDArray[np.int64]]
"""Documents and queries, and for each query the row of its one right answer."""

BUDGETS: Final = (1000, 2000)
BEFORE, AFTER = "before", "after"


def run(data: Data, duplicates: Duplicates | None, *, orders: int, quick: bool, say: Say) -> Report:
    """Recall of the pure tree over several orders; where right answers are known, nDCG of path-sum as well."""
    found = recalls(data, orders, say)
    sections = [
        Section("pure tree, one pass of refining, by order of insertion", found),
        Section("over all orders", summary(found, [f"recall at {b}" for b in BUDGETS]), _NOTES),
    ]
    if duplicates is not None:
        scored = qualities(*duplicates, orders, quick=quick, say=say)
        names = [name for name in scored[0] if name.startswith("nDCG")]
        n, q = len(duplicates[0].X), len(duplicates[1])
        sections += [
            Section(f"the paper's path-sum (context 1), {n:,} documents, {q:,} queries", scored),
            Section("over all orders", summary(scored, names)),
        ]
    return Report("refine", data.description, {"orders": orders, "k": K}, sections)


_NOTES: Final = ("spread: highest less lowest; deviation: standard deviation. Order 0 is the order of the file.",)


def orders_of(n: int, count: int) -> list[Longs]:
    """The order given, then shuffled ones."""
    return [np.arange(n), *(np.random.default_rng(seed).permutation(n) for seed in range(1, count))]


def recalls(data: Data, orders: int, say: Say) -> list[Row]:
    """The share of the true ten nearest that the tree alone finds, before and after a pass."""
    exact = exact_neighbours(data.X, data.Q, K)
    rows: list[Row] = []
    for number, order in enumerate(orders_of(len(data.X), orders)):
        say(f"order {number + 1} of {orders}")
        tree, guide = auto_tree(data.X), Guide(links=False)
        guide_documents = tree.insert_many(data.X[order])
        guide.learn(tree.arrays, guide_documents)
        check_ready(guide, tree)
        rows.append({"order": number, "when": BEFORE, **_recall_row(tree, guide, data, order, exact)})
        done = tree.refine()
        guide.follow(tree.arrays)
        row = _recall_row(tree, guide, data, order, exact)
        rows.append({"order": number, "when": AFTER, **row, "utility": done.utility_after})
        rows[-2]["utility"] = done.utility_before
    return rows


def _recall_row(tree: CobwebTree, guide: Guide, data: Data, order: Longs, exact: Longs) -> Row:
    row: Row = {}
    for budget in BUDGETS:
        found = guide.search(tree.arrays, data.Q, K, Effort(most=budget, width=2 * K)).documents
        row[f"recall at {budget}"] = recall(data.X, data.Q, order[found], exact)
    stats = tree.stats()
    return {**row, "depth": stats.depth, "widest": stats.widest, "nodes": stats.nodes}


def qualities(data: Data, targets: npt.NDArray[np.int64], orders: int, *, quick: bool, say: Say) -> list[Row]:
    """nDCG@10 of path-sum in two trees: that of the default preset and that of the paper's."""
    say("whitening as the paper does")
    paper = Whitener(strength=1.0, sphere=False) if quick else Whitener.paper()
    paper.fit(data.raw)
    spaces = {
        "nDCG@10, default tree": (data.X, data.Q, None),
        "nDCG@10, paper's tree": (paper.project(data.raw), paper.project(data.raw_queries), CobwebTree.PAPER_ACUITY),
    }
    rows: list[Row] = []
    for number, order in enumerate(orders_of(len(data.X), orders)):
        say(f"path-sum, order {number + 1} of {orders}")
        before: Row = {"order": number, "when": BEFORE}
        after: Row = {"order": number, "when": AFTER}
        for name, (X, Y, acuity) in spaces.items():
            tree = auto_tree(X) if acuity is None else CobwebTree(X.shape[1], acuity)
            tree.insert_many(X[order])
            before[name] = _quality(tree, Y, order, targets)
            tree.refine(flat=True)
            after[name] = _quality(tree, Y, order, targets)
        rows += [before, after]
    return rows


def _quality(tree: CobwebTree, Y: Floats, order: Longs, targets: npt.NDArray[np.int64]) -> float:
    found = PathSum().search(tree.arrays, Y, K, "sum", 1.0).documents
    return ndcg(order[found], targets)


def summary(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """For each figure: mean, spread and deviation before and after, and what became of the spread."""
    result: list[Row] = []
    for name in names:
        before, after = (np.array([row[name] for row in rows if row["when"] == when]) for when in (BEFORE, AFTER))
        result.append(
            {
                "figure": name,
                "mean before": float(before.mean()),
                "mean after": float(after.mean()),
                "gain": float(after.mean() - before.mean()),
                "range before": float(np.ptp(before)),
                "range after": float(np.ptp(after)),
                "deviation before": float(before.std()),
                "deviation after": float(after.std()),
                "ratio of ranges": _share(float(np.ptp(after)), float(np.ptp(before))),
                "ratio of deviations": _share(float(after.std()), float(before.std())),
            }
        )
    return result


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
