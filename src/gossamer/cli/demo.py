"""`gossamer demo`: the main job on data that every machine has."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table


def demo(documents: int = 20_000, dim: int = 96) -> None:
    """Index vectors made for the purpose, search them, and show the path of an answer.

    Examples:

        gossamer demo

        gossamer demo --documents 100000
    """
    from gossamer import VectorIndex

    console = Console()
    rng = np.random.default_rng(0)
    themes = rng.normal(size=(12, dim)) * 1.5
    topics = themes[rng.integers(0, 12, 150)] + rng.normal(size=(150, dim))
    X = topics[rng.integers(0, 150, documents)] + rng.normal(size=(documents, dim)) * 0.6
    with console.status(f"indexing {documents:,} vectors of {dim} dimensions"):
        index = VectorIndex(dim)
        index.add(X)
    stats = index.tree.stats()
    console.print(f"{stats.documents:,} documents, {stats.nodes:,} nodes, depth {stats.depth}, widest {stats.widest}")

    query = X[7] + rng.normal(size=dim) * 0.2
    found = index.search(query, k=3)
    console.print(f"the three nearest to a disturbed copy of document 7: {found.ids[0].tolist()}")
    why = index.explain(query, found.ids[0].tolist()[0])
    table = Table(title=f"why document {why.id}: the gains add up to its score, {why.score:.1f}")
    for column in ("concept", "documents", "log p", "gain"):
        table.add_column(column, justify="right")
    for step in why.path:
        table.add_row(str(step.node), f"{step.count:,}", f"{step.log_p:.1f}", f"{step.gain:+.1f}")
    console.print(table)
