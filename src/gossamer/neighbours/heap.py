"""A heap of numbered things, the smallest key on top: two arrays and how many are in use.

Of equal keys none comes first by rule; where one has to, `rank.best_first` has a heap of its own.
"""

from __future__ import annotations

from gossamer.array_types import Doubles, Floats, Ints, Longs
from gossamer.runtime.jit import subkernel


@subkernel
def push(keys: Floats, things: Ints, size: int, key: float, thing: int) -> int:
    """Put one in; returns how many there are then."""
    at = size
    while at > 0 and keys[(at - 1) >> 1] > key:
        above = (at - 1) >> 1
        keys[at], things[at] = keys[above], things[above]
        at = above
    keys[at], things[at] = key, thing
    return size + 1


@subkernel
def pop(keys: Floats, things: Ints, size: int) -> int:
    """Take the top out: the last takes its place. Returns how many are left."""
    size -= 1
    sink(keys, things, size, keys[size], things[size])
    return size


@subkernel
def sink(keys: Floats, things: Ints, size: int, key: float, thing: int) -> None:
    """Let one take the place of the top, and go down to where it belongs."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], things[at] = keys[child], things[child]
        at = child
    keys[at], things[at] = key, thing


@subkernel
def copy(source: Floats | Doubles | Ints | Longs, target: Floats | Doubles | Ints | Longs) -> None:
    """target[:] = source, without what the general assignment brings along: views that may overlap, broadcasting."""
    for d in range(source.shape[0]):
        target[d] = source[d]
