"""Is the tree any good? Its groups beside k-means and its shape beside Ward, on the same vectors, by known classes.

Gossamer sorts documents in one after the other, and files of labelled texts are often sorted by class: so figures
are means over several random orders, with the order of the file as a row of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer_lab.evaluate.run import Say, silent
from gossamer_lab.evaluate.tables import Report, Row, Table
from gossamer_lab.evaluate.tree_quality_data import NAMES, Labelled, load
from gossamer_lab.evaluate.tree_quality_measures import Vocabulary, dendrogram_purity, diversity, nmi, purity
from gossamer_lab.evaluate.tree_quality_methods import (
    AS_WHITENED,
    DEFAULT,
    FIXED,
    KMEANS,
    WARD,
    Found,
    Method,
    tree_methods,
    whole_methods,
)


@dataclass(frozen=True)
class Wanted:
    """What is measured."""

    collections: tuple[str, ...] = NAMES
    model: str = "minilm"
    orders: int = 3
    sample: int = 6000
    """Documents of the comparison with Ward, whose memory grows with their square."""
    documents: int | None = None
    """Of each collection, at most."""
    seed: int = 0


def report(wanted: Wanted, *, folder: Path | None, cache: Path | None, say: Say = silent, command: str) -> Report:
    """Tables for each collection: groups over all documents, trees over a sample, and the bars."""
    start = time.perf_counter()
    tables: list[Table] = []
    about: list[str] = []
    bars: list[Row] = []
    for name in wanted.collections:
        data = load(
            name, folder=folder, cache=cache, model=wanted.model, most=wanted.documents, seed=wanted.seed, say=say
        )
        whole = measure(data, whole_methods(), wanted.orders, say)
        sampled = data.sample(wanted.sample, wanted.seed)
        trees = measure(sampled, tree_methods(), wanted.orders, say)
        tables += [_groups_table(data, whole), _trees_table(sampled, trees)]
        bars += _bars(data, whole, trees)
        about.append(f"{data.name} {len(data):,} documents, {data.n_classes} classes")
    tables.insert(
        0,
        Table(
            "tree-bars", "the bars: NMI of topics ≥ 0.9 × k-means, dendrogram purity ≥ 0.9 × Ward", bars, digits=_DIGITS
        ),
    )
    described = f"{wanted.model} vectors; {'; '.join(about)}; {wanted.orders} orders"
    return Report("tree", command, described, tables, time.perf_counter() - start)


# -- measuring -----------------------------------------------------------------------------------------


def measure(data: Labelled, methods: dict[str, Method], orders: int, say: Say) -> dict[str, Row]:
    """The figures of each method: means over the orders, or seeds, where there is chance in it."""
    vocabulary = Vocabulary(data.texts)
    rows: dict[str, Row] = {}
    for done, (name, method) in enumerate(methods.items()):
        once = []
        for seed in range(1 if name in FIXED else orders):
            say(f"{data.name}: {name}, {seed + 1} of {orders}", done, len(methods))
            once.append(_figures(data, method(data, seed), vocabulary))
        spread = float(np.std([row["NMI"] for row in once], ddof=1)) if len(once) > 1 else None
        rows[name] = {"method": name, **_mean(once), "NMI ±": spread}
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


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


# -- tables --------------------------------------------------------------------------------------------

_DIGITS: Final = {
    **dict.fromkeys(("NMI", "NMI ±", "purity", "dendrogram purity", "NPMI", "diversity"), 3),
    **dict.fromkeys(("NMI, k-means", "NMI, topics", "purity, Ward", "purity, tree"), 3),
    **dict.fromkeys(("NMI ratio", "purity ratio"), 3),
    "groups": 1,
    "seconds": 1,
}
_GROUPS: Final = ("method", "groups", "NMI", "NMI ±", "purity", "NPMI", "diversity", "seconds")


def _groups_table(data: Labelled, rows: dict[str, Row]) -> Table:
    title = f"{data.name}: {data.n_classes} groups of all {len(data):,} documents"
    shown = [{name: row[name] for name in _GROUPS} for row in rows.values()]
    return Table(f"tree-{data.name}-groups", title, shown, digits=_DIGITS, brief=_GROUPS[:5])


def _trees_table(data: Labelled, rows: dict[str, Row]) -> Table:
    title = f"{data.name}: whole trees over {len(data):,} documents"
    names = ("method", "dendrogram purity", *_GROUPS[1:5], "seconds")
    shown = [{name: row[name] for name in names} for row in rows.values()]
    return Table(f"tree-{data.name}-trees", title, shown, digits=_DIGITS, brief=names[:4])


def _bars(data: Labelled, whole: dict[str, Row], trees: dict[str, Row]) -> list[Row]:
    """The default index, and one that takes documents as they are whitened, against the two bars."""
    base, ward = _number(whole[KMEANS]["NMI"]), _number(trees[WARD]["dendrogram purity"])
    rows: list[Row] = []
    for name in (AS_WHITENED, DEFAULT):
        topics, tree = _number(whole[name]["NMI"]), _number(trees[name]["dendrogram purity"])
        rows.append(
            {
                "collection": data.name,
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
        )
    return rows


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
