"""The pool: a workspace is used again if it is large enough, and by one search at a time."""

from __future__ import annotations

from gossamer import CobwebTree
from gossamer.graph.workspace import WorkspacePool
from grown import topics


def test_a_workspace_is_used_again_until_it_is_too_small() -> None:
    tree, pool = CobwebTree(24), WorkspacePool()
    tree.insert_many(topics(100))
    first, second = pool.take(tree.arrays, 10), pool.take(tree.arrays, 10)
    assert first.marks is not second.marks
    pool.give_back(first)
    assert pool.take(tree.arrays, 512) is first
    pool.give_back(first)
    assert len(pool.take(tree.arrays, 513).near) == 513
    pool.give_back(second)
    tree.insert_many(topics(1000, seed=1))
    assert len(pool.take(tree.arrays, 10).marks) >= 1100
