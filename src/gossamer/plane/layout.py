"""A tree → a place for each leaf, such that concepts are regions and near leaves lie near each other.

The layout goes from coarse to fine. First the largest concepts, at most 1/100 of all documents each, are placed by the
two main axes of their means, as points with the mass of their documents, and relaxed by t-SNE (`forces`). Then the
members of each start around the place of their concept and are relaxed in turn, down to leaves. So the tree
decides what lies where, and neighbours decide the rest.

Measured with MiniLM (`benchmarks/plane.py --umap`): of the 10 nearest leaves in the whitened space, the share that is
among the 50 nearest in the plane; of the 10 nearest in the plane, the share that lies in the same concept, on the first
three levels that people see; CPU seconds:

                          this layout                     UMAP                            two main axes
    standard library  5k  .860, .963 .904 .697,   1 s     .893, .949 .889 .604,  38 s     .162, .451 .154 .050
    20newsgroups     19k  .638, .969 .881 .732,   1 s     .590, .856 .659 .420,   9 s     .036, .449 .097 .026
    MS MARCO         31k  .775, .982 .947 .868,   2 s     .776, .886 .800 .650,  20 s     .031, .354 .084 .022
    QQP              76k  .635, .986 .942 .876,   5 s     .508, .789 .586 .437,  46 s     .015, .291 .081 .017

(UMAP's first figure contains its compilation.) What did not help: UMAP's forces with negative sampling from the same
start (QQP .54, and clumps with much empty space between), pulling points to the middle of their concepts (.34), laying
out each level at the scale of the last (.62, documents of a small concept on one spot).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from gossamer.array_types import Doubles, Floats, Ints, Longs
from gossamer.plane.affinities import affinity_matrix, as_affinities, joined, nearest
from gossamer.plane.forces import relax
from gossamer.plane.sketch import Sketch

GOLDEN: Final = np.pi * (3.0 - np.sqrt(5.0))
"""The angle between successive points of a sunflower, which fill a disc evenly."""

_SPREAD: Final = 0.2
"""Standard deviation of the places that m points start with, over √m: about that of a finished layout, so that a level
neither flies apart nor has to be pulled together. (0.15 and 0.25: neighbours kept within 0.01.)"""

_SCATTER: Final = 0.7
"""The radius of the disc around the place of a concept in which its members start."""

_FIRST_STEPS: Final = 250
_STEPS: Final = 150
_LAST_STEPS: Final = 75
_AGAIN: Final = 25
"""Steps at the coarsest level, at the next ones, for leaves, and for a layout that is relaxed again."""

_LOOSENED: Final = 40
_LOOSER: Final = 0.25
"""Steps at the end in which attraction counts only so much: near copies of a text move apart and can be told from each
other. The usual distance to the nearest point becomes 2.5 times as large (standard library), at a cost of 0.01 of the
neighbours kept."""

_SAMPLE: Final = 1000
"""Points by which coherence is judged."""

_MARGIN: Final = 0.02
"""Left free at each edge of the unit square."""


@dataclass(frozen=True)
class Layout:
    """Where leaves lie in the unit square, in the order of a sketch."""

    places: Floats
    unit: float
    """The width of the square's part that one unit of the layout takes: points that touch are about so far apart."""


def lay_out(sketch: Sketch, before: Floats | None = None) -> Layout:
    """Place all leaves anew. With `before`, their places so far, the largest concepts start where their members lie."""
    if len(sketch) < 2:
        return Layout(np.full((len(sketch), 2), 0.5, np.float32), 1.0)
    near = nearest(sketch, np.arange(len(sketch), dtype=np.int32))
    matrix, levels = affinity_matrix(near), sketch.levels()
    places: Floats | None = None
    for at, groups in enumerate(levels):
        last = at == len(levels) - 1
        between, masses = (matrix, np.ones(len(groups), np.float32)) if last else joined(matrix, groups)
        if places is not None:
            start = _refined(places, levels[at - 1], groups)
        else:
            start = _first(sketch, masses) if before is None else _middles(before, groups)
        steps = _LAST_STEPS if last else _STEPS if at else _FIRST_STEPS
        places = relax(start, masses, as_affinities(between), steps)
    assert places is not None
    places = _loosened(places, matrix)
    return _in_square(places) if before is None else _aligned(places, before)


def relax_again(sketch: Sketch, layout: Layout) -> Layout:
    """The same layout, improved a little for all leaves as they are now: what lies well hardly moves."""
    if len(sketch) < 2:
        return lay_out(sketch)
    matrix = affinity_matrix(nearest(sketch, np.arange(len(sketch), dtype=np.int32)))
    start = _scaled(layout.places.astype(np.float64))
    moved = relax(start, np.ones(len(sketch), np.float32), as_affinities(matrix), _AGAIN)
    return _aligned(_loosened(moved, matrix), layout.places)


def coherence(places: Floats, concepts: Ints) -> float:
    """Of the 10 points nearest to a point, the share that lies in the same concept: 1 where regions do not overlap."""
    if len(places) < 2:
        return 1.0
    sample = np.arange(0, len(places), max(1, len(places) // _SAMPLE))
    near = cKDTree(places).query(places[sample], k=min(11, len(places)))[1][:, 1:]
    return float((concepts[near] == concepts[sample, None]).mean())


def _aligned(places: Floats, before: Floats) -> Layout:
    """Places in the unit square, shifted and scaled so that they are as near as possible to those before."""
    old, new = before - before.mean(axis=0), places - places.mean(axis=0)
    factor = float((old * new).sum() / max(float((new * new).sum()), 1e-12))
    if factor <= 0.0:  # nothing is where it was
        return _in_square(places)
    aligned = np.clip(new * factor + before.mean(axis=0), 0.0, 1.0).astype(np.float32)
    return Layout(aligned, factor)


def _loosened(places: Floats, matrix: sparse.csr_matrix) -> Floats:
    return relax(places, np.ones(len(places), np.float32), as_affinities(_LOOSER * matrix), _LOOSENED)


def sunflower(n: Ints, of: Ints | Longs | int, radius: float) -> Doubles:
    """Point number n of a disc that `of` points fill evenly."""
    distance, angle = radius * np.sqrt((n + 0.5) / of), n * GOLDEN
    return np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)


def _first(sketch: Sketch, masses: Floats) -> Floats:
    """The groups of the coarsest level, by the two axes along which their means differ most."""
    centred = sketch.means - np.average(sketch.means, axis=0, weights=masses)
    axes = np.linalg.svd(centred * np.sqrt(masses)[:, None], full_matrices=False)[2][:2]
    # The sign of an axis is arbitrary: its largest part is made positive.
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    places = np.zeros((len(masses), 2))
    places[:, : len(axes)] = centred @ (axes * np.where(signs == 0.0, 1.0, signs)[:, None]).T
    count = np.arange(len(masses), dtype=np.int32)
    return _scaled(places + sunflower(count, len(masses), 1e-3 * max(float(places.std()), 1e-6)))


def _middles(places: Floats, groups: Ints) -> Floats:
    """The middle of each group's members."""
    counts = np.bincount(groups)
    middles = np.stack([np.bincount(groups, places[:, axis]) / counts for axis in range(2)], axis=1)
    return _scaled(middles)


def _refined(places: Floats, coarse: Ints, fine: Ints) -> Floats:
    """Starting places for the groups of the next level: around those of the groups that they are part of."""
    first = np.unique(fine, return_index=True)[1]
    above = coarse[first]
    order = np.argsort(above, kind="stable")
    counts: Longs = np.bincount(above)
    number = np.empty(len(above), np.int32)
    number[order] = np.arange(len(above)) - np.repeat(np.cumsum(counts) - counts, counts)
    scattered = sunflower(number, counts[above], _SCATTER)
    return (_scaled(places[above].astype(np.float64)) + scattered).astype(np.float32)


def _scaled(places: Doubles) -> Floats:
    """Places around the origin, as far apart as those of a finished layout."""
    centred = places - places.mean(axis=0)
    deviation = max(float(centred.std()), 1e-12)
    scaled: Floats = (centred * (_SPREAD * np.sqrt(len(places)) / deviation)).astype(np.float32)
    return scaled


def _in_square(places: Floats) -> Layout:
    low, high = places.min(axis=0), places.max(axis=0)
    unit = (1.0 - 2.0 * _MARGIN) / max(float((high - low).max()), 1e-6)
    return Layout(((places - (low + high) / 2.0) * unit + 0.5).astype(np.float32), unit)
