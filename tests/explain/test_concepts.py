"""Concepts are cached as long as they hold: after any change they are what they would be if made again."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bag import encode, sentence
from explain.corpus import Corpus
from gossamer import Index
from gossamer.errors import DtypeError, ParameterError, UnknownIdError
from gossamer.explain.basic_level import basic_level
from gossamer.explain.concepts import Concepts
from gossamer.explain.labelling import Labels
from gossamer.results import Outline
from gossamer.tree.views import paths_to


def changing(seed: int, n: int) -> Corpus:
    return Corpus([sentence(random.Random(seed * 1000 + at)) for at in range(n)])


def change(corpus: Corpus, rng: random.Random) -> None:
    what = rng.randrange(4)
    if what == 0 and len(corpus.text_of) > 8:
        corpus.remove(rng.sample(list(corpus.text_of), rng.randint(1, 4)))
    elif what == 1:
        corpus.add([rng.choice(list(corpus.text_of.values()))])  # an exact duplicate joins its leaf
    else:
        corpus.add([sentence(rng) for _ in range(rng.randint(1, 6))])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_cached_is_what_would_be_made(seed: int) -> None:
    """Concepts and labels: those that are kept over changes are those that would be made from nothing."""
    corpus = changing(seed, 40)
    cached, uncached, labels = Concepts(), Concepts(most=0), corpus.labels()
    rng = random.Random(seed)
    for _ in range(6):
        assert corpus.all_of(cached, labels) == corpus.all_of(uncached)
        change(corpus, rng)
        labels = corpus.labels(labels)
        assert labels == corpus.labels()
        some = rng.choice(list(corpus.text_of))
        path = corpus.path(cached, some, labels)
        assert path == corpus.path(uncached, some)
        by_id = {concept.id: concept for concept in corpus.all_of(cached, labels)}
        assert [replace(step, basic=False) for step in path] == [by_id[step.id] for step in path]


def test_what_is_cached_holds_after_a_rebuild() -> None:
    corpus = changing(1, 300)
    cached, labels = Concepts(), corpus.labels()
    assert corpus.all_of(cached, labels) == corpus.all_of(Concepts(most=0))
    corpus.vectors.rebuild()
    assert corpus.labels(labels) == corpus.labels()
    assert corpus.all_of(cached, corpus.labels(labels)) == corpus.all_of(Concepts(most=0))


def test_nothing_is_kept_of_another_tree() -> None:
    """Grown by as many changes, with the same numbers for its nodes, over other texts."""
    one, other = changing(1, 40), changing(2, 40)
    concepts = Concepts()
    before = one.all_of(concepts)
    assert other.all_of(concepts) == other.all_of(Concepts())
    assert one.all_of(concepts) == before


def test_without_a_label_a_concept_is_called_by_one_of_its_texts() -> None:
    corpus = changing(5, 60)
    for concept in corpus.all_of(Concepts(), Labels()):
        (exemplar,) = concept.exemplars
        if concept.children:
            assert concept.label == f"“{exemplar.text}” and {concept.size - 1} like it"
        assert corpus.vectors.tree.path(corpus.vectors.state.ids.number(int(exemplar.id)))


def test_the_label_of_a_concept_that_had_the_id_before_is_not_shown() -> None:
    corpus = changing(5, 60)
    labels = corpus.labels()
    top, *below = [concept for concept in corpus.all_of(Concepts(), labels) if concept.children]
    wrong = Labels({each.id: labels.of[top.id] for each in below})
    shown = {concept.id: concept for concept in corpus.all_of(Concepts(), wrong)}
    exemplars = {int(exemplar.id) for exemplar in top.exemplars}
    for each in below:
        members = set(corpus.vectors.documents_below(each.id))
        assert (shown[each.id].label == top.label) == (exemplars <= members)


def test_the_oldest_go_when_there_are_too_many() -> None:
    corpus, concepts = changing(3, 120), Concepts(most=50)
    labels = corpus.labels()
    listed = corpus.all_of(concepts, labels)
    assert len(listed) > 120
    words = corpus.words(labels)
    (last,) = concepts.last_of(corpus.vectors.tree, words, [listed[-1].path])
    assert last is listed[-1]
    (early,) = concepts.last_of(corpus.vectors.tree, words, [listed[60].path])
    assert early == listed[60]
    assert early is not listed[60]


def test_a_change_leaves_what_is_elsewhere() -> None:
    rng = random.Random(2)
    with Index(encode) as index:
        index.add([sentence(rng) for _ in range(400)])
        before = {concept.id: concept for concept in index.concepts(None)}
        index.add(sentence(rng))
        after = index.concepts(None)
        same = sum(before.get(concept.id) is concept for concept in after)
        assert same > 0.8 * len(after)
        assert after[0] is not before[after[0].id]


def test_the_basic_level_of_weights() -> None:
    least = float("-inf")
    assert basic_level([5.0, 1.0, 3.0, 3.0, least]) == 2  # never the root; the first of equals
    assert basic_level([5.0, -2.0, least]) == 1
    assert basic_level([5.0, least]) is None
    assert basic_level([least]) is None


# -- labels of some, and the tree without words ----------------------------------------------------


def grown_index() -> Index:
    rng = random.Random(4)
    index = Index(encode)
    index.add([sentence(rng) for _ in range(200)], [f"d{at}" for at in range(200)])
    return index


@pytest.fixture(scope="module")
def grown() -> Index:
    return grown_index()


def test_labels_of_some_concepts(grown: Index) -> None:
    every = {concept.id: concept.label for concept in grown.concepts(None)}
    some = list(every)[3::7]
    with grown_index() as again:
        assert again.labels(some) == {id: every[id] for id in some}
    assert grown.labels(iter(every)) == every
    assert grown.labels([]) == {}
    assert grown.labels() == {id: label for id, label in every.items() if grown.concept(id).children}
    with pytest.raises(UnknownIdError, match="999999"):
        grown.labels([some[0], 999_999])
    with pytest.raises(DtypeError, match="whole number"):
        grown.labels(["root"])  # type: ignore[list-item]
    with Index(encode) as empty:
        assert empty.labels() == {}
        with pytest.raises(UnknownIdError, match="the index is empty"):
            empty.labels([1])


def test_an_outline_is_the_tree(grown: Index) -> None:
    every = {concept.id: concept for concept in grown.concepts(None)}
    found = grown.outline()
    assert set(found.ids) == set(every)
    assert len(found) == len(every)
    assert list(found.parents) == [every[id].parent for id in found.ids]
    assert list(found.sizes) == [every[id].size for id in found.ids]
    assert list(found.depths) == [every[id].depth for id in found.ids]
    assert list(found.children) == [len(every[id].children) for id in found.ids]
    assert list(found.ids) == [concept.id for concept in grown.concepts(None)]


def test_a_part_of_an_outline(grown: Index) -> None:
    top = grown.concepts(1)[1]
    below = grown.outline(top.id)
    assert below.ids[0] == top.id
    assert below.parents[0] is None
    assert below.depths[0] == 1
    assert len(below) == sum(top.id in concept.path for concept in grown.concepts(None))
    assert grown.outline(top.id, depth=0).ids == (top.id,)
    assert max(grown.outline(depth=2).depths) == 2
    assert min(grown.outline(min_size=5).sizes) >= 5
    for one, two in pairwise(len(grown.outline(most=most)) for most in range(1, 60)):
        assert one <= two < 60
    with pytest.raises(UnknownIdError, match="999999"):
        grown.outline(999_999)
    with Index(encode) as empty:
        assert empty.outline() == Outline((), (), (), (), ())


@pytest.mark.parametrize("bad", [{"depth": -1}, {"depth": True}, {"min_size": 0}, {"most": 0}])
def test_an_outline_of_nothing_is_refused(grown: Index, bad: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        grown.outline(**bad)


def test_paths_are_those_of_the_tree() -> None:
    tree = changing(4, 200).vectors.tree
    leaves = [tree.leaf(document) for document in range(200)]
    assert paths_to(tree.arrays, [*leaves, leaves[0]]) == [tree.path(document) for document in [*range(200), 0]]
    assert paths_to(tree.arrays, [tree.root]) == [(tree.root,)]


def test_topics_without_assignments(grown: Index) -> None:
    whole, lean = grown.topics(5), grown.topics(5, assignments=False)
    assert len(whole.assignments) == 200
    assert lean == replace(whole, assignments={})
    assert grown.topics(levels=[3, 6], assignments=False)[1].assignments == {}
