"""Settings of an index as methods: any whitening, acuity, context and weight can be ranked with and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from gossamer import VectorIndex, Whitener
from gossamer_lab.engine import Floats, Structure, Weight, default_settings, default_whitening
from gossamer_lab.methods.prepared import Prepared
from gossamer_lab.methods.rankers import Found, Method, flat, fused, unit_rows

_WHITENING: Final = default_whitening()
_TREE: Final = default_settings()


@dataclass(frozen=True)
class Settings:
    """Settings of an index; those of the default preset unless given."""

    n_components: float = _WHITENING.n_components
    strength: float | Literal["auto"] = _WHITENING.strength
    sphere: bool = _WHITENING.sphere
    center: bool | Literal["auto"] = _WHITENING.center
    acuity: float | Literal["auto"] = _TREE.acuity
    context: float = _TREE.context
    structure: Structure = _TREE.structure
    weight: Weight = 0.0
    """Weight of BM25; 0 ranks by vectors alone."""

    @property
    def name(self) -> str:
        """The settings that differ from the default."""
        usual = Settings()
        parts = [f"{name}={value}" for name, value in asdict(self).items() if value != getattr(usual, name)]
        return ", ".join(parts) or "as it is"


def exact(settings: Settings) -> Method:
    """Every document scored: by the sum with BM25, by the tree if there is context, else by whitened distance."""
    if settings.weight:
        return _method("fused", settings, _fused)
    return _method("tree", settings, _tree) if settings.context else _method("distance", settings, _distance)


def guided(settings: Settings) -> Method:
    """Guided search in an index with these settings."""
    return _method("guided", settings, _guided)


def _method(ranker: str, settings: Settings, rank: Callable[[Prepared, Settings, int], Found]) -> Method:
    listed = ",".join(f"{name}:{value}" for name, value in asdict(settings).items())
    return Method(ranker, listed, settings.name, lambda task, k: rank(task, settings, k), trees=ranker != "distance")


def _whitener(task: Prepared, settings: Settings) -> Whitener:
    return Whitener(**_recipe(settings)).fit(task.data.E)


def _recipe(settings: Settings) -> dict[str, Any]:
    """What the whitener is made with."""
    return {name: getattr(settings, name) for name in ("n_components", "strength", "sphere", "center")}


def _projected(task: Prepared, settings: Settings) -> tuple[Floats, Floats]:
    def project() -> tuple[Floats, Floats]:
        whitener = _whitener(task, settings)
        return whitener.project(task.data.E), whitener.project(task.data.Q)

    return task.last("projected", _recipe(settings), project)


def _distance(task: Prepared, settings: Settings, k: int) -> Found:
    return flat(*_projected(task, settings), k, "IndexFlatL2")


def _fused(task: Prepared, settings: Settings, k: int) -> Found:
    X, Y = (unit_rows(vectors) for vectors in _projected(task, settings))
    return Found(fused(task, X, Y, k, settings.weight), 0.0, 0.0)


def _tree(task: Prepared, settings: Settings, k: int) -> Found:
    found = _index(task, settings, links=False).search(task.data.Q, k, "path-sum", context=settings.context)
    return Found(found.ids.astype(np.int64), 0.0, found.seconds)


def _guided(task: Prepared, settings: Settings, k: int) -> Found:
    found = _index(task, settings, links=True).search(task.data.Q, k, "guided", context=settings.context)
    return Found(found.ids.astype(np.int64), 0.0, found.seconds)


def _index(task: Prepared, settings: Settings, *, links: bool) -> VectorIndex:
    def grow() -> VectorIndex:
        whitener, dim = _whitener(task, settings), task.data.E.shape[1]
        index = VectorIndex(dim, whitener=whitener, acuity=settings.acuity, structure=settings.structure, links=links)
        rows = task.arrival()
        index.add(task.data.E[rows], ids=rows.tolist())
        return index

    return task.last("index", (replace(settings, context=0.0, weight=0.0), links), grow)
