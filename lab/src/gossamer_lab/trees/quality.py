"""The tree's groups beside k-means and its shape beside Ward, on the same vectors, by known classes.

Documents are inserted one after the other, and files of labelled texts are often sorted by class: so figures are
means over several random orders, with the order of the file as a row of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer_lab.data.embedded import Say
from gossamer_lab.job import Job
from gossamer_lab.tables import Report, Row, Table
from gossamer_lab.trees import methods
from gossamer_lab.trees.labelled import NAMES, Labelled, load
from gossamer_lab.trees.measures import Vocabulary, dendrogram_purity, diversity, nmi, purity
from gossamer_lab.trees.methods import AS_WHITENED, DEFAULT, KMEANS, WARD, Found, Method


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

    collections: tuple[str, ...] = NAMES
    model: str = "minilm"
    orders: int = 3
    sample: int = 6000
    """Documents of the comparison with Ward, whose memory grows with their square."""
    documents: int | None = None
    """Documents of each collection, at most."""
    seed: int = 0


Figures = dict[str, float | None]


def report(wanted: Wanted, job: Job) -> Report:
    """Tables for each collection: groups over all documents, trees over a sample; and all beside the bars."""
    tables: list[Table] = []
    about: list[str] = []
    bars: list[Row] = []
    for name in wanted.collections:
        data = load(name, job, model=wanted.model, most=wanted.documents, seed=wanted.seed)
        whole = measure(data, methods.whole_methods(), wanted.orders, job.say)
        sampled = data.sample(wanted.sample, wanted.seed)
        trees = measure(sampled, methods.tree_methods(), wanted.orders, job.say)
        tables.append(_table(data, whole, "groups", f"{data.n_classes} groups of all {len(data):,} documents", _GROUPS))
        tables.append(_table(sampled, trees, "trees", f"whole trees over {len(sampled):,} documents", _TREES))
        bars += [_bars(data.name, name, whole, trees) for name in (AS_WHITENED, DEFAULT)]
        about.append(f"{data.name} {len(data):,} documents, {data.n_classes} classes")
    title = "the bars: NMI of topics ≥ 0.9 × k-means, dendrogram purity ≥ 0.9 × Ward"
    tables.insert(0, Table("tree-bars", title, bars, digits=_DIGITS))
    described = f"{wanted.model} vectors; {'; '.join(about)}; {wanted.orders} orders"
    return job.report("tree", described, tables)


def measure(data: Labelled, compared: dict[str, Method], orders: int, say: Say) -> dict[str, Figures]:
    """The figures of each method: means over orders, or over seeds, if there is chance in it."""
    vocabulary = Vocabulary(data.texts)
    rows: dict[str, Figures] = {}
    for done, (name, method) in enumerate(compared.items()):
        once = []
        for seed in range(1 if name in methods.FIXED else orders):
            say(f"{data.name}: {name}, {seed + 1} of {orders}", done, len(compared))
            once.append(_figures(data, method(data, seed), vocabulary))
        means: Figures = {figure: float(np.mean([row[figure] for row in once])) for figure in once[0]}
        spread = float(np.std([row["NMI"] for row in once], ddof=1)) if len(once) > 1 else None
        rows[name] = {**means, "NMI ±": spread}
    return rows


def _figures(data: Labelled, found: Found, vocabulary: Vocabulary) -> dict[str, float]:
    words = vocabulary.telling(found.groups)
    return {
        "groups": float(found.groups.max() + 1),
        "NMI": nmi(found.groups, data.classes),
        "purity": purity(found.groups, data.classes),
        "dendrogram purity": np.nan if found.tree is None else dendrogram_purity(found.tree, data.classes),
        "NPMI": vocabulary.coherence(words),
        "diversity": diversity(words),
        "seconds": found.seconds,
    }


_GROUPS: Final = ("groups", "NMI", "NMI ±", "purity", "NPMI", "diversity", "seconds")
_TREES: Final = ("dendrogram purity", "groups", "NMI", "NMI ±", "purity", "seconds")
_DIGITS: Final = dict.fromkeys(
    (
        "NMI", "NMI ±", "purity", "dendrogram purity", "NPMI", "diversity", "NMI, k-means", "NMI, topics", "NMI ratio",
        "purity, Ward", "purity, tree", "purity ratio",
    ), 3,
)  # fmt: skip


def _table(data: Labelled, rows: dict[str, Figures], kind: str, title: str, names: tuple[str, ...]) -> Table:
    shown = [{"method": method, **{name: row[name] for name in names}} for method, row in rows.items()]
    brief = ("method", *names[:4])
    return Table(f"tree-{data.name}-{kind}", f"{data.name}: {title}", shown, digits=_DIGITS, brief=brief)


def _bars(collection: str, name: str, whole: dict[str, Figures], trees: dict[str, Figures]) -> Row:
    """One kind of tree against the two bars."""
    base, ward = whole[KMEANS]["NMI"] or np.nan, trees[WARD]["dendrogram purity"] or np.nan
    topics, tree = whole[name]["NMI"] or 0.0, trees[name]["dendrogram purity"] or 0.0
    return {
        "collection": collection,
        "tree": name,
        "NMI, k-means": base,
        "NMI, topics": topics,
        "NMI ratio": topics / base,
        "NMI ≥ 0.9": topics >= 0.9 * base,
        "purity, Ward": ward,
        "purity, tree": tree,
        "purity ratio": tree / ward,
        "purity ≥ 0.9": tree >= 0.9 * ward,
    }
