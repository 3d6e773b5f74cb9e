"""The index as users have it, on a collection: texts in, passages, `Index.search` with its defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gossamer import Index
from gossamer.encoders import is_fitted_encoder, load_encoder
from gossamer_lab.data.embedded import Embedded, ready_models
from gossamer_lab.data.files import kept
from gossamer_lab.data.vector_cache import CachedEncoder, SqliteStore
from gossamer_lab.engine import Doubles
from gossamer_lab.evaluate.measures import MAIN, depth_for, score
from gossamer_lab.evaluate.run import differing
from gossamer_lab.evaluate.significance import difference
from gossamer_lab.job import Job
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.tables import Row


def searched(job: Job, name: str, task: Prepared, base: Doubles) -> Row:
    """The default search, with words and without, over the `base` of each query."""
    data = task.data
    with _index(job, data) as index:
        ways: dict[str, dict[str, Any]] = {"dense": {"hybrid": False}, "hybrid": {}}
        found = {way: difference(_values(index, data, options), base) for way, options in ways.items()}
        passages = index.info().passages
    row: dict[str, Any] = {
        "collection": name, "documents": len(data.E), "passages": passages, "queries": len(data.Q),
        "dot product": float(base.mean()),
    }  # fmt: skip
    for way, each in found.items():
        row[way] = each.mean
        row[f"{way}, 95 %"] = differing(each)["95 %"]
    return row


@contextmanager
def _index(job: Job, data: Embedded) -> Iterator[Index]:
    """An index of the documents. Texts with ready vectors are one passage each, as these vectors were made."""
    made = data.collection
    ready = data.model in ready_models(made.source, job.folder)
    store = SqliteStore(kept(job.cache) / "vectors.sqlite")
    try:
        encoder = load_encoder(data.model)
        with Index(encoder if is_fitted_encoder(encoder) else CachedEncoder(encoder, store)) as index:
            index.add(made.texts, made.ids, vectors=data.E if ready else None)
            index.settle()
            yield index
    finally:
        store.close()


def _values(index: Index, data: Embedded, options: dict[str, Any]) -> Doubles:
    """nDCG@10 of every query."""
    made, depth = data.collection, depth_for(data.collection)
    rows = np.full((len(data.Q), depth), -1, np.int64)
    for place, (text, vector) in enumerate(zip(made.queries, data.Q, strict=True)):
        hits: Sequence[Any] = index.search(text, k=depth, vector=vector, **options)
        rows[place, : len(hits)] = [made.row_of[hit.id] for hit in hits]
    return score(made, rows)[MAIN]
