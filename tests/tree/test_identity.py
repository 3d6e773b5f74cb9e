"""A rebuilt tree: concepts that are the same group keep their ids, and what became of the others is told."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.array_types import NONE
from gossamer.tree.arrays import Meta, TreeArrays, empty_arrays, used, with_room
from gossamer.tree.cobweb import CobwebTree
from gossamer.tree.identity import CANDIDATES, Succession, keep_ids, match_concepts
from gossamer.tree.rebuild import single_level_arrays
from gossamer.tree.validation import check_tree
from gossamer.tree.views import documents_below
from oracles import identity as oracle
from properties.strategies import Matrix, matrices


def groups(t: TreeArrays) -> dict[int, frozenset[int]]:
    """The documents of each concept, by its id."""
    concepts = np.flatnonzero(t.n_children[: t.meta[Meta.SLOTS]] > 0).tolist()
    return {node: frozenset(documents_below(t, node).tolist()) for node in concepts}


def documents(t: TreeArrays) -> frozenset[int]:
    return frozenset(np.flatnonzero(t.leaf[: t.meta[Meta.NEXT_DOCUMENT]] != NONE).tolist())


def concept_slots(t: TreeArrays, slots: int) -> frozenset[int]:
    """Slots that are not for leaves."""
    return frozenset(range(slots)) - set(t.owner[: t.meta[Meta.LEAF_ROWS]].tolist())


def copied(tree: CobwebTree) -> TreeArrays:
    return TreeArrays(**{name: array.copy() for name, array in tree.arrays._asdict().items()})


Pair = tuple[TreeArrays, TreeArrays]


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """A tree, and another after documents were added and removed and, mostly, all concepts were made anew."""
    X: Matrix = draw(matrices(max_rows=40, max_dim=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cut = draw(st.integers(0, len(X)))
    tree = CobwebTree(X.shape[1])
    tree.insert_many(X[:cut])
    if draw(st.booleans()):
        tree.remove(rng.choice(cut, cut // 4, replace=False).tolist())
    if draw(st.booleans()):
        tree.rebuild()
    old = copied(tree)
    if draw(st.booleans()):
        tree.remove(rng.permutation(sorted(documents(old)))[: cut // 3].tolist())
    if draw(st.booleans()):
        tree.agglomerate(X[cut:])
    else:
        tree.insert_many(X[cut:])
    return old, copied(tree)


# -- matching ------------------------------------------------------------------------------------------


@given(pairs())
def test_matches_equal_the_oracle(pair: Pair) -> None:
    old, new = pair
    before, after, shared = groups(old), groups(new), documents(old) & documents(new)
    matching = match_concepts(old, new)
    found = {b: a for b, a in enumerate(matching.old_of.tolist()) if a != NONE}
    usable = concept_slots(new, max(len(old.size), len(new.size)))
    assert found == oracle.match(before, after, shared, usable)
    for homes, inside, outside in ((matching.origins, after, before), (matching.destinations, before, after)):
        named = {name: outside[home] for name, home in enumerate(homes.tolist()) if home != NONE}
        assert named == oracle.homes(inside, outside)


def chain(leaves: int) -> TreeArrays:
    """A tree in which each concept has one leaf more than the one below it; its moments are not filled in."""
    t = with_room(single_level_arrays(np.arange(leaves, dtype=np.float32)[:, None], 5.0), 0, leaves)
    concepts = np.arange(leaves, 2 * leaves - 1)
    below = np.append(0, concepts[:-1])
    t.parent[1:leaves], t.parent[below], t.parent[concepts[-1]] = concepts, concepts, NONE
    t.first_child[concepts], t.n_children[concepts], t.size[concepts] = below, 2, np.arange(2, leaves + 1)
    t.prev_sibling[below], t.next_sibling[below] = NONE, np.arange(1, leaves)
    t.prev_sibling[1:leaves], t.next_sibling[1:leaves] = below, NONE
    t.row[concepts] = np.arange(leaves - 1)
    t.meta[[Meta.ROOT, Meta.SLOTS, Meta.INNER_ROWS, Meta.NODES]] = (
        concepts[-1],
        2 * leaves - 1,
        leaves - 1,
        2 * leaves - 1,
    )
    return t


def test_of_many_candidates_the_best_are_compared() -> None:
    t = chain(4 * CANDIDATES)
    concepts = np.array(sorted(groups(t)))
    assert match_concepts(t, t).old_of[concepts].tolist() == concepts.tolist()


# -- ids -----------------------------------------------------------------------------------------------


@given(pairs())
def test_the_renumbered_tree_is_valid_and_has_the_same_groups(pair: Pair) -> None:
    old, new = pair
    kept, _ = keep_ids(old, new)
    check_tree(kept)
    assert sorted(map(sorted, groups(kept).values())) == sorted(map(sorted, groups(new).values()))
    assert documents(kept) == documents(new)
    leaves = new.owner[: new.meta[Meta.LEAF_ROWS]]
    assert np.array_equal(kept.owner[: kept.meta[Meta.LEAF_ROWS]], leaves)
    assert np.array_equal(kept.size[leaves], new.size[leaves])


@given(pairs())
def test_ids_mean_the_same_group_before_and_after(pair: Pair) -> None:
    old, new = pair
    kept, told = keep_ids(old, new)
    before, after, shared = groups(old), groups(kept), documents(old) & documents(new)
    assert set(told.kept.tolist()) == set(before) & set(after)
    for name in told.kept.tolist():
        assert oracle.jaccard(before[name] & shared, after[name] & shared) >= 0.5
    assert set(told.gone.tolist()) == set(before) - set(after)
    assert set(told.new.tolist()) == set(after) - set(before)
    nodes_before = set(np.flatnonzero(old.size[: old.meta[Meta.SLOTS]] > 0).tolist())
    assert not set(told.new.tolist()) & nodes_before, "a new concept has a number that was in use"


@given(pairs())
def test_the_succession_names_where_most_members_were_and_are(pair: Pair) -> None:
    old, new = pair
    kept, told = keep_ids(old, new)
    before, after = groups(old), groups(kept)
    for ids, sizes, homes, inside, outside in (
        (told.new, told.new_sizes, told.origins, after, before),
        (told.gone, told.gone_sizes, told.destinations, before, after),
    ):
        expected = oracle.homes(inside, outside)
        assert sizes.tolist() == [len(inside[name]) for name in ids.tolist()]
        for name, home in zip(ids.tolist(), homes.tolist(), strict=True):
            assert (None if home == NONE else outside[home]) == expected.get(name)


@given(pairs())
def test_identical_trees_keep_all_ids(pair: Pair) -> None:
    for tree in pair:
        kept, told = keep_ids(tree, tree)
        assert groups(kept) == groups(tree)
        assert told.kept.tolist() == sorted(groups(tree))
        assert not len(told.new)
        assert not len(told.gone)
        assert kept.meta[Meta.SLOTS] == tree.meta[Meta.SLOTS]


@given(pairs())
def test_the_same_trees_give_the_same_bytes(pair: Pair) -> None:
    def state() -> dict[str, bytes]:
        kept, told = keep_ids(*pair)
        return {name: array.tobytes() for name, array in (used(kept) | vars(told)).items()}

    before = [{name: array.tobytes() for name, array in used(tree).items()} for tree in pair]
    assert state() == state()
    assert before == [{name: array.tobytes() for name, array in used(tree).items()} for tree in pair]


@settings(max_examples=40)
@given(matrices(max_rows=40, max_dim=3), st.integers(0, 2**32 - 1))
def test_a_renumbered_tree_lives_on(X: Matrix, seed: int) -> None:
    """Insertions and removals use the list of free slots; rebuilds are renumbered again and again."""
    rng = np.random.default_rng(seed)
    tree = CobwebTree(X.shape[1])
    tree.insert_many(X)
    for _ in range(4):
        old = copied(tree)
        tree.agglomerate(X[rng.permutation(len(X))[:5]] + np.float32(1.0))
        kept, _ = keep_ids(old, tree.arrays)
        tree.replace_arrays(kept)
        tree.check()
        tree.remove(rng.permutation(sorted(documents(kept)))[:4].tolist())
        tree.insert_many(X[:3] * np.float32(2.0))
        tree.check()


def topics(n: int, seed: int) -> npt.NDArray[np.float32]:
    centres = np.random.default_rng(98).normal(size=(40, 12))
    rng = np.random.default_rng(seed)
    return (centres[rng.integers(0, 40, n)] + rng.normal(size=(n, 12)) * 0.4).astype(np.float32)


def rebuilds(rounds: int, remove: float) -> list[tuple[TreeArrays, Succession]]:
    """Trees after each of some rebuilds: a share of the documents is removed, and a tenth added, before each."""
    tree = CobwebTree(12)
    tree.agglomerate(topics(1500, 0))
    found = []
    for step in range(rounds):
        old = copied(tree)
        present = sorted(documents(old))
        tree.remove(present[: int(remove * len(present))])
        tree.agglomerate(topics(len(present) // 10, step + 1))
        kept, told = keep_ids(old, tree.arrays)
        tree.replace_arrays(kept)
        found.append((copied(tree), told))
    return found


def free_slots(t: TreeArrays) -> list[int]:
    found, at = [], int(t.meta[Meta.FREE_INNER])
    while at != NONE:
        found.append(at)
        at = int(t.next_sibling[at])
    return found


def test_slots_freed_longest_ago_are_used_first() -> None:
    freed: dict[int, int] = {}  # by slot: the step that freed it
    for step, (t, told) in enumerate(rebuilds(6, remove=0.2)):
        reused = {freed.pop(slot) for slot in told.new.tolist() if slot in freed}
        assert max(reused, default=-1) <= min(freed.values(), default=step)
        freed |= dict.fromkeys(told.gone.tolist(), step)
        order = [freed.get(slot, -1) for slot in free_slots(t)]
        assert order == sorted(order)
    assert len(set(freed.values())) < 6, "some were used again"


def test_slots_do_not_grow_without_bound() -> None:
    """Beside the slots in use there are as many as one rebuild frees, or little more."""
    trees = rebuilds(6, remove=0.0)
    for t, _ in trees:
        free = int(t.meta[Meta.SLOTS] - t.meta[Meta.NODES])
        assert free <= 2 * max(len(told.gone) for _, told in trees)


def test_empty_trees() -> None:
    nothing = empty_arrays(3, 5.0)
    tree = CobwebTree(3)
    tree.insert_many(np.eye(3))
    kept, told = keep_ids(nothing, copied(tree))
    check_tree(kept)
    assert told.new.tolist() == sorted(groups(kept))
    assert (told.origins == NONE).all()
    kept, told = keep_ids(copied(tree), nothing)
    assert not groups(kept)
    assert told.gone.tolist() == sorted(groups(copied(tree)))
    assert not len(keep_ids(nothing, nothing)[1].kept)
