"""Query and document → the concepts of its path with their gains, and the axes that count most."""

import math
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Floats
from gossamer.rank.gains import evidence, gains, gains_by_axis
from gossamer.results import Axis, DocId, PathStep, VectorExplanation
from gossamer.vector_index.state import VectorState

_AXES: Final = 5
_EXTREMES: Final = 3
"""Axes that an explanation names, and documents that show the meaning of each."""


def explained(state: VectorState, x: Floats, id: DocId) -> VectorExplanation:
    """Why document `id` scores as it does for the projected query x; the caller holds the lock for reading.

    With α the context of the index, the step to concept c adds (1 − α)·gain + α·log p(x|c) to the score.
    """
    t, path = state.tree.arrays, state.tree.path(state.ids.number(id))
    seen = evidence(t, x, path)
    densities = [seen[node].log_p for node in path]
    context = state.settings.context
    both = zip(gains(densities), densities, strict=True)
    parts = [(1.0 - context) * gain + context * density for gain, density in both]
    steps = tuple(
        PathStep(node, int(t.size[node]), seen[node].log_p, part, seen[node].margin, seen[node].rival)
        for node, part in zip(path, parts, strict=True)
    )
    axes = _axes(state, x, path) if getattr(state.whitener, "ica", False) else ()
    return VectorExplanation(id=id, score=math.fsum(parts), path=steps, axes=axes)


def _axes(state: VectorState, x: Floats, path: tuple[int, ...]) -> tuple[Axis, ...]:
    """The axes that count most, each with the documents furthest out on the side of the leaf."""
    t = state.tree.arrays
    by_axis = gains_by_axis(t, x, path, state.settings.context)
    place = t.vectors[t.row[path[-1]]]
    alive = np.flatnonzero(t.leaf[: state.tree.next_document] != NONE)
    rows = t.row[t.leaf[alive]]
    found = []
    for axis in np.argsort(-np.abs(by_axis), kind="stable")[:_AXES].tolist():
        along = t.vectors[rows, axis] * (1.0 if place[axis] >= 0 else -1.0)
        furthest = alive[np.argsort(-along, kind="stable")[:_EXTREMES]]
        ends = tuple(state.ids.of(furthest).tolist())
        found.append(Axis(axis, float(by_axis[axis]), float(x[axis]), float(place[axis]), ends))
    return tuple(found)
