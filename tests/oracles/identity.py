"""Concepts of two trees matched by the sets of their members: every pair is compared."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

Groups = Mapping[int, frozenset[int]]
"""By id, the documents of each concept."""


def jaccard(one: frozenset[int], other: frozenset[int]) -> Fraction:
    return Fraction(len(one & other), len(one | other)) if one | other else Fraction(0)


def restricted(groups: Groups, documents: frozenset[int]) -> Groups:
    return {name: members & documents for name, members in groups.items()}


def match(old: Groups, new: Groups, shared: frozenset[int], usable: frozenset[int]) -> dict[int, int]:
    """New id to old id: pairs with a Jaccard index of at least 1/2 over the shared documents, the highest first.

    Only `usable` old ids are matched. Ties: the smaller difference in size, the lowest old id, the lowest new id.
    """
    pairs = []
    for b, after in restricted(new, shared).items():
        for a, before in restricted(old, shared).items():
            overlap = jaccard(before, after)
            if overlap >= Fraction(1, 2):
                pairs.append((-overlap, abs(len(old[a]) - len(new[b])), a, b))
    found: dict[int, int] = {}
    for _, _, a, b in sorted(pairs):
        if a in usable and a not in found.values() and b not in found:
            found[b] = a
    return found


def homes(groups: Groups, other: Groups) -> dict[int, frozenset[int]]:
    """By id, the members of the smallest concept of the other tree with more than half of its documents, if any."""
    found = {}
    for name, members in groups.items():
        holders = [whole for whole in other.values() if 2 * len(whole & members) > len(members)]
        if holders:
            found[name] = min(holders, key=len)
    return found
