"""Arrays of a tree that do not agree with each other are refused with a sentence, before a kernel sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gossamer.array_types import NONE
from gossamer.errors import CorruptError, InvariantError
from gossamer.files.bundle import Bundle
from gossamer.tree.arrays import Limit, Meta, used
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.validation import count_reached

Arrays = dict[str, npt.NDArray[Any]]


@pytest.fixture
def bundle() -> Bundle:
    """A tree with duplicates, a leaf and an internal node that are free, and removed documents."""
    rng = np.random.default_rng(0)
    tree = CobwebTree(3, acuity=0.5)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    X[20:24] = X[5]
    tree.insert_many(X)
    tree.remove([0, 7, 21, 33, 34])
    saved = tree.to_bundle()
    meta = saved.arrays["meta"]
    assert meta[Meta.FREE_LEAF] != NONE
    assert meta[Meta.FREE_INNER] != NONE
    return replace(saved, arrays={name: array.copy() for name, array in saved.arrays.items()})


def alive(a: Arrays) -> Any:
    return a["size"] > 0


def a_middle_child(a: Arrays) -> int:
    """One with a sibling on either side."""
    return int(np.flatnonzero((a["next_sibling"] >= 0) & (a["prev_sibling"] >= 0) & alive(a))[0])


def ring_of_siblings(a: Arrays) -> None:
    """One child leaves its list and is linked with itself: each link has its counterpart."""
    one = a_middle_child(a)
    before, after = a["prev_sibling"][one], a["next_sibling"][one]
    a["next_sibling"][before], a["prev_sibling"][after] = after, before
    a["next_sibling"][one] = a["prev_sibling"][one] = one


def endless_siblings(a: Arrays) -> None:
    a["next_sibling"][a_middle_child(a)] = a_middle_child(a)


def nodes_in_a_circle(a: Arrays) -> None:
    """A node and a child of it are each other's parents."""
    inner = np.flatnonzero(a["n_children"] > 0)
    child = next(n for n in inner if a["parent"][n] != NONE and a["parent"][a["parent"][n]] != NONE)
    a["parent"][a["parent"][child]] = child


def endless_documents(a: Arrays) -> None:
    one = int(np.flatnonzero((a["next_document"] >= 0) & (a["leaf"] >= 0))[0])
    a["next_document"][a["next_document"][one]] = one


def endless_free_list(a: Arrays) -> None:
    first = int(a["meta"][Meta.FREE_LEAF])
    a["next_sibling"][first] = first


def endless_bucket(a: Arrays) -> None:
    leaf = int(a["bucket"][a["bucket"] != NONE][0])
    a["chain"][a["row"][leaf]] = leaf


def shared_row(a: Arrays) -> None:
    one, other = np.flatnonzero(a["n_children"] > 0)[:2]
    a["row"][one] = a["row"][other]


def set_at(name: str, find: Callable[[Arrays], Any], value: Any) -> Callable[[Arrays], None]:
    def change(a: Arrays) -> None:
        a[name][find(a)] = value

    change.__name__ = f"{name}_{value}"
    return change


def first_inner(a: Arrays) -> int:
    return int(np.flatnonzero(a["n_children"] > 0)[0])


def first_leaf(a: Arrays) -> int:
    return int(np.flatnonzero(alive(a) & (a["n_children"] == 0))[0])


def leaf_row(a: Arrays) -> int:
    return int(a["row"][first_leaf(a)])


def inner_row(a: Arrays) -> int:
    return int(a["row"][first_inner(a)])


def at(number: int) -> Callable[[Arrays], int]:
    return lambda a: number


def equal_vectors(a: Arrays) -> None:
    """Two leaves with the same content, each consistent with itself."""
    one, other = np.flatnonzero(alive(a) & (a["n_children"] == 0))[:2]
    for name in ("vectors", "norm", "key"):
        a[name][a["row"][one]] = a[name][a["row"][other]]
    length = len(a["bucket"])
    a["bucket"][:] = NONE
    for leaf in np.flatnonzero(alive(a) & (a["n_children"] == 0)):
        row = a["row"][leaf]
        place = a["key"][row] & (length - 1)
        a["chain"][row], a["bucket"][place] = a["bucket"][place], leaf


DAMAGES: list[tuple[str, Callable[[Arrays], object]]] = [
    ("a list of children leads in a circle", ring_of_siblings),
    ("a list of children reads otherwise backwards", endless_siblings),
    ("n_children does not count", nodes_in_a_circle),
    ("a list of documents", endless_documents),
    ("FREE_LEAF leaves free slots out, or leads in a circle", endless_free_list),
    ("in no bucket, or twice", endless_bucket),
    ("share a row", shared_row),
    ("equal vectors do not share a leaf", equal_vectors),
    ("ROOT is 70000 of", set_at("meta", at(Meta.ROOT), 70000)),
    ("the root is not in use, or has a parent", set_at("meta", at(Meta.ROOT), 2)),
    ("NODES is -1", set_at("meta", at(Meta.NODES), -1)),
    ("nodes alive are not as many", set_at("meta", at(Meta.NODES), 3)),
    ("leaves alive are not as many", set_at("meta", at(Meta.LEAVES), 3)),
    ("SLOTS is", set_at("meta", at(Meta.SLOTS), 2**40)),
    ("has no row, or a row no slot", set_at("meta", at(Meta.SLOTS), 1000)),
    ("rows, not", set_at("meta", at(Meta.NEXT_DOCUMENT), 39)),
    ("CHANGES is", set_at("meta", at(Meta.CHANGES), -1)),
    ("none was ever added", set_at("meta", at(Meta.CHANGES), 0)),
    ("after the last", set_at("meta", at(Meta.CHANGES), 1)),
    ("another kind, or in use", lambda a: a["meta"].__setitem__(Meta.FREE_INNER, a["meta"][Meta.FREE_LEAF])),
    ("an owner is no slot", set_at("owner", at(0), 2**30)),
    ("a slot owns two rows", lambda a: a["owner"].__setitem__(0, a["owner"][1])),
    ("a row is out of range", set_at("row", first_leaf, -1)),
    ("larger than the tree", set_at("size", first_inner, 2**60)),
    ("fewer than two children", set_at("n_children", first_inner, 1)),
    ("has children", set_at("n_children", first_leaf, 2)),
    ("a parent is no internal node", set_at("parent", first_leaf, -7)),
    ("a leaf has a first child", set_at("first_child", first_leaf, 0)),
    ("begins elsewhere", set_at("first_child", first_inner, 2**31 - 1)),
    ("leads out of range", set_at("next_sibling", a_middle_child, 2**31 - 1)),
    ("no beginning, or two", set_at("prev_sibling", a_middle_child, NONE)),
    ("leaf of a document is no node", set_at("leaf", at(3), -2)),
    ("in a node that is no leaf", lambda a: a["leaf"].__setitem__(3, first_inner(a))),
    ("begins elsewhere", set_at("first_document", first_leaf, 2**31 - 1)),
    ("bucket leads out of range", set_at("bucket", at(0), 2**31 - 1)),
    ("power of two", lambda a: a.update(bucket=np.append(a["bucket"], np.int32(NONE)))),
    ("power of two", lambda a: a.update(bucket=a["bucket"][:0])),
    ("bucket of another content", lambda a: a["key"].__iadd__(1)),
    ("NaN or infinity", set_at("vectors", leaf_row, np.nan)),
    ("NaN or infinity", set_at("vectors", leaf_row, np.inf)),
    ("outside the limits", set_at("vectors", leaf_row, 50.0)),
    ("squared length", set_at("norm", leaf_row, np.inf)),
    ("squared length", set_at("norm", leaf_row, np.nan)),
    ("can be found", lambda a: a["norm"].__setitem__(a["row"][a["meta"][Meta.FREE_LEAF]], 1.0)),
    ("a mean is outside", set_at("mean", inner_row, 99.0)),
    ("a mean is outside", set_at("mean", inner_row, np.nan)),
    ("negative or NaN", set_at("m2", inner_row, -1e-3)),
    ("larger than the limits allow", set_at("m2", inner_row, 1e9)),
    ("h is not the entropy", set_at("h", first_inner, 1e300)),
    ("entropy of a leaf is not 0", set_at("h", first_leaf, 1.0)),
    ("s is not the sum", set_at("s", first_inner, np.nan)),
    ("the acuity is", set_at("limits", at(Limit.ACUITY), -1.0)),
    ("coordinates reach", set_at("limits", at(Limit.LOWEST), np.nan)),
    ("coordinates reach", set_at("limits", at(Limit.HIGHEST), 1e30)),
    ("has dtype float64", lambda a: a.update(vectors=a["vectors"].astype(np.float64))),
    ("has dtype int64", lambda a: a.update(parent=a["parent"].astype(np.int64))),
    ("rows of shape", lambda a: a.update(m2=a["m2"].T.copy())),
    ("no array 'chain'", lambda a: a.pop("chain")),
    ("'more', which no tree has", lambda a: a.update(more=np.zeros(2))),
    ("meta holds 3 numbers", lambda a: a.update(meta=a["meta"][:3])),
    ("meta holds 18 numbers", lambda a: a.update(meta=np.append(a["meta"], 0))),
]


@pytest.mark.parametrize(("message", "harm"), DAMAGES)
def test_arrays_that_disagree_are_refused(bundle: Bundle, message: str, harm: Callable[[Arrays], object]) -> None:
    harm(bundle.arrays)
    with pytest.raises(CorruptError, match=message):
        CobwebTree.from_bundle(bundle)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dim", 4), ("dim", -1), ("dim", "3"), ("dim", 2**70), ("acuity", None), ("acuity", float("nan")),
        ("acuity", 10**400), ("acuity", 0.6), ("documents", 3), ("documents", True),
    ],
)  # fmt: skip
def test_settings_that_disagree_are_refused(bundle: Bundle, name: str, value: Any) -> None:
    with pytest.raises(CorruptError):
        CobwebTree.from_bundle(replace(bundle, params={**bundle.params, name: value}))
    del bundle.params[name]
    with pytest.raises(CorruptError, match=f"lacks '{name}'"):
        CobwebTree.from_bundle(bundle)


def test_a_sound_tree_passes_and_grows_on(bundle: Bundle) -> None:
    tree = CobwebTree.from_bundle(bundle)
    tree.check()
    tree.insert_many(np.random.default_rng(1).normal(size=(30, 3)))
    tree.check()
    assert CobwebTree.from_bundle(CobwebTree(3).to_bundle()).n_documents == 0


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_tree_that_lost_its_documents_passes(left: int) -> None:
    tree = CobwebTree(2)
    tree.insert_many([[0, 0], [0, 0], [1, 2], [5, 5], [9, 9]])
    tree.remove(range(5 - left))
    loaded = CobwebTree.from_bundle(tree.to_bundle())
    loaded.insert_many([[3, 3], [0, 0], [4, 4]])
    loaded.check()


def test_check_sees_the_same(bundle: Bundle) -> None:
    tree = CobwebTree.from_bundle(bundle)
    tree.arrays.next_sibling[a_middle_child(used(tree.arrays))] = 0
    with pytest.raises(InvariantError):
        tree.check()


def test_lists_without_an_end_are_counted_to_an_end() -> None:
    after = np.array([1, 2, 0, NONE, 3], np.int32)
    assert count_reached(np.array([4, NONE, 3]), after) == 3
    assert count_reached(np.array([0]), after) == 6
