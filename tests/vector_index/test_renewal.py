"""Renewals: a new tree made in the background, the same whatever the machine does, and no harm where it fails."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gossamer import VectorIndex
from gossamer.runtime import threads
from gossamer.tree.arrays import used
from gossamer.vector_index import renewal, staging
from gossamer.vector_index.renewal import period, window
from gossamer.whitening.whitening import Whitening

Matrix = npt.NDArray[np.float32]

DIM = 8
NOTHING: Callable[[], object] = lambda: None  # noqa: E731


def texts(n: int, seed: int = 0, dim: int = DIM, axes: slice = slice(None)) -> Matrix:
    """Vectors in a few topics, along some of the axes."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(5).normal(size=(12, dim)) * 2.0
    X = np.zeros((n, dim))
    X[:, axes] = (centres[rng.integers(0, 12, n)] + rng.normal(size=(n, dim)))[:, axes]
    return X.astype(np.float32)


QUERIES = texts(25, seed=77)


def made(first: int = 300, **settings: Any) -> VectorIndex:
    """An index of some documents, loaded at once."""
    index = VectorIndex(DIM, **settings)
    index.add(texts(first))
    return index


def until_renewing(index: VectorIndex, seed: int = 1, step: int = 1) -> int:
    """Add documents until a renewal is due and the change after that has started it; returns how many."""
    n = 0
    while index.state.renewal is None:
        index.add(texts(step, seed=1000 * seed + n))
        n += step
    return n


def state(index: VectorIndex) -> dict[str, bytes]:
    """The tree, the whitener, the links and their calibration, and the vectors and ids of documents."""
    arrays = index.to_bundle().arrays
    return {name: array.tobytes() for name, array in arrays.items()} | {
        "settings": repr(index.to_bundle().params).encode()
    }


def answers(index: VectorIndex) -> list[Any]:
    methods: list[dict[str, Any]] = [{}, {"method": "path-sum"}, {"method": "best-first"}, {"budget": 100}]
    found = [index.search(QUERIES, k=5, **method) for method in methods]
    return [(each.ids.tolist(), each.scores.tolist(), each.visited.tolist()) for each in found]


def built(index: VectorIndex) -> int:
    """Merges of all agglomerations so far: more after each renewal that took effect."""
    return index.tree.stats().operators["merge"]


def slowed(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let every renewal take longer."""
    original = renewal.renewed

    def wait_and_renew(*arguments: Any, **options: Any) -> Any:
        core = original(*arguments, **options)
        time.sleep(seconds)
        return core

    monkeypatch.setattr(renewal, "renewed", wait_and_renew)


def failing(monkeypatch: pytest.MonkeyPatch, error: type[BaseException] = MemoryError) -> None:
    def fail(*arguments: Any, **options: Any) -> Any:
        raise error

    monkeypatch.setattr(renewal, "renewed", fail)


def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let renewals wait, when their core is made, until the event is set."""
    go, original = threading.Event(), renewal.renewed

    def hold_and_renew(*arguments: Any, **options: Any) -> Any:
        core = original(*arguments, **options)
        assert go.wait(30)
        return core

    monkeypatch.setattr(renewal, "renewed", hold_and_renew)
    return go


def renewing_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "gossamer-renewal"}


def end_soon(threads: set[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(10)
    return not any(thread.is_alive() for thread in threads)


# -- when --------------------------------------------------------------------------------------------------


def test_the_schedule_follows_the_number_of_documents() -> None:
    for documents in (0, 10, 500, 5000, 32_767, 32_768, 10**6):
        assert 0 < window(documents) < period(documents)
        assert period(documents) <= max(64, documents // 8)
    assert [period(n) for n in (0, 768, 1200, 120_000)] == [64, 64, 100, 15_000]


def test_a_renewal_starts_and_takes_effect_at_fixed_operations() -> None:
    index, size = made(), 300
    assert until_renewing(index) == period(size) + 1
    old = built(index)
    for at in range(window(size + period(size)) - 2):
        assert built(index) == old
        index.add(texts(1, seed=5000 + at))
    assert index.renewing
    index.add(texts(1, seed=6000))
    assert not index.renewing
    assert built(index) > old
    index.check()
    assert len(index) == index.tree.n_documents == size + period(size) + window(size + period(size))


def test_removals_count_as_changes() -> None:
    index = made()
    for id in range(period(300)):
        assert not index.renewing
        index.delete(id)
    assert index.renewing


def test_settling_makes_a_renewal_that_is_due() -> None:
    index = made()
    old = built(index)
    index.add(texts(period(300), seed=2))
    assert index.renewing
    assert index.state.renewal is None, "it starts with the next change"
    index.settle()
    assert not index.renewing
    assert built(index) > old


# -- the same whatever the machine does ----------------------------------------------------------------------


def streamed(pause: Callable[[], object] = NOTHING, **settings: Any) -> VectorIndex:
    """Adds one by one and in small batches, deletions, replaced ids, a bulk add that doubles, and more of it all.

    It grows past the sizes at which the whitener is fitted and links are made.
    """
    index, rng = VectorIndex(DIM, **settings), np.random.default_rng(3)
    X = texts(2600, seed=9)
    X[500:520] = X[:20]
    at = 0

    def add(n: int) -> None:
        nonlocal at
        index.add(X[at : at + n], ids=range(at, at + n))
        at += n
        pause()

    def delete(n: int) -> None:
        alive = [id for id in rng.permutation(at).tolist() if id in index]
        index.delete(alive[:n])
        pause()

    for _ in range(60):
        add(1)
    for _ in range(30):
        add(7)
        delete(1)
    index.add(texts(40, seed=8), ids=range(40))  # replaced
    pause()
    add(500)  # more than there are: all at once
    for _ in range(40):
        add(9)
        delete(2)
    add(1050)  # and again, with a whitener and links from here on
    for _ in range(30):
        add(5)
        add(1)
        delete(3)
    index.add(texts(25, seed=6), ids=range(1000, 1025))
    for _ in range(30):
        add(4)
    return index


@pytest.fixture(scope="module")
def reference() -> tuple[dict[str, bytes], list[Any]]:
    """What comes of the stream; there are renewals in it with links and whitener, and some without."""
    linked: list[bool] = []
    original = renewal.renewed

    def note_and_renew(start: Any, *arguments: Any) -> Any:
        linked.append(start.graph is not None and start.whitener is not None)
        return original(start, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renewal, "renewed", note_and_renew)
        index = streamed()
        index.settle()
    index.check()
    assert linked.count(True) >= 2
    assert linked.count(False) >= 4
    return state(index), answers(index)


@pytest.mark.parametrize("machine", ["one core, slow renewals", "three cores, pauses"])
def test_a_sequence_of_operations_gives_the_same_bytes(
    machine: str, reference: tuple[dict[str, bytes], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = machine == "one core, slow renewals"
    monkeypatch.setattr(threads, "cores", lambda: 1 if alone else 3)
    if alone:
        slowed(monkeypatch, 0.05)
    index = streamed(NOTHING if alone else lambda: time.sleep(0.002))
    index.settle()
    index.check()
    found = state(index)
    assert [name for name, array in found.items() if array != reference[0][name]] == []
    assert found.keys() == reference[0].keys()
    assert answers(index) == reference[1]


def test_without_links_and_whitener_too(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = []
    for seconds in (0.0, 0.02):
        slowed(monkeypatch, seconds)
        index = made(1100, links=False, whitener=None)
        for at in range(2 * period(1100)):
            index.add(texts(1, seed=at))
            if at % 3 == 0:
                index.delete(at)
        assert built(index) > 1100
        trees.append({name: array.tobytes() for name, array in used(index.tree.arrays).items()})
    assert trees[0] == trees[1]


# -- meanwhile -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [300, 1300])
def test_searches_see_all_documents_while_a_renewal_runs(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    go, index = held(monkeypatch), made(first)
    until_renewing(index)
    for seed in range(10):
        x = texts(1, seed=400 + seed) * 1.5
        (id,) = index.add(x)
        assert index.search(x, k=1).ids[0, 0] == id
        assert index.search(x, k=1, method="path-sum").ids[0, 0] == id
    index.delete(id)
    assert id not in index.search(x, k=20).ids
    assert index.renewing
    assert len(index) == index.tree.n_documents
    assert index.explain(x, 3).path
    index.check()
    go.set()
    index.settle()
    assert not index.renewing
    assert index.settled
    index.check()
    assert index.search(x, k=1).ids[0, 0] != id


def test_documents_deleted_and_replaced_meanwhile_are_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    go, index = held(monkeypatch), made()
    until_renewing(index)
    index.delete([0, 1, 2])
    index.add(texts(3, seed=70) + 9.0, ids=[10, 11, 12])
    (late,) = index.add(texts(1, seed=71))
    index.delete(late)
    size = len(index)
    go.set()
    old = built(index)
    index.settle()
    assert built(index) > old
    index.check()
    assert len(index) == index.tree.n_documents == size
    found = index.search(texts(3, seed=70) + 9.0, k=3).ids
    assert set(found.ravel().tolist()) == {10, 11, 12}
    everything = index.search(QUERIES[0], k=size, method="path-sum").ids[0].tolist()
    assert not {0, 1, 2, late} & set(everything)


def test_a_bulk_add_replaces_a_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    go, index = held(monkeypatch), made()
    others = renewing_threads()
    until_renewing(index)
    index.add(texts(500, seed=4))
    assert not index.renewing
    go.set()
    assert end_soon(renewing_threads() - others)
    index.check()
    until_renewing(index)
    index.settle()
    index.check()


# -- failures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [MemoryError, ValueError])
def test_a_renewal_that_fails_leaves_the_tree_in_use(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = made()
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "gossamer"):
        failing(patch, error)
        until_renewing(index)
        old = built(index)
        while index.renewing:
            index.add(texts(3, seed=len(index)))
        assert built(index) == old
    assert "could not be renewed" in caplog.text
    index.check()
    x = texts(1, seed=90) * 1.5
    (id,) = index.add(x)
    assert index.search(x, k=1).ids[0, 0] == id
    until_renewing(index, seed=2)
    index.settle()
    assert built(index) > old, "the next one succeeds"
    index.check()


def test_where_no_thread_can_be_started_it_is_tried_again_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = made()

    def none_left(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "gossamer"):
        patch.setattr(staging, "Renewal", none_left)
        for seed in range(period(300) + 1):
            index.add(texts(1, seed=seed + 10))
    assert not index.renewing
    assert "renewed later" in caplog.text
    assert until_renewing(index) <= period(300 + period(300)) + 1
    index.settle()
    index.check()


def test_a_change_that_was_staged_but_not_made_does_not_stop_the_renewal() -> None:
    """Whoever keeps a log may fail to write it; the changes that come then belong to the new tree too."""
    index, other = made(), made()
    for each in (index, other):
        until_renewing(each)
    left = window(300 + period(300))
    index.stage(texts(left, seed=50), range(10**6, 10**6 + left), [])  # due, but dropped
    for each in (index, other):
        for at in range(left):
            each.add(texts(1, seed=60 + at))
        assert not each.renewing
        each.check()
    assert state(index) == state(other)


def test_a_bulk_add_that_fails_does_not_stop_the_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    index, other = made(), made()
    for each in (index, other):
        until_renewing(each)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(texts(900, seed=50), progress=stop)
    old = built(index)
    for each in (index, other):
        while each.renewing:
            each.add(texts(1, seed=len(each)))
    assert built(index) > old
    assert state(index) == state(other)


# -- ends ------------------------------------------------------------------------------------------------------


def test_closing_ends_a_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    go, index = held(monkeypatch), made()
    others = renewing_threads()
    until_renewing(index)
    index.close()
    go.set()
    assert end_soon(renewing_threads() - others)


def test_an_index_that_is_dropped_leaves_no_thread_behind() -> None:
    index, others = made(), renewing_threads()
    until_renewing(index)
    started = renewing_threads() - others
    assert len(started) == 1
    del index
    gc.collect()
    assert end_soon(started)


def test_a_renewal_that_took_effect_leaves_no_thread_behind() -> None:
    index, others = made(), renewing_threads()
    until_renewing(index)
    started = renewing_threads() - others
    while index.renewing:
        index.add(texts(5, seed=len(index)))
    assert len(started) == 1
    assert end_soon(started)


def test_trees_that_were_replaced_are_freed() -> None:
    index = made()
    others, trees = renewing_threads(), list[weakref.ref[Any]]()
    for seed in range(4):
        trees.append(weakref.ref(index.tree.arrays.vectors))
        until_renewing(index, seed=seed + 1)
        index.settle()
    assert end_soon(renewing_threads() - others)
    gc.collect()
    assert [tree() is None for tree in trees] == [True] * 4


@pytest.mark.parametrize("first", [300, 1300])
def test_saving_in_the_middle_of_a_renewal_is_settling(first: int, tmp_path: Path) -> None:
    """What is loaded goes on as the index that was settled at the same point."""
    saved, other = made(first), made(first)
    for each in (saved, other):
        until_renewing(each)
        each.add(texts(5, seed=40))
    saved.save(tmp_path / "index")
    other.settle()
    loaded = VectorIndex.load(tmp_path / "index")
    for each in (saved, other, loaded):
        for at in range(0, 2 * period(first), 3):
            each.add(texts(3, seed=100 + at))
        each.delete([1, 2, 3])
    assert answers(saved) == answers(other) == answers(loaded)
    for each in (saved, other, loaded):
        each.settle()
        each.check()
    assert index_bytes(saved) == index_bytes(other) == index_bytes(loaded)


def index_bytes(index: VectorIndex) -> dict[str, bytes]:
    """But for the table of hashes, which depends on how much room was made when."""
    return {name: array for name, array in state(index).items() if not name.endswith((".bucket", ".chain"))}


# -- the whitener -------------------------------------------------------------------------------------------------


def counted_fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    fits: list[int] = []
    original = Whitening.fit

    def fit(self: Whitening, X: Any) -> Any:
        fits.append(len(X))
        return original(self, X)

    monkeypatch.setattr(Whitening, "fit", fit)
    return fits


def test_the_whitener_is_fitted_again_when_the_corpus_has_drifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second half of the corpus lies along other axes than the first."""
    fits, index = counted_fits(monkeypatch), VectorIndex(2 * DIM)
    index.add(texts(1200, dim=2 * DIM, axes=slice(DIM)))
    first = index.whitener
    assert first is not None
    for at in range(0, 600, 25):
        index.add(texts(25, seed=at + 1, dim=2 * DIM, axes=slice(DIM, None)))
    index.settle()
    assert index.whitener is not first
    assert index.whitener is not None
    assert index.whitener.n_components_ > first.n_components_
    assert 2 <= len(fits) <= 5
    index.check()
    late = texts(25, seed=576, dim=2 * DIM, axes=slice(DIM, None))
    assert index.search(late, k=1).ids[:, 0].tolist() == list(range(1775, 1800))


def test_more_of_the_same_does_not_fit_the_whitener_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fits, index = counted_fits(monkeypatch), VectorIndex(DIM)
    index.add(texts(1100))
    for at in range(0, 400, 20):
        index.add(texts(20, seed=at + 1))
    index.settle()
    assert fits == [1100]


def test_a_whitener_of_ones_own_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Whitening().fit(texts(500, dim=2 * DIM, axes=slice(DIM)))
    fits, index = counted_fits(monkeypatch), VectorIndex(2 * DIM, whitener=fitted)
    index.add(texts(1200, dim=2 * DIM))
    index.rebuild()
    assert index.whitener is fitted
    assert fits == []
