"""Settings as methods: any whitening, acuity, context and weight can be ranked with, measured and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

import numpy as np

from gossamer.array_types import Floats
from gossamer.vector_index.presets import PRESETS
from gossamer.vector_index.vector_index import VectorIndex
from gossamer.whitening.whitener import Whitener
from gossamer_lab.evaluate.methods import Found, Method, best, flat, unit_rows
from gossamer_lab.evaluate.prepared import Prepared

_BLOCK: Final = 256
_WHITENING: Final = PRESETS["default"].whitening()


@dataclass(frozen=True)
class Dials:
    """What an index can be set to; unless said otherwise, as it is."""

    n_components: float = _WHITENING.n_components
    strength: float | Literal["auto"] = _WHITENING.strength
    sphere: bool = _WHITENING.sphere
    acuity: float | Literal["auto"] = PRESETS["default"].acuity
    context: float = PRESETS["default"].context
    refine: Literal["auto"] | None = PRESETS["default"].refine
    weight: float = 0.0
    """Of BM25, none unless asked for: dense rankings are told apart from hybrid ones."""
    density: float = 0.0
    """How much of a document's mean cosine to its ten nearest is taken off its score; no index does that yet."""

    @property
    def name(self) -> str:
        """In words, leaving out what is as usual."""
        usual = Dials()
        parts = [f"{name}={value}" for name, value in asdict(self).items() if value != getattr(usual, name)]
        return ", ".join(parts) or "as it is"


def exact(dials: Dials) -> Method:
    """Every document scored: by distance when whitened, by the tree where there is context, or by the fused sum."""
    if dials.weight or dials.density:
        return _method("fused", dials, _fused)
    return _method("tree", dials, _tree) if dials.context else _method("distance", dials, _distance)


def guided(dials: Dials) -> Method:
    """Guided search in an index so set."""
    return _method("guided", dials, _guided)


def _method(ranker: str, dials: Dials, rank: Callable[[Prepared, Dials, int], Found]) -> Method:
    settings = ",".join(f"{name}:{value}" for name, value in asdict(dials).items())
    return Method(ranker, settings, dials.name, lambda task, k: rank(task, dials, k), trees=ranker != "distance")


def _whitener(task: Prepared, dials: Dials) -> Whitener:
    return Whitener(n_components=dials.n_components, strength=dials.strength, sphere=dials.sphere).fit(task.data.E)


def _projected(task: Prepared, dials: Dials) -> tuple[Floats, Floats]:
    def project() -> tuple[Floats, Floats]:
        whitener = _whitener(task, dials)
        return whitener.project(task.data.E), whitener.project(task.data.Q)

    return task.last("projected", (dials.n_components, dials.strength, dials.sphere), project)


def _distance(task: Prepared, dials: Dials, k: int) -> Found:
    return flat(*_projected(task, dials), k, "IndexFlatL2")


def _index(task: Prepared, dials: Dials, *, links: bool) -> VectorIndex:
    def grow() -> VectorIndex:
        index = VectorIndex(
            task.data.E.shape[1], whitener=_whitener(task, dials), acuity=dials.acuity, refine=dials.refine, links=links
        )
        rows = task.arrival()
        index.add(task.data.E[rows], ids=rows.tolist())
        return index

    return task.last("index", (replace(dials, context=0.0, weight=0.0), links), grow)


def _tree(task: Prepared, dials: Dials, k: int) -> Found:
    found = _index(task, dials, links=False).search(task.data.Q, k, "path-sum", context=dials.context)
    return Found(found.ids.astype(np.int64), 0.0, found.seconds)


def _guided(task: Prepared, dials: Dials, k: int) -> Found:
    found = _index(task, dials, links=True).search(task.data.Q, k, "guided", context=dials.context)
    return Found(found.ids.astype(np.int64), 0.0, found.seconds)


def _fused(task: Prepared, dials: Dials, k: int) -> Found:
    X, Y = (unit_rows(vectors) for vectors in _projected(task, dials))
    taken = np.zeros(len(X), np.float32)
    if dials.density:
        near = task.last("density", (dials.n_components, dials.strength, dials.sphere), lambda: density(X))
        taken = np.float32(dials.density) * near
    words = task.lexical() if dials.weight else None
    rows = np.empty((len(Y), min(k, len(X))), np.int64)
    for start in range(0, len(Y), _BLOCK):
        scores = Y[start : start + _BLOCK] @ X.T - taken
        if words is not None:
            scores = words.added_to(scores, start, dials.weight)
        rows[start : start + _BLOCK] = best(scores, k)
    return Found(rows, 0.0, 0.0)


def density(X: Floats, nearest: int = 10) -> Floats:
    """The mean cosine of each row to its nearest others: high where documents crowd."""
    import faiss

    index = faiss.IndexFlatIP(X.shape[1])
    index.add(X)
    cosines = index.search(X, min(len(X), nearest + 1))[0][:, 1:]
    return np.asarray(cosines.mean(axis=1), np.float32)
