"""Guided search: near-exact, honest about its cost, and right through growth, removal and filters."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree, VectorIndex
from gossamer.graph import calibration as dial
from gossamer.graph.calibration import Effort
from gossamer.graph.codes import choose_grid, empty_codes, encode_all, with_rows
from gossamer.neighbours import all_pairs as pairs
from gossamer.rank import guided
from gossamer.rank.guided import Guide
from gossamer.rank.path_sum import PathSum
from gossamer.runtime import threads
from gossamer.runtime.simd import integer_dot
from gossamer.runtime.threads import in_threads
from gossamer.tree import cobweb
from gossamer.tree.arrays import Meta, TreeArrays, used
from gossamer.tree.structure import rehash
from kernel_wrappers import code_distance, encode_query, leaves_beside, log_p

Matrix = npt.NDArray[np.float32]


def topics(n: int, dim: int = 24, seed: int = 0) -> Matrix:
    """Vectors in topics within themes, on a sphere, as whitened embeddings are."""
    rng = np.random.default_rng(seed)
    themes = np.random.default_rng(99).normal(size=(10, dim)) * 1.5
    centres = themes[rng.integers(0, 10, 80)] + np.random.default_rng(98).normal(size=(80, dim))
    X = centres[rng.integers(0, 80, n)] + rng.normal(size=(n, dim)) * 0.8
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(dim), np.float32)


def share_found(found: npt.NDArray[Any], exact: npt.NDArray[Any]) -> float:
    return float(
        np.mean([len(set(a) & set(b)) / len(set(b)) for a, b in zip(found.tolist(), exact.tolist(), strict=True)])
    )


def interrupted(*_: object) -> None:
    """What stands in for a step that Ctrl-C stops."""
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def index() -> VectorIndex:
    made = VectorIndex(24, whitener=None)
    made.add(topics(6000))
    made.settle()
    return made


QUERIES = topics(200, seed=5)


# -- codes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [True, False])
def test_codes_follow_the_tree(links: bool) -> None:
    """Through insertion, removal and refining, those kept up to date are those that would be made anew."""
    rng = np.random.default_rng(3)
    index = VectorIndex(24, whitener=None, links=links)
    alive = list(index.add(topics(3000)))
    index.settle()
    for round in range(5):
        gone = rng.permutation(len(alive))[:60].tolist()
        for some in [gone] if round % 2 else np.array_split(gone, 40):  # at once; by ones and twos
            index.remove([alive[at] for at in some])
        alive = [id for at, id in enumerate(alive) if at not in gone]
        alive += index.add(topics(80, seed=20 + round))
        if round == 3:
            index.refine()
        t, kept = index.tree.arrays, index._guide._g.codes  # type: ignore[union-attr]
        fresh = with_rows(empty_codes(kept.centre, kept.step), len(t.vectors), len(t.mean))
        encode_all(t, fresh)
        inner = t.row[[node for node in range(t.meta[Meta.SLOTS]) if t.n_children[node] > 0]]
        leaves = np.isfinite(t.norm[: t.meta[Meta.LEAF_ROWS]]).nonzero()[0]
        assert np.array_equal(kept.reach[inner], fresh.reach[inner])
        assert np.array_equal(kept.inner[inner], fresh.inner[inner])
        assert np.array_equal(kept.leaf[leaves], fresh.leaf[leaves])


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("context", [0.0, 0.002])
def test_calibration_shows_what_asking_everyone_at_every_step_would(links: bool, context: float) -> None:
    index = VectorIndex(24, whitener=None, links=links)
    index.add(topics(4000))
    index.settle()
    t, guide, measured = index.tree.arrays, index._guide, dial.Dial(linked=links)
    asked: list[tuple[dial.Effort, npt.NDArray[np.int64]]] = []

    def search(Q: npt.NDArray[np.float32], k: int, effort: dial.Effort) -> npt.NDArray[np.int64]:
        asked.append((effort, guide.search(t, Q, k, effort, context).documents))
        return asked[-1][1]

    def exact_search(Q: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
        return index._path_sum.search(t, Q, k, "sum", context).documents

    measured.measure(t, search, exact_search, context)
    Q = dial._disturbed(t, 1.7 if links else 1.0)
    exact = exact_search(Q, 10)
    efforts = [effort for effort, _ in asked][int(context > 0) :]
    alone = [share_found(guide.search(t, Q, 10, effort, context).documents, exact) for effort in efforts]
    assert len(alone) > 1
    assert measured._recalls == pytest.approx(np.maximum.accumulate(alone))
    if links and context == 0.0:
        assert len(asked[-1][1]) < len(Q), "who found everything was not asked again"


@settings(max_examples=60)
@given(dim=st.integers(1, 300), seed=st.integers(0, 1000), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_code_distances_are_near_the_true_ones(dim: int, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    X = ((rng.normal(size=(20, dim)) + 3) * scale).astype(np.float32)
    x = ((rng.normal(size=dim) + 3) * scale).astype(np.float32)
    tree = CobwebTree(dim, acuity=scale**2)
    tree.insert_many(X)
    t = tree.arrays
    codes = with_rows(empty_codes(*choose_grid(t)), len(t.vectors), len(t.mean))
    encode_all(t, codes)
    query = np.zeros(codes.leaf.shape[1], np.int16)
    factor, norm = encode_query(x, codes, query)
    step = float(codes.step[0])
    for document in range(20):
        row = int(t.row[tree.leaf(document)])
        true = float(((X[document].astype(float) - x) ** 2).sum())
        dot = int(query.astype(np.int64) @ codes.leaf[row].astype(np.int64))
        estimate = norm + float(codes.leaf_norm[row]) - factor * dot
        # A coordinate is off by at most half a step, so a distance by at most √D/2 steps, and float32 on top.
        allowed = step * np.sqrt(dim) * (np.sqrt(true) + np.sqrt(norm)) + 1e-5 * (norm + codes.leaf_norm[row])
        assert abs(estimate - true) <= allowed
        itself = code_distance(codes, row, row)
        assert abs(itself) <= 2 * step * np.sqrt(dim * codes.leaf_norm[row]) + 1e-5 * codes.leaf_norm[row]


def test_integer_dot_is_exact() -> None:
    from numba import njit

    dot = njit(lambda a, b: integer_dot(a, b))
    rng = np.random.default_rng(0)
    for width in (32, 64, 320, 4096):
        left = rng.integers(-4000, 4000, width).astype(np.int16)
        right = rng.integers(-127, 128, width).astype(np.int8)
        assert dot(left, right) == int(left.astype(np.int64) @ right.astype(np.int64))
        assert dot(right, right) == int(right.astype(np.int64) @ right.astype(np.int64))


# -- searching -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [True, False])
def test_asked_for_a_share_it_finds_that_share(links: bool) -> None:
    index = VectorIndex(24, whitener=None, links=links)
    index.add(topics(6000))
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
    ("context", "acuity", "guided"),
    [
        (0.0005, 5.0, True), (0.3, 5.0, False), (1.0, 5.0, False),
        (0.05, CobwebTree.PAPER_ACUITY, True), (1.0, CobwebTree.PAPER_ACUITY, False),
    ],
)  # fmt: skip
def test_with_context_too_a_share_asked_for_is_found(context: float, acuity: float, guided: bool) -> None:
    """Where distances lead elsewhere than to the best, everything is scored."""
    index = VectorIndex(24, whitener=None, acuity=acuity)
    index.add(topics(4000))
    assert (index.search(QUERIES, recall=0.9, context=context).visited.mean() < 2000) == guided
    exact = index.search(QUERIES, method="path-sum", context=context).ids
    for recall in (0.9, 0.98):
        assert share_found(index.search(QUERIES, recall=recall, context=context).ids, exact) > recall - 0.02
    assert len(index._guide._in_context) == 1
    index.refine()
    assert not index._guide._in_context, "paths are others now"
    exact = index.search(QUERIES, method="path-sum", context=context).ids
    assert share_found(index.search(QUERIES, context=context).ids, exact) > 0.95


def test_many_threads_measure_a_context_once(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(3000))
    index.settle()
    made: list[float] = []
    measure = dial.Dial.measure

    def counted(self: Any, t: Any, search: Any, exact_search: Any, context: float = 0.0) -> None:
        made.append(context)
        measure(self, t, search, exact_search, context)

    monkeypatch.setattr(dial.Dial, "measure", counted)
    index.search(QUERIES[0], context=0.7, allowed=[1, 2, 3])
    assert made == [], "those few are all scored anyway"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda q: index.search(q, context=0.7), QUERIES[:8]))
    assert made == [0.7]


def test_what_is_known_of_contexts_does_not_pile_up(index: VectorIndex) -> None:
    for context in np.linspace(0.1, 1.0, 12).tolist():
        index.search(QUERIES[:2], context=context)
    assert len(index._guide._in_context) <= 8


def test_scores_are_the_exhaustive_ones(index: VectorIndex) -> None:
    for context in (0.0, 0.3, 1.0):
        found = index.search(QUERIES[:40], context=context)
        everything = index.search(QUERIES[:40], k=len(index), method="path-sum", context=context)
        for q in range(40):
            true = dict(zip(everything.ids[q].tolist(), everything.scores[q].tolist(), strict=True))
            assert [true[id] for id in found.ids[q].tolist()] == found.scores[q].tolist()
            assert (np.diff(found.scores[q]) <= 0).all()


@pytest.mark.parametrize("links", [True, False])
def test_visited_is_the_truth_and_the_budget_is_kept(links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None, links=links)
    index.add(topics(6000))
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
        X = topics(5000)
        index.add(X[:3000])
        if settling:
            index.settle()
        index.add(X[3000:3400])
        index.remove(range(100, 900))
        index.add(X[3400:])
        index.settle()
        return {name: array.tobytes() for name, array in index.to_bundle().arrays.items()}

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


def guide_of(index: VectorIndex) -> Any:
    index.settle()
    return index._guide._g


def check_links(index: VectorIndex) -> None:
    t, g = index.tree.arrays, guide_of(index)
    alive = np.flatnonzero(np.isfinite(t.norm[: t.meta[2]]))
    wrong = links = 0
    for row in alive.tolist():
        to = g.links.to[row, : g.links.degree[row]]
        assert len(set(to.tolist())) == len(to), "no link twice"
        assert row not in to, "no leaf links to itself"
        assert ((to >= 0) & (to < t.meta[2])).all()
        length = g.links.length[row, : g.links.degree[row]].astype(int)
        assert (np.diff(length) >= 0).all(), "shortest first"
        spanned = [max(0.0, code_distance(g.codes, row, other)) ** 0.5 / g.links.unit[0] for other in to.tolist()]
        wrong += int((np.abs(np.minimum(spanned, 255) - length - 0.5) > 0.51).sum())
        links += len(to)
    assert wrong <= 0.01 * links, "lengths are true, but of links into rows that were given to others"
    assert (g.links.degree[alive] > 0).mean() > 0.999
    assert np.array_equal(np.isfinite(g.codes.leaf_norm[: t.meta[2]]), np.isfinite(t.norm[: t.meta[2]]))


@pytest.mark.parametrize("first", [500, 10_000])
def test_links_stay_sound_through_growth_and_removal(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guided, "_FIRST", first)  # the others search for what they link to
    rng = np.random.default_rng(0)
    index = VectorIndex(24, whitener=None)
    alive = list(index.add(topics(2500)))
    for round in range(6):
        gone = rng.choice(len(alive), 400, replace=False)
        index.remove([alive[i] for i in gone])
        alive = [id for at, id in enumerate(alive) if at not in set(gone.tolist())]
        alive += index.add(topics(350, seed=10 + round))
        check_links(index)
        index.check()
        exact = index.search(QUERIES, method="path-sum").ids
        assert share_found(index.search(QUERIES, recall=0.95).ids, exact) > 0.93
        assert set(index.search(QUERIES).ids.ravel().tolist()) <= set(alive)


def test_half_replaced_is_as_good_as_fresh() -> None:
    X, Y = topics(5000), topics(2500, seed=77)
    index = VectorIndex(24, whitener=None)
    index.add(X)
    gone = np.random.default_rng(1).permutation(5000)[:2500].tolist()
    index.remove(gone)
    index.add(Y)
    fresh = VectorIndex(24, whitener=None)
    fresh.add(np.concatenate([np.delete(X, gone, axis=0), Y]))
    effort = Effort(1.03)
    recalls = []
    for each in (index, fresh):
        each.settle()
        t = each.tree.arrays
        exact = PathSum().search(t, QUERIES, 10).documents
        recalls.append(share_found(each._guide.search(t, QUERIES, 10, effort).documents, exact))
    assert recalls[0] >= recalls[1] - 0.02


def test_an_index_that_grew_is_linked_as_if_all_had_come_at_once() -> None:
    """When a grid is chosen for it, that is: what was linked before knew nothing of what came later."""
    X = topics(6000)
    index, at_once = VectorIndex(24, whitener=None), VectorIndex(24, whitener=None)
    for start in range(0, 6000, 500):
        index.add(X[start : start + 500])
        if start >= 3000:
            index.settle()  # so that some are linked as they come
    at_once.add(X)
    recalls = []
    for each in (index, at_once):
        each.settle()
        check_links(each)
        found = each._guide.search(each.tree.arrays, QUERIES, 10, Effort(1.0)).documents
        recalls.append(share_found(found, PathSum().search(each.tree.arrays, QUERIES, 10).documents))
    assert recalls[0] > recalls[1] - 0.02


def linked_rows(index: VectorIndex) -> int:
    return 0 if index._guide._g is None else int((index._guide._g.links.degree > 0).sum())


def test_a_run_of_additions_is_linked_once_when_a_search_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = Guide._make_anew

    def counted(guide: Guide, t: TreeArrays) -> None:
        made.append(int(t.meta[Meta.LEAVES]))
        real(guide, t)

    monkeypatch.setattr(Guide, "_make_anew", counted)
    index = VectorIndex(24, whitener=None)
    X = topics(5000)
    for start in range(0, 5000, 1000):
        index.add(X[start : start + 1000])
    assert not index.settled
    assert made == []
    exact = index.search(QUERIES, method="path-sum").ids
    assert made == [], "a ranker that needs no links does not make them"
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    assert made == [5000]
    assert index.settled
    check_links(index)


def test_a_small_addition_mends_links_and_does_not_make_them_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(3000))
    index.settle()
    monkeypatch.setattr(Guide, "_make_anew", None)  # whoever calls it fails
    for seed in range(3):
        (id,) = index.add(topics(1, seed=seed + 50))
        assert index.settled
        assert index.search(topics(1, seed=seed + 50), k=1).ids[0, 0] == id
    index.remove([5, 6, 7])
    assert index.settled
    assert linked_rows(index) == 3000


@pytest.mark.parametrize("first", [500, 10_000])
def test_links_do_not_depend_on_the_number_of_threads(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guided, "_FIRST", first)

    def linked() -> list[list[int]]:
        index = VectorIndex(24, whitener=None)
        index.add(topics(3000))
        index.settle()
        index.add(topics(300, seed=4))
        links = guide_of(index).links
        return [links.to[row, : links.degree[row]].tolist() for row in range(3300)]

    ours = linked()
    for count in (1, 3):
        for module in (guided, pairs):
            monkeypatch.setattr(module, "in_threads", partial(in_threads, threads=count))
        assert linked() == ours


def test_near_twins_that_come_together_are_all_found() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2500))
    index.settle()
    twins = topics(1, seed=9) + 1e-3 * np.random.default_rng(0).normal(size=(40, 24)).astype(np.float32)
    ids = index.add(twins)
    assert index.search(twins, k=1).ids.ravel().tolist() == ids


def test_leaves_beyond_the_grid_of_the_codes_are_told_apart() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2500))
    index.settle()
    far = 8 * topics(40, seed=9)
    index.add(far)
    assert not index.settled, "codes are due on another grid"
    found, exact = index.search(far, k=3).ids, index.search(far, k=3, method="path-sum").ids
    assert np.array_equal(found[:, 0], exact[:, 0])
    assert share_found(found, exact) > 0.9


def test_one_far_outlier_spoils_nothing() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(3000))
    index.settle()
    (id,) = index.add(1000 * topics(1, seed=9))
    found = index.search(QUERIES)
    assert share_found(found.ids, index.search(QUERIES, method="path-sum").ids) > 0.97
    assert found.visited.mean() < 1500
    assert index.search(1000 * topics(1, seed=9), k=1).ids[0, 0] == id


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


def test_what_is_being_written_does_not_change_while_a_search_links() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2000))
    index.settle()
    index.add(topics(2000, seed=5))
    bundle = index.to_bundle()
    before = {name: array.copy() for name, array in bundle.arrays.items()}
    index.search(QUERIES)
    for name, array in bundle.arrays.items():
        assert np.array_equal(array, before[name], equal_nan=array.dtype.kind == "f"), name


def test_nobody_works_on_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    both, ended, pool = Barrier(2), [], ThreadPoolExecutor(2)
    monkeypatch.setattr(threads, "_pool", lambda process: pool)

    def work(first: int, last: int) -> None:
        both.wait(30)
        if first == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        ended.append(first)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, 8, threads=2)
    assert ended == [4], "the other part was waited for"
    pool.shutdown()


def test_hard_queries_are_given_more_than_easy_ones(index: VectorIndex) -> None:
    t = index.tree.arrays
    hard = np.random.default_rng(3).normal(size=(100, 24)).astype(np.float32) * QUERIES.std()
    visited = [index._guide.search(t, Q, 10, Effort(1.1)).visited.mean() for Q in (topics(100), hard)]
    assert visited[1] > 1.5 * visited[0]


def test_an_index_measured_on_another_ladder_is_measured_again(index: VectorIndex) -> None:
    bundle = index.to_bundle()
    name = next(name for name in bundle.arrays if name.endswith("ladder"))
    loaded = VectorIndex.from_bundle(replace(bundle, arrays={**bundle.arrays, name: bundle.arrays[name] + 7}))
    assert not loaded.settled
    assert np.array_equal(loaded.search(QUERIES).ids, index.search(QUERIES).ids)
    assert loaded.settled


def test_very_many_are_linked_without_waiting_for_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guided, "_WAITING", 1200)
    index = VectorIndex(24, whitener=None)
    index.add(topics(1100))
    assert not index.settled
    index.add(topics(200, seed=4))
    assert index.settled
    assert linked_rows(index) == 1300


def test_removals_while_links_are_due() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2000))
    index.settle()
    index.add(topics(3000, seed=5))
    assert not index.settled
    index.remove(range(0, 4000, 3))
    index.add(topics(500, seed=6))  # into rows that were left
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    check_links(index)
    index.add(topics(9000, seed=7))
    index.remove([id for id in range(14_500) if id in index])
    assert index.settled
    assert (index.search(QUERIES[:1]).ids == -1).all()


def test_settling_that_was_stopped_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2000))

    monkeypatch.setattr(guided, "_FIRST", 1500)  # the others search for what they link to
    for module, where in ((guided, "nearest_of_all"), (guided, "choose_links"), (dial, "_disturbed")):
        with monkeypatch.context() as patch:
            patch.setattr(module, where, interrupted)
            with pytest.raises(KeyboardInterrupt):
                index.search(QUERIES)
        assert not index.settled
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    check_links(index)


def test_what_is_not_settled_is_saved_as_such() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2000))
    index.settle()
    index.add(topics(3000, seed=5))
    loaded = VectorIndex.from_bundle(index.to_bundle())
    assert not loaded.settled
    ours, theirs = index.search(QUERIES), loaded.search(QUERIES)
    assert np.array_equal(ours.ids, theirs.ids)
    assert np.array_equal(ours.visited, theirs.visited)


def test_many_threads_ask_while_links_are_due() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(3000))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: index.search(QUERIES[i], k=1).ids[0, 0], range(16)))
    assert found == index.search(QUERIES[:16], k=1).ids[:, 0].tolist()


def test_shrinking_below_what_needs_a_guide() -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(1500))
    index.remove(range(1400))
    assert index.search(QUERIES, k=5).ids.tolist() == index.search(QUERIES, k=5, method="path-sum").ids.tolist()
    index.remove(range(1400, 1500))
    assert (index.search(QUERIES[:1]).ids == -1).all()
    index.add(topics(1500))
    assert share_found(index.search(QUERIES).ids, index.search(QUERIES, method="path-sum").ids) > 0.95


def test_leaves_beside_are_leaves_and_not_itself(index: VectorIndex) -> None:
    t = index.tree.arrays
    for row in range(0, 6000, 501):
        out = np.full(40, -1, np.int32)
        n = leaves_beside(t, row, out)
        assert n == 40
        assert row not in out
        assert len(set(out.tolist())) == 40
        assert (t.n_children[t.owner[out]] == 0).all()


def test_save_and_load_keeps_the_guide(index: VectorIndex, tmp_path: Path) -> None:
    index.save(tmp_path)
    loaded = VectorIndex.load(tmp_path)
    ours, theirs = index.search(QUERIES), loaded.search(QUERIES)
    assert np.array_equal(ours.visited, theirs.visited)
    assert np.array_equal(ours.ids, theirs.ids)


def test_links_of_old_have_their_lengths_measured(index: VectorIndex) -> None:
    bundle = index.to_bundle()
    kept = {name: array for name, array in bundle.arrays.items() if not name.endswith(("length", "unit"))}
    assert len(kept) == len(bundle.arrays) - 2
    loaded = VectorIndex.from_bundle(replace(bundle, arrays=kept))
    check_links(loaded)
    ours, theirs = index.search(QUERIES), loaded.search(QUERIES)
    assert np.array_equal(ours.visited, theirs.visited)
    assert np.array_equal(ours.ids, theirs.ids)


def test_marks_that_begin_again_mean_nothing_old(index: VectorIndex) -> None:
    """There are 255 of them; here every leaf has the first, and it is the first one's turn again."""
    once = index.search(QUERIES[:1])
    scratch = index._guide._scratch[-1]
    scratch.marks[:] = 1
    scratch.stamp[0] = 254
    again = index.search(QUERIES[:1])
    assert scratch.mark[0] == 1
    assert np.array_equal(again.ids, once.ids)
    assert np.array_equal(again.visited, once.visited)


def test_links_of_old_into_nothing_are_the_longest() -> None:
    index = VectorIndex(24, whitener=None)
    ids = index.add(topics(3000))
    index.settle()
    index.remove(ids[::7])
    bundle = index.to_bundle()
    kept = {name: array for name, array in bundle.arrays.items() if not name.endswith(("length", "unit"))}
    links = VectorIndex.from_bundle(replace(bundle, arrays=kept))._guide._g.links  # type: ignore[union-attr]
    for row in range(len(links.degree)):
        assert (np.diff(links.length[row, : links.degree[row]].astype(int)) >= 0).all()


def test_links_too_long_to_help_are_not_followed(index: VectorIndex) -> None:
    """With all of them taken for short, more is looked at and hardly more found."""
    bundle = index.to_bundle()
    name = next(name for name in bundle.arrays if name.endswith("length"))
    short = {**bundle.arrays, name: np.zeros_like(bundle.arrays[name])}
    all_followed = VectorIndex.from_bundle(replace(bundle, arrays=short))
    t = index.tree.arrays
    exact = PathSum().search(t, QUERIES, 10).documents
    ours, theirs = (each._guide.search(t, QUERIES, 10, Effort(1.1)) for each in (index, all_followed))
    assert ours.visited.mean() < 0.93 * theirs.visited.mean()
    assert share_found(ours.documents, exact) > share_found(theirs.documents, exact) - 0.01


def test_an_interrupted_add_leaves_searches_right(monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None)
    index.add(topics(2000))
    index.settle()

    with monkeypatch.context() as patch:
        patch.setattr(guided, "choose_links", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.add(topics(100, seed=3))
    assert len(index) == 2100, "the documents are in; only what guides searches was stopped"
    index.check()
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES).ids, exact) > 0.95
    index.add(topics(100, seed=4))
    check_links(index)


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


# -- refine --------------------------------------------------------------------------------------------


def test_refining_raises_utility_and_keeps_ids() -> None:
    tree = CobwebTree(24)
    X = topics(3000)
    X[100:110] = X[0]
    tree.insert_many(X)
    tree.remove(range(50, 90))
    leaves = {document: tree.leaf(document) for document in range(3000) if not 50 <= document < 90}
    done = tree.refine()
    tree.check()
    assert done.utility_after > done.utility_before
    assert {document: tree.leaf(document) for document in leaves} == leaves
    again = tree.refine(passes=2)
    assert again.passes == 1, "two are of no use"
    # Nothing is left to be mended; slots may be others, so that the sum is added in another order.
    assert again.utility_after == pytest.approx(done.utility_after, rel=1e-12)
    tree.check()


def test_refining_is_the_same_every_time_and_can_be_stopped() -> None:
    trees = [CobwebTree(24) for _ in range(2)]
    for tree in trees:
        tree.insert_many(topics(9000))
        tree.refine()
    ours, theirs = used(trees[0].arrays), used(trees[1].arrays)
    assert {name: ours[name].tobytes() for name in ours} == {name: theirs[name].tobytes() for name in theirs}

    def stop(done: int, total: int) -> None:
        assert total == 9000
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trees[0].refine(progress=stop)
    trees[0].check()
    assert trees[0].n_documents == 9000


def stop_after(steps: int) -> Any:
    """A listener that has had enough after so many steps."""

    def listen(done: int, total: int) -> None:
        if done >= steps:
            raise KeyboardInterrupt

    return listen


@pytest.mark.parametrize("steps", [1, 1000, 7000, 8820])
def test_refining_that_is_stopped_leaves_the_tree_as_it_was(steps: int) -> None:
    tree = CobwebTree(24)
    tree.insert_many(topics(9000))
    tree.remove(range(0, 9000, 50))

    def state() -> dict[str, bytes]:
        arrays = used(tree.arrays)
        arrays["vectors"] = arrays["vectors"][np.isfinite(arrays["norm"])]
        return {name: array.tobytes() for name, array in arrays.items()}

    before = state()
    with pytest.raises(KeyboardInterrupt):
        tree.refine(progress=stop_after(steps))
    with pytest.raises(KeyboardInterrupt):
        tree.grow(topics(500, seed=8), progress=stop_after(steps))
    assert state() == before
    tree.check()
    tree.refine()
    tree.check()


def test_progress_of_refining_ends_at_its_total() -> None:
    heard: list[tuple[int, int]] = []
    tree = CobwebTree(24)
    tree.insert_many(topics(9001))
    tree.refine(passes=2, progress=lambda done, total: heard.append((done, total)))
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1][0] == heard[-1][1]
    many = CobwebTree(24)
    many.grow(np.tile(topics(500), (4, 1)), progress=lambda done, total: heard.append((done, total)))
    assert heard[-1][0] == heard[-1][1]


def test_who_hears_of_progress_sees_a_whole_tree() -> None:
    tree = CobwebTree(24)
    tree.insert_many(topics(9000))

    def listen(done: int, total: int) -> None:
        assert tree.n_documents == 9000
        tree.check()

    tree.refine(progress=listen)


def test_ctrl_c_while_room_is_made_loses_no_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = CobwebTree(24)
    tree.insert_many(topics(4096))
    tree._t = tree.arrays._replace(bucket=np.empty(4096, np.int32))  # as it was once saved, without a reserve
    rehash(tree.arrays)
    loaded = CobwebTree.from_bundle(tree.to_bundle())

    def rehash_and_interrupt(t: TreeArrays) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        rehash(t)

    with monkeypatch.context() as patch:
        patch.setattr(cobweb, "rehash", rehash_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            loaded.refine()
    nodes = loaded.n_nodes
    loaded.insert_many(topics(4096))
    assert loaded.n_nodes == nodes, "each finds its twin"
    loaded.check()


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
    """Nor does one that was refined; documents keep their ids."""
    X, order = topics(4000), np.random.default_rng(1).permutation(4000)
    loaded, shuffled, piecewise = (VectorIndex(24, whitener=None, acuity=5.0) for _ in range(3))
    loaded.add(X)
    shuffled.add(X[order], ids=order.tolist())
    for part in np.array_split(order, 7):
        piecewise.add(X[part], ids=part.tolist())
    loaded.refine()
    shuffled.refine()
    piecewise.refine()
    for other in (shuffled, piecewise):
        assert other.tree.n_nodes == loaded.tree.n_nodes
        ours, theirs = (index.search(QUERIES, method="best-first", budget=200) for index in (loaded, other))
        assert np.array_equal(ours.ids, theirs.ids)


def test_refining_nothing() -> None:
    assert CobwebTree(3).refine().utility_after == 0.0


def test_refining_an_index_keeps_its_answers_and_its_guide() -> None:
    index = VectorIndex(24, whitener=None, refine=None)
    index.add(topics(3000))
    before = index.search(QUERIES, method="path-sum").ids
    assert index.refine().utility_after > 0
    index.check()
    check_links(index)
    assert np.array_equal(index.search(QUERIES, method="path-sum").ids, before)
    assert share_found(index.search(QUERIES).ids, before) > 0.95


@pytest.mark.parametrize("links", [True, False])
def test_following_the_tree_that_was_stopped_is_made_up_for(links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    index = VectorIndex(24, whitener=None, links=links)
    index.add(topics(4000))
    index.settle()

    with monkeypatch.context() as patch:
        patch.setattr(guided, "encode_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.refine()
    index.check()
    exact = index.search(QUERIES, method="path-sum").ids
    assert share_found(index.search(QUERIES, budget=1500).ids, exact) > 0.9
    assert share_found(index.search(QUERIES).ids, exact) > 0.95


def test_the_root_density_is_part_of_the_score(index: VectorIndex) -> None:
    t = index.tree.arrays
    x = QUERIES[0]
    found = index.search(x, k=1)
    leaf = index.node_of(found.ids[0, 0])
    assert found.scores[0, 0] == log_p(t, leaf, x) - log_p(t, index.tree.root, x)


def test_a_guide_made_from_nothing_is_not_ready() -> None:
    tree = CobwebTree(3)
    assert not Guide().ready(tree.arrays)


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
