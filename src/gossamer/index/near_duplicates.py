"""All documents → groups that are nearer to each other than chance would have it in their region of the corpus.

One threshold for the cosine serves no corpus: where all documents are forms of the same letter, .95 is far, and where
they differ much, .8 is near. So a distance d is compared with the distance r of the k-th neighbour. If the documents
of the region were spread evenly in m dimensions, this many would be within d by chance:

    chance(d) = k · (d / r)^m        m = ln 2 / ln(r_k / r_{k/2}), the median of the corpus

Passages of the same document are no neighbours. Where they take so many places that fewer than k others are found, k is
how many those are. A pair is as near as the less surprised of the two finds it. Pairs below the bound make the groups
(single linkage).
(Pairs of 76,000 Quora questions that people have judged: 97 % of the first 300 and of the first 1,000 are
duplicates, as by the cosine, and 95 % of the first 3,000, where the cosine has 97 %. With a dimension of each region's
own, which is noisy: 94, 92 and 90 %.)
"""

from typing import Final, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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
    documents, ends = np.unique(owners[np.stack([pairs.left, pairs.right])], return_inverse=True)
    left, right = ends.reshape(2, -1).astype(np.int32)  # SciPy 1.11 takes no other
    n = len(documents)
    count, group = connected_components(coo_array((np.ones(len(left)), (left, right)), (n, n)), directed=False)
    worst, farthest = np.zeros(count), np.zeros(count)
    np.maximum.at(worst, group[left], pairs.chance)
    np.maximum.at(farthest, group[left], pairs.distance)
    rows_of = rows.documents_by_number(view.db, [DocumentNumber(number) for number in documents.tolist()])
    ids: list[list[str]] = [[] for _ in range(count)]
    for number, at in zip(documents.tolist(), group.tolist(), strict=True):
        ids[at].append(rows_of[DocumentNumber(number)].id)
    similarity = 1.0 - farthest**2 / 2.0  # of unit vectors, d² = 2 − 2·cos
    found = map(NearDuplicates, map(tuple, ids), worst.tolist(), similarity.tolist())
    return sorted(found, key=lambda near: (near.chance, -near.similarity, near.ids))


def unlikely_pairs(others: Longs, distances: Doubles, chance: float) -> _Pairs:
    """The pairs whose chance is below the bound for both.

    `others` are the places of each passage's neighbours, `distances` how far they are, nearest first: infinite where
    there is none.
    """
    k = np.isfinite(distances).sum(axis=1)
    row = np.arange(len(distances))
    reach, half = distances[row, k - 1], distances[row, (k - 1) // 2]
    known = np.isfinite(reach) & (half > 0.0) & (half < reach)
    spread = np.median(np.log(reach[known] / half[known])) if known.any() else np.inf
    dimension = np.log(2.0) / spread
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distances > 0.0, distances / reach[:, None], 0.0)
        expected = k[:, None] * ratio**dimension
    left, places = np.nonzero(np.isfinite(distances) & (expected < chance))
    right = others[left, places]
    d = distances[left, places]
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = k[right] * np.where(d > 0.0, d / reach[right], 0.0) ** dimension
    agreed = theirs < chance
    worse = np.maximum(expected[left, places], theirs)
    return _Pairs(left[agreed], right[agreed], d[agreed], worse[agreed])


def _neighbours(view: View, passages: Longs, owners: Longs, progress: Progress | None) -> tuple[Longs, Doubles]:
    """The places and distances of each passage's neighbours, those of its own document left out; nearest first."""
    k = min(_NEIGHBOURS, len(passages) - 1)
    others, distances = np.zeros((len(passages), k), np.int64), np.full((len(passages), k), np.inf)
    t, units = view.vectors.tree.arrays, view.units(passages)
    for start in range(0, len(passages), _CHUNK):
        deadline.check()
        here = slice(start, start + _CHUNK)
        X = t.vectors[t.row[t.leaf[passages[here]]]]
        place, cosines = _near(view, passages, owners, units, X, here, min(k + _SPARE, len(passages)))
        d = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosines))
        d[d < _SAME] = 0.0
        d[owners[place] == owners[here][:, None]] = np.inf
        order = np.argsort(d, axis=1, kind="stable")[:, :k]
        others[here, : order.shape[1]] = np.take_along_axis(place, order, 1)
        distances[here, : order.shape[1]] = np.take_along_axis(d, order, 1)
        if progress is not None:
            progress(min(start + _CHUNK, len(passages)), len(passages))
    return others, distances


def _near(
    view: View, passages: Longs, owners: Longs, units: Floats, X: Floats, here: slice, k: int
) -> tuple[Longs, Doubles]:
    """The places and cosines of the k nearest of some passages; in a small index all of other documents are compared.

    Elsewhere the k nearest may be of the same document.
    """
    if len(passages) <= _COMPARED or not view.vectors.ranks_by_cosine:
        cosines = (units[here] @ units.T).astype(np.float64)
        cosines[owners[here][:, None] == owners] = -1.0
        place = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        return place, np.take_along_axis(cosines, place, 1)
    found = view.vectors.nearest(X, k)
    missing = found.documents == NONE
    place = np.searchsorted(passages, np.where(missing, passages[0], found.documents))
    return place, np.where(missing, -1.0, found.cosines)
