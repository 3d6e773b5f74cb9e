"""Living insertion: the tree that the definitions give, whole after any operations, and where a vector would go."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import CobwebTree
from gossamer.tree.agglomeration import SMALL_CONCEPT
from gossamer.tree.placement import landings
from oracles.placement import OraclePlacement
from properties.strategies import Matrix, acuities, matrices, scales


@st.composite
def topics(draw: st.DrawFn, most: int = 70) -> Matrix:
    """Clusters within clusters, and some rows twice; but for these, no two distances are equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, dim, copies = draw(st.integers(1, most)), draw(st.integers(1, 5)), draw(st.integers(0, 5))
    themes = rng.normal(size=(3, dim)) * draw(st.sampled_from([0.0, 5.0, 500.0]))
    centres = themes[rng.integers(0, 3, 8)] + rng.normal(size=(8, dim)) * 2.0
    X = centres[rng.integers(0, 8, rows)] + rng.normal(size=(rows, dim)) * 0.5
    X[rng.integers(0, rows, copies)] = X[0]
    return np.ascontiguousarray(X, np.float32)


def nested(tree: CobwebTree) -> frozenset[Any] | None:
    """The tree as sets of sets, documents at the leaves."""

    def of(node: int) -> frozenset[Any]:
        view = tree.node(node)
        return frozenset(view.documents) if view.is_leaf else frozenset(of(child) for child in view.children)

    return of(tree.root) if tree.n_documents else None


def place(tree: CobwebTree, X: Matrix) -> None:
    tree.reserve(len(X))
    tree.place_reserved(X)


def same(tree: CobwebTree, oracle: OraclePlacement) -> bool:
    tree.check()
    return nested(tree) == (None if oracle.root is None else oracle.root.nested())


# -- the oracle ------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(X=topics(), acuity=acuities, scale=scales, share=st.floats(0, 1))
def test_the_tree_is_the_oracles(X: Matrix, acuity: float, scale: float, share: float) -> None:
    """Into an empty tree and into one that was built at once, one document after the other."""
    X = X * np.float32(scale)
    tree = CobwebTree(X.shape[1], acuity * scale**2)
    first = int(share * len(X))
    tree.agglomerate(X[:first])
    oracle = OraclePlacement.over(tree, X[:first])
    for x in X[first:]:
        place(tree, x[None])
        oracle.insert(x)
        assert same(tree, oracle)


@settings(max_examples=40)
@given(X=topics(), acuity=acuities, data=st.data())
def test_the_tree_is_the_oracles_with_removals(X: Matrix, acuity: float, data: st.DataObject) -> None:
    tree, oracle, alive = CobwebTree(X.shape[1], acuity), OraclePlacement(X.shape[1], acuity), list[int]()
    for document, x in enumerate(X):
        place(tree, x[None])
        oracle.insert(x)
        alive.append(document)
        if data.draw(st.integers(0, 2)) == 0:
            gone = alive.pop(data.draw(st.integers(0, len(alive) - 1)))
            tree.remove(gone)
            oracle.remove(gone)
        assert same(tree, oracle)


@settings(max_examples=40)
@given(X=topics(), acuity=acuities, queries=st.integers(1, 6))
def test_landings_are_the_oracles(X: Matrix, acuity: float, queries: int) -> None:
    """Before anything is inserted: where each of some vectors would lie."""
    known = X[queries:] if len(X) > queries else X
    tree = CobwebTree(X.shape[1], acuity)
    tree.agglomerate(known)
    found = []
    for x in X[:queries]:
        oracle = OraclePlacement.over(tree, np.concatenate([known, x[None]]))
        beside = oracle.nearest(len(known))
        out = np.empty(1, np.int32)
        landings(tree.arrays, np.array([tree.leaf(beside.documents[0])], np.int32), x[None], out)
        # The engine's limits, by which it tells ties, know nothing of x yet.
        found.append(sorted(tree.documents_below(int(out[0]))) == sorted(oracle.home(beside, len(known)).below()))
    assert all(found)


# -- properties ------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(X=matrices(max_rows=60, max_dim=9), acuity=acuities, scale=scales, data=st.data())
def test_any_order_of_operations_keeps_the_tree_consistent(
    X: Matrix, acuity: float, scale: float, data: st.DataObject
) -> None:
    """Ties and duplicates, tiny and huge ratios of variance to acuity; living and Cobweb's insertion in one tree."""
    X = X * np.float32(scale)
    tree, alive, at = CobwebTree(X.shape[1], acuity), list[int](), 0
    while at < len(X):
        step = data.draw(st.integers(1, 20), label="insert")
        how = data.draw(st.sampled_from(["place", "place", "place", "cobweb", "agglomerate", "rebuild"]))
        some, first = X[at : at + step], tree.next_document
        at += step
        if how == "cobweb":
            tree.insert_many(some)
        elif how == "agglomerate":
            tree.agglomerate(some)
        else:
            place(tree, some)
        if how == "rebuild":
            tree.rebuild()
        alive += range(first, first + len(some))
        gone = data.draw(st.lists(st.sampled_from(alive), unique=True, max_size=len(alive) // 2), label="remove")
        tree.remove(gone)
        alive = [document for document in alive if document not in gone]
        tree.check()
        assert not alive or tree.node(tree.root).documents == tuple(alive)
        for document in alive:
            assert np.array_equal(tree.node(tree.leaf(document)).mean, X[document])


@given(X=matrices(max_rows=40), acuity=acuities, seed=st.integers(0, 1000))
def test_what_is_inserted_and_removed_leaves_the_tree_as_it_was(X: Matrix, acuity: float, seed: int) -> None:
    """Unless a small concept had to be divided for it."""
    tree = CobwebTree(X.shape[1], acuity)
    tree.agglomerate(X)
    before, divided = nested(tree), tree.stats().operators["split"]
    place(tree, np.random.default_rng(seed).normal(size=(1, X.shape[1])).astype(np.float32))
    assert tree.n_documents == len(X) + 1
    if tree.stats().operators["split"] == divided:
        tree.remove(len(X))
        assert nested(tree) == before
    tree.check()


@given(X=matrices(max_rows=40, max_dim=9), acuity=acuities)
def test_batches_do_not_matter(X: Matrix, acuity: float) -> None:
    together, apart = CobwebTree(X.shape[1], acuity), CobwebTree(X.shape[1], acuity)
    place(together, X)
    for x in X:
        place(apart, x[None])
    assert nested(together) == nested(apart)
    assert together.stats().operators == apart.stats().operators


def test_duplicates_join_their_leaf() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    tree = CobwebTree(4)
    place(tree, X)
    nodes = tree.n_nodes
    place(tree, np.repeat(X[:5], 3, axis=0))
    tree.check()
    assert tree.n_nodes == nodes
    assert tree.stats().operators["join"] == 15
    assert tree.node(tree.leaf(0)).documents == (0, 30, 31, 32)


def test_a_full_small_concept_is_divided_by_wards_rule() -> None:
    """Two clusters of near points: up to twelve are one concept, the thirteenth makes two of it. Others are far."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(7, 3)), rng.normal(size=(6, 3)) + 2.5])
    far = rng.normal(size=(12 * SMALL_CONCEPT, 3)) + 1000.0
    tree = CobwebTree(3, acuity=50.0)
    tree.agglomerate(np.concatenate([X[[*range(6), *range(7, 13)]], far]))
    full = tree.path(0)[-2]
    assert len(tree.node(full).children) == SMALL_CONCEPT
    place(tree, X[6:7].astype(np.float32))
    tree.check()
    halves, new = tree.node(full).child_nodes, tree.next_document - 1
    assert sorted(half.documents for half in halves) == [(0, 1, 2, 3, 4, 5, new), (6, 7, 8, 9, 10, 11)]
    assert all(child.is_leaf for half in halves for child in half.child_nodes)


def test_a_far_document_gets_a_place_of_its_own_at_the_top() -> None:
    X = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    tree = CobwebTree(4)
    tree.agglomerate(X)
    top = tree.root
    place(tree, np.full((1, 4), 50.0, np.float32))
    assert tree.node(tree.root).children == tuple(sorted((top, tree.leaf(100))))
    place(tree, np.full((1, 4), 50.5, np.float32))
    assert tree.node(tree.leaf(101)).parent == tree.node(tree.leaf(100)).parent != tree.root
    tree.check()
