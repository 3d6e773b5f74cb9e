"""The orders in which labelled documents arrive, some of them with removals in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gossamer_lab.engine import Longs

RANDOM, SORTED, BURSTY, REMOVALS = "random", "sorted by class", "bursty", "random with removals"

_SHORTEST, _LONGEST = 20, 200
"""Documents of one class that arrive together in bursty order."""
_EACH: Final = 4
"""In the order with removals, one operation of this many removes a document."""


@dataclass(frozen=True)
class Stream:
    """Operations in order: the document of each, and whether it is removed instead of added."""

    documents: Longs
    removed: npt.NDArray[np.bool_]

    @classmethod
    def of_additions(cls, documents: Longs) -> Stream:
        """Every document is added once, and stays."""
        return cls(documents, np.zeros(len(documents), bool))

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[tuple[int, bool]]:
        return iter(zip(self.documents.tolist(), self.removed.tolist(), strict=True))

    def present_at(self, sizes: list[int]) -> list[Longs]:
        """The documents that are there, ascending, when their number first reaches each of the rising sizes."""
        present: set[int] = set()
        found: list[Longs] = []
        for document, removed in self:
            present ^= {document}
            if not removed and len(found) < len(sizes) and len(present) == sizes[len(found)]:
                found.append(np.array(sorted(present), np.int64))
        return found


Order: TypeAlias = Callable[[Longs, np.random.Generator], Stream]
"""Takes the class of each document."""


def shuffled(classes: Longs, rng: np.random.Generator) -> Stream:
    """At random."""
    return Stream.of_additions(rng.permutation(len(classes)))


def sorted_by_class(classes: Longs, rng: np.random.Generator) -> Stream:
    """Class after class, at random within each."""
    order = rng.permutation(len(classes))
    return Stream.of_additions(order[np.argsort(classes[order], kind="stable")])


def bursty(classes: Longs, rng: np.random.Generator) -> Stream:
    """Runs of 20 to 200 documents of one class, or as many as it has left, and then of another class."""
    waiting = {int(each): rng.permutation(np.flatnonzero(classes == each)) for each in np.unique(classes)}
    order: list[Longs] = []
    last: int | None = None
    while waiting:
        others = [each for each in waiting if each != last] or list(waiting)
        left = np.array([len(waiting[each]) for each in others], float)
        last = int(rng.choice(others, p=left / left.sum()))
        run = int(rng.integers(_SHORTEST, _LONGEST + 1))
        order.append(waiting[last][:run])
        waiting[last] = waiting[last][run:]
        if not len(waiting[last]):
            del waiting[last]
    return Stream.of_additions(np.concatenate(order))


def with_removals(classes: Longs, rng: np.random.Generator) -> Stream:
    """At random; every fourth operation removes a random document, which comes again later, so that all are there."""
    waiting = deque(rng.permutation(len(classes)).tolist())
    present: list[int] = []
    documents: list[int] = []
    removed: list[bool] = []
    while waiting:
        removes = len(documents) % _EACH == _EACH - 1
        if removes:
            place = int(rng.integers(len(present)))
            present[place], present[-1] = present[-1], present[place]
            waiting.append(present.pop())
            documents.append(waiting[-1])
        else:
            present.append(waiting.popleft())
            documents.append(present[-1])
        removed.append(removes)
    return Stream(np.array(documents, np.int64), np.array(removed, bool))


ORDERS: Final[dict[str, Order]] = {
    RANDOM: shuffled, SORTED: sorted_by_class, BURSTY: bursty, REMOVALS: with_removals,
}  # fmt: skip
