"""VectorIndex: the whole way from raw vectors to explained answers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from gossamer import CobwebTree, VectorIndex, Whitener
from gossamer.errors import (
    ClosedError,
    CorruptError,
    DimensionError,
    DtypeError,
    DuplicateIdError,
    GossamerError,
    InputError,
    NotAnIndexError,
    NotFiniteError,
    ParameterError,
    StateError,
    UnknownIdError,
)
from gossamer.rank.request import Restriction
from gossamer.vector_index.core import auto_acuity
from oracles import ranking

Matrix = npt.NDArray[np.float32]


def embeddings(n: int, dim: int = 12, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    spread = np.linspace(2.0, 0.3, dim)
    return ((rng.normal(size=(8, dim))[rng.integers(0, 8, n)] + rng.normal(size=(n, dim)) * 0.5) * spread).astype(
        np.float32
    )


def nearest(X: Matrix, Q: Matrix, k: int) -> list[list[int]]:
    distances = ((Q[:, None].astype(float) - X[None]) ** 2).sum(-1)
    found: list[list[int]] = np.argsort(distances, axis=1, kind="stable")[:, :k].tolist()
    return found


# -- life of an index -------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_tiny_indexes_work(preset: Any, n: int) -> None:
    index = VectorIndex(6, preset=preset)
    index.add(np.eye(6)[:n])
    found = index.search(np.eye(6)[:1], k=5)
    assert found.ids.shape == found.scores.shape == (1, 5)
    assert sorted(found.ids[0, :n].tolist()) == list(range(n))
    assert (found.ids[0, n:] == -1).all()
    assert np.isnan(found.scores[0, n:]).all()
    if n:
        assert found.ids[0, 0] == 0
        assert index.explain(np.eye(6)[0], 0).path
    index.check()


def test_until_enough_have_come_ranking_is_exact_on_raw_vectors() -> None:
    index, X = VectorIndex(12), embeddings(900)
    for start in range(0, 900, 90):
        index.add(X[start : start + 90])
        Q = embeddings(5, seed=start)
        assert index.whitener is None
        assert index.search(Q, k=7).ids.tolist() == nearest(X[: start + 90], Q, 7)
        index.check()


def test_the_whitener_is_fitted_when_enough_have_come() -> None:
    index, X = VectorIndex(12), embeddings(1500)
    index.add(X[:700], ids=[f"a{i}" for i in range(700)])
    index.remove("a3")
    index.add(X[700:], ids=[f"b{i}" for i in range(800)])
    assert index.whitener is not None
    assert len(index) == 1499
    index.check()
    # Every document finds itself: ids followed their documents through the rebuild.
    assert index.search(X[:3], k=1).ids.ravel().tolist() == ["a0", "a1", "a2"]
    assert index.search(X[700:703], k=1).ids.ravel().tolist() == ["b0", "b1", "b2"]
    assert index.search(X[3:4], k=1).ids[0, 0] != "a3"
    # From here on vectors go through the same whitener.
    fitted = index.whitener
    index.add(embeddings(50, seed=5), ids=[f"c{i}" for i in range(50)])
    assert index.whitener is fitted
    Q = embeddings(9, seed=8)
    white = fitted.transform(np.concatenate([X, embeddings(50, seed=5)]))
    white[3] = np.inf
    names = [f"a{i}" for i in range(700)] + [f"b{i}" for i in range(800)] + [f"c{i}" for i in range(50)]
    expected = [[names[i] for i in row] for row in nearest(white, fitted.transform(Q), 5)]
    assert index.search(Q, k=5, method="path-sum").ids.tolist() == expected


def test_acuity_follows_the_variance() -> None:
    X = embeddings(2000) * np.float32(100)
    raw = VectorIndex(12, whitener=None)
    raw.add(X)
    np.testing.assert_allclose(raw.tree.acuity, 5 * X.var(axis=0).mean(), rtol=1e-4)
    white = VectorIndex(12)
    white.add(X)
    assert white.whitener is not None
    np.testing.assert_allclose(white.tree.acuity, 5 * white.whitener.transform(X).var(axis=0).mean(), rtol=1e-4)
    assert VectorIndex(12, preset="paper").tree.acuity == white.tree.PAPER_ACUITY
    assert VectorIndex(12, acuity=0.7).tree.acuity == 0.7


def test_a_whitener_of_ones_own() -> None:
    X = embeddings(300)
    fitted = Whitener(n_components=4, strength=0.5).fit(X)
    index = VectorIndex(12, whitener=fitted)
    index.add(X[:10])
    assert index.tree.dim == 4
    assert index.search(X[:10], k=1).ids.ravel().tolist() == list(range(10))
    with pytest.raises(DimensionError, match="12 dimensions, the index 5"):
        VectorIndex(5, whitener=fitted)


def test_replace_keeps_one_document() -> None:
    for n in (40, 1500):  # before and after the fit
        index, X = VectorIndex(12), embeddings(n)
        index.add(X)
        index.add(X[:5] + 100, ids=range(5))
        assert len(index) == n
        index.check()
        assert index.search(X[:5] + 100, k=1).ids.ravel().tolist() == list(range(5))
        assert 0 not in index.search(X[:1], k=3).ids


def test_ids() -> None:
    index = VectorIndex(2)
    assert index.add([[0, 0], [1, 1]]) == [0, 1]
    assert index.add([[2, 2]], ids=np.array([7])) == [7]
    assert index.add([[3, 3]]) == [8]
    index.remove(8)
    assert index.add([[3, 3]]) == [9]  # never given out again
    assert 7 in index
    assert 8 not in index
    assert index.search([2, 2], k=1).ids.dtype == np.int64


def test_ids_that_are_no_longer_document_numbers() -> None:
    X = embeddings(40)
    index = VectorIndex(12)
    index.add(X[:20])
    assert index.search(X[7], k=1).ids.tolist() == [[7]]
    index.add(X[20:], ids=range(139, 119, -1))
    assert index.search(X[[7, 20, 39]], k=1).ids.tolist() == [[7], [139], [120]]
    index.delete([*range(20), *range(120, 140)])
    index.add(X[:2], ids=["a", "b"])
    assert index.search(X[:2], k=1).ids.tolist() == [["a"], ["b"]]
    assert index.search(X[0], k=5).ids.tolist() == [["a", "b", -1, -1, -1]]


def test_ties_are_ordered_by_id() -> None:
    index = VectorIndex(2)
    index.add(np.ones((4, 2)), ids=["d", "b", "a", "c"])
    found = index.search([1, 1], k=4)
    assert found.ids.tolist() == [["a", "b", "c", "d"]]
    index = VectorIndex(2)
    index.add([[1, 0], [-1, 0], [0, 1]], ids=[5, 3, 9])
    assert index.search([0, 0], k=3).ids.tolist() == [[3, 5, 9]]


# -- searching and explaining ------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"context": 0.3}, {"preset": "paper"}, {"structure": "cobweb"}])
def test_the_gains_of_a_path_add_up_to_the_score(options: Any) -> None:
    index, X = VectorIndex(12, whitener=Whitener(n_components=8), **options), embeddings(1200)
    index.add(X)
    Q = embeddings(4, seed=3)
    found = index.search(Q, k=5)
    for q, ids, scores in zip(Q, found.ids, found.scores, strict=True):
        for id, score in zip(ids.tolist(), scores, strict=True):
            why = index.explain(q, id)
            assert why.id == id
            np.testing.assert_allclose(why.score, score, rtol=1e-9)
            np.testing.assert_allclose(sum(step.gain for step in why.path), score, rtol=1e-9)
            assert why.path[0].node == index.tree.root
            assert why.path[0].count == 1200
            assert why.path[-1].node == index.tree.leaf(id)


@pytest.mark.parametrize("settled", [True, False])
def test_a_query_changes_nothing(settled: bool) -> None:
    """But for what guides it, which the first one makes where nobody has."""
    index = VectorIndex(12)
    index.add(embeddings(1100))
    if settled:
        index.settle()

    def kept() -> dict[str, bytes]:
        arrays = index.to_bundle().arrays.items()
        return {name: array.tobytes() for name, array in arrays if settled or not name.startswith("guide")}

    before = kept()
    methods: list[dict[str, Any]] = [
        {},
        {"method": "best-first"},
        {"method": "path-sum", "aggregate": "mean"},
        {"budget": 300},
    ]
    for _ in range(3):
        for kw in methods:
            index.search(embeddings(3, seed=1), k=4, **kw)
    assert kept() == before


@pytest.mark.parametrize("n", [5, 1200])
def test_the_nearest_are_what_a_search_finds_with_their_cosines(n: int) -> None:
    rng = np.random.default_rng(7)
    E = rng.normal(size=(n, 8)).astype(np.float32)
    index = VectorIndex(dim=8)
    ids = index.add(E, [f"d{at}" for at in range(n)])
    assert (index.whitener is not None) == (n == 1200)
    some, top = ids[::3], index.tree.root
    child = index.tree.node(top).child_nodes[0].id
    X = index.project(E[:3])
    flags = np.zeros(n, np.uint8)
    flags[index.numbers_of(some)] = 1
    t, below = index.tree.arrays, index.tree.documents_below(child)
    cases: list[tuple[Restriction | None, dict[str, Any]]] = [
        (None, {}),
        (Restriction.to(t, flags, None), {"allowed": some}),
        (Restriction.to(t, None, below), {"within": child}),
        (Restriction.to(t, flags, below), {"allowed": some, "within": child}),
        (None, {"recall": 1.0}),
    ]
    for restriction, restricted in cases:
        found = index.nearest(X, 20, recall=restricted.get("recall"), restriction=restriction)
        same = index.search(E[:3], 20, **restricted)
        assert found.visited.tolist() == same.visited.tolist()
        for x, documents, cosines, ids in zip(X, found.documents, found.cosines, same.ids.tolist(), strict=True):
            real = documents[documents != -1]
            assert set(index.ids_of(real)) == set(ids) - {-1}
            wide, Y = x.astype(np.float64), t.vectors[t.row[t.leaf[real]]].astype(np.float64)
            by_hand = Y @ wide / (np.linalg.norm(Y, axis=1) * np.linalg.norm(wide))
            np.testing.assert_allclose(cosines[: len(real)], by_hand, atol=1e-12)
            assert index.similarity(x, real).tolist() == cosines[: len(real)].tolist()
            assert np.isnan(cosines[len(real) :]).all()


@pytest.mark.parametrize("n", [5, 1200])
def test_cosines_are_within_their_bounds(n: int) -> None:
    rng = np.random.default_rng(8)
    E = (rng.normal(size=(n, 8)) * rng.choice([1e-9, 1.0, 1e9], n)[:, None]).astype(np.float32)
    index = VectorIndex(dim=8)
    index.add(E)
    index.delete([1, 3])
    alive = np.array([number for number in range(n) if number not in (1, 3)])
    for x in index.project(np.concatenate([E[:3], np.zeros((1, 8), np.float32)])):
        bounds, exact = index.similarity_bounds(x), index.similarity(x, alive)
        assert (bounds.least[alive] <= exact).all()
        assert (exact <= bounds.most[alive]).all()


@pytest.mark.parametrize(("n", "links"), [(5, True), (3000, True), (3000, False)])
def test_bounds_of_cosines_are_narrow(n: int, links: bool) -> None:
    rng = np.random.default_rng(9)
    index = VectorIndex(dim=48, links=links)
    index.add((rng.normal(size=(n, 48)) / (1 + np.arange(48)) ** 0.5).astype(np.float32))
    x = index.project(rng.normal(size=(1, 48)).astype(np.float32))[0]
    bounds = index.similarity_bounds(x)
    exact = index.similarity(x, np.arange(n))
    assert (bounds.least <= exact).all()
    assert (exact <= bounds.most).all()
    assert (bounds.most - bounds.least).max() < 0.08


def test_paths_and_projections_of_several() -> None:
    E = np.random.default_rng(7).normal(size=(30, 8)).astype(np.float32)
    index = VectorIndex(dim=8)
    ids = index.add(E, [f"d{at}" for at in range(30)])
    some = ids[::3]
    assert index.paths(some) == [index.path(id) for id in some]
    assert index.path("d0") == index.tree.path(0)
    empty = VectorIndex(dim=2)
    assert empty.nearest(empty.project([1, 0]), 2).documents.tolist() == [[-1, -1]]
    with pytest.raises(DimensionError, match="queries have 3 dimensions"):
        index.project(E[:2, :3])
    with pytest.raises(UnknownIdError, match="'lost'"):
        index.paths(["d0", "lost"])


def test_a_progress_callback_may_search_but_not_change() -> None:
    index = VectorIndex(12, whitener=None, acuity=5.0)
    index.add(embeddings(100))
    found = []

    def search(done: int, total: int) -> None:
        found.append(len(index.search(embeddings(1)).ids[0]))

    def add(done: int, total: int) -> None:
        index.add(embeddings(1))

    with pytest.raises(StateError, match="once that call is done"):
        index.add(embeddings(50, seed=2), progress=add)
    assert len(index) == 100
    index.check()
    index.add(embeddings(50, seed=2), progress=search)
    assert found == [10]
    assert len(index) == 150
    index.check()


def test_k_above_the_corpus_and_single_vectors() -> None:
    index = VectorIndex(3)
    index.add([[1, 2, 3]])
    found = index.search([1, 2, 3], k=100)
    assert found.ids.shape == (1, 100)
    assert found.ids[0, :2].tolist() == [0, -1]
    assert len(index.search(np.zeros((0, 3)), k=2)) == 0


# -- bad input ---------------------------------------------------------------------------------------


def test_a_failed_add_adds_nothing() -> None:
    for n in (0, 10, 1500):
        index, X = VectorIndex(12), embeddings(n)
        index.add(X)
        bad = embeddings(100, seed=2)
        bad[57, 3] = np.nan
        with pytest.raises(NotFiniteError, match="row 57"):
            index.add(bad)
        assert len(index) == n
        index.check()
        with pytest.raises(KeyboardInterrupt):
            index.add(embeddings(9000, seed=4), progress=_interrupt)
        assert len(index) == n
        index.check()
        index.add(embeddings(3, seed=9))
        assert len(index) == n + 3
        index.check()


def _interrupt(done: int, total: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda v: v.add(np.zeros((1, 5))), DimensionError, "5 dimensions, but 3"),
        (lambda v: v.add([["a", "b", "c"]]), DtypeError, "astype"),
        (lambda v: v.add(np.zeros((2, 3)), ids=[1]), InputError, "1 ids for 2 vectors"),
        (lambda v: v.add(np.zeros((2, 3)), ids=[5, 5]), DuplicateIdError, "5 is given twice"),
        (lambda v: v.add(np.zeros((2, 3)), ids=[5, "x"]), DtypeError, "all int or all str"),
        (lambda v: v.add(np.zeros((1, 3)), ids=["x"]), DtypeError, "all int or all str"),
        (lambda v: v.add(np.zeros((1, 3)), ids=[-1]), InputError, "out of range"),
        (lambda v: v.add(np.zeros((1, 3)), ids=[2.5]), DtypeError, "float"),
        (lambda v: v.add(np.zeros((1, 3)), ids=[None]), DtypeError, "NoneType"),
        (lambda v: v.add(np.zeros((1, 3)), ids=[True]), DtypeError, "bool"),
        (lambda v: v.delete([0, "zero"]), DtypeError, "the ids of this index are int, got 'zero'"),
        (lambda v: v.delete(-1), InputError, "out of range"),
        (lambda v: v.search(np.zeros(4)), DimensionError, "4 dimensions, but 3"),
        (lambda v: v.search([np.nan, 0, 0]), NotFiniteError, "row 0"),
        (lambda v: v.search([0, 0, 0], k=0), ParameterError, "at least 1, got 0"),
        (lambda v: v.search([0, 0, 0], k=2.5), ParameterError, "2.5"),
        (lambda v: v.search([0, 0, 0], method="faiss"), ParameterError, "'path-sum'"),
        (lambda v: v.search([0, 0, 0], method="best-first", budget=0), ParameterError, "at least 1"),
        (lambda v: v.search([0, 0, 0], method="path-sum", budget=9), ParameterError, "no meaning"),
        (lambda v: v.search([0, 0, 0], method="best-first", context=1), ParameterError, "no meaning"),
        (lambda v: v.search([0, 0, 0], method="path-sum", aggregate="max"), ParameterError, "'mean'"),
        (lambda v: v.search([0, 0, 0], method="path-sum", aggregate="mean", context=1), ParameterError, "alone"),
        (lambda v: v.search([0, 0, 0], method="path-sum", context=7), ParameterError, "from 0"),
        (lambda v: v.explain([0, 0, 0], 99), UnknownIdError, "99"),
        (lambda v: v.explain(np.zeros((2, 3)), 0), DimensionError, "one query"),
    ],
)
def test_bad_calls_say_why_and_change_nothing(call: Any, error: type[GossamerError], words: str) -> None:
    index = VectorIndex(3)
    index.add(np.eye(4, 3))
    with pytest.raises(error, match=words):
        call(index)
    assert len(index) == 4
    index.check()


def test_bad_construction() -> None:
    with pytest.raises(ParameterError, match="'paper'"):
        VectorIndex(3, preset="best")  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        VectorIndex(0)
    with pytest.raises(ParameterError):
        VectorIndex(3, context=2)
    with pytest.raises(ParameterError):
        VectorIndex(3, acuity=-1.0)


def test_a_closed_index_says_so() -> None:
    index = VectorIndex(3)
    index.add(np.eye(3))
    index.close()
    calls: list[Any] = [lambda: index.add(np.eye(3)), lambda: index.search([0, 0, 0]), lambda: index.remove([0])]
    calls += [index.check, lambda: len(index), lambda: 0 in index, lambda: index.project([0, 0, 0])]
    for call in calls:
        with pytest.raises(ClosedError, match="closed"):
            call()
    assert "documents=0" in repr(index)


# -- disk --------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(n=st.sampled_from([0, 1, 5, 900, 1300]), text=st.booleans(), preset=st.sampled_from(["default", "none"]))
def test_save_and_load_is_identity(tmp_path_factory: pytest.TempPathFactory, n: int, text: bool, preset: str) -> None:
    path = tmp_path_factory.mktemp("index")
    index = VectorIndex(12) if preset == "default" else VectorIndex(12, whitener=None, acuity=2.0, context=0.3)
    X = embeddings(n + 50)
    ids: list[Any] = [f"naïve {i}" if text else 3 * i for i in range(n + 50)]
    index.add(X[:n], ids=ids[:n])
    if n > 2:
        index.remove(ids[1])
    index.save(path)
    loaded = VectorIndex.load(path)
    Q = embeddings(6, seed=1)
    for _ in range(2):
        loaded.check()
        assert len(loaded) == len(index)
        ours, theirs = index.search(Q, k=8), loaded.search(Q, k=8)
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert ours.scores.tobytes() == theirs.scores.tobytes()
        for each in (index, loaded):
            each.add(X[n:], ids=ids[n:])


def test_a_harmed_index_is_refused(tmp_path: Path) -> None:
    index = VectorIndex(12)
    index.add(embeddings(1100))
    index.save(tmp_path)
    file = next(tmp_path.glob("arrays*"))
    blob = bytearray(file.read_bytes())
    blob[len(blob) // 3] ^= 64
    file.write_bytes(blob)
    with pytest.raises(CorruptError, match="altered"):
        VectorIndex.load(tmp_path)


# -- threads -----------------------------------------------------------------------------------------


def test_searches_beside_additions_see_whole_states() -> None:
    """Eight threads search while another adds and removes: every answer is that of a state between two changes.

    Each change adds a batch of twins of the query's own vector, so the number found tells which state it was.
    """
    X = embeddings(1500)
    index = VectorIndex(12)
    index.add(X)
    target = X[0] * 3
    batch, rounds = 4, 12
    stop = threading.Event()
    wrong: list[object] = []

    def search() -> None:
        while not stop.is_set():
            for method in ("guided", "path-sum", "best-first"):
                try:
                    found = index.search(target, k=batch * rounds + 10, method=method)
                    twins = [id for id in found.ids[0].tolist() if id >= 10_000]
                    if len(twins) % batch or sorted(twins) != list(range(10_000, 10_000 + len(twins))):
                        wrong.append(twins)
                except Exception as error:
                    wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for i in range(rounds):
        start = 10_000 + i * batch
        index.add(np.repeat(target[None], batch, axis=0), ids=range(start, start + batch))
        index.add(embeddings(20, seed=i), ids=range(5000, 5020))
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(index) == 1500 + batch * rounds + 20
    index.check()


# -- each of these once went wrong -------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-25, 1e-20, 1e-12, 1e12])
@pytest.mark.parametrize("whitened", [False, True])
def test_any_scale_is_searched_without_harm(scale: float, whitened: bool) -> None:
    """Float32 cannot hold the scores of such data; it is scored in double precision instead."""
    E = np.random.default_rng(0).normal(size=(100, 8)) * scale
    index = VectorIndex(8) if whitened else VectorIndex(8, whitener=None)
    index.add(E)
    for kw in ({}, {"method": "path-sum"}):
        assert index.search(E[:8], k=1, **kw).ids.ravel().tolist() == list(range(8))  # type: ignore[arg-type]
    assert (index.search(E[:8], k=1, method="path-sum", context=1.0).ids >= 0).all()
    assert (index.search(np.full(8, 9e16), k=5).ids >= 0).all()


def test_a_fitted_whitener_with_an_acuity_of_ones_own() -> None:
    X = embeddings(300)
    index = VectorIndex(12, whitener=Whitener(n_components=5).fit(X), acuity=2.0)
    index.add(X[:10])
    assert index.tree.dim == 5


def test_settings_of_numpys_kinds_can_be_saved(tmp_path: Path) -> None:
    index = VectorIndex(12, acuity=np.float32(2.0), whitener=Whitener(n_components=np.int64(4)))  # type: ignore[arg-type]
    index.add(embeddings(5))
    index.save(tmp_path / "index")
    assert VectorIndex.load(tmp_path / "index").tree.acuity == 2.0


def test_one_dimension_is_not_put_on_a_sphere() -> None:
    values = np.random.default_rng(0).normal(size=(3000, 1))
    index = VectorIndex(1)
    index.add(values)
    found = index.search(values[:50], k=1).ids.ravel()
    assert found.tolist() == list(range(50))


@pytest.mark.parametrize("bad", [True, 2.0, None, [1]])
def test_only_ids_name_documents(bad: Any) -> None:
    index = VectorIndex(2)
    index.add(np.eye(2).repeat(2, axis=0))
    with pytest.raises(DtypeError):
        index.delete([0, bad])
    assert len(index) == 4


def test_ids_that_are_not_there_are_no_error_to_delete_as_in_an_index() -> None:
    index = VectorIndex(2)
    assert index.delete([7, "fox"]) == 0
    index.add(np.eye(2).repeat(2, axis=0))
    operation = index.state.operation
    assert (index.delete([99]), index.state.operation) == (0, operation), "nothing was changed"
    assert index.delete([3, 99, 1, 3]) == 2
    assert (index.delete(1), index.delete([2]), len(index)) == (0, 1, 1)
    index.check()


@pytest.mark.parametrize("bad", [2**63 - 1, "\ud800", ""])
def test_ids_that_could_not_be_stored_are_refused(bad: Any) -> None:
    index = VectorIndex(2)
    with pytest.raises(InputError):
        index.add([[0, 1]], ids=[bad])


def test_ctrl_c_in_a_removal_leaves_a_whole_index() -> None:
    """A real signal, at many moments: the change is whole or was not begun."""
    import signal
    import time

    X = embeddings(4000)
    before = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        for delay in (0.001, 0.004, 0.016, 0.05):
            index = VectorIndex(12, whitener=None, links=False)
            index.add(X)
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                index.remove(list(range(2000)))
                time.sleep(2 * delay)
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert len(index) in (2000, 4000)
            index.check()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_saving_beside_changes_is_never_torn(tmp_path: Path) -> None:
    index = VectorIndex(12, whitener=None)
    index.add(embeddings(1500))
    stop = threading.Event()

    def change() -> None:
        turn = 0
        while not stop.is_set():
            index.add(embeddings(40, seed=turn), ids=range(10_000, 10_040))
            turn += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(6):
            index.save(tmp_path)
            VectorIndex.load(tmp_path).check()
    finally:
        stop.set()
        thread.join()


def test_best_first_answers_in_the_order_in_which_leaves_leave_the_heap() -> None:
    """Many leaves come through the same gate: they must not be put in the order of their ids."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    index = VectorIndex(6, whitener=None, acuity=0.05)
    index.add(X, ids=rng.permutation(300).tolist())
    for q in rng.normal(size=(5, 6)).astype(np.float32):
        found = index.search(q, k=300, method="best-first")
        expected = ranking.best_first(index.tree, q, 300)
        assert found.ids[0].tolist() == index.ids_of(np.array(expected))
        assert (np.diff(found.scores[0]) < 0).all()


def test_auto_acuity_is_five_times_the_mean_variance() -> None:
    X = (np.random.default_rng(0).normal(size=(9000, 7)) * np.arange(1, 8) + 100.0).astype(np.float32)
    assert auto_acuity(X) == pytest.approx(5.0 * X.var(axis=0, dtype=np.float64).mean(), rel=1e-12)


def test_auto_acuity_does_not_depend_on_the_threads_of_blas() -> None:
    """A log that is replayed elsewhere must give the same tree, to the last bit."""
    X = np.random.default_rng(0).normal(size=(4000, 64)).astype(np.float32)
    with threadpool_limits(1):
        alone = auto_acuity(X)
    with threadpool_limits(2):
        assert auto_acuity(X) == alone


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_auto_acuity_without_variance_goes_by_size(rows: int) -> None:
    X = np.full((rows, 4), 3.0, np.float32)
    assert auto_acuity(X) == (45.0 if rows else 5.0)
    assert auto_acuity(0.0 * X) == 5.0


@pytest.mark.parametrize("passes", [0, -1, True, "x", 1.5])
@pytest.mark.parametrize("name", ["rebuild", "refine"])
def test_a_rebuild_that_is_refused_changes_nothing(name: str, passes: Any) -> None:
    index = VectorIndex(12)
    index.add(embeddings(60))
    nodes, operation = index.tree.stats(), index.operation
    with pytest.raises(ParameterError, match="passes"):
        getattr(index, name)(passes)
    assert (index.tree.stats(), index.operation) == (nodes, operation)


@pytest.mark.parametrize("whitener", ["x", 5, Whitener, PCA(3), Whitener(n_components=7), Whitener(strength=2.0)])
def test_a_wrong_whitener_is_refused_at_once(whitener: Any) -> None:
    with pytest.raises(ParameterError):
        VectorIndex(6, whitener=whitener)


def test_nothing_changed_since_the_newest_operation() -> None:
    index = VectorIndex(12, whitener=None)
    assert index.changes(0) == []
    for seed in range(3):
        index.add(embeddings(200, seed=seed))
        index.settle()
        assert index.changes(index.operation) == []
    index.add(embeddings(150, seed=9) + np.float32(5))
    assert index.changes(index.operation) == []
    assert index.changes(index.operation - 1) != []
    for wrong in (index.operation + 1, "x", None, True, 1.0):
        with pytest.raises(ParameterError, match="since"):
            index.changes(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["guided", "path-sum", "best-first"])
@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("alike", [True, False])
def test_fewer_answers_are_the_first_of_more(method: Any, kind: type, alike: bool) -> None:
    """Of documents that score the same those of the lowest ids, whatever the order in which they came."""
    X = np.ones((20, 6)) if alike else np.tile(np.eye(6), (4, 1))[:20]
    index = VectorIndex(6, whitener=None)
    index.add(X[:12], ids=[kind(id) for id in range(31, 19, -1)])
    index.add(X[12:], ids=[kind(id) for id in range(12, 20)])
    index.delete([kind(30)])
    most = index.search(np.ones(6), k=30, method=method)
    if alike or method != "best-first":
        assert most.ids[0, :19].tolist() == [kind(id) for id in range(12, 32) if id != 30]
    for k in range(1, 21):
        found = index.search(np.ones(6), k=k, method=method)
        assert found.ids.shape == found.scores.shape == (1, k)
        assert found.ids[0].tolist() == most.ids[0, :k].tolist()
        np.testing.assert_array_equal(found.scores, most.scores[:, :k])
    allowed = [kind(id) for id in (31, 14, 22, 13, 27)]
    if method != "best-first":
        assert index.search(np.ones(6), k=3, method=method, allowed=allowed).ids[0].tolist() == sorted(allowed)[:3]


@pytest.mark.parametrize("recall", [None, 1.0])
def test_duplicates_at_the_end_of_a_walk_are_by_id(recall: float | None) -> None:
    X = embeddings(1500)
    index = VectorIndex(12)
    index.add(np.concatenate([X, np.tile(X[7], (9, 1))]), ids=list(range(1509, 0, -1)))
    index.settle()
    for k in (1, 4, 9):
        expected = [*range(1, 10), 1502][:k]
        for q in (X[7], X[7].astype(np.float64), X[[7, 7]]):  # one query by one compiled call, and otherwise
            assert index.search(q, k=k, recall=recall).ids[0].tolist() == expected


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda v: VectorIndex(6, acuity="x"), ParameterError),  # type: ignore[arg-type]
        (lambda v: VectorIndex(6, acuity=[1]), ParameterError),  # type: ignore[arg-type]
        (lambda v: VectorIndex(6, links="no"), ParameterError),  # type: ignore[arg-type]
        (lambda v: v.delete(None), DtypeError),
        (lambda v: v.delete(3.5), DtypeError),
        (lambda v: v.add(np.ones((1, 6)), ids=5), DtypeError),
        (lambda v: v.add(np.ones((2, 6)), ids="ab"), DtypeError),
        (lambda v: v.search(np.ones(6), allowed=5), DtypeError),
        (lambda v: v.search(np.ones(6), within=True), UnknownIdError),
        (lambda v: v.tree.node(True), UnknownIdError),
        (lambda v: v.search(np.ones(6), method=np.array(["guided", "path-sum"])), ParameterError),
        (lambda v: v.search(np.ones(6), method="path-sum", aggregate=np.array(["sum", "mean"])), ParameterError),
        (lambda v: VectorIndex.load(None), DtypeError),  # type: ignore[arg-type]
        (lambda v: v.save(None), DtypeError),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused(call: Any, error: type[Exception]) -> None:
    index = VectorIndex(6, whitener=None)
    index.add(np.eye(6))
    with pytest.raises(error):
        call(index)
    assert len(index) == 6


@pytest.mark.parametrize("method", ["guided", "best-first"])
def test_a_budget_above_all_nodes_is_none(method: Any) -> None:
    index = VectorIndex(12, whitener=None)
    X = embeddings(1500)
    index.add(X)
    found = index.search(X[:5], method=method, budget=10**30)
    np.testing.assert_array_equal(found.ids, index.search(X[:5], method=method, budget=10**6).ids)


def test_a_tree_is_not_saved_over_an_index(tmp_path: Path) -> None:
    index, tree = VectorIndex(3), CobwebTree(3)
    index.save(tmp_path / "a")
    tree.save(tmp_path / "b")
    with pytest.raises(NotAnIndexError, match="holds a vectors, not a tree"):
        tree.save(tmp_path / "a")
    with pytest.raises(NotAnIndexError, match="holds a tree, not a vectors"):
        index.save(tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "manifest.json").write_text('{"name": "of another program"}')
    with pytest.raises(NotAnIndexError):
        index.save(tmp_path / "c")
    (tmp_path / "a" / "manifest.json").write_text("damaged")
    index.save(tmp_path / "a")
    assert len(VectorIndex.load(tmp_path / "a")) == 0


@pytest.mark.parametrize("n", [1, 2, 40, 1200])
def test_assigning_to_a_cobweb_index_descends_as_insertion_does(n: int, tmp_path: Path) -> None:
    """Where insertion neither merges nor splits, the concepts are the same."""
    index = VectorIndex(12, whitener=None, structure="cobweb")
    X = embeddings(n)
    index.add(X)
    assert index.assign(X) == [index.path(id)[:-1] or index.path(id) for id in range(n)]
    Q, same = embeddings(40, seed=7), 0
    before = index.to_bundle().arrays["tree.parent"].tobytes()
    assigned = index.assign(Q)
    index.save(tmp_path)
    operators = index.tree.stats().operators
    assert index.to_bundle().arrays["tree.parent"].tobytes() == before
    for q, path in zip(Q, assigned, strict=True):
        grown = VectorIndex.load(tmp_path)
        (id,) = grown.add(q[None])
        done = {name: count - operators[name] for name, count in grown.tree.stats().operators.items()}
        if done["merge"] or done["split"]:
            continue
        same += 1
        above = grown.path(id)[: -1 - done["fringe"]]
        assert above == path if n > 1 else path == (index.tree.root,)
    assert same > 5


def test_fewer_answers_than_k_whose_ids_came_in_another_order() -> None:
    """A search with a budget ends before it has k documents: past the end there is no leaf to look at."""
    X = embeddings(300)
    index = VectorIndex(12, preset="paper", whitener=None)
    index.add(X, ids=list(range(299, -1, -1)))
    found = index.search(X[:3], k=10, method="best-first", budget=1).ids
    assert (found[:, -1] == -1).all()


def test_one_query_may_ask_for_more_than_there_is() -> None:
    X = embeddings(1500)
    index = VectorIndex(12)
    index.add(X, ids=list(range(1499, -1, -1)))
    found = index.search(X[0], k=2000).ids[0]
    assert sorted(found.tolist()) == [*[-1] * 500, *range(1500)]
