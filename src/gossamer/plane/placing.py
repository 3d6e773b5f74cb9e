"""Places for leaves that came after a layout: near their neighbours, while all others stay where they are."""

from typing import Final

import numpy as np

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.plane.affinities import nearest, weights_of
from gossamer.plane.layout import GOLDEN, Layout
from gossamer.plane.sketch import Sketch

_CLOSEST: Final = 3
"""Nearest leaves between which a new one is placed. More would draw it towards the middle, away from all of them."""

_ROUNDS: Final = 8
"""Rounds in which new leaves get a place near others that have one by then."""


def place_new(sketch: Sketch, layout: Layout) -> Layout:
    """The layout with a place for every leaf; those without one have NaN in `layout`."""
    places = layout.places.copy()
    new = np.flatnonzero(np.isnan(places[:, 0])).astype(np.int32)
    if not len(new):
        return layout
    near = nearest(sketch, new)
    weights = weights_of(near)
    for _ in range(_ROUNDS):
        waiting = np.flatnonzero(np.isnan(places[new, 0]))
        if not len(waiting):
            break
        found = _between(places, near.places[waiting], weights[waiting])
        places[new[waiting]] = found
        if np.isnan(found).all():
            break
    lost = new[np.isnan(places[new, 0])]
    if len(lost):
        places[lost] = _in_concept(sketch, places, lost)
    # So that copies of a text do not hide each other. The row decides the direction, which is therefore the same again.
    angle = sketch.rows[new] * GOLDEN
    offset = 0.5 * layout.unit * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    places[new] = np.clip(places[new] + offset, 0.0, 1.0)
    return Layout(places, layout.unit)


def _between(places: Floats, near: Ints, weights: Floats) -> Doubles:
    """The weighted mean of the nearest leaves that have a place; NaN where none has."""
    known = (near != NONE) & ~np.isnan(places[near, 0])
    known &= np.cumsum(known, axis=1) <= _CLOSEST
    used = np.where(known, np.maximum(weights, 1e-6), 0.0)
    where = np.where(known[:, :, None], places[near], 0.0)
    with np.errstate(invalid="ignore"):
        mean: Doubles = (used[:, :, None] * where).sum(axis=1) / used.sum(axis=1)[:, None]
    return mean


def _in_concept(sketch: Sketch, places: Floats, lost: Ints) -> Doubles:
    """The middle of the smallest concept above each leaf that has placed leaves; of the square where none has."""
    known = np.flatnonzero(~np.isnan(places[:, 0]))
    sums, counts = np.zeros((len(sketch.parent), 2)), np.zeros(len(sketch.parent))
    node, at = sketch.leaves[known].copy(), known
    while len(node):
        np.add.at(counts, node, 1.0)
        np.add.at(sums, node, places[at])
        node = sketch.parent[node]
        at, node = at[node != NONE], node[node != NONE]
    found = np.full((len(lost), 2), 0.5)
    node, waiting = sketch.leaves[lost].copy(), np.arange(len(lost))
    while len(waiting):
        there = counts[node] > 0
        found[waiting[there]] = sums[node[there]] / counts[node[there], None]
        node, waiting = sketch.parent[node[~there]], waiting[~there]
        waiting, node = waiting[node != NONE], node[node != NONE]
    return found
