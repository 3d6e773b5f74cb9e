"""Links, entry points, walks and calibration from their definitions, in plain Python."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import CobwebTree

Distance = Callable[[int, int], float]
"""Squared distance between two leaves."""

MAX_LINKS, AFTER_THINNING, LONGEST, VIA = 32, 24, 255, 4


# -- links -----------------------------------------------------------------------------------------------


def thin(row: int, candidates: Iterable[int], most: int, distance: Distance) -> list[int]:
    """Relative neighbourhood: of candidates, nearest first, keep each that is not nearer to one kept before."""
    kept: list[int] = []
    for other in candidates:
        if len(kept) < most and all(distance(other, nearer) >= distance(row, other) for nearer in kept):
            kept.append(other)
    return kept


def nearest_by_links(
    row: int, links: Mapping[int, Sequence[int]], among: Iterable[int], width: int, distance: Distance
) -> list[tuple[float, int]]:
    """The nearest of the leaves that a leaf links to, and that the first VIA of these link to, with distances."""
    near = set(links.get(row, []))
    for via in links.get(row, [])[:VIA]:
        near |= set(links.get(via, []))
    found = near & set(among) - {row}
    return sorted((distance(row, other), other) for other in found)[:width]


class Links:
    """The links of each leaf as a list of (length, leaf), shortest first."""

    def __init__(self, rows: int, unit: float, distance: Distance) -> None:
        self.of: list[list[tuple[int, int]]] = [[] for _ in range(rows)]
        self.gone: set[int] = set()
        self.unit, self.distance = unit, distance

    def targets(self, row: int) -> list[int]:
        return [other for _, other in self.of[row]]

    def add(self, row: int, other: int) -> None:
        if other in self.targets(row):
            return
        if len(self.of[row]) < MAX_LINKS:
            length = self._length(row, other)
            self.of[row].insert(bisect_right([length for length, _ in self.of[row]], length), (length, other))
        else:
            self._relink(row, [*self.targets(row), other])

    def drop(self, rows: Iterable[int]) -> None:
        """Leaves that link to one of these, among its neighbours and theirs, link to its neighbours instead."""
        self.gone |= set(rows)
        for row in rows:
            neighbours, self.of[row] = self.targets(row), []
            for near in neighbours:
                self._bridge(near, row, neighbours)
                for other in self.targets(near):
                    self._bridge(other, row, neighbours)

    def _bridge(self, row: int, gone: int, neighbours: list[int]) -> None:
        targets = self.targets(row)
        if row in self.gone or gone not in targets:
            return
        targets[targets.index(gone)] = targets[-1]
        targets.pop()
        targets += [other for other in neighbours if other not in (row, *targets) and other not in self.gone]
        self._relink(row, targets)

    def _relink(self, row: int, candidates: list[int]) -> None:
        kept: list[int] = []
        alive = [other for other in candidates if other not in self.gone]
        for other in sorted(alive, key=lambda other: self.distance(row, other)):
            depends = self.targets(other)[:1] == [row]
            room = len(kept) < (MAX_LINKS - 1 if depends else AFTER_THINNING)
            straight = all(self.distance(other, nearer) >= self.distance(row, other) for nearer in kept)
            if room and (depends or straight):
                kept.append(other)
        self.of[row] = [(self._length(row, other), other) for other in kept]

    def _length(self, row: int, other: int) -> int:
        return min(LONGEST, int(math.sqrt(self.distance(row, other)) / self.unit))


# -- entry points ----------------------------------------------------------------------------------------


def cut_by_size(tree: CobwebTree, top: int, most: int, children: Mapping[int, Sequence[int]]) -> list[int]:
    """Replace the largest node by its children while there are at most `most`; its first child takes its place."""
    cut = [top]
    while True:
        fitting = [node for node in cut if children[node] and len(cut) - 1 + len(children[node]) <= most]
        if not fitting:
            return cut
        largest = max(fitting, key=lambda node: tree.node(node).count)  # the first of equals
        first, *others = children[largest]
        cut = [first if node == largest else node for node in cut] + others


def nearest_by_descent(tree: CobwebTree, node: int, x: npt.NDArray[np.float64]) -> int:
    """The leaf reached by always going to the child whose mean is nearest; of equals, the lowest id."""
    while children := tree.node(node).children:
        node = min(children, key=lambda child: (float(((tree.node(child).mean - x) ** 2).sum()), child))
    return node


# -- walks -----------------------------------------------------------------------------------------------


class Walk(NamedTuple):
    """The leaves that a walk kept, nearest first, those of them that are allowed, and how many it scored."""

    kept: list[int]
    allowed: list[int]
    scored: int


class Terms(NamedTuple):
    """How far a walk goes, and what its codes and links are measured in."""

    k: int
    slack: float
    step: float
    unit: float
    width: int = 1 << 30
    most: int = 1 << 30


def with_rounding(distance: float, step: float) -> float:
    return distance + 2.5 * step * (math.sqrt(max(distance, 0.0)) + step)


def walk(
    starts: Sequence[int], links: Mapping[int, Sequence[tuple[int, int]]], distance: Callable[[int], float],
    terms: Terms, allowed: set[int] | None = None,
) -> Walk:  # fmt: skip
    """Follow the links of the nearest leaf while it is at most `slack` times as far as the k-th best."""
    near = {row: float(np.float32(distance(row))) for row in starts}
    seen, followed, scored = set(starts), set[int](), 0

    def nearest(rows: Iterable[int]) -> list[int]:
        return sorted(rows, key=lambda row: near[row])[: terms.width]

    kept, answers = nearest(starts), nearest(row for row in starts if allowed is None or row in allowed)
    while scored < terms.most:
        best = with_rounding(near[answers[terms.k - 1]], terms.step) if len(answers) >= terms.k else math.inf
        limit = max(1.0, terms.slack) * best
        while scored and len(kept) > terms.k and near[kept[-1]] > limit:
            kept.pop()
        row = next((row for row in kept if row not in followed), None)
        if row is None or near[row] > terms.slack * best:
            break
        followed.add(row)
        fresh = [
            other
            for length, other in links[row]
            if other not in seen and (limit == math.inf or length <= _longest_link(near[row], limit, terms.unit))
        ]
        seen.update(fresh)
        scored += len(fresh)
        found = [other for other in fresh if distance(other) <= limit]
        near |= {other: float(np.float32(distance(other))) for other in found}
        kept = nearest([*kept, *found])
        answers = nearest([*answers, *(other for other in found if allowed is None or other in allowed)])
    return Walk(kept, answers, scored)


def _longest_link(away: float, limit: float, unit: float) -> int:
    """l such that l² − 2·c·l·√away + away = limit, for the cosine c of an equilateral triangle."""
    ahead = 0.5 * math.sqrt(max(0.0, away))
    return min(LONGEST, int((ahead + math.sqrt(max(0.0, ahead * ahead + limit - away))) / unit))


def descend(
    tree: CobwebTree, estimate: Callable[[int], float], distance: Callable[[int], float], most: int
) -> tuple[dict[int, float], int]:
    """Open nodes by their estimates until so many were scored and a leaf was found: leaves found, nodes scored."""
    heap: list[tuple[float, int]] = []
    found: dict[int, float] = {}
    node, scored = tree.root, 0
    while True:
        if scored >= most:
            heap = []
        for child in tree.node(node).children:
            scored += 1
            if tree.node(child).is_leaf:
                found[child] = distance(child)
            else:
                heapq.heappush(heap, (estimate(child), child))
        if not heap or (scored >= most and found):
            return found, scored
        node = heapq.heappop(heap)[1]


def best_leaf_estimate(tree: CobwebTree, node: int, apart: float) -> float:
    """m − z·s: where the best of a Gaussian's n members is expected, with the factors of `codes`.

    `apart` is the squared distance of the query from the mean.
    """
    view = tree.node(node)
    variance = np.asarray(view.variance) - tree.acuity
    s = math.sqrt(2 * float((variance**2).sum()) + 4 * float(variance.mean()) * apart)
    return apart + 0.9 * float(variance.sum()) - 0.85 * math.sqrt(2 * math.log(view.count)) * s


# -- calibration -----------------------------------------------------------------------------------------


def effort(ladder: Sequence[float], recalls: Sequence[float], recall: float) -> float | None:
    """Where recalls, linear between steps, reach the wanted one and two thirds of the rest to 1, or their highest."""
    if not recalls or max(recalls) < recall:
        return None
    wanted = min(recall + (1 - recall) * 2 / 3, max(recalls))
    for step, (spent, reached) in enumerate(zip(ladder, recalls, strict=False)):
        if reached >= wanted:
            if step == 0:
                return spent
            before, less = ladder[step - 1], recalls[step - 1]
            return before + (spent - before) * (wanted - less) / (reached - less)
    return None
