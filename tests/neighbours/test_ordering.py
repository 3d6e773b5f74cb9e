"""The heap, the sorted list and the insertion sort of kernels, against `heapq` and `sorted`."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.array_types import NONE, Doubles, Floats, Ints
from gossamer.neighbours.ordering import copy, heap_pop, heap_push, heap_replace_top, insertion_sort, sorted_insert
from gossamer.runtime.jit import kernel

Entries = list[tuple[float, int]]

few_values = st.integers(-3, 3).map(float)
entries = st.lists(st.tuples(few_values | st.floats(-1e6, 1e6, width=32), st.integers(0, 50)), max_size=40)


@kernel
def _through_heap(keys: Floats | Doubles, items: Ints, size: int, out: Ints, ties: bool) -> None:
    heap_keys, heap_items, n = np.empty_like(keys), np.empty_like(items), 0
    for i in range(size):
        n = heap_push(heap_keys, heap_items, n, keys[i], items[i], ties)
    for i in range(size):
        out[i] = heap_items[0]
        n = heap_pop(heap_keys, heap_items, n, ties)


@kernel
def _largest(keys: Floats, items: Ints, kept_keys: Floats, kept: Ints) -> None:
    for i in range(keys.shape[0]):
        if keys[i] > kept_keys[0]:
            heap_replace_top(kept_keys, kept, kept.shape[0], keys[i], items[i])


@kernel
def _insert_all(keys: Floats, items: Ints, out_keys: Floats, out: Ints, places: Ints) -> None:
    n = 0
    for i in range(keys.shape[0]):
        places[i] = sorted_insert(out_keys, out, n, keys[i], items[i])
        n = min(n + 1, out.shape[0])


@kernel
def _sort(keys: Doubles, items: Ints) -> None:
    insertion_sort(keys, items)


@kernel
def _copy(source: Floats, target: Doubles) -> None:
    copy(source, target)


def arrays(some: Entries, dtype: npt.DTypeLike = np.float32) -> tuple[npt.NDArray[Any], Ints]:
    return np.array([key for key, _ in some], dtype), np.array([item for _, item in some], np.int32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(some=entries)
def test_a_heap_with_ties_pops_as_heapq_does(dtype: npt.DTypeLike, some: Entries) -> None:
    keys, items = arrays(some, dtype)
    out = np.empty(len(some), np.int32)
    _through_heap(keys, items, len(some), out, True)
    heap: Entries = []
    for key, item in zip(keys.tolist(), items.tolist(), strict=True):
        heapq.heappush(heap, (key, item))
    assert out.tolist() == [heapq.heappop(heap)[1] for _ in some]


@given(some=entries)
def test_a_heap_without_ties_pops_rising_keys(some: Entries) -> None:
    keys, _ = arrays(some)
    places = np.arange(len(some), dtype=np.int32)
    out = np.empty(len(some), np.int32)
    _through_heap(keys, places, len(some), out, False)
    assert sorted(out.tolist()) == places.tolist()
    assert keys[out].tolist() == sorted(keys.tolist())


@given(some=entries, k=st.integers(1, 8))
def test_replacing_the_top_keeps_the_largest(some: Entries, k: int) -> None:
    keys, items = arrays(some)
    kept_keys, kept = np.full(k, -np.inf, np.float32), np.full(k, NONE, np.int32)
    _largest(keys, items, kept_keys, kept)
    assert sorted(kept_keys.tolist(), reverse=True)[: len(some)] == sorted(keys.tolist(), reverse=True)[:k]
    assert all(
        (key, item) in zip(keys, items, strict=True) for key, item in zip(kept_keys, kept, strict=True) if item >= 0
    )


@given(some=entries, room=st.integers(1, 12))
def test_a_sorted_list_keeps_the_smallest_in_order_of_arrival(some: Entries, room: int) -> None:
    keys, items = arrays(some)
    out_keys, out, places = np.empty(room, np.float32), np.empty(room, np.int32), np.empty(len(some), np.int32)
    _insert_all(keys, items, out_keys, out, places)
    expected = sorted(zip(keys.tolist(), items.tolist(), strict=True), key=lambda entry: entry[0])[:room]
    assert list(zip(out_keys.tolist(), out.tolist(), strict=True))[: len(some)] == expected
    if some:
        last = places[-1]
        assert last == NONE or (out_keys[last], out[last]) == (keys[-1], items[-1])


@given(some=entries)
def test_insertion_sort_is_stable(some: Entries) -> None:
    keys, items = arrays(some, np.float64)
    expected = sorted(zip(keys.tolist(), items.tolist(), strict=True), key=lambda entry: entry[0])
    _sort(keys, items)
    assert list(zip(keys.tolist(), items.tolist(), strict=True)) == expected


def test_copy_converts() -> None:
    target = np.full(5, 9.0)
    _copy(np.array([1, 2, 3], np.float32), target)
    assert target.tolist() == [1, 2, 3, 9, 9]
