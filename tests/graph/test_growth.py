"""Growth: new vectors become leaves in the tree and in the graph, found at once, whatever the room and batches."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer.graph import search_graph
from gossamer.graph.calibration import Effort
from gossamer.graph.codes import encode_tree
from gossamer.graph.growth import CONSIDERED, grow
from gossamer.graph.links import MAX_LINKS
from gossamer.neighbours.quantise import Grid
from gossamer.tree.arrays import Meta, used
from grown import QUERIES, Grown, Matrix, share_found, topics

NEW = topics(120, seed=31)


def grow_by(grown: Grown, X: Matrix) -> int:
    """Insert the rows of X, and make room for the next ones whenever it runs out; returns how often it did."""
    done = times = outside = 0
    while True:
        grown.kept = search_graph.with_room(grown.graph, grown.t)
        inserted = grow(grown.t, grown.graph.arrays, X, done, grown.graph.workspaces.take(grown.t, CONSIDERED))
        done, outside = inserted.rows, outside + inserted.outside
        if done == len(X):
            grown.kept = search_graph.after_growth(grown.graph, grown.t, len(X), outside)
            return times
        grown.tree.reserve(len(X) - done)
        times += 1


def content(grown: Grown) -> dict[str, bytes]:
    """What does not depend on how much room was made when."""
    arrays = {name: array for name, array in used(grown.t).items() if name not in ("bucket", "chain")}
    leaves, inners = int(grown.t.meta[Meta.LEAF_ROWS]), int(grown.t.meta[Meta.INNER_ROWS])
    codes, links, _ = grown.graph.arrays
    arrays |= {"leaf codes": codes.leaf[:leaves], "codes": codes.inner[:inners], "degree": links.degree[:leaves]}
    return {name: array.tobytes() for name, array in arrays.items()} | {"links": repr(grown.links()).encode()}


@pytest.fixture(scope="module")
def grown() -> Grown:
    made = Grown(topics(1500))
    made.tree.reserve(len(NEW))
    grow_by(made, NEW)
    return made


def new_rows(grown: Grown) -> list[int]:
    rows: list[int] = grown.t.row[grown.t.leaf[1500 : 1500 + len(NEW)]].tolist()
    return rows


@pytest.mark.parametrize("linked", [True, False])
def test_what_was_inserted_is_found(linked: bool) -> None:
    grown = Grown(topics(1500), linked=linked)
    grow_by(grown, NEW)
    grown.tree.check()
    assert not search_graph.needs_building(grown.graph, grown.t)
    found = grown.search(NEW, Effort(1.1), k=1).documents[:, 0]
    assert (found == np.arange(1500, 1500 + len(NEW))).mean() > (0.99 if linked else 0.9)
    if linked:
        assert grown.recall(Effort(1.1)) > 0.95


def test_most_are_put_beside_the_nearest_of_all(grown: Grown) -> None:
    """As insertion by comparing with all leaves does."""
    scanned = Grown(topics(1500))
    scanned.tree.reserve(len(NEW))
    scanned.tree.place_reserved(NEW)
    alike = [
        grown.tree.node(grown.tree.path(document)[-2]).documents
        == scanned.tree.node(scanned.tree.path(document)[-2]).documents
        for document in range(1500, 1500 + len(NEW))
    ]
    assert np.mean(alike) > 0.9


def test_links_go_both_ways(grown: Grown) -> None:
    links = grown.links()
    for row in new_rows(grown):
        back = [other for other in links[row] if row in links[other]]
        assert back, "it can be reached"
        assert all(len(links[other]) > MAX_LINKS // 2 for other in links[row] if other not in back), "it had enough"


def check_codes(grown: Grown) -> None:
    """Codes of all leaves and concepts are those made anew."""
    t, kept = grown.t, grown.graph.arrays.codes
    fresh, _ = encode_tree(t, Grid(kept.centre, kept.step), concepts=not grown.graph.linked)
    inner = t.row[np.flatnonzero(t.n_children[: t.meta[Meta.SLOTS]] > 0)]
    leaves = np.flatnonzero(np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]))
    for name in ("inner", "inner_norm", "variance", "quartic", "deviations", "seen"):
        if grown.graph.linked:
            assert not len(getattr(kept, name)), name
            continue
        assert np.array_equal(getattr(kept, name)[inner], getattr(fresh, name)[inner]), name
    for name in ("leaf", "leaf_norm", "leaf_error"):
        assert np.array_equal(getattr(kept, name)[leaves], getattr(fresh, name)[leaves]), name


def test_codes_are_those_made_anew(grown: Grown) -> None:
    check_codes(grown)


def test_duplicates_join_their_leaf_and_are_counted_above() -> None:
    grown, X = Grown(topics(1200)), topics(1200)
    nodes, links = grown.tree.n_nodes, grown.links()
    grow_by(grown, np.repeat(X[:3], 2, axis=0))
    grown.tree.check()
    assert grown.tree.n_nodes == nodes
    assert grown.links() == links
    assert grown.tree.node(grown.tree.leaf(1)).documents == (1, 1202, 1203)
    check_codes(grown)


def test_where_room_ends_it_is_resumed(grown: Grown) -> None:
    """The same tree, codes and links; of which room was made when, nothing is seen."""
    tight = Grown(topics(1500))
    assert grow_by(tight, np.tile(NEW, (3, 1))) > 0
    ample = Grown(topics(1500))
    ample.tree.reserve(3 * len(NEW))
    assert grow_by(ample, np.tile(NEW, (3, 1))) == 0
    assert content(tight) == content(ample)


def test_batches_do_not_matter(grown: Grown) -> None:
    single = Grown(topics(1500))
    single.tree.reserve(len(NEW))
    for x in NEW:
        grow_by(single, x[None])
    assert content(single) == content(grown)


def test_leaves_outside_the_grid_are_counted() -> None:
    grown = Grown(topics(1100))
    grow_by(grown, np.concatenate([8 * topics(20, seed=3), topics(20, seed=4)]))
    assert grown.graph.outside == 20
    assert search_graph.needs_building(grown.graph, grown.t)


def test_a_stream_keeps_the_recall() -> None:
    X = topics(2400)
    grown = Grown(X[:1100])
    grow_by(grown, X[1100:])
    exact = Grown(X)
    ours, theirs = (each.search(QUERIES, Effort(1.1)).documents for each in (grown, exact))
    assert share_found(ours, theirs) > 0.93
