"""Labels of a whole tree: none empty, none like its parent's or sibling's, stable; those of a labeller."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator

import pytest

from bag import encode
from explain.corpus import THEMES, document, documents
from gossamer import Index, LabelRequest

N = 1300


@pytest.fixture(scope="module")
def grown() -> Iterator[Index]:
    with Index(encode) as index:
        texts, themes = documents(N)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        yield index


def test_every_concept_has_a_label_of_its_own(grown: Index) -> None:
    labels = grown.labels()
    concepts = grown.concepts(depth=None)
    by_id = {concept.id: concept for concept in concepts}
    assert len(concepts) == len(by_id) == len(grown.outline())
    for concept in concepts:
        assert concept.label.strip()
        assert (concept.id in labels) == bool(concept.children)
        if concept.children:
            assert labels[concept.id] == concept.label
        inner = [by_id[child].label for child in concept.children if by_id[child].children]
        assert len(set(inner)) == len(inner), "two siblings have the same label"
        if concept.parent is not None:
            assert concept.label != by_id[concept.parent].label
            assert concept.path == (*by_id[concept.parent].path, concept.id)


def test_labels_say_what_their_members_are_about(grown: Index) -> None:
    """Concepts that hold one theme are named by its words."""
    right = wrong = 0
    for concept in grown.concepts(depth=None):
        themes = {id.split("-")[0] for id in grown.ids(within=concept.id)} if concept.size >= 10 else set()
        if len(themes) == 1 and concept.children:
            told = {word for term in concept.label.lower().split(", ") for word in term.split()}
            hits = told & set(THEMES[themes.pop()].split())
            right, wrong = (right + 1, wrong) if hits else (right, wrong + 1)
    assert right > 20
    assert wrong <= right // 20


def test_what_is_everywhere_is_in_no_label(grown: Index) -> None:
    """In none that is more than part of a theme: parts may differ in just that."""
    large = [concept for concept in grown.concepts(depth=None)[1:] if concept.size > 0.9 * N / len(THEMES)]
    assert len(large) >= 2
    for concept in large:
        assert not {"today", "people", "question"} & set(concept.label.split(", "))


def test_the_same_tree_gets_the_same_labels_whatever_was_asked_first(grown: Index) -> None:
    with Index(encode) as other:
        texts, themes = documents(N)
        other.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        for query in ("bread oven", "comet", "piano chorus"):
            other.search(query)
        assert other.labels() == grown.labels()


def test_a_small_change_renames_next_to_nothing() -> None:
    with Index(encode) as index:
        index.add(documents(N)[0])
        before = index.labels()
        rng = random.Random(9)
        index.add([document(rng.choice(list(THEMES)), rng) for _ in range(13)], [f"new-{at}" for at in range(13)])
        after = index.labels()
        alive = before.keys() & after.keys()
        assert len(alive) > 0.85 * len(before)  # those that are shown before and after
        assert sum(before[node] != after[node] for node in alive) < 0.08 * len(alive)
        index.delete([f"new-{at}" for at in range(13)])
        again = index.labels()
        alive = before.keys() & again.keys()
        assert sum(before[node] != again[node] for node in alive) < 0.08 * len(alive)


def test_only_the_labels_of_what_changed_are_made_again() -> None:
    made: list[int] = []

    def labeller(request: LabelRequest) -> str:
        made.append(request.id)
        return request.suggestion

    with Index(encode, labeller=labeller) as index:
        index.add(documents(N)[0])
        labels = index.labels()
        assert sorted(made) == sorted(labels)
        made.clear()
        index.labels()
        assert made == []
        index.add([f"bread dough flour oven {word}" for word in ("today", "people", "comet", "piano")])
        index.labels()
        assert 0 < len(made) < 0.05 * len(labels)
        assert index.concepts(depth=0)[0].id not in made, "four documents more do not change the label of the root"


def test_no_child_is_called_as_its_parent_whatever_changes() -> None:
    rng = random.Random(2)
    with Index(encode) as index:
        index.add(documents(60)[0])
        for step in range(25):
            index.add([document(rng.choice(list(THEMES)), rng) for _ in range(3)], [f"{step}-{at}" for at in range(3)])
            index.delete(rng.sample(index.ids(), 2))
            labels = index.labels()
            parents = {concept.id: concept.parent for concept in index.concepts(depth=None) if concept.children}
            assert all(label != labels.get(parents[id] or -1) for id, label in labels.items())


def test_a_concept_that_became_another_is_renamed() -> None:
    """Ids keep their meaning: a label does not outlive what it stood for."""
    with Index(encode) as index:
        texts, themes = documents(200)
        index.add(texts, [f"{theme}-{at}" for at, theme in enumerate(themes)])
        index.labels()
        index.delete([id for id in index.ids() if not id.startswith("sky")])
        rng = random.Random(1)
        index.add([document("music", rng) for _ in range(160)], [f"music-{at}" for at in range(160)])
        told = {word for label in index.labels().values() for word in label.replace(",", "").split()}
        gone = {word for theme in ("baking", "cycling", "garden") for word in THEMES[theme].split()}
        assert not told & gone


def test_texts_without_words_have_labels_too() -> None:
    with Index(encode) as index:
        index.add(["!!!", "???", "...", "12345", "the of and", "moon"])
        assert all(concept.label.strip() for concept in index.concepts(depth=None))


def test_a_text_that_begins_with_nothing_is_called_by_its_id() -> None:
    with Index(encode, max_tokens=None) as index:
        index.add(" " * 2000 + "moon", "far away")
        assert index.concepts()[0].label == "far away"


def test_no_shared_term_leaves_an_exemplar() -> None:
    with Index(encode) as index:
        index.add(["moon", "comet", "bread"])
        label = index.concepts()[0].label
        assert label in {f"“{text}” and 2 like it" for text in ("moon", "comet", "bread")}


# -- exemplars ---------------------------------------------------------------------------------------


def test_exemplars_are_members_no_two_alike(grown: Index) -> None:
    for concept in grown.concepts(depth=4):
        ids = [exemplar.id for exemplar in concept.exemplars]
        assert 1 <= len(ids) <= 3
        assert len(set(ids)) == len(ids)
        assert set(ids) <= set(grown.ids(within=concept.id))
        assert [exemplar.text for exemplar in concept.exemplars] == [grown.get(id).text for id in ids]
        if concept.size >= 3 and len(concept.children) >= 3:
            assert len(ids) == 3


def test_long_exemplars_are_shortened() -> None:
    with Index(encode, max_tokens=None) as index:
        index.add(["moon\ncomet " * 100, "bread\toven " * 100])
        for concept in index.concepts():
            for exemplar in concept.exemplars:
                assert len(exemplar.text) <= 200
                assert "\n" not in exemplar.text


# -- a labeller of one's own -------------------------------------------------------------------------


def test_a_labeller_is_asked_once_for_each_concept() -> None:
    asked: list[LabelRequest] = []

    def labeller(request: LabelRequest) -> str:
        asked.append(request)
        return f"concept {request.id}"

    with Index(encode, labeller=labeller) as index:
        index.add(documents(60)[0])
        labels = index.labels()
        assert labels == {node: f"concept {node}" for node in labels}
        assert len(asked) == len(labels)
        index.labels()
        index.search("bread")
        assert len(asked) == len(labels)
        root = next(request for request in asked if request.parent is None)
        assert root.size == 60
        assert root.suggestion
        assert 1 <= len(root.exemplars) <= 3
        told = set(labels.values())
        assert asked[-1] is root, "finest first: the parts of a concept have their names before it"
        assert root.parts
        assert all(set(request.parts) <= told for request in asked)
        at = {request.id: number for number, request in enumerate(asked)}
        for concept in index.concepts(None):
            if concept.children and concept.parent is not None:
                beside = {child for child in index.concept(concept.parent).children if child in at} - {concept.id}
                request = asked[at[concept.id]]
                assert len(request.siblings) == min(11, len(beside))
                assert {labels[child] for child in beside if at[child] < at[concept.id]} <= set(request.siblings)


@pytest.mark.parametrize("answer", ["", "  ", None, 7, "half \ud800", RuntimeError("no network")])
def test_a_labeller_that_fails_is_done_without(answer: object, caplog: pytest.LogCaptureFixture) -> None:
    def labeller(request: LabelRequest) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]

    with Index(encode) as plain, Index(encode, labeller=labeller) as index:
        plain.add(documents(60)[0])
        index.add(documents(60)[0])
        with caplog.at_level(logging.WARNING, "gossamer.explain"):
            assert index.labels() == plain.labels()
        assert "labeller" in caplog.text


def test_a_labeller_that_always_says_the_same_is_not_asked_again_and_again() -> None:
    calls: list[LabelRequest] = []

    def labeller(request: LabelRequest) -> str:
        calls.append(request)
        return "the same"

    with Index(encode, labeller=labeller) as index:
        index.add(documents(60)[0])
        index.labels()
        before = len(calls)
        index.labels()
        assert len(calls) == before


def test_a_labeller_for_an_index_on_disk(tmp_path: object) -> None:
    path = f"{tmp_path}/a.gsm"
    with Index.create(path, encode, labeller=lambda request: "mine") as index:
        index.add(documents(20)[0])
        assert set(index.labels().values()) == {"mine"}
    with Index.open(path, encode, mode="r", labeller=lambda request: "yours\n" + 200 * "x ") as index:
        assert all(label.startswith("yours x") and len(label) <= 120 for label in index.labels().values())
