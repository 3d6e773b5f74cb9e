"""The concepts of a cluster: those of the router above, those of each shard below, one tree.

A shard hangs under the lowest concept of the router that holds all concepts the shard has; concepts of the router
under which there would be one thing alone are left out. A path goes from the root of the cluster, through concepts of
the router, to the root of a shard's own tree, and on to the document.

The id of a concept says where it is: ``id = number · 1024 + place``, with its number in its own tree, and as place 0
for the router and one more than the shard's number for a shard.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

import numpy as np

from gossamer.array_types import Doubles, Floats
from gossamer.cluster.router import Router
from gossamer.results import Concept

PLACES: Final = 1024

_TERMS: Final = 10
_LABEL: Final = 4


def global_id(number: int, shard: int | None) -> int:
    """The id of a concept of a shard, or of the router."""
    return number * PLACES + (0 if shard is None else shard + 1)


def local_id(id: int) -> tuple[int, int | None]:
    """The number of a concept in its own tree, and its shard; None for one of the router."""
    number, place = divmod(id, PLACES)
    return number, place - 1 if place else None


@dataclass(frozen=True)
class Moments:
    """Mean and variance of the members of a concept, as the sample of the router has them."""

    count: float
    mean: Doubles
    variance: Doubles

    def log_p(self, x: Floats, acuity: float) -> float:
        """log p(x|c)."""
        variance = self.variance + acuity
        squares = np.square(x.astype(np.float64) - self.mean) / variance
        return float(-0.5 * (np.log(2.0 * math.pi * variance) + squares).sum())

    def entropy(self, acuity: float) -> float:
        """Σ log(1 + σ²/a): H less its value for a single document."""
        return float(np.log1p(self.variance / acuity).sum())


@dataclass
class Upper:
    """A concept of the router above shards, or a shard, as a part of the tree of the cluster."""

    node: int | None
    """Its number in the router; None for a shard."""
    shard: int | None
    moments: Moments
    children: list[Upper] = field(default_factory=list)
    path: tuple[Upper, ...] = ()
    """From the root to this one."""

    @property
    def shards(self) -> list[int]:
        """The shards below, or this one."""
        return [self.shard] if self.shard is not None else [each for child in self.children for each in child.shards]


def upper_tree(router: Router, assignment: Sequence[int], shards: Sequence[int]) -> Upper | None:
    """The part of the tree above `shards`, those that have documents; None where there is none.

    With one shard it is that shard.
    """
    if not shards:
        return None
    below = [{leaf} for leaf in range(len(router))]
    for left, right, _, _ in router.linkage:
        below.append(below[int(left)] | below[int(right)])
    everything = set(range(len(router)))
    made: dict[int, Upper] = {}
    for shard in shards:
        own = {leaf for leaf, at in enumerate(assignment) if at == shard} or everything
        lowest = next(node for node, leaves in enumerate(below) if own <= leaves)
        parent = made.setdefault(lowest, Upper(lowest, None, moments_of(router, below[lowest])))
        parent.children.append(Upper(None, shard, moments_of(router, own)))
    root = len(below) - 1
    made.setdefault(root, Upper(root, None, moments_of(router, everything)))
    nodes = sorted(made)
    for at, node in enumerate(nodes[:-1]):
        above = next(other for other in nodes[at + 1 :] if below[node] < below[other])
        made[above].children.append(made[node])
    top = _without_chains(made[root])
    _set_paths(top, ())
    return top


def _without_chains(here: Upper) -> Upper:
    here.children = [_without_chains(child) for child in here.children]
    return here.children[0] if len(here.children) == 1 else here


def _set_paths(here: Upper, above: tuple[Upper, ...]) -> None:
    here.path = (*above, here)
    for child in here.children:
        _set_paths(child, here.path)


def moments_of(router: Router, leaves: set[int]) -> Moments:
    """The moments of several concepts of a router together."""
    rows = sorted(leaves)
    weights = router.counts[rows].astype(np.float64) + 1e-12
    means = router.means[rows].astype(np.float64)
    mean = np.average(means, axis=0, weights=weights)
    variance = np.average(router.variances[rows].astype(np.float64) + np.square(means - mean), axis=0, weights=weights)
    return Moments(float(weights.sum()), mean, variance)


class Forest:
    """The tree of a cluster at one moment, in words: the upper part, and where the trees of the shards hang in it.

    roots       the root concept of each shard that has documents
    sizes       passages of each of these shards
    """

    def __init__(self, top: Upper, acuity: float, roots: Mapping[int, Concept], sizes: Mapping[int, int]) -> None:
        self.top, self.acuity, self._roots = top, acuity, roots
        self._sizes = {shard: max(1, sizes.get(shard, 0)) for shard in roots}
        self._above: dict[int, tuple[Concept, ...]] = {}
        self._uppers: dict[int, Upper] = {}
        self._total = max(1, sum(self._sizes.values()))
        self._describe(top, ())

    @property
    def shards(self) -> list[int]:
        """Those that have documents."""
        return list(self._roots)

    def uppers(self) -> list[Concept]:
        """All concepts of the router that are shown."""
        return [self._concept(here, self._path_above(here)) for here in self._uppers.values()]

    def size(self, here: Upper) -> int:
        """Passages below."""
        return sum(self._sizes.get(shard, 0) for shard in here.shards)

    def id_of(self, here: Upper) -> int:
        """The id of a concept of the router, or of the root of a shard."""
        if here.shard is None:
            assert here.node is not None
            return global_id(here.node, None)
        return global_id(self._roots[here.shard].id, here.shard)

    def _describe(self, here: Upper, above: tuple[Concept, ...]) -> None:
        if here.shard is not None:
            self._above[here.shard] = above
            return
        self._uppers[self.id_of(here)] = here
        path = (*above, self._concept(here, above))
        for child in here.children:
            self._describe(child, path)

    def _concept(self, here: Upper, above: tuple[Concept, ...]) -> Concept:
        roots = sorted((self._roots[shard] for shard in here.shards), key=lambda root: -root.size)
        terms = dict.fromkeys(term for some in zip_longest(*(root.terms for root in roots)) for term in some if term)
        exemplars = [shown for some in zip_longest(*(root.exemplars for root in roots)) for shown in some if shown]
        id, size = self.id_of(here), self.size(here)
        return Concept(
            id=id,
            size=size,
            depth=len(above),
            label=", ".join(list(terms)[:_LABEL]) or roots[0].label,
            parent=above[-1].id if above else None,
            children=tuple(sorted(map(self.id_of, here.children))),
            terms=tuple(terms)[:_TERMS],
            exemplars=tuple(exemplars[:3]),
            spread=float(np.sqrt(here.moments.variance.sum())),
            utility=self.utility(here),
            path=(*(each.id for each in above), id),
        )

    def utility(self, here: Upper) -> float:
        """P(c|parent)·[H(parent) − H(c)]; 0 at the root."""
        if len(here.path) < 2:
            return 0.0
        parent = here.path[-2]
        gain = parent.moments.entropy(self.acuity) - here.moments.entropy(self.acuity)
        return self.size(here) / self.size(parent) * gain

    def above(self, shard: int) -> tuple[Concept, ...]:
        """The concepts of the router above a shard, from the root."""
        return self._above.get(shard, ())

    def upper(self, id: int) -> Concept | None:
        """A concept of the router; None where it is not shown, or is none."""
        here = self._uppers.get(id)
        return None if here is None else self._concept(here, self._path_above(here))

    def _path_above(self, here: Upper) -> tuple[Concept, ...]:
        path: tuple[Concept, ...] = ()
        for each in here.path[:-1]:
            path = (*path, self._concept(each, path))
        return path

    def place(self, id: int) -> Upper:
        """The place of a concept of the router."""
        return self._uppers[id]

    def place_of(self, shard: int) -> Upper:
        """The place of a shard."""
        return next(each for each in _leaves(self.top) if each.shard == shard)

    def root_of(self, shard: int) -> Concept:
        """The root of a shard as a concept of the cluster."""
        return self.lifted(self._roots[shard], shard)

    def shards_below(self, id: int) -> list[int] | None:
        """The shards below a concept of the router; None where there is no such concept."""
        here = self._uppers.get(id)
        return None if here is None else here.shards

    def lifted(self, concept: Concept, shard: int) -> Concept:
        """A concept of a shard as one of the cluster."""
        above = self.above(shard)
        ids = tuple(each.id for each in above)
        changed = replace(
            concept,
            id=global_id(concept.id, shard),
            depth=concept.depth + len(above),
            parent=global_id(concept.parent, shard) if concept.parent is not None else (ids[-1] if ids else None),
            children=tuple(global_id(child, shard) for child in concept.children),
            path=(*ids, *(global_id(node, shard) for node in concept.path)),
        )
        if concept.parent is None and above:
            changed = replace(changed, utility=self.utility(self.place_of(shard)))
        return changed

    def path(self, concepts: Sequence[Concept], shard: int) -> tuple[Concept, ...]:
        """A path of a shard as one of the cluster, from its root."""
        return (*self.above(shard), *(self.lifted(each, shard) for each in concepts))

    def down_to(self, depth: int | None) -> list[tuple[Upper, Concept | None]]:
        """The upper part, every concept before those below it, large ones first; of a shard no concept."""
        found: list[tuple[Upper, Concept | None]] = []

        def visit(here: Upper, above: tuple[Concept, ...]) -> None:
            if depth is not None and len(above) > depth:
                return
            if here.shard is not None:
                found.append((here, None))
                return
            concept = self._concept(here, above)
            found.append((here, concept))
            for child in sorted(here.children, key=lambda child: -self.size(child)):
                visit(child, (*above, concept))

        visit(self.top, ())
        return found


def _leaves(here: Upper) -> list[Upper]:
    return [here] if here.shard is not None else [each for child in here.children for each in _leaves(child)]


def divided(forest: Forest, n: int) -> tuple[list[tuple[Upper, tuple[Upper, ...]]], dict[int, int]]:
    """How n groups are shared out: groups that are upper concepts, less some of what is below, and groups by shard.

    With no more groups than shards, groups are upper concepts: the largest is divided until there are n. With more,
    every shard gets its groups, each time the one with the highest n·h for each group it has.
    """
    shards = _leaves(forest.top)
    if n <= len(shards):
        return _upper_groups(forest, n), {}
    weight = {
        each.shard: forest.size(each) * max(each.moments.entropy(forest.acuity), 1e-9)
        for each in shards
        if each.shard is not None
    }
    groups = dict.fromkeys(weight, 1)
    for _ in range(n - len(groups)):
        chosen = max(groups, key=lambda shard: (weight[shard] / groups[shard], -shard))
        groups[chosen] += 1
    return [], groups


def _upper_groups(forest: Forest, n: int) -> list[tuple[Upper, tuple[Upper, ...]]]:
    groups: list[tuple[Upper, tuple[Upper, ...]]] = [(forest.top, ())]
    while len(groups) < n:
        dividable = [group for group in groups if group[0].children]
        if not dividable:
            break
        here, without = max(dividable, key=lambda group: _rest_size(forest, *group))
        left = [child for child in here.children if child not in without]
        pulled = max(left, key=forest.size)
        groups.remove((here, without))
        rest = [child for child in left if child is not pulled]
        groups.append((rest[0], ()) if len(rest) == 1 else (here, (*without, pulled)))
        groups.append((pulled, ()))
    return groups


def _rest_size(forest: Forest, here: Upper, without: Sequence[Upper]) -> int:
    return forest.size(here) - sum(map(forest.size, without))
