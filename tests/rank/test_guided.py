"""Guided search through `VectorIndex`: near-exact, honest about its cost, right through growth, removal and filters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from gossamer import CobwebTree, VectorIndex, Whitener
from gossamer.graph import calibration, linking, search_graph
from grown import QUERIES, share_found, topics
from kernel_wrappers import log_p


def interrupted(*_: object, **named: object) -> None:
    """Stands in for a step that Ctrl-C stops."""
    raise KeyboardInterrupt


def without_memory(*_: object) -> None:
    """Stands in for a step that finds too little memory."""
    raise MemoryError


def state(index: VectorIndex) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in index.to_bundle().arrays.items()}


@pytest.fixture(scope="module")
def index() -> VectorIndex:
    """For tests that only search."""
    made = VectorIndex(24, whitener=None)
    made.add(topics(6000))
    made.settle()
    return made


@pytest.fixture(scope="module")
def tree_alone() -> VectorIndex:
    """The same without links; for tests that only search."""
    made = VectorIndex(24, whitener=None, links=False)
    made.add(topics(6000))
    return made


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = VectorIndex(24, whitener=None)
    made.add(topics(2500))
    made.settle()
    folder = tmp_path_factory.mktemp("saved")
    made.save(folder)
    return folder


@pytest.fixture
def own(saved: Path) -> VectorIndex:
    """2,500 documents, for tests that change something."""
    return VectorIndex.load(saved)


# -- searching -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", ["index", "tree_alone"])
def test_asked_for_a_share_it_finds_that_share(made: str, request: pytest.FixtureRequest) -> None:
    index = request.getfixturevalue(made)
    exact = index.search(QUERIES, method="path-sum").ids
    looked_at = []
    for recall in (0.8, 0.95, 0.99):
        found = index.search(QUERIES, recall=recall)
        assert share_found(found.ids, exact) >= recall - 0.01
        looked_at.append(found.visited.mean())
    assert looked_at == sorted(looked_at)
    assert looked_at[0] < index.tree.n_nodes / 5
    assert np.array_equal(index.search(QUERIES, recall=1.0).ids, exact)


@pytest.mark.parametrize(
    ("acuity", "guided"),
    [(5.0, {0.0005: True, 0.3: False, 1.0: False}), (CobwebTree.PAPER_ACUITY, {0.05: True, 1.0: False})],
)
def test_with_context_too_a_share_asked_for_is_found(acuity: float, guided: dict[float, bool]) -> None:
    """Where distances lead elsewhere than to the best, everything is scored."""
    index = VectorIndex(24, whitener=None, acuity=acuity)
    index.add(topics(4000))
    for context, expected in guided.items():
        assert (index.search(QUERIES, recall=0.9, context=context).visited.mean() < 2000) == expected
        exact = index.search(QUERIES, method="path-sum", context=context).ids
        for recall in (0.9, 0.98):
            assert share_found(index.search(QUERIES, recall=recall, context=context).ids, exact) > recall - 0.02
    index.refine()  # paths are others now
    for context in guided:
        exact = index.search(QUERIES, method="path-sum", context=context).ids
        assert share_found(index.search(QUERIES, context=context).ids, exact) > 0.95


def test_scores_are_the_exhaustive_ones(index: VectorIndex) -> None:
    for context in (0.0, 0.3, 1.0):
        found = index.search(QUERIES[:12], context=context)
        everything = index.search(QUERIES[:12], k=len(index), method="path-sum", context=context)
        for q in range(12):
            true = dict(zip(everything.ids[q].tolist(), everything.scores[q].tolist(), strict=True))
            assert [true[id] for id in found.ids[q].tolist()] == found.scores[q].tolist()
            assert (np.diff(found.scores[q]) <= 0).all()


@pytest.mark.parametrize("made", ["index", "tree_alone"])
def test_visited_is_the_truth_and_the_budget_is_kept(made: str, request: pytest.FixtureRequest) -> None:
    index = request.getfixturevalue(made)
    widest = index.tree.stats().widest
    for budget in (50, 300, 1500):
        found = index.search(QUERIES, budget=budget)
        # The last node opened, or the last leaf whose links were followed, may go past it.
        assert found.visited.max() <= budget + max(widest, 32) + 5
        assert (found.ids[:, 0] >= 0).all()
    recalls = [
        share_found(index.search(QUERIES, budget=budget).ids, index.search(QUERIES, method="path-sum").ids)
        for budget in (100, 400, 1600)
    ]
    assert recalls == sorted(recalls)
    assert recalls[0] < 0.9 < recalls[-1]


def test_batches_threads_and_single_queries_agree(index: VectorIndex) -> None:
    batch = index.search(QUERIES)
    for i in range(0, 200, 17):
        one = index.search(QUERIES[i])
        assert np.array_equal(one.ids[0], batch.ids[i])
        assert np.array_equal(one.scores[0], batch.scores[i])
        assert one.visited[0] == batch.visited[i]


@pytest.mark.parametrize("settling", [False, True])
def test_the_same_calls_make_the_same_index(settling: bool) -> None:
    def make() -> dict[str, bytes]:
        index = VectorIndex(24, whitener=None)
        X = topics(3000)
        index.add(X[:1800])
        if settling:
            index.settle()
        index.add(X[1800:2100])
        index.remove(range(100, 600))
        index.add(X[2100:])
        index.settle()
        return state(index)

    assert make() == make()


def test_k_of_any_size(index: VectorIndex) -> None:
    for k in (1, 50, 700, 6000, 9000):
        found = index.search(QUERIES[:3], k=k)
        exact = index.search(QUERIES[:3], k=k, method="path-sum")
        assert (found.ids >= 0).sum(axis=1).tolist() == [min(k, 6000)] * 3
        assert share_found(found.ids[:, : min(k, 6000)], exact.ids[:, : min(k, 6000)]) > 0.9


def test_many_copies_of_few_vectors() -> None:
    X = np.repeat(topics(1500), 4, axis=0)
    index = VectorIndex(24, whitener=None)
    index.add(X)
    found = index.search(X[:20:4], k=10)
    assert found.ids[:, :4].tolist() == [[4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3] for i in range(5)]


def test_points_that_codes_cannot_tell_apart() -> None:
    """A few far outliers stretch the grid until most codes are equal; exact scores still find the nearest."""
    X = topics(3000)
    X[:3] *= 1e4
    index = VectorIndex(24, whitener=None, acuity=5.0)
    index.add(X)
    index.check()
    found = index.search(X[:50], k=1, method="path-sum").ids.ravel()
    assert found.tolist() == list(range(50))
    assert (index.search(X[:3], k=1).ids.ravel() == [0, 1, 2]).all()


# -- links ---------------------------------------------------------------------------------------------


def test_a_living_tree_is_linked_as_it_grows() -> None:
    index, X = VectorIndex(24, whitener=None), topics(3000)
    index.add(X[:1200])
    assert index.settled
    index.add(X[1200:])  # more than there are
    assert index.settled
    for seed in range(3):
        (id,) = index.add(topics(1, seed=seed + 50))
        assert index.search(topics(1, seed=seed + 50), k=1).ids[0, 0] == id
    index.remove([5, 6, 7])
    assert index.settled
    assert index.search(QUERIES).visited.mean() < 1000


def test_a_run_of_additions_to_a_cobweb_tree_is_linked_when_a_search_needs_it() -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    X = topics(5000)
    for start in range(0, 5000, 1000):
        index.add(X[start : start + 1000])
        assert not index.settled or start == 0
    exact = index.search(QUERIES, method="path-sum").ids
    index.search(QUERIES[0], recall=1.0)
    assert not index.settled, "rankers that need no links do not make them"
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    assert index.settled


def test_a_small_change_of_a_cobweb_tree_mends_links_at_once() -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(3000))
    index.settle()
    for seed in range(3):
        (id,) = index.add(topics(1, seed=seed + 50))
        assert index.settled
        assert index.search(topics(1, seed=seed + 50), k=1).ids[0, 0] == id
    index.remove([5, 6, 7])
    assert index.settled
    assert index.search(QUERIES).visited.mean() < 1000


def test_near_twins_that_come_together_are_all_found(own: VectorIndex) -> None:
    twins = topics(1, seed=9) + 1e-3 * np.random.default_rng(0).normal(size=(40, 24)).astype(np.float32)
    ids = own.add(twins)
    assert own.search(twins, k=1).ids.ravel().tolist() == ids


def test_leaves_beyond_the_grid_of_the_codes_are_told_apart(own: VectorIndex) -> None:
    far = 8 * topics(40, seed=9)
    own.add(far)
    assert not own.settled, "codes are due on another grid"
    exact = own.search(far, k=3, method="path-sum").ids
    assert np.array_equal(own.search(far, k=3).ids[:, 0], exact[:, 0])
    own.settle()
    found = own.search(far, k=3).ids
    assert np.array_equal(found[:, 0], exact[:, 0])
    assert share_found(found, exact) > 0.9


def test_one_far_outlier_spoils_nothing(own: VectorIndex) -> None:
    (id,) = own.add(1000 * topics(1, seed=9))
    found = own.search(QUERIES)
    assert share_found(found.ids, own.search(QUERIES, method="path-sum").ids) > 0.97
    assert found.visited.mean() < 1500
    assert own.search(1000 * topics(1, seed=9), k=1).ids[0, 0] == id


def test_filters_with_many_answers_keep_the_recall() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(12_000))
    allowed = np.random.default_rng(1).permutation(12_000)[:3000].tolist()
    for k in (100, 500):
        found = index.search(QUERIES[:20], k=k, allowed=allowed)
        exact = index.search(QUERIES[:20], k=k, allowed=allowed, method="path-sum")
        assert share_found(found.ids, exact.ids) > 0.97


def test_no_queries_no_answers(index: VectorIndex) -> None:
    assert index.search(np.zeros((0, 24), np.float32)).ids.shape == (0, 10)


def test_removals_while_links_are_due() -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(2000))
    index.settle()
    index.add(topics(3000, seed=5))
    assert not index.settled
    index.remove(range(0, 4000, 3))
    index.add(topics(500, seed=6))  # into rows that were left
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    index.add(topics(3000, seed=7))
    index.remove([id for id in range(8500) if id in index])
    assert index.settled
    assert (index.search(QUERIES[:1]).ids == -1).all()


@pytest.mark.parametrize("documents", [0, 1500])
def test_a_bulk_add_that_was_stopped_leaves_the_index_as_it_was(
    documents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(documents))
    before = state(index)
    for module, where in ((linking, "thin_rows"), (search_graph, "encode_tree"), (calibration, "noisy_documents")):
        with monkeypatch.context() as patch:
            patch.setattr(module, where, interrupted)
            with pytest.raises(KeyboardInterrupt):
                index.add(topics(2000, seed=1))
        assert state(index) == before
    index.add(topics(2000, seed=1))
    assert share_found(index.search(QUERIES).ids, index.search(QUERIES, method="path-sum").ids) > 0.95


def test_settling_that_was_stopped_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(2000))

    for module, where in ((linking, "_nearest_among"), (linking, "thin_rows"), (calibration, "noisy_documents")):
        with monkeypatch.context() as patch:
            patch.setattr(module, where, interrupted)
            with pytest.raises(KeyboardInterrupt):
                index.search(QUERIES)
        assert not index.settled
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES).ids, exact) > 0.95


def test_what_is_not_settled_is_saved_as_such() -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(2000))
    index.settle()
    index.add(topics(3000, seed=5))
    loaded = VectorIndex.from_bundle(index.to_bundle())
    assert not loaded.settled
    ours, theirs = index.search(QUERIES), loaded.search(QUERIES)
    assert np.array_equal(ours.ids, theirs.ids)
    assert np.array_equal(ours.visited, theirs.visited)


def test_many_threads_ask_while_links_are_due() -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(3000))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: index.search(QUERIES[i], k=1).ids[0, 0], range(16)))
    assert found == index.search(QUERIES[:16], k=1).ids[:, 0].tolist()


def test_shrinking_below_what_needs_a_graph() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(1500))
    index.remove(range(1400))
    assert index.search(QUERIES, k=5).ids.tolist() == index.search(QUERIES, k=5, method="path-sum").ids.tolist()
    index.remove(range(1400, 1500))
    assert (index.search(QUERIES[:1]).ids == -1).all()
    index.add(topics(1500))
    assert share_found(index.search(QUERIES).ids, index.search(QUERIES, method="path-sum").ids) > 0.95


def test_what_was_saved_is_searched_as_before(index: VectorIndex, tmp_path: Path) -> None:
    index.save(tmp_path)
    loaded = VectorIndex.load(tmp_path)
    ours, theirs = index.search(QUERIES), loaded.search(QUERIES)
    assert np.array_equal(ours.visited, theirs.visited)
    assert np.array_equal(ours.ids, theirs.ids)


def test_links_that_cannot_be_mended_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(2000))
    index.settle()

    with monkeypatch.context() as patch:
        patch.setattr(linking, "search_links", without_memory)
        index.add(topics(100, seed=3))
    assert len(index) == 2100
    assert not index.settled
    index.check()
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    index.add(topics(100, seed=4))


# -- filters -------------------------------------------------------------------------------------------


def test_the_tree_alone_gives_k_of_the_allowed() -> None:
    index = VectorIndex(24, whitener=None, links=False)
    index.add(topics(9000))
    found = index.search(QUERIES[:20], k=500, allowed=range(0, 9000, 3))
    assert (found.ids >= 0).all()
    assert (index.search(QUERIES[:20], k=500, allowed=range(0, 9000, 3), budget=600).ids < 0).any()


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.1, 0.5, 1.0])
def test_filters_give_k_of_the_allowed(index: VectorIndex, share: float) -> None:
    allowed = np.random.default_rng(2).permutation(6000)[: max(1, int(6000 * share))].tolist()
    found = index.search(QUERIES[:50], allowed=allowed)
    exact = index.search(QUERIES[:50], allowed=allowed, method="path-sum")
    n = min(10, len(allowed))
    assert (found.ids[:, :n] >= 0).all()
    assert (found.ids[:, n:] == -1).all()
    assert set(found.ids.ravel().tolist()) <= {*allowed, -1}
    assert share_found(found.ids[:, :n], exact.ids[:, :n]) > 0.95
    everything = index.search(QUERIES[:1], k=6000, method="path-sum").ids[0].tolist()
    assert exact.ids[0, :n].tolist() == [id for id in everything if id in set(allowed)][:n]


def test_within_a_concept(index: VectorIndex) -> None:
    for node in (*index.tree.node(index.tree.root).children, index.node_of(17)):
        members = set(index.documents_below(node))
        found = index.search(QUERIES[:20], within=node)
        assert set(found.ids.ravel().tolist()) <= members | {-1}
        assert ((found.ids >= 0).sum(axis=1) == min(10, len(members))).all()
        some = sorted(members)[::3]
        both = index.search(QUERIES[:20], within=node, allowed=some)
        assert set(both.ids.ravel().tolist()) <= set(some) | {-1}


def test_an_empty_filter_has_no_answers(index: VectorIndex) -> None:
    assert (index.search(QUERIES[:2], allowed=[]).ids == -1).all()


# -- rebuild -------------------------------------------------------------------------------------------


def test_a_default_index_loaded_at_once_does_not_depend_on_the_order() -> None:
    """Whitened and put together: the same concepts, and the same answers at the same cost."""
    E = np.random.default_rng(0).normal(size=(2500, 40)).astype(np.float32) @ np.diag(0.9 ** np.arange(40))
    order = np.random.default_rng(1).permutation(len(E))
    ours, theirs = VectorIndex(40, links=False), VectorIndex(40, links=False)
    ours.add(E)
    theirs.add(E[order], ids=order.tolist())
    for search in (
        {},
        {"budget": 300},
        {"method": "best-first", "budget": 200},
        {"method": "path-sum", "context": 1.0},
    ):
        a, b = (index.search(E[:100] + 0.1, **search) for index in (ours, theirs))
        assert np.array_equal(a.ids, b.ids)
        assert np.array_equal(a.visited, b.visited)


def test_an_index_loaded_at_once_does_not_depend_on_the_order() -> None:
    X, order = topics(4000), np.random.default_rng(1).permutation(4000)
    loaded, shuffled = (VectorIndex(24, whitener=None, acuity=5.0) for _ in range(2))
    loaded.add(X)
    shuffled.add(X[order], ids=order.tolist())
    assert shuffled.tree.n_nodes == loaded.tree.n_nodes
    ours, theirs = (index.search(QUERIES, method="best-first", budget=200) for index in (loaded, shuffled))
    assert np.array_equal(ours.ids, theirs.ids)


@pytest.mark.parametrize("structure", ["living", "cobweb"])
def test_rebuilding_an_index_keeps_its_answers(structure: Literal["living", "cobweb"]) -> None:
    index = VectorIndex(24, whitener=None, structure=structure)
    index.add(topics(3000))
    before = index.search(QUERIES, method="path-sum").ids
    assert index.refine().utility_after > 0
    index.check()
    assert np.array_equal(index.search(QUERIES, method="path-sum").ids, before)
    assert share_found(index.search(QUERIES).ids, before) > 0.95


@pytest.mark.parametrize("whitener", [None, Whitener(n_components=20)])
@pytest.mark.parametrize("n", [700, 3000])
def test_a_rebuilt_cobweb_index_is_the_one_its_documents_would_make(n: int, whitener: Whitener | None) -> None:
    """Inserted in order of arrival, and not agglomerated; below a thousand documents the whitener is not fitted yet."""
    index, fresh = (VectorIndex(24, whitener=whitener, acuity=2.0, structure="cobweb") for _ in range(2))
    X = topics(n)
    index.add(X)
    index.delete(range(0, n, 3))
    index.add(X[:5] + np.float32(0.1), ids=[3, 4, 5, 6, n + 9])
    index.rebuild()
    index.check()
    if whitener is not None and index.whitener is not None:
        fresh = VectorIndex(24, whitener=index.whitener, acuity=2.0, structure="cobweb")
    left = [id for id in range(n) if id % 3 and id not in (4, 5)]
    fresh.add(X[left], ids=left)
    fresh.add(X[:5] + np.float32(0.1), ids=[3, 4, 5, 6, n + 9])
    for id in (1, 4, n + 9):
        assert index.path(id) == fresh.path(id)
    assert index.tree.stats() == fresh.tree.stats()
    assert index.tree.stats().operators["insert"] > 0
    assert state(index)["tree.parent"] == state(fresh)["tree.parent"]
    index.add(topics(1, seed=9))
    index.check()


def test_a_rebuild_of_a_cobweb_index_that_was_stopped_changes_nothing() -> None:
    index = VectorIndex(24, whitener=None, structure="cobweb")
    index.add(topics(2000))
    before = state(index)
    with pytest.raises(KeyboardInterrupt):
        index.rebuild(progress=interrupted)
    assert state(index) == before


@pytest.mark.parametrize("links", [True, False])
def test_a_rebuild_of_a_living_tree_that_was_stopped_changes_nothing(
    links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = VectorIndex(24, whitener=None, links=links)
    index.add(topics(2000))
    before = state(index)
    with monkeypatch.context() as patch:
        patch.setattr(search_graph, "choose_entry_points", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.rebuild()
    assert state(index) == before
    assert index.settled


def test_the_root_density_is_part_of_the_score(index: VectorIndex) -> None:
    t = index.tree.arrays
    x = QUERIES[0]
    found = index.search(x, k=1)
    leaf = index.node_of(found.ids[0, 0])
    assert found.scores[0, 0] == log_p(t, leaf, x) - log_p(t, index.tree.root, x)


# -- each of these once went wrong ------------------------------------------------------------------------


def test_documents_of_the_batch_that_refines_are_found() -> None:
    E = np.random.default_rng(0).normal(size=(2600, 32)).astype(np.float32)
    index = VectorIndex(32)
    index.add(E[:1100])
    for start in range(1100, 2600, 250):
        index.add(E[start : start + 250])
    assert (index.search(E, k=1).ids[:, 0] == np.arange(2600)).mean() > 0.99


def test_a_region_that_was_removed_can_still_be_asked_for() -> None:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(10, 32))
    label = rng.integers(0, 10, 3000)
    index = VectorIndex(32)
    index.add(centres[label] + 0.5 * rng.normal(size=(3000, 32)))
    index.settle()
    index.remove(np.flatnonzero(label == 3).tolist())
    found = index.search(centres[3], k=5)
    assert (found.ids >= 0).all()
    assert share_found(found.ids, index.search(centres[3], k=5, recall=1.0).ids) >= 0.6


@pytest.mark.parametrize(("clusters", "spread", "dim"), [(10, 0.15, 32), (50, 0.05, 64), (1, 1.0, 2)])
def test_tight_clusters_far_apart(clusters: int, spread: float, dim: int) -> None:
    """Links fall into islands there; calibration sees it, and such data is searched exhaustively."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(clusters, dim))
    E = centres[rng.integers(0, clusters, 4000)] + spread * rng.normal(size=(4000, dim))
    Q = centres[rng.integers(0, clusters, 100)] + spread * rng.normal(size=(100, dim))
    index = VectorIndex(dim)
    index.add(E)
    assert share_found(index.search(Q).ids, index.search(Q, recall=1.0).ids) > 0.95
    assert (index.search(Q[:3], k=1000).ids >= 0).all()


def test_recall_survives_the_removal_of_most() -> None:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(60, 48))
    E = (centres[rng.integers(0, 60, 6000)] + 0.5 * rng.normal(size=(6000, 48))).astype(np.float32)
    index = VectorIndex(48)
    index.add(E)
    order = rng.permutation(6000)
    for gone, start in ((1500, 0), (3000, 1500), (4500, 3000)):
        index.remove(order[start:gone].tolist())
        Q = E[order[gone : gone + 200]] + 0.2 * rng.normal(size=(200, 48))
        assert share_found(index.search(Q).ids, index.search(Q, recall=1.0).ids) > 0.85


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_filter_that_leaves_out_what_a_query_is_like(share: float) -> None:
    """All that is near is excluded, so a walk along near leaves meets nothing that is allowed."""
    X = topics(12_000)
    index = VectorIndex(24, whitener=None)
    index.add(X)
    Q = X[:1] + np.random.default_rng(3).normal(size=(8, 24)).astype(np.float32) * 0.01
    order = np.argsort(np.square(X - X[0]).sum(axis=1))
    allowed = order[round((1 - share) * len(X)) :].tolist()
    for recall in (None, 0.99):
        found = index.search(Q, allowed=allowed, recall=recall).ids
        assert share_found(found, index.search(Q, method="path-sum", allowed=allowed).ids) > 0.98
