"""The search graph: a value for one version of a tree; when the next is due; what is saved of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from gossamer import CobwebTree
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.graph.calibration import Effort
from gossamer.graph.search_graph import (
    build,
    from_bundle,
    is_current,
    needs_building,
    neighbours_wanted,
    to_bundle,
    with_added,
)
from gossamer.neighbours.all_pairs import ON_PROCESSOR
from gossamer.rank.guided import prepare, search_with_effort
from gossamer.tree.arrays import Meta, TreeArrays
from grown import QUERIES, Grown, topics


@pytest.fixture(scope="module")
def grown() -> Grown:
    return Grown(topics(3000)).prepare()


def copied(t: TreeArrays) -> TreeArrays:
    return t._replace(**{name: array.copy() for name, array in t._asdict().items()})


def test_a_graph_is_a_value(grown: Grown) -> None:
    with pytest.raises(FrozenInstanceError):
        grown.graph.changed = 7  # type: ignore[misc]
    assert grown.graph.version == grown.t.meta[Meta.CHANGES]
    assert grown.graph.built_leaves == 3000
    assert is_current(grown.graph, grown.t)


def test_a_change_gives_another_graph_and_leaves_numbers_and_entry_points_of_the_old_alone() -> None:
    grown = Grown(topics(2000)).prepare()
    old = grown.graph
    entries, numbers = old.arrays.entry_points.part_norms.copy(), (old.version, old.changed, old.removed, old.outside)
    grown.add(topics(30, seed=3))
    grown.remove(grown.t.first_document[grown.t.owner[old.arrays.entry_points.leaves[:3]]])
    assert grown.graph is not old
    assert (grown.graph.changed, grown.graph.removed) == (33, 3)
    assert (old.version, old.changed, old.removed, old.outside) == numbers
    assert np.array_equal(old.arrays.entry_points.part_norms, entries)
    assert grown.graph.calibration is old.calibration
    assert not is_current(old, grown.t), "it is of another version of the tree"
    assert is_current(grown.graph, grown.t)


def test_a_graph_is_built_beside_the_one_in_use() -> None:
    """From a copy of the tree, while the tree and its graph are searched and changed."""
    grown = Grown(topics(3000))
    snapshot = copied(grown.t)
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(build, snapshot)
        grown.add(topics(50, seed=8))
        assert grown.recall(Effort(1.1)) > 0.93
    assert beside.result().version == snapshot.meta[Meta.CHANGES] != grown.graph.version
    assert np.array_equal(beside.result().arrays.links.to, build(snapshot).arrays.links.to)


def test_building_leaves_the_previous_graph_alone() -> None:
    grown = Grown(topics(2000), all_pairs=1000)
    grown.add(topics(1700, seed=5))
    previous = grown.graph
    assert not previous.complete
    links = previous.arrays.links
    before = links.to.copy(), links.length.copy(), links.degree.copy()
    made = build(grown.t, previous=previous, comparison=ON_PROCESSOR._replace(linked=1000))
    assert np.array_equal(links.to, before[0])
    assert np.array_equal(links.length, before[1])
    assert np.array_equal(links.degree, before[2])
    linked = np.flatnonzero(previous.arrays.links.degree)
    kept = (made.arrays.links.to[linked, 0] == previous.arrays.links.to[linked, 0]).mean()
    assert kept > 0.5, "links that were there are kept"


def test_small_trees_need_no_graph() -> None:
    tree = CobwebTree(24)
    assert is_current(None, tree.arrays)
    assert prepare(tree.arrays, None) is None
    tree.insert_many(topics(1024))
    assert is_current(None, tree.arrays)
    tree.insert_many(topics(1, seed=8))
    assert needs_building(None, tree.arrays)
    grown = Grown(topics(1500))
    grown.remove(np.arange(1400))
    assert grown.kept is None
    assert is_current(grown.kept, grown.t)
    assert with_added(None, grown.t, np.arange(3)) is None


def test_many_new_documents_make_a_graph_incomplete_and_few_do_not() -> None:
    grown = Grown(topics(2000)).prepare()
    grown.add(topics(1499, seed=1))
    assert grown.graph.complete
    grown.add(topics(1, seed=2))
    assert not grown.graph.complete
    assert needs_building(grown.graph, grown.t)
    calibration = grown.graph.calibration
    grown.add(topics(10, seed=3))
    assert not grown.graph.complete
    grown.prepare()
    assert is_current(grown.graph, grown.t)
    assert grown.graph.changed == 0
    assert grown.graph.calibration is not calibration, "the index has grown too much for it"


def test_many_removals_make_all_links_due() -> None:
    grown = Grown(topics(4000)).prepare()
    grown.remove(np.arange(999))
    assert grown.graph.complete
    assert grown.graph.calibration is not None
    grown.remove([999])
    assert not grown.graph.complete
    assert grown.graph.calibration is None
    grown.remove(np.arange(1000, 1100))
    grown.add(topics(50, seed=4))  # into rows that were left
    assert grown.prepare().recall(Effort(1.1)) > 0.95


def test_leaves_outside_the_grid_make_another_grid_due() -> None:
    grown = Grown(topics(2500)).prepare()
    grown.add(1000 * topics(1, seed=9))
    assert is_current(grown.graph, grown.t), "one outlier would spoil the codes of all others"
    grown.add(8 * topics(40, seed=9))
    assert grown.graph.complete
    assert needs_building(grown.graph, grown.t)
    assert grown.prepare().graph.outside <= 1


def test_entry_points_follow_the_tree() -> None:
    grown = Grown(topics(2000))
    entry = grown.graph.arrays.entry_points
    grown.add(topics(400, seed=1))
    assert grown.graph.arrays.entry_points is entry
    grown.add(topics(400, seed=2))
    assert grown.graph.arrays.entry_points is not entry
    assert grown.graph.entry_version == grown.t.meta[Meta.CHANGES]
    leaves = np.unique(grown.graph.arrays.entry_points.leaves)
    grown.remove(grown.t.first_document[grown.t.owner[leaves]])
    assert grown.graph.arrays.entry_points.any_left, "chosen anew at once, since none was left"


def test_neighbours_are_wanted_where_links_are_chosen_among_all_pairs() -> None:
    wanted = [neighbours_wanted(leaves, linked=True) for leaves in (1024, 1025, 80_000, 80_001)]
    assert wanted == [0, 128, 128, 0]
    assert neighbours_wanted(5000, linked=False) == 0


# -- disk ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linked", [True, False])
def test_what_is_saved_searches_as_before(linked: bool) -> None:
    grown = Grown(topics(2000), linked=linked).prepare()
    changed = replace(grown.graph, changed=40, removed=3)
    loaded = from_bundle(to_bundle(changed, grown.t, linked=linked), grown.t)
    assert loaded is not None
    assert loaded.calibration == grown.graph.calibration
    assert (loaded.changed, loaded.removed, loaded.built_leaves, loaded.linked) == (40, 3, 2000, linked)
    ours, theirs = (search_with_effort(grown.t, g, QUERIES, 10, Effort(1.1, 900)) for g in (grown.graph, loaded))
    assert np.array_equal(ours.documents, theirs.documents)


def test_nothing_is_saved_of_no_graph(grown: Grown) -> None:
    bundle = to_bundle(None, grown.t, linked=True)
    assert bundle.arrays == {}
    assert from_bundle(bundle, grown.t) is None


def test_an_incomplete_graph_is_saved_as_such() -> None:
    grown = Grown(topics(2000)).prepare()
    grown.add(topics(3000, seed=5))
    loaded = from_bundle(to_bundle(grown.graph, grown.t, linked=True), grown.t)
    assert loaded is not None
    assert not loaded.complete
    ours, theirs = (prepare(grown.t, graph) for graph in (grown.graph, loaded))
    assert ours is not None
    assert theirs is not None
    assert np.array_equal(ours.arrays.links.to, theirs.arrays.links.to)


def test_what_is_being_written_does_not_change_with_the_graph() -> None:
    grown = Grown(topics(2000))
    bundle = to_bundle(grown.graph, grown.t, linked=True)
    before = {name: array.copy() for name, array in bundle.arrays.items()}
    grown.add(topics(200, seed=5))
    grown.remove(np.arange(100))
    assert all(np.array_equal(array, before[name]) for name, array in bundle.arrays.items())


def test_links_saved_without_lengths_have_them_measured(grown: Grown) -> None:
    bundle = to_bundle(grown.graph, grown.t, linked=True)
    early = {name: array for name, array in bundle.arrays.items() if name not in ("length", "unit")}
    loaded = from_bundle(Bundle(bundle.params, early), grown.t)
    assert loaded is not None
    ours, theirs = grown.graph.arrays.links, loaded.arrays.links
    assert theirs.unit == ours.unit
    for row, degree in enumerate(ours.degree.tolist()):
        assert theirs.length[row, :degree].tolist() == ours.length[row, :degree].tolist()


def test_links_saved_without_lengths_into_removed_leaves_are_the_longest() -> None:
    grown = Grown(topics(3000))
    bundle = to_bundle(grown.graph, grown.t, linked=True)
    grown.tree.remove(range(0, 3000, 7))
    early = {name: array for name, array in bundle.arrays.items() if name not in ("length", "unit")}
    loaded = from_bundle(Bundle(bundle.params, early), grown.t)
    assert loaded is not None
    links, norms = loaded.arrays.links, loaded.arrays.codes.leaf_norm
    nowhere = 0
    for row in np.flatnonzero(np.isfinite(norms)).tolist():
        to, length = links.to[row, : links.degree[row]], links.length[row, : links.degree[row]].astype(int)
        assert (np.diff(length) >= 0).all()
        assert (length[np.isinf(norms[to])] == 255).all()
        nowhere += int(np.isinf(norms[to]).sum())
    assert nowhere > 0


def test_a_calibration_on_another_ladder_is_measured_again(grown: Grown) -> None:
    bundle = to_bundle(grown.graph, grown.t, linked=True)
    other = Bundle(bundle.params, {**bundle.arrays, "ladder": bundle.arrays["ladder"] + 7})
    loaded = from_bundle(other, grown.t)
    assert loaded is not None
    assert loaded.calibration is None
    assert prepare(grown.t, loaded).calibration == grown.graph.calibration  # type: ignore[union-attr]


def test_a_link_into_nowhere_is_refused(grown: Grown) -> None:
    bundle = to_bundle(grown.graph, grown.t, linked=True)
    bundle.arrays["to"][5, 0] = 3000
    with pytest.raises(CorruptError, match="leads to no leaf"):
        from_bundle(bundle, grown.t)
