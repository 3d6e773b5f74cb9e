"""Layouts of trees: near leaves lie near each other, concepts together, the same every time, and nothing breaks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from scipy.spatial import cKDTree

from gossamer import CobwebTree
from gossamer.plane.affinities import NEIGHBOURS, affinity_matrix, as_affinities, nearest, weights_of
from gossamer.plane.forces import relax
from gossamer.plane.layout import Layout, lay_out, relax_again
from gossamer.plane.placing import place_new
from gossamer.plane.sketch import Sketch, sketch_of, thresholds
from grown import Grown, topics
from oracles import plane as oracle

LEAVES = 1500


@pytest.fixture(scope="module")
def grown() -> Grown:
    return Grown(topics(LEAVES))


@pytest.fixture(scope="module")
def sketch(grown: Grown) -> Sketch:
    return sketch_of(grown.t, grown.graph)


@pytest.fixture(scope="module")
def layout(sketch: Sketch) -> Layout:
    return lay_out(sketch)


def all_of(sketch: Sketch) -> npt.NDArray[np.int32]:
    return np.arange(len(sketch), dtype=np.int32)


def kept(sketch: Sketch, X: npt.NDArray[np.float32], layout: Layout) -> float:
    """The share of the 10 nearest that are among the 50 nearest in the plane."""
    wanted = oracle.nearest(X[sketch.rows].astype(np.float64), 10)
    found = cKDTree(layout.places).query(layout.places, k=51)[1]
    return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(wanted, found.tolist(), strict=True)]))


# -- forces --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "tied"), [(0, 0.1), (1, 0.1), (2, 0.0), (3, 0.0)])
def test_steps_are_those_of_the_sums_over_all_pairs(seed: int, tied: float) -> None:
    rng = np.random.default_rng(seed)
    places, masses = rng.normal(size=(200, 2)) * 12.0, rng.uniform(0.2, 2.0, 200)
    affinities = rng.uniform(size=(200, 200)) * (rng.uniform(size=(200, 200)) < tied)
    found = relax(places.astype(np.float32), masses.astype(np.float32), as_affinities(sparse.csr_matrix(affinities)), 4)
    wanted = oracle.relaxed(places, masses, affinities, 4)
    # The grid smooths repulsion at short distances: most of the way is the same, and all of the direction.
    error, way = np.linalg.norm(found - wanted, axis=1), np.linalg.norm(wanted - places, axis=1)
    assert np.median(error) < 0.2 * np.median(way)
    assert np.corrcoef((found - places).ravel(), (wanted - places).ravel())[0, 1] > 0.93


def test_the_grid_grows_with_the_points() -> None:
    """Points much farther apart than the largest grid has cells: wider cells, and still nothing outside."""
    places = np.array([[0, 0], [1e4, 0], [0, 1e4], [1e4, 1e4]], np.float32)
    found = relax(places, np.ones(4, np.float32), as_affinities(sparse.csr_matrix((4, 4))), 3)
    assert np.isfinite(found).all()


# -- neighbours ----------------------------------------------------------------------------------------


def test_links_lead_to_nearly_all_neighbours(grown: Grown, sketch: Sketch) -> None:
    wanted = oracle.nearest(grown.t.vectors[sketch.rows].astype(np.float64), NEIGHBOURS)
    found = nearest(sketch, all_of(sketch)).places.tolist()
    assert np.mean([len(set(a) & set(b)) for a, b in zip(wanted, found, strict=True)]) > 0.85 * NEIGHBOURS
    assert sketch.links is not None


def test_without_links_all_are_compared(grown: Grown) -> None:
    sketch = sketch_of(grown.t, None)
    wanted = oracle.nearest(grown.t.vectors[sketch.rows].astype(np.float64), NEIGHBOURS)
    found = nearest(sketch, all_of(sketch)).places.tolist()
    assert np.mean([len(set(a) & set(b)) for a, b in zip(wanted, found, strict=True)]) > 0.97 * NEIGHBOURS


def test_weights_fall_off_and_the_matrix_is_symmetric(sketch: Sketch) -> None:
    near = nearest(sketch, all_of(sketch))
    weights = weights_of(near)
    assert (weights[:, 0] == 1.0).all()
    assert (np.diff(weights, axis=1) <= 1e-6).all()
    assert weights.sum(axis=1) == pytest.approx(np.log2(NEIGHBOURS), abs=0.01)
    matrix = affinity_matrix(near)
    assert abs(matrix - matrix.T).max() < 1e-6
    assert matrix.sum() == pytest.approx(len(sketch), rel=1e-3)


# -- layouts -------------------------------------------------------------------------------------------


def test_neighbours_stay_neighbours_and_concepts_together(grown: Grown, sketch: Sketch, layout: Layout) -> None:
    assert kept(sketch, grown.t.vectors, layout) > 0.7  # by the two main axes 0.2
    near = cKDTree(layout.places).query(layout.places, k=11)[1][:, 1:]
    coarse = sketch.levels()[0]
    assert (coarse[near] == coarse[:, None]).mean() > 0.6
    assert ((layout.places >= 0.0) & (layout.places <= 1.0)).all()


def test_the_same_tree_gives_the_same_layout(grown: Grown, layout: Layout) -> None:
    again = lay_out(sketch_of(grown.t, grown.graph))
    assert np.array_equal(again.places, layout.places)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 40])
def test_few_leaves(n: int) -> None:
    tree = CobwebTree(6)
    if n:
        tree.agglomerate(np.random.default_rng(n).normal(size=(n, 6)))
    sketch = sketch_of(tree.arrays, None)
    found = lay_out(sketch)
    assert found.places.shape == (n, 2)
    assert np.isfinite(found.places).all()
    assert len(np.unique(found.places, axis=0)) == n
    assert np.isfinite(relax_again(sketch, found).places).all()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_any_scale(scale: float) -> None:
    tree = CobwebTree(24)
    tree.agglomerate(topics(200) * scale)
    assert np.isfinite(lay_out(sketch_of(tree.arrays, None)).places).all()


def test_levels_are_nested(sketch: Sketch) -> None:
    levels = sketch.levels()
    assert len(levels) == len(thresholds(LEAVES)) + 1
    for coarse, fine in pairwise(levels):
        assert len(np.unique(np.stack([coarse, fine]), axis=1).T) == fine.max() + 1
    assert thresholds(76_000) == [760, 95, 11]


def test_a_layout_can_start_from_another(sketch: Sketch, layout: Layout) -> None:
    again = lay_out(sketch, layout.places)
    moved = np.linalg.norm(again.places - layout.places, axis=1)
    mirrored = np.linalg.norm(again.places - layout.places[:, ::-1], axis=1)
    assert np.median(moved) < 0.1 < np.median(mirrored)


def test_relaxing_again_moves_little(sketch: Sketch, layout: Layout) -> None:
    moved = np.linalg.norm(relax_again(sketch, layout).places - layout.places, axis=1)
    assert np.median(moved) < 0.01
    assert 0.0 < np.quantile(moved, 0.95) < 0.05


# -- leaves that come later ----------------------------------------------------------------------------


def test_new_leaves_lie_near_their_neighbours_and_no_other_moves(grown: Grown, sketch: Sketch, layout: Layout) -> None:
    new = np.arange(0, LEAVES, 20)
    places = layout.places.copy()
    places[new] = np.nan
    found = place_new(sketch, Layout(places, layout.unit)).places
    others = np.setdiff1d(np.arange(LEAVES), new)
    assert np.array_equal(found[others], layout.places[others])
    distance = np.linalg.norm(found[new] - layout.places[new], axis=1)
    assert np.median(distance) < 0.06  # of two places at random 0.4


def test_a_whole_concept_that_is_new_lies_in_the_one_above(sketch: Sketch, layout: Layout) -> None:
    """None of its leaves has a neighbour with a place where it is far from all others."""
    group = sketch.levels()[0]
    new = group == 0
    places = layout.places.copy()
    places[new] = np.nan
    found = place_new(sketch, Layout(places, layout.unit)).places
    assert np.isfinite(found).all()
    lost = sketch_of_strangers()
    assert np.isfinite(place_new(lost, Layout(np.full((len(lost), 2), np.nan, np.float32), 0.01)).places).all()


def sketch_of_strangers() -> Sketch:
    tree = CobwebTree(24)
    tree.agglomerate(topics(50))
    return sketch_of(tree.arrays, None)
