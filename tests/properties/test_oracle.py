"""The engine makes the same decisions, and so the same tree, as the plain one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from oracles.cobweb import OracleCobweb
from properties.strategies import Matrix, acuities, matrices, scales

Shape = dict[int, tuple[tuple[int, ...], tuple[int, ...]]]


def shape(tree: CobwebTree) -> Shape:
    """Every node of the engine's tree: its children and the documents below it."""
    found: Shape = {}
    waiting = [tree.root] if tree.n_documents else []
    while waiting:
        node = tree.node(waiting.pop())
        found[node.id] = (node.children, node.documents)
        waiting.extend(node.children)
    return found


def used(tree: CobwebTree) -> Counter[str]:
    return Counter({name: n for name, n in tree.stats().operators.items() if n})


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(X=matrices(), acuity=acuities, scale=scales)
def test_same_tree_as_the_oracle(X: Matrix, acuity: float, scale: float) -> None:
    X = X * np.float32(scale)
    acuity *= scale**2
    oracle = OracleCobweb(X.shape[1], acuity)
    tree = CobwebTree(X.shape[1], acuity)
    for x in X:
        oracle.insert(x)
        tree.insert(x)
        assert shape(tree) == oracle.shape()
    assert used(tree) == Counter(oracle.used)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(X=matrices(max_rows=24), acuity=acuities, data=st.data())
def test_same_tree_as_the_oracle_with_removals(X: Matrix, acuity: float, data: st.DataObject) -> None:
    oracle = OracleCobweb(X.shape[1], acuity)
    tree = CobwebTree(X.shape[1], acuity)
    alive: list[int] = []
    for document, x in enumerate(X):
        oracle.insert(x)
        alive.append(tree.insert(x))
        assert alive[-1] == document
        while alive and data.draw(st.integers(0, 2)) == 0:
            gone = alive.pop(data.draw(st.integers(0, len(alive) - 1)))
            oracle.remove(gone)
            tree.remove(gone)
        assert shape(tree) == oracle.shape()


def test_all_operators_are_exercised() -> None:
    """The comparison above would be worth little if some operator never won. Here each does, many times."""
    total: Counter[str] = Counter()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = (rng.normal(size=(5, 3))[rng.integers(0, 5, 40)] * 4 + rng.normal(size=(40, 3))).astype(np.float32)
        X[30:] = X[:10]
        oracle, tree = OracleCobweb(3, 0.5), CobwebTree(3, 0.5)
        for x in X:
            oracle.insert(x)
        tree.insert_many(X)
        assert shape(tree) == oracle.shape()
        assert used(tree) == Counter(oracle.used)
        total += used(tree)
    assert all(total[operator] >= 10 for operator in ("insert", "new", "merge", "split", "fringe", "join")), total
