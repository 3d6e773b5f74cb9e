"""What is measured on an index that grows: recall of its searches, concepts that keep their id, assigned documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import csc_matrix

from gossamer import VectorIndex
from gossamer_lab.engine import Doubles, Floats, Longs, group_of_each, memberships

K: Final = 10
LARGE: Final = 50
"""Documents of a concept whose id should be kept."""
SAME: Final = 0.5
"""Jaccard index of the members before and after from which on two concepts are the same."""
_AT_ONCE: Final = 8
"""Queries that are ranked exhaustively at once."""

_EQUAL: Final = 1e-6
"""Relative difference of scores below which two documents are equally good answers."""


def recall_at_10(index: VectorIndex, Q: Floats) -> float:
    """The share of the ten best documents that a default search finds; one as good as the tenth best counts.

    The true ones are those of the exhaustive ranking, `method="path-sum"`, a few queries at a time. Hundreds of
    megabytes that come and go would show in the waits that are measured afterwards, where a virtual machine gets memory
    from its host.
    """
    k = min(K, len(index))
    found = index.search(Q, k).scores
    parts = [index.search(Q[start : start + _AT_ONCE], k, "path-sum").scores for start in range(0, len(Q), _AT_ONCE)]
    exact = np.concatenate(parts)
    tenth = exact[:, -1:]
    good: Longs = (found >= tenth - _EQUAL * np.maximum(1.0, np.abs(tenth))).sum(axis=1)
    return float(good.mean() / exact.shape[1])


# -- ids of concepts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Concepts:
    """Concepts by id, and which documents of a collection are in each."""

    ids: Longs
    members: Any
    """A sparse matrix of zeros and ones: documents × concepts."""

    @classmethod
    def of(cls, index: VectorIndex, rows: Longs, total: int, fewest: int) -> Concepts:
        """The concepts with at least `fewest` documents of an index that holds `rows` of a collection of `total`."""
        documents, concepts = memberships(index, rows, fewest)
        ids, columns = np.unique(concepts, return_inverse=True)
        ones = np.ones(len(documents))
        return cls(ids, csc_matrix((ones, (documents, columns)), shape=(total, len(ids))))

    def overlap(self, other: Concepts) -> Doubles:
        """The Jaccard index, |A ∩ B| / |A ∪ B|, of each concept here (rows) and each there (columns)."""
        both = np.asarray((self.members.T @ other.members).todense())
        sizes, others = (np.asarray(each.members.sum(axis=0)).ravel() for each in (self, other))
        jaccard: Doubles = both / (sizes[:, None] + others[None, :] - both)
        return jaccard


@dataclass(frozen=True)
class Kept:
    """Of the large concepts before, the share that is still there."""

    ids: float
    """Under the same id."""
    groups: float
    """Under any id: more than this share of ids cannot be kept."""


def kept(before: Concepts, after: Concepts) -> Kept | None:
    """Compare two moments; None where there was no large concept before.

    `after` must hold all concepts of at least LARGE · SAME documents: no smaller one can be the same.
    """
    if not len(before.ids):
        return None
    if not len(after.ids):
        return Kept(0.0, 0.0)
    jaccard = before.overlap(after)
    place = np.minimum(np.searchsorted(after.ids, before.ids), len(after.ids) - 1)
    there = after.ids[place] == before.ids
    same = there & (jaccard[np.arange(len(before.ids)), place] >= SAME)
    return Kept(float(same.mean()), float((jaccard.max(axis=1) >= SAME).mean()))


# -- assignment ------------------------------------------------------------------------------------


def assigned_right(index: VectorIndex, E: Floats, classes: Longs, rows: Longs, n: int) -> float | None:
    """The share of documents not in the index that `assign` leads into a group where their own class is most frequent.

    The groups are those of the best cut into n. E and classes are of the whole collection, of which the index holds
    `rows`. None for an index that has no `assign`.
    """
    assign = getattr(index, "assign", None)
    new = np.setdiff1d(np.arange(len(E)), rows)
    if assign is None or not len(new):
        return None
    groups = group_of_each(index, rows, n)
    table = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1))
    np.add.at(table, (groups, classes[rows]), 1.0)
    group_of = dict(zip(rows.tolist(), groups.tolist(), strict=True))
    right = 0
    for row, path in zip(new.tolist(), assign(E[new]), strict=True):
        # All documents at the end of a path are in one group, unless the cut goes through it: then most decide.
        below = [group_of[id] for id in index.documents_below(int(path[-1]))]
        right += int(table[np.bincount(below).argmax()].argmax() == classes[row])
    return right / len(new)
