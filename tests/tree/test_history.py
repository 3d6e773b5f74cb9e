"""What happened to concepts since an operation: grown, shrunk, split, merged, new and gone, also after a restart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.array_types import NONE
from gossamer.errors import CorruptError, ParameterError
from gossamer.files.bundle import Bundle
from gossamer.results import ConceptChange
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.history import MOST_RECORDS, History
from gossamer.tree.identity import Succession, keep_ids

CENTRES = np.random.default_rng(5).normal(size=(12, 6)) * 8.0


def cluster(number: int, n: int, seed: int) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    X: npt.NDArray[np.float32] = (CENTRES[number] + rng.normal(size=(n, 6))).astype(np.float32)
    return X


def copied(tree: CobwebTree) -> TreeArrays:
    return TreeArrays(**{name: array.copy() for name, array in tree.arrays._asdict().items()})


def rebuilt(tree: CobwebTree, X: npt.NDArray[np.float32]) -> Succession:
    """Add the rows of X and build all concepts anew; those that are the same keep their ids."""
    old = copied(tree)
    tree.agglomerate(X)
    arrays, told = keep_ids(old, tree.arrays)
    tree.replace_arrays(arrays)
    return told


def clusters(numbers: range, n: int = 60) -> CobwebTree:
    tree = CobwebTree(6)
    tree.agglomerate(np.concatenate([cluster(number, n, number) for number in numbers]))
    return tree


def concept_of(t: TreeArrays, first: int, last: int) -> int:
    """The concept whose documents are first … last - 1."""
    node = int(t.leaf[first])
    while t.size[node] < last - first:
        node = int(t.parent[node])
    return node


def test_nothing_changed() -> None:
    tree = clusters(range(6))
    history = History().record(7, tree.arrays)
    assert history.since(7, tree.arrays) == []
    told = rebuilt(tree, tree.arrays.vectors[:0])
    assert history.record(9, tree.arrays, told).since(7, tree.arrays) == []


def test_insertions_and_removals_between_rebuilds() -> None:
    tree = clusters(range(6))
    history = History().record(1, tree.arrays)
    grown, shrunk = concept_of(tree.arrays, 0, 60), concept_of(tree.arrays, 60, 120)
    tree.insert_many(cluster(0, 30, 99))
    tree.remove(range(60, 80))
    found = history.since(1, tree.arrays)
    assert ConceptChange(grown, "grown", 60, 90, None) in found
    assert ConceptChange(shrunk, "shrunk", 60, 40, None) in found


def test_a_cluster_that_is_added_is_new_and_one_that_is_removed_is_gone() -> None:
    tree = clusters(range(6))
    history = History().record(1, tree.arrays)
    gone = concept_of(tree.arrays, 60, 120)
    tree.remove(range(60, 120))
    told = rebuilt(tree, cluster(9, 60, 9))
    history = history.record(2, tree.arrays, told)
    found = history.since(1, tree.arrays)
    added = concept_of(tree.arrays, 360, 420)
    assert ConceptChange(added, "new", 0, 60, None) in found
    assert ConceptChange(gone, "gone", 60, 0, None) in found
    assert history.since(2, tree.arrays) == []


def handmade(gone: dict[int, int], new: dict[int, int]) -> Succession:
    """A succession with destinations and origins by id; all concepts have 60 documents."""
    return Succession(
        kept=np.empty(0, np.int32),
        new=np.array(sorted(new), np.int32),
        new_sizes=np.full(len(new), 60, np.int64),
        origins=np.array([new[id] for id in sorted(new)], np.int32),
        gone=np.array(sorted(gone), np.int32),
        gone_sizes=np.full(len(gone), 60, np.int64),
        destinations=np.array([gone[id] for id in sorted(gone)], np.int32),
    )


def test_origins_and_destinations_are_followed_over_rebuilds() -> None:
    """Concept a becomes 9001, which becomes b; c was part of 9002, which was part of a."""
    tree = clusters(range(6))
    a, b, c = (concept_of(tree.arrays, 60 * at, 60 * at + 60) for at in range(3))
    history = History().record(1, tree.arrays)
    then = history.records[0]
    without_c = then.ids != c
    start = type(then)(**{**vars(then), **{name: getattr(then, name)[without_c] for name in ("ids", "sizes")}})
    history = History((start,))
    history = history.record(2, tree.arrays, handmade(gone={a: 9001}, new={9001: a, 9002: a}))
    history = history.record(3, tree.arrays, handmade(gone={9001: b, 9002: NONE}, new={c: 9002, a: NONE}))
    found = history.since(1, tree.arrays)
    assert ConceptChange(a, "merged", 60, 0, b) in found
    assert ConceptChange(a, "new", 0, 60, None) in found, "its slot is used by another"
    assert ConceptChange(c, "split", 0, 60, a) in found


def test_a_slot_that_a_small_concept_takes_over_is_not_taken_for_shrunk() -> None:
    tree = clusters(range(6))
    history = History().record(1, tree.arrays)
    id = concept_of(tree.arrays, 60, 120)
    taken = handmade(gone={}, new={id: NONE})
    taken.new_sizes[:] = 3
    found = history.record(2, tree.arrays, taken).since(1, tree.arrays)
    assert ConceptChange(id, "gone", 60, 0, None) in found


@settings(max_examples=20)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 11), st.integers(1, 60)), min_size=1, max_size=6))
def test_changes_account_for_every_large_concept(steps: list[tuple[bool, int, int]]) -> None:
    """Concepts before, less those lost, with those added, are the concepts now; and sizes are those of the tree."""
    tree = clusters(range(5))
    history = History().record(0, tree.arrays)
    before = set(history.records[0].ids.tolist())
    for at, (rebuild, number, n) in enumerate(steps, 1):
        X = cluster(number, n, at + 100)
        if rebuild:
            history = history.record(at, tree.arrays, None) if not at % 5 else history
            told = rebuilt(tree, X)
            history = history.record(at, tree.arrays, told)
        else:
            tree.insert_many(X)
    t = tree.arrays
    for since in range(len(steps) + 1):
        changes = history.since(since, t)
        assert changes == sorted(changes, key=lambda c: -max(c.size_before, c.size_after))
        for change in changes:
            here = change.kind not in ("merged", "gone")
            assert change.size_after == (t.size[change.id] if here else 0)
            assert (change.size_before > 0) == (change.kind not in ("new", "split"))
            if change.other is not None and not here:
                assert t.n_children[change.other] > 0
    now = set(np.flatnonzero((t.n_children[: t.meta[Meta.SLOTS]] > 0) & (t.size[: t.meta[Meta.SLOTS]] >= 20)).tolist())
    changes = history.since(0, t)
    lost = {change.id for change in changes if change.kind in ("merged", "gone")}
    added = {change.id for change in changes if change.kind in ("new", "split")}
    assert now - added <= before - lost
    assert added <= now


def test_old_records_are_dropped_and_the_error_says_so() -> None:
    tree = clusters(range(3))
    history = History()
    with pytest.raises(ParameterError, match=r"from the next rebuild on, got since=3"):
        history.since(3, tree.arrays)
    for operation in range(MOST_RECORDS + 5):
        history = history.record(operation * 10, tree.arrays)
    assert len(history.records) == MOST_RECORDS
    assert history.since(55, tree.arrays) == []
    with pytest.raises(ParameterError, match=r"from operation 50 on, got since=49"):
        history.since(49, tree.arrays)
    with pytest.raises(ParameterError, match="operation 3 was before"):
        history.record(3, tree.arrays)


# -- files ---------------------------------------------------------------------------------------------


def saved() -> tuple[CobwebTree, History]:
    tree = clusters(range(6))
    history = History().record(1, tree.arrays)
    for at in range(3):
        tree.remove(range(60 * at, 60 * at + 50))
        told = rebuilt(tree, cluster(6 + at, 50, at))
        history = history.record(at + 2, tree.arrays, told)
    return tree, history


def test_a_saved_history_tells_the_same() -> None:
    tree, history = saved()
    loaded = History.from_bundle(Bundle({}, history.to_arrays()))
    assert loaded.since(1, tree.arrays) == history.since(1, tree.arrays) != []
    assert {name: array.tobytes() for name, array in loaded.to_arrays().items()} == {
        name: array.tobytes() for name, array in history.to_arrays().items()
    }
    assert History.from_bundle(Bundle({}, {})) == History()
    assert History.from_bundle(Bundle({}, History().to_arrays())) == History()


@pytest.mark.parametrize("name", ["history_census", "history_new", "history_gone"])
def test_a_damaged_history_is_refused(name: str) -> None:
    arrays = saved()[1].to_arrays()
    lacking = {key: array for key, array in arrays.items() if key != name}
    shorter = {**arrays, name: arrays[name][1:]}
    wrong = {**arrays, name: arrays[name].copy()}
    wrong[name][0, 0] = -1
    below = {**arrays, name: arrays[name] - 2000}
    for damaged in (lacking, shorter, wrong, below, {**arrays, name: arrays[name].astype(np.int64)}):
        with pytest.raises(CorruptError):
            History.from_bundle(Bundle({}, damaged))


@pytest.mark.parametrize(("column", "value"), [(0, 99), (0, -5), (2, 2**61), (3, -1), (4, 1)])
def test_damaged_heads_are_refused(column: int, value: int) -> None:
    arrays = saved()[1].to_arrays()
    arrays["history_records"][0, column] += value
    with pytest.raises(CorruptError):
        History.from_bundle(Bundle({}, arrays))
