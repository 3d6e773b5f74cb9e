"""Linking: sound links however leaves came, found again by walks, the same on any number of cores."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gossamer.graph import linking
from gossamer.graph.calibration import Effort
from gossamer.graph.search_graph import build
from gossamer.neighbours import all_pairs
from gossamer.runtime.threads import in_threads
from gossamer.tree.arrays import Meta
from grown import Grown, topics
from kernel_wrappers import code_distance, leaves_beside
from oracles import graph as oracle


def check_links(grown: Grown) -> None:
    """No link twice or to itself, shortest first, of true lengths; nearly every leaf has some."""
    t, (codes, links, _) = grown.t, grown.graph.arrays
    rows = int(t.meta[Meta.LEAF_ROWS])
    alive = np.flatnonzero(np.isfinite(t.norm[:rows]))
    wrong = total = 0
    for row in alive.tolist():
        to, length = links.to[row, : links.degree[row]], links.length[row, : links.degree[row]].astype(int)
        assert len(set(to.tolist())) == len(to)
        assert row not in to
        assert ((to >= 0) & (to < rows)).all()
        assert (np.diff(length) >= 0).all()
        spanned = [max(0.0, code_distance(codes, row, other)) ** 0.5 / links.unit for other in to.tolist()]
        wrong += int((np.abs(np.minimum(spanned, 255) - length - 0.5) > 0.51).sum())
        total += len(to)
    assert wrong <= 0.02 * total, "lengths are true, but of links into rows that were given to others"
    assert (links.degree[alive] > 0).mean() > 0.999
    assert np.array_equal(np.isfinite(codes.leaf_norm[:rows]), np.isfinite(t.norm[:rows]))


@pytest.mark.parametrize("all_pairs", [500, 10_000])
def test_links_stay_sound_through_growth_and_removal(all_pairs: int) -> None:
    rng = np.random.default_rng(0)
    grown = Grown(topics(2500), all_pairs=all_pairs)
    alive = list(range(2500))
    for round in range(4):
        gone = rng.choice(len(alive), 120, replace=False)
        grown.remove([alive[at] for at in gone.tolist()])
        alive = np.delete(alive, gone).tolist() + grown.add(topics(150, seed=10 + round))
        assert grown.graph.complete
        check_links(grown)
        assert grown.recall(Effort(1.1)) > 0.93


def test_links_found_by_walks_are_as_good_as_those_of_all_pairs() -> None:
    searched, compared = Grown(topics(3000), all_pairs=500), Grown(topics(3000))
    check_links(searched)
    assert searched.recall(Effort(1.05)) > compared.recall(Effort(1.05)) - 0.02


def test_half_replaced_and_built_anew_is_as_good_as_fresh() -> None:
    X, Y = topics(5000), topics(2500, seed=77)
    gone = np.random.default_rng(1).permutation(5000)[:2500]
    grown = Grown(X)
    grown.remove(gone)
    grown.add(Y)
    fresh = Grown(np.concatenate([np.delete(X, gone, axis=0), Y]))
    assert grown.prepare().recall(Effort(1.03)) >= fresh.recall(Effort(1.03)) - 0.02


def test_a_tree_that_grew_is_linked_as_if_all_had_come_at_once() -> None:
    """When a graph is built for it, that is: what was linked before did not know what came later."""
    X = topics(6000)
    grown = Grown(X[:3000])
    for start in range(3000, 6000, 500):
        grown.add(X[start : start + 500])
    check_links(grown.prepare())
    assert grown.recall(Effort(1.0)) > Grown(X).recall(Effort(1.0)) - 0.02


@pytest.mark.parametrize("compared", [500, 10_000])
def test_links_do_not_depend_on_the_number_of_threads(compared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def linked() -> dict[int, list[int]]:
        grown = Grown(topics(3000), all_pairs=compared)
        grown.add(topics(300, seed=4))
        return grown.links()

    ours = linked()
    for count in (1, 3):
        for module in (linking, all_pairs):
            monkeypatch.setattr(module, "in_threads", partial(in_threads, threads=count))
        assert linked() == ours


def test_neighbours_that_are_known_give_the_links_that_would_be_sought() -> None:
    grown = Grown(topics(3000))
    grown.tree.rebuild(keep=linking.CONSIDERED)
    known = grown.tree.take_neighbours()
    ours, theirs = build(grown.t, neighbours=known), build(grown.t)
    alike = (ours.arrays.links.to == theirs.arrays.links.to).mean()
    assert alike > 0.7, "codes on another grid: nearly the same"
    stale = build(grown.t, neighbours=known._replace(changes=-1))  # type: ignore[union-attr]
    assert np.array_equal(stale.arrays.links.to, theirs.arrays.links.to)


@pytest.mark.parametrize(("step", "width", "threads"), [(1, 8, 2), (1, 40, 1), (3, 8, 3), (200, 5, 2)])
def test_neighbours_by_links_equal_the_oracles(
    step: int, width: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all leaves, or of some among which neighbours are sought; fewer where links lead to fewer."""
    monkeypatch.setattr(linking, "in_threads", partial(in_threads, threads=threads))
    grown = Grown(topics(600, seed=8))
    links, codes = grown.links(), grown.graph.arrays.codes
    rows = np.random.default_rng(0).permutation(600)[::step].astype(np.int32)
    found, linked = linking.neighbours_by_links(grown.graph.arrays, rows, width)
    for at, row in enumerate(rows.tolist()):
        assert rows[linked[at][linked[at] >= 0]].tolist() == [to for to in links[row][:8] if to in rows]
        expected = oracle.nearest_by_links(row, links, rows.tolist(), width, partial(code_distance, codes))
        places = found.places[at][found.places[at] >= 0]
        assert len(places) == len(expected)
        assert np.allclose(found.distances[at, : len(places)], [near for near, _ in expected])
        assert np.isinf(found.distances[at, len(places) :]).all()
        assert set(rows[places].tolist()) == {other for _, other in expected}
    assert (found.places < 0).any() == (step > 1 or width == 40)


def test_leaves_beside_are_others_of_the_nearest_ancestors() -> None:
    grown = Grown(topics(2000))
    t, tree = grown.t, grown.tree
    for row in range(0, 2000, 301):
        out = np.full(40, -1, np.int32)
        assert leaves_beside(t, row, out) == 40
        beside = {int(t.owner[each]) for each in out.tolist()}
        assert len(beside) == 40
        path = tree.path(int(t.first_document[t.owner[row]]))
        below = [{tree.leaf(document) for document in tree.node(node).documents} - {path[-1]} for node in path[:-1]]
        whole = [leaves for leaves in below if len(leaves) <= 40]
        assert all(leaves <= beside for leaves in whole), "the nearest first"
        assert beside <= next(leaves for leaves in reversed(below) if len(leaves) >= 40)
