"""A cluster as a whole: its topics, and the values of metadata fields, added up over shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gossamer.cluster.concepts import Forest, Upper, global_id
from gossamer.cluster.connection import Connection
from gossamer.results import Concept, Facet, Facets, FacetValue, Topics

_FIELDS = 20
_ALL = 1_000_000


def topics_of(
    connection: Connection,
    forest: Forest,
    groups: Sequence[tuple[Upper, tuple[Upper, ...]]],
    by_shard: Mapping[int, int],
    *,
    assignments: bool,
) -> Topics:
    """Groups above the shards, or so many of each shard, as one cut of the tree."""
    concepts: list[Concept] = []
    assigned: dict[str, int] = {}
    left = 0.0
    for here, without in groups:
        shards = [shard for shard in here.shards if not any(shard in other.shards for other in without)]
        concept = forest.root_of(shards[0]) if here.shard is not None else forest.upper(forest.id_of(here))
        assert concept is not None
        size = forest.size(here) - sum(map(forest.size, without))
        gone = {forest.id_of(other) for other in without}
        concepts.append(replace(concept, size=size, children=tuple(one for one in concept.children if one not in gone)))
        left += size * here.moments.entropy(forest.acuity)
        for shard in shards if assignments else ():
            assigned |= dict.fromkeys(connection.insist(shard, "ids", None, None)[0], concept.id)
    for shard, n in by_shard.items():
        found, own, utility = connection.insist(shard, "topics", n, assignments)
        lifted = [forest.lifted(each, shard) for each in found]
        concepts += lifted
        assigned |= {id: global_id(group, shard) for id, group in own.items()}
        inside = forest.place_of(shard).moments.entropy(forest.acuity) - utility
        left += sum(each.size for each in lifted) * inside
    concepts.sort(key=lambda each: (-each.size, each.id))
    total = max(1, sum(each.size for each in concepts))
    return Topics(tuple(concepts), assigned, forest.top.moments.entropy(forest.acuity) - left / total)


def facets_of(connection: Connection, each: Mapping[int, tuple[Any, ...]], method: str, most: int) -> Facets:
    """The values of metadata fields that several shards count, called with these arguments, together."""
    fields: dict[str, dict[Any, int]] = {}
    counted = documents = 0
    for shard, arguments in each.items():
        found: Facets = connection.insist(shard, method, *arguments, _ALL)
        counted, documents = counted + found.counted, documents + found.documents
        for facet in found.fields:
            counts = fields.setdefault(facet.field, {})
            for value in facet.values:
                key = (type(value.value), value.value)
                counts[key] = counts.get(key, 0) + value.count
    merged = [_facet(field, counts, most) for field, counts in fields.items()]
    merged.sort(key=lambda facet: (-facet.count, facet.field))
    return Facets(tuple(merged[:_FIELDS]), counted, documents)


def _facet(field: str, counts: Mapping[Any, int], most: int) -> Facet:
    values = [FacetValue(value, count) for (_, value), count in counts.items()]
    values.sort(key=lambda each: (-each.count, str(each.value)))
    numbers = [
        each.value for each in values if isinstance(each.value, int | float) and not isinstance(each.value, bool)
    ]
    return Facet(
        field=field, values=tuple(values[:most]), distinct=len(values), count=sum(counts.values()),
        least=min(numbers, default=None), most=max(numbers, default=None),
    )  # fmt: skip
