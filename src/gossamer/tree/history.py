"""What happened to concepts: a census of the tree at each rebuild, and which concepts were new and gone there.

Between two records a concept keeps its slot, so the census then and the tree now tell which concepts grew or shrank. At
a rebuild `identity.keep_ids` tells which are new and gone, and where most of their members were or are; over several
rebuilds these steps are followed one after the other.

Only concepts with at least 20 documents, and 1/2000 of all, are reported: a record has some thousand concepts at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Ints, Longs
from gossamer.errors import CorruptError, ParameterError
from gossamer.files.bundle import CURE, Arrays, Bundle
from gossamer.results import ConceptChange
from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.identity import Succession

MOST_RECORDS: Final = 64
"""Records that are kept; older ones are dropped."""

_SMALLEST: Final = 20
_SMALLEST_SHARE: Final = 2000
"""A concept is reported if it has this many documents, and one of so many of all."""

_TENTHS_GROWN, _TENTHS_SHRUNK = 11, 9
"""Tenths of its size before that a concept has more than, or less than, to have grown or shrunk."""

_PART: Final = 4
"""A concept is split from another, or merged into it, if it has at least one of so many of the other's documents."""

_MOST: Final = 2**31 - 1


@dataclass(frozen=True)
class _Record:
    """The concepts of a tree after an operation, and which of them are new. Ids are ascending in each array."""

    operation: int
    least: int
    """The fewest documents of concepts that are listed here: half of what is reported then, so that growth is seen."""
    ids: Ints
    sizes: Ints
    new: Ints
    origins: Ints
    gone: Ints
    destinations: Ints


@dataclass(frozen=True)
class History:
    """The records of the last rebuilds, oldest first. A new one makes a new history."""

    records: tuple[_Record, ...] = ()

    def record(self, operation: int, tree: TreeArrays, succession: Succession | None = None) -> History:
        """This history and the state after `operation`, with what `keep_ids` told if the tree was rebuilt.

        Without a rebuild it is another point in time that changes can be told from.
        """
        if self.records and operation < self.records[-1].operation:
            raise ParameterError(f"operation {operation} was before {self.records[-1].operation}, the last recorded")
        listed = np.concatenate([np.empty(0, np.int32), *(record.ids for record in self.records)])
        added = _record(operation, tree, succession, listed)
        return History((*self.records, added)[-MOST_RECORDS:])

    @property
    def first(self) -> int | None:
        """The first operation from which on changes are known; None while there is none."""
        return self.records[0].operation if self.records else None

    def since(self, operation: int, tree: TreeArrays) -> list[ConceptChange]:
        """How the concepts of `tree` differ from those after `operation`, large ones first.

        The comparison is with the last record up to then: concepts are recorded at each rebuild alone, so what happened
        between that and `operation` is told too.
        """
        if not self.records or operation < self.records[0].operation:
            known = f"from operation {self.records[0].operation} on" if self.records else "from the next rebuild on"
            raise ParameterError(f"changes are known {known}, got since={operation}")
        start = max(at for at, record in enumerate(self.records) if record.operation <= operation)
        changes = _Comparison(self.records[start], self.records[start + 1 :], tree).changes()
        return sorted(changes, key=lambda change: (-max(change.size_before, change.size_after), change.id, change.kind))

    # -- files -------------------------------------------------------------------------------------

    def to_arrays(self) -> Arrays:
        """All records as four arrays, end to end, with how many rows of each belong to a record."""
        records = self.records
        heads = [[r.operation, r.least, len(r.ids), len(r.new), len(r.gone)] for r in records]
        return {
            "history_records": np.array(heads, np.int64).reshape(-1, 5),
            "history_census": _table([(r.ids, r.sizes) for r in records], 2),
            "history_new": _table([(r.new, r.origins) for r in records], 2),
            "history_gone": _table([(r.gone, r.destinations) for r in records], 2),
        }

    @classmethod
    def from_bundle(cls, bundle: Bundle) -> History:
        """The history whose arrays are in `bundle`; without records where none was saved."""
        if "history_records" not in bundle.arrays:
            return cls()
        heads = bundle.numbers("history_records", np.int64, None, 5, least=0, most=2**62)
        if len(heads) > MOST_RECORDS or (np.diff(heads[:, 0]) < 0).any():
            raise CorruptError(f"the saved history has {len(heads)} records, or they are not in order: {CURE}")
        census = _split(bundle, "history_census", heads[:, 2], 2)
        new = _split(bundle, "history_new", heads[:, 3], 2)
        gone = _split(bundle, "history_gone", heads[:, 4], 2)
        rows = zip(heads[:, :2].tolist(), census, new, gone, strict=True)
        return cls(tuple(_Record(*head, *counted.T, *added.T, *lost.T) for head, counted, added, lost in rows))


def _table(parts: Sequence[tuple[Ints, ...]], width: int) -> Ints:
    return np.concatenate([np.empty((0, width), np.int32), *(np.stack(part, axis=1) for part in parts)])


def _split(bundle: Bundle, name: str, counts: Longs, width: int) -> list[Ints]:
    """The rows of a saved array by record, checked: ids first and ascending, then ids, sizes or documents, or NONE."""
    rows = bundle.numbers(name, np.int32, None, width, least=NONE, most=_MOST)
    if (counts > len(rows)).any() or counts.sum() != len(rows):
        raise CorruptError(f"the saved array {name!r} has {len(rows)} rows where {counts.sum()} are expected: {CURE}")
    parts = np.split(rows, np.cumsum(counts))[:-1]
    for part in parts:
        if len(part) and (part[0, 0] < 0 or (np.diff(part[:, 0]) <= 0).any()):
            raise CorruptError(f"the concepts in the saved array {name!r} are not in ascending order: {CURE}")
    return parts


# -- recording -----------------------------------------------------------------------------------------


def _record(operation: int, tree: TreeArrays, succession: Succession | None, listed: Ints) -> _Record:
    """The state of a tree. Of new and gone concepts the large ones, and those with an id that was `listed` before."""
    least = _reported(tree) // 2
    ids = _concepts(tree, least)
    none = np.empty(0, np.int32)
    new = origins = gone = destinations = none
    if succession is not None:
        wanted = (succession.new_sizes >= least) | np.isin(succession.new, listed)
        new, origins = succession.new[wanted], succession.origins[wanted]
        wanted = (succession.gone_sizes >= least) | np.isin(succession.gone, listed)
        gone, destinations = succession.gone[wanted], succession.destinations[wanted]
    return _Record(operation, least, ids, tree.size[ids].astype(np.int32), new, origins, gone, destinations)


def _reported(tree: TreeArrays) -> int:
    """The fewest documents of a concept whose changes are reported."""
    return max(_SMALLEST, int(tree.meta[Meta.DOCUMENTS]) // _SMALLEST_SHARE)


def _concepts(tree: TreeArrays, least: int) -> Ints:
    """The concepts with at least so many documents, ascending."""
    slots = int(tree.meta[Meta.SLOTS])
    return np.flatnonzero((tree.n_children[:slots] > 0) & (tree.size[:slots] >= least)).astype(np.int32)


# -- comparing -----------------------------------------------------------------------------------------


class _Comparison:
    """A record, those after it, and the tree now."""

    def __init__(self, start: _Record, later: Sequence[_Record], tree: TreeArrays) -> None:
        self._tree = tree
        self._least = max(2 * start.least, _reported(tree))
        self._before = dict(zip(start.ids.tolist(), start.sizes.tolist(), strict=True))
        self._gone = [dict(zip(r.gone.tolist(), r.destinations.tolist(), strict=True)) for r in later]
        self._new = [dict(zip(r.new.tolist(), r.origins.tolist(), strict=True)) for r in later]
        self._heirs = {id: self._heir(id) for id in self._before}
        self._same = {id for id, heir in self._heirs.items() if heir is None and self._size(id)}

    def changes(self) -> Iterator[ConceptChange]:
        """All changes, in no order."""
        for id, before in self._before.items():
            after = self._size(id)
            if id not in self._same:
                if before >= self._least:
                    yield self._lost(id, before)
            elif max(before, after) >= self._least:
                if 10 * after > _TENTHS_GROWN * before:
                    yield ConceptChange(id, "grown", before, after, None)
                elif 10 * after < _TENTHS_SHRUNK * before:
                    yield ConceptChange(id, "shrunk", before, after, None)
        for id in _concepts(self._tree, self._least).tolist():
            if id not in self._same:
                yield self._added(id)

    def _lost(self, id: int, before: int) -> ConceptChange:
        heir = self._heirs[id]
        other = heir if heir is not None and self._size(heir) else None
        merged = other is not None and _PART * before >= self._size(other)
        return ConceptChange(id, "merged" if merged else "gone", before, 0, other)

    def _added(self, id: int) -> ConceptChange:
        after, then = self._size(id), self._origin(id)
        other = then if then in self._before and then != id else None
        split = other is not None and _PART * after >= self._before[other]
        return ConceptChange(id, "split" if split else "new", 0, after, other)

    def _size(self, id: int) -> int:
        """The documents of a concept now; 0 if there is none."""
        tree = self._tree
        known = 0 <= id < tree.meta[Meta.SLOTS] and tree.n_children[id] > 0
        return int(tree.size[id]) if known else 0

    def _heir(self, id: int) -> int | None:
        """The concept that holds most members of an earlier one that ended, or NONE; None if no rebuild ended it."""
        ended = False
        for gone, new in zip(self._gone, self._new, strict=True):
            if id in gone:
                id, ended = gone[id], True
            elif id in new:  # freed since the record before, and used again
                id, ended = NONE, True
        return id if ended else None

    def _origin(self, id: int) -> int:
        """The earlier concept that held most members of a concept, or NONE; itself if no rebuild made it."""
        for new in reversed(self._new):
            id = new.get(id, id)
        return id
