"""All documents → groups that are nearer to each other than chance would have it in their region of the corpus.

One threshold for the cosine serves no corpus: where all documents are forms of the same letter, .95 is far, and where
they differ much, .8 is near. So a distance d is compared with the distance r of the k-th neighbour. If the documents
of the region were spread evenly in m dimensions, this many would be within d by chance:

    chance(d) = k · (d / r)^m        m = ln 2 / ln(r_k / r_{k/2}), the median of the corpus

A pair is as near as the less surprised of the two finds it. Pairs below the bound make the groups (single linkage).
(Pairs of 76,000 Quora questions that people have judged: 97 % of the first 300 and 1,000 are duplicates, as many as
the cosine finds there. A dimension of each region's own is too noisy: 94 % and 92 %.)
"""

from typing import Final, NamedTuple

import numpy as np

from gossamer.array_types import NONE, DocumentNumber, Doubles, Floats, Longs
from gossamer.encoders import Progress
from gossamer.index.query import View
from gossamer.results import NearDuplicates
from gossamer.runtime import deadline
from gossamer.store import rows

_NEIGHBOURS: Final = 32
"""The k of the formula."""

_SPARE: Final = 8
"""Neighbours that are looked up besides: the passage itself, and others of its document."""

_SAME: Final = 1e-3
"""A distance below this is the rounding of float32."""

_COMPARED: Final = 4096
"""Passages up to which all are compared."""

_CHUNK: Final = 1024
"""Passages that are looked up at once."""


class _Pairs(NamedTuple):
    """Pairs of passages, by their places among all, that are nearer than chance would have it."""

    left: Longs
    right: Longs
    distance: Doubles
    chance: Doubles


def near_duplicates(view: View, chance: float, progress: Progress | None) -> list[NearDuplicates]:
    """Groups of documents, the least likely first."""
    passages = view.table.all_passages()
    if len(passages) < 2:
        return []
    owners = view.table.owners(passages)
    pairs = unlikely_pairs(*_neighbours(view, passages, owners, progress), chance)
    left, right = owners[pairs.left], owners[pairs.right]
    ids = {number: row.id for number, row in rows.documents_by_number(view.db, _numbers(left, right)).items()}
    found = []
    for members in _linked(left.tolist(), right.tolist()):
        inside = np.isin(left, members)
        similarity = 1.0 - float(pairs.distance[inside].max()) ** 2 / 2.0  # of unit vectors, d² = 2 − 2·cos
        named = tuple(ids[DocumentNumber(member)] for member in members)
        found.append(NearDuplicates(named, float(pairs.chance[inside].max()), similarity))
    return sorted(found, key=lambda group: (group.chance, -group.similarity, group.ids))


def _numbers(*documents: Longs) -> list[DocumentNumber]:
    return [DocumentNumber(number) for number in np.unique(np.concatenate(documents)).tolist()]


def unlikely_pairs(others: Longs, distances: Doubles, chance: float) -> _Pairs:
    """The pairs whose chance is below the bound for both.

    `others` are the places of each passage's neighbours, `distances` how far they are, nearest first: infinite where
    there is none.
    """
    reach, half = distances[:, -1], distances[:, (distances.shape[1] - 1) // 2]
    known = np.isfinite(reach) & (half > 0.0) & (half < reach)
    spread = np.median(np.log(reach[known] / half[known])) if known.any() else np.inf
    dimension = np.log(2.0) / spread
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distances > 0.0, distances / reach[:, None], 0.0)
        expected = distances.shape[1] * ratio**dimension
    rows_, places = np.nonzero(np.isfinite(distances) & (expected < chance))
    right = others[rows_, places]
    d = distances[rows_, places]
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = distances.shape[1] * np.where(d > 0.0, d / reach[right], 0.0) ** dimension
    agreed = theirs < chance
    worse = np.maximum(expected[rows_, places], theirs)
    return _Pairs(rows_[agreed], right[agreed], d[agreed], worse[agreed])


def _neighbours(view: View, passages: Longs, owners: Longs, progress: Progress | None) -> tuple[Longs, Doubles]:
    """The places and distances of each passage's neighbours, those of its own document left out; nearest first."""
    k = min(_NEIGHBOURS, len(passages) - 1)
    others, distances = np.zeros((len(passages), k), np.int64), np.full((len(passages), k), np.inf)
    t = view.vectors.tree.arrays
    X = t.vectors[t.row[t.leaf[passages]]]
    units = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    for start in range(0, len(passages), _CHUNK):
        deadline.check()
        here = slice(start, start + _CHUNK)
        place, cosines = _near(view, passages, units, X[here], units[here], min(k + _SPARE, len(passages)))
        d = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosines))
        d[d < _SAME] = 0.0
        d[owners[place] == owners[here][:, None]] = np.inf
        order = np.argsort(d, axis=1, kind="stable")[:, :k]
        others[here, : order.shape[1]] = np.take_along_axis(place, order, 1)
        distances[here, : order.shape[1]] = np.take_along_axis(d, order, 1)
        if progress is not None:
            progress(min(start + _CHUNK, len(passages)), len(passages))
    return others, distances


def _near(view: View, passages: Longs, units: Floats, X: Floats, asked: Floats, k: int) -> tuple[Longs, Doubles]:
    """The places and cosines of the k nearest of some passages; in a small index all are compared."""
    if len(passages) <= _COMPARED or view.vectors.whitener is None:
        cosines = (asked @ units.T).astype(np.float64)
        place = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        return place, np.take_along_axis(cosines, place, 1)
    found = view.vectors.nearest(X, k)
    missing = found.documents == NONE
    place = np.searchsorted(passages, np.where(missing, passages[0], found.documents))
    return place, np.where(missing, -1.0, found.cosines)


def _linked(left: list[int], right: list[int]) -> list[list[int]]:
    """The connected groups of some pairs, each in ascending order."""
    group: dict[int, set[int]] = {}
    for one, other in zip(left, right, strict=True):
        mine, theirs = group.get(one) or {one}, group.get(other) or {other}
        if mine is not theirs:
            small, large = sorted((mine, theirs), key=len)
            large |= small
            for member in large if len(large) == 2 else (*small, one, other):
                group[member] = large
    return [sorted(members) for members in {id(each): each for each in group.values()}.values()]
