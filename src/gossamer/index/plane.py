"""The plane of an index: documents as points, kept while documents come and go.

A document that comes gets a place near its neighbours, and none of the others moves, also where the tree is renewed:
then only the regions change. Once a quarter of the points came in this way, all are relaxed a little from where they
are. Where concepts are scattered in the end, because the tree was built from nothing, all are laid out again, the
largest concepts starting where their members lie. An index that has grown fourfold is laid out anew. So where points
lie depends on what was asked when; places are saved with the index, to be the same after it is opened again.

QQP, 16,000 documents laid out, 4,000 more, a rebuild, 1,000 deleted (`benchmarks/plane.py --growth`). Moves are of
documents there before, in mean distances between neighbours; then the shares explained in `plane.layout`:

    documents   seconds   moved: median, 9 of 10   neighbours kept   same concept on levels 1, 2, 3
    16,000      3.1                                                  .968 .919 .795
    17,000      0.2       0, 0                                       .953 .903 .775
    20,000      0.2       0, 0                     .623              .915 .828 .720
    rebuilt     3.2       17, 35                   .666              .973 .891 .793
    19,000      0.2       0, 0                                       .976 .905 .801
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gossamer.array_types import NONE, Floats, Ints, Longs
from gossamer.errors import UnknownIdError
from gossamer.index.places import Places, is_outdated, load, save
from gossamer.index.query import View
from gossamer.index.state import IndexState
from gossamer.plane.layout import Layout, coherence, lay_out, relax_again, sunflower
from gossamer.plane.placing import place_new
from gossamer.plane.sketch import Sketch, sketch_of
from gossamer.results import Plane, Region
from gossamer.runtime import deadline
from gossamer.store import rows
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.browsing import shown_below

LEVELS: Final = 3
"""Levels of the view that have regions: about 10, 90 and 700 concepts of 76,000 documents."""

_LOOSE: Final = 0.25
"""Share of points that were placed since the last layout, above which all are relaxed again."""

_KNOWN: Final = 0.25
"""Share of points that have a place, below which all are laid out anew."""

_SCATTERED: Final = 0.85
"""All are laid out again where concepts keep together by less than this share of how they did after the last layout."""

_BATCH: Final = 32
"""Concepts labelled at a time; in between a change can be applied."""


@dataclass(frozen=True)
class _Members:
    """The passages of an index with their leaves and documents, in order of passage."""

    passages: Longs
    leaves: Ints
    """As places in the sketch."""
    documents: Longs
    """As places in `ids`."""
    ids: tuple[str, ...]
    concepts: Ints
    """For each leaf, the shown concept of each level that it lies in."""


def plane(state: IndexState, *, labels: bool) -> Plane:
    """The plane of an index as it is now. The index can be searched and changed meanwhile."""
    with deadline.holding(state.planes.lock):
        found = _current(state)
    return _labelled(state, found) if labels else found


def _current(state: IndexState) -> Plane:
    start, cache = time.perf_counter(), state.planes
    with state.view() as view:
        operation = state.tree.seq
        if cache.plane is not None and cache.plane.operation == operation:
            return replace(cache.plane, seconds=0.0)
        if view is None:
            return Plane((), np.zeros((0, 2), np.float32), np.zeros((0, 0), np.int32), (), operation)
        sketch, members = _read(view)
    if not cache.loaded:
        cache.places = cache.saved = load(state.store, operation)
        cache.loaded = True
    cache.places = _placed(sketch, members, cache.places, operation)
    cache.plane = _drawn(members, cache.places, time.perf_counter() - start)
    if is_outdated(cache.places, cache.saved) and save(state.store, cache.places):
        cache.saved = cache.places
    return cache.plane


def _read(view: View) -> tuple[Sketch, _Members]:
    """Copy what the plane is made from, while the index is held."""
    t = view.vectors.tree.arrays
    sketch = sketch_of(t, view.vectors.state.graph)
    documents = np.flatnonzero(t.leaf[: view.vectors.tree.next_document] != NONE)
    place = np.full(len(t.parent), NONE, np.int32)
    place[sketch.leaves] = np.arange(len(sketch), dtype=np.int32)
    leaves, concepts = place[t.leaf[documents]], _concepts(t, sketch.leaves)
    passages = np.array(view.vectors.ids_of(documents), np.int64)
    order = np.argsort(passages)
    numbers = view.table.owners(documents)[order]
    named = rows.ids_of_documents(view.db)
    place_of = np.searchsorted(np.fromiter(named, np.int64, len(named)), numbers)
    return sketch, _Members(passages[order], leaves[order], place_of, tuple(named.values()), concepts)


def _concepts(t: TreeArrays, leaves: Ints) -> Ints:
    """The shown concept of each level that each leaf lies in."""
    view = shown_below(t, int(t.meta[0]), LEVELS)
    depth = np.zeros(len(view.nodes), np.int32)
    for level in range(1, LEVELS + 1):
        depth[1:][depth[view.parents[1:]] == level - 1] = level  # parents come before their children
    found = np.full((len(leaves), LEVELS), NONE, np.int32)
    for level in range(1, LEVELS + 1):
        shown = view.nodes[(depth == level) & (view.counts > 0)]
        wanted = np.zeros(len(t.parent), np.bool_)
        wanted[shown] = True
        node, waiting = leaves.copy(), np.arange(len(leaves))
        while len(waiting):
            there = wanted[node]
            found[waiting[there], level - 1] = node[there]
            node, waiting = t.parent[node[~there]], waiting[~there]
            waiting, node = waiting[node != NONE], node[node != NONE]
    return found


# -- places --------------------------------------------------------------------------------------------


def _placed(sketch: Sketch, members: _Members, before: Places | None, operation: int) -> Places:
    """A place for every passage: the one it has, or one near its neighbours, or that of a new layout."""
    known = np.full((len(members.passages), 2), np.nan, np.float32)
    if before is not None and len(before.passages):
        at = np.minimum(np.searchsorted(before.passages, members.passages), len(before.passages) - 1)
        same = before.passages[at] == members.passages
        known[same] = before.positions[at[same]]
    leaves = np.full((len(sketch), 2), np.nan, np.float32)
    has = np.flatnonzero(~np.isnan(known[:, 0]))[::-1]
    leaves[members.leaves[has]] = known[has]  # of several passages the first counts
    new = int(np.isnan(leaves[:, 0]).sum())
    if before is None or len(sketch) - new < _KNOWN * len(sketch):
        return _of_leaves(lay_out(sketch), members, None, 0, operation)
    layout, loose = place_new(sketch, Layout(leaves, before.unit)), before.loose + new
    if _together(layout, members) < _SCATTERED * before.coherence:
        return _of_leaves(lay_out(sketch, layout.places), members, None, 0, operation)
    if loose > _LOOSE * len(sketch):
        return _of_leaves(relax_again(sketch, layout), members, None, 0, operation)
    return replace(_of_leaves(layout, members, known, loose, operation), coherence=before.coherence)


def _together(layout: Layout, members: _Members) -> float:
    """How well the concepts of the second level keep together: there are enough of them to tell."""
    return coherence(layout.places, members.concepts[:, 1])


def _of_leaves(layout: Layout, members: _Members, known: Floats | None, loose: int, operation: int) -> Places:
    """The places of passages from those of their leaves; copies of a text lie side by side around one place."""
    order = np.argsort(members.leaves, kind="stable")
    counts = np.bincount(members.leaves, minlength=len(layout.places))
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    aside = sunflower(number, 1, 0.3 * layout.unit)
    aside[number == 0] = 0.0
    positions = np.clip(layout.places[members.leaves] + aside, 0.0, 1.0).astype(np.float32)
    if known is not None:
        positions = np.where(np.isnan(known), positions, known)
    return Places(members.passages, positions, layout.unit, loose, _together(layout, members), operation)


# -- points and regions --------------------------------------------------------------------------------


def _drawn(members: _Members, places: Places, seconds: float) -> Plane:
    """The plane: a document lies where the one of its passages does that is nearest to the middle of all of them."""
    n, document = len(members.ids), members.documents
    counts = np.maximum(1, np.bincount(document, minlength=n))
    middle = np.stack([np.bincount(document, places.positions[:, d], n) / counts for d in range(2)], axis=1)
    distance = np.linalg.norm(places.positions - middle[document], axis=1)
    order = np.lexsort((places.passages, distance, document))
    chosen = order[np.unique(document[order], return_index=True)[1]]
    positions, concepts = places.positions[chosen], members.concepts[members.leaves[chosen]]
    regions = tuple(_regions(positions, concepts[:, level]) for level in range(LEVELS))
    filled = sum(1 for each in regions if each)
    return Plane(members.ids, positions, concepts[:, :filled], regions[:filled], places.operation, seconds)


def _regions(positions: Floats, concepts: Ints) -> tuple[Region, ...]:
    """The regions of one level, large ones first."""
    order = np.argsort(concepts, kind="stable")
    named, first = np.unique(concepts[order], return_index=True)
    found = []
    for concept, members in zip(named.tolist(), np.split(order, first[1:]), strict=True):
        if concept != NONE:
            x, y = np.median(positions[members], axis=0).tolist()
            radius = float(np.quantile(np.hypot(*(positions[members] - [x, y]).T), 0.9))
            found.append(Region(concept, "", len(members), x, y, radius))
    return tuple(sorted(found, key=lambda region: (-region.size, region.concept)))


def _labelled(state: IndexState, found: Plane) -> Plane:
    """The plane with labels; that of a concept which is gone by now stays empty."""
    wanted = [region.concept for level in found.regions for region in level]
    labels: dict[int, str] = {}
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        with state.view() as view:
            if view is None:
                break
            try:
                labels |= view.labels(batch)
            except UnknownIdError:
                labels |= dict(_one_by_one(view, batch))
    named = (tuple(replace(each, label=labels.get(each.concept, "")) for each in level) for level in found.regions)
    return replace(found, regions=tuple(named))


def _one_by_one(view: View, concepts: list[int]) -> Iterator[tuple[int, str]]:
    for concept in concepts:
        try:
            yield from view.labels([concept]).items()
        except UnknownIdError:
            continue
