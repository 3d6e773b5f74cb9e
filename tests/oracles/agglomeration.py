"""Agglomeration from its definitions: Ward's tree, merges among known neighbours, and the levels that are kept.

A tree over points is a list of merges. Points are named 0 … n − 1, and unions n, n + 1 ... in the order of the merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Merges = Sequence[Sequence[int]]


class Clusters:
    """Means and sizes by name; clusters that were merged are gone."""

    def __init__(self, X: Matrix, sizes: Iterable[float]) -> None:
        self.mean = dict(enumerate(X.astype(np.float64)))
        self.size = dict(enumerate(map(float, sizes)))
        self.merges: list[tuple[int, int]] = []
        self._points = len(X)

    def cost(self, a: int, b: int) -> float:
        """What a union adds to the squared distances within: n₁n₂/(n₁+n₂)·‖μ₁ − μ₂‖²."""
        weight = self.size[a] * self.size[b] / (self.size[a] + self.size[b])
        return float(weight * np.square(self.mean[a] - self.mean[b]).sum())

    def merge(self, a: int, b: int) -> int:
        union, n = self._points + len(self.merges), self.size[a] + self.size[b]
        self.mean[union] = (self.size[a] * self.mean[a] + self.size[b] * self.mean[b]) / n
        self.size[union] = n
        for part in (a, b):
            del self.mean[part], self.size[part]
        self.merges.append((a, b))
        return union


def ward(X: Matrix, sizes: Iterable[float]) -> list[tuple[int, int]]:
    """Merge the two clusters with the lowest cost, until one is left."""
    clusters = Clusters(X, sizes)
    while len(clusters.size) > 1:
        clusters.merge(*min(combinations(clusters.size, 2), key=lambda pair: clusters.cost(*pair)))
    return clusters.merges


def near_by_links(
    clusters: Clusters, members: dict[int, list[int]], links: Sequence[Sequence[int]], width: int
) -> dict[int, list[int]]:
    """For each cluster, of those that links lead to from its members, the `width` with which a union costs least."""
    cluster_of = {point: name for name, points in members.items() for point in points}
    near = {}
    for name, points in members.items():
        others = {cluster_of[other] for point in points for other in links[point] if other >= 0} - {name}
        near[name] = sorted(others, key=lambda other: clusters.cost(name, other))[:width]
    return near


def ward_among_neighbours(
    X: Matrix, sizes: Iterable[float], near: npt.NDArray[np.int32], until: int
) -> list[tuple[int, int]]:
    """The same where each cluster knows a few others, and a union knows the best of those that its parts knew.

    A cluster computes the costs of those it knows when it is made, and again when its cost is the lowest but the other
    was merged meanwhile. Ends when `until` clusters are left.
    """
    clusters, width = Clusters(X, sizes), near.shape[1]
    merged_into: dict[int, int] = {}
    known: dict[int, list[int]] = {}
    lowest: dict[int, float] = {}

    def choose(cluster: int, candidates: Iterable[int]) -> None:
        now = set()
        for other in candidates:
            while other in merged_into:
                other = merged_into[other]
            now.add(other)
        known[cluster] = sorted(now - {cluster}, key=lambda other: clusters.cost(cluster, other))[:width]
        if known[cluster]:
            lowest[cluster] = clusters.cost(cluster, known[cluster][0])

    for point, others in enumerate(near.tolist()):
        choose(point, [other for other in others if other >= 0])
    while lowest and len(clusters.size) > until:
        one = min(lowest, key=lambda cluster: lowest[cluster])
        other = known[one][0]
        del lowest[one]
        if other in merged_into:
            choose(one, known[one])
            continue
        lowest.pop(other, None)
        union = clusters.merge(one, other)
        merged_into[one] = merged_into[other] = union
        choose(union, known[one] + known[other])
    return clusters.merges


def unions(merges: Merges, points: int) -> list[frozenset[int]]:
    """The points of each union."""
    members = [frozenset([point]) for point in range(points)]
    for one, other in merges:
        members.append(members[one] | members[other])
    return members[points:]


def concepts(merges: Merges, points: int, small: int) -> set[frozenset[int]]:
    """The points of each concept: all unions, but for those that are part of a union of at most `small` points."""
    every = set(unions(merges, points))
    inside = [union for union in every if len(union) <= small]
    return {union for union in every if not any(union < other for other in inside)}
