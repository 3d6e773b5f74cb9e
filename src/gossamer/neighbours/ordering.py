"""Ordered collections inside kernels: a binary heap, insertion into a sorted list, insertion sort, and copying.

A collection is a pair of arrays, `keys` and `items`, of which the first `size` entries are in use; the smallest key
comes first. To order by falling keys, pass them negated. Numba compiles each function for the types it is called with.
"""

from gossamer.array_types import NONE, Bytes, Doubles, Floats, Ints, Longs
from gossamer.runtime.jit import subkernel


@subkernel
def _before(key: float, item: int, other_key: float, other: int, ties: bool) -> bool:
    return key < other_key or (ties and key == other_key and item < other)


@subkernel
def heap_push(keys: Floats | Doubles, items: Ints, size: int, key: float, item: int, ties: bool = False) -> int:
    """Add an entry to a heap; returns the new size.

    With `ties`, of equal keys the lowest item comes first; pass the same value to `heap_pop`. Otherwise the order of
    equal keys depends on the order of pushes.
    """
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(key, item, keys[parent], items[parent], ties):
            break
        keys[at], items[at] = keys[parent], items[parent]
        at = parent
    keys[at], items[at] = key, item
    return size + 1


@subkernel
def heap_pop(keys: Floats | Doubles, items: Ints, size: int, ties: bool = False) -> int:
    """Remove the top of a heap, which the caller has read from keys[0] and items[0]; returns the new size."""
    size -= 1
    heap_replace_top(keys, items, size, keys[size], items[size], ties)
    return size


@subkernel
def heap_replace_top(keys: Floats | Doubles, items: Ints, size: int, key: float, item: int, ties: bool = False) -> None:
    """Replace the top of a heap by another entry, and restore the order."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(keys[child + 1], items[child + 1], keys[child], items[child], ties):
            child += 1
        if not _before(keys[child], items[child], key, item, ties):
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@subkernel
def sorted_insert(keys: Floats | Doubles | Longs, items: Ints | Longs, size: int, key: float, item: int) -> int:
    """Insert an entry into a sorted list, after those of the same key; returns its place.

    A list that fills its arrays drops its last entry. Returns NONE, and inserts nothing, if that is the new one.
    """
    at = size
    if size == keys.shape[0]:
        at = size - 1
        if not key < keys[at]:
            return NONE
    while at > 0 and keys[at - 1] > key:
        keys[at] = keys[at - 1]
        items[at] = items[at - 1]
        at -= 1
    keys[at] = key
    items[at] = item
    return at


@subkernel
def insertion_sort(keys: Floats | Doubles, items: Ints) -> None:
    """Sort by rising keys, stably: quick for lists that are short or nearly in order."""
    for size in range(1, keys.shape[0]):
        sorted_insert(keys, items, size, keys[size], items[size])


@subkernel
def copy(source: Floats | Doubles | Bytes | Ints | Longs, target: Floats | Doubles | Bytes | Ints | Longs) -> None:
    """target[:] = source for arrays that do not overlap.

    Numba's assignment of an array compiles to more code, and to a message for arrays that do not fit, for two seconds.
    """
    for d in range(source.shape[0]):
        target[d] = source[d]
