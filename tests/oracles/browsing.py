"""What people see of a tree, from the rules."""

from __future__ import annotations

from gossamer.tree.arrays import Meta, TreeArrays
from gossamer.tree.views import children_of, path_to


def leaves(t: TreeArrays, node: int) -> list[int]:
    children = children_of(t, node)
    return [leaf for child in children for leaf in leaves(t, child)] if children else [node]


def shown(t: TreeArrays, node: int) -> list[int]:
    """The shown children of a node."""
    found = list(children_of(t, node))
    if not found or len(found) > 12:
        return found
    if len(leaves(t, node)) <= 12:
        return sorted(leaves(t, node))
    while True:
        fitting = [
            child
            for child in found
            if t.n_children[child] and len(leaves(t, child)) > 12 and len(found) - 1 + t.n_children[child] <= 12
        ]
        if not fitting:
            break
        largest = min(fitting, key=lambda child: (-int(t.size[child]), child))
        best = min(fitting, key=lambda child: (-max(0.0, float(t.size[child] * t.h[child] - t.s[child])), child))
        if t.size[largest] > 0.25 * t.size[node]:
            opened = largest
        elif len(found) < 8:
            opened = best
        else:
            break
        found.remove(opened)
        found += children_of(t, opened)
    return sorted(found)


def path(t: TreeArrays, node: int) -> tuple[int, ...]:
    """The root, the shown concepts above a node, and the node."""
    whole, found = path_to(t, node), [int(t.meta[Meta.ROOT])]
    while found[-1] != node:
        beside = shown(t, found[-1])
        found.append(next((step for step in whole if step in beside), node))
    return tuple(found)
