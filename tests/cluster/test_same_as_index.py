"""What an index does, a cluster does: the same tests for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bag import encode
from cluster.themes import corpus
from gossamer import Index
from gossamer.cluster import Cluster
from gossamer.errors import (
    DimensionError,
    DuplicateIdError,
    EmptyTextError,
    FilterError,
    ParameterError,
    UnknownFieldWarning,
    UnknownIdError,
)

COUNT = 60


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster.create(tmp_path_factory.mktemp("three") / "c", encode, shards=3) as cluster:
        yield cluster


@pytest.fixture(params=["index", "cluster"])
def made(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An index or a cluster of the same documents."""
    texts, ids, metadata = corpus(COUNT)
    if request.param == "index":
        with Index(encode) as index:
            index.add(texts, ids, metadata)
            yield index
        return
    cluster = request.getfixturevalue("three")
    cluster.delete(where={})
    cluster.add(texts, ids, metadata)
    yield cluster
    assert cluster.status().whole


def test_a_document_is_what_was_added(made: Any) -> None:
    texts, ids, metadata = corpus(COUNT)
    assert len(made) == COUNT
    assert made.ids() == ids
    document = made.get(ids[3])
    assert (document.id, document.text, document.metadata) == (ids[3], texts[3], metadata[3])
    assert [each.id for each in made.get([ids[9], ids[1]])] == [ids[9], ids[1]]
    assert [each.id for each in made.get(["none", ids[1]], skip_unknown=True)] == [ids[1]]
    assert ids[5] in made
    assert "none" not in made
    assert [each.text for each in made.documents()] == texts
    np.testing.assert_allclose(made.vectors([ids[7]])[0], encode([texts[7]])[0], rtol=1e-6)


def test_words_and_meaning_score_as_in_one_index(made: Any) -> None:
    texts, ids, metadata = corpus(COUNT)
    with Index(encode) as one:
        one.add(texts, ids, metadata)
        for query in ("bread and the moon", "violin concert", '"compost" tulip', "oven -bread", texts[11]):
            for hybrid in (True, False, 0.3):
                expected, found = one.search(query, 12, hybrid=hybrid), made.search(query, 12, hybrid=hybrid)
                assert [hit.id for hit in found] == [hit.id for hit in expected], (query, hybrid)
                np.testing.assert_allclose([hit.score for hit in found], [hit.score for hit in expected], atol=1e-9)
                np.testing.assert_allclose([hit.lexical for hit in found], [hit.lexical for hit in expected], atol=1e-9)
                assert [hit.matches for hit in found] == [hit.matches for hit in expected]


def test_a_batch_is_its_queries(made: Any) -> None:
    queries = ["bread oven", "guitar and piano", "a planet"]
    for found, query in zip(made.search(queries, 5), queries, strict=True):
        assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in made.search(query, 5)]
    vectors = encode(queries)
    found = made.search(None, 5, vector=vectors)
    assert [[hit.id for hit in hits] for hits in found] == [
        [hit.id for hit in made.search(query, 5, hybrid=False)] for query in queries
    ]


def test_filters_choose_documents(made: Any) -> None:
    where = {"theme": "music", "number": {"$gte": 20}}
    expected = [f"music-{at}" for at in range(23, COUNT, 5)]
    assert made.ids(where=where) == expected
    assert {hit.id for hit in made.search("violin", 50, where=where)} == set(expected)
    assert {hit.id for hit in made.search("bread", 50, where=lambda each: each.id == "sky-2")} == {"sky-2"}
    assert [each.id for each in made.documents(where=where)] == expected
    with pytest.warns(UnknownFieldWarning, match="colour"):
        assert made.search("violin", where={"colour": "red"}) == []
    with pytest.raises(FilterError):
        made.search("violin", where={"number": {"$near": 3}})


def test_an_update_replaces_and_a_deletion_deletes(made: Any) -> None:
    made.add(["violin violin concert"], ids=["sky-2"], metadata=[{"moved": True}])
    assert len(made) == COUNT
    assert made.get("sky-2").metadata == {"moved": True}
    assert made.search("violin violin concert", 1)[0].id == "sky-2"
    assert sum(hit.id == "sky-2" for hit in made.search("moon comet planet", 60)) == 1
    made.update(["sky-2", "sky-7"], [{"moved": None, "read": 1}, {"read": 2}])
    assert made.get("sky-2").metadata == {"read": 1}
    assert made.get("sky-7").metadata == {"theme": "sky", "number": 7, "read": 2}
    assert made.delete(["sky-2", "none"]) == 1
    assert made.delete(where={"read": 2}) == 1
    assert len(made) == COUNT - 2
    with pytest.raises(UnknownIdError):
        made.get("sky-2")
    with pytest.raises(UnknownIdError):
        made.update(["sky-2"], {"read": 3})
    assert made.add("one more", metadata=[{}]) == made.ids()[-1:]


def test_groups_and_reranking(made: Any) -> None:
    best = made.search("bread violin moon", 10, group_by="theme")
    assert len({hit.metadata["theme"] for hit in best}) == len(best) == 5
    last = made.search("bread", 3, rerank=lambda query, hits: [hit.metadata["number"] for hit in hits])
    numbers = [hit.metadata["number"] for hit in last]
    assert numbers == sorted(numbers, reverse=True)
    assert made.more_like("music-3", 4)
    assert all(hit.id != "music-3" for hit in made.more_like("music-3", 4))


def test_paths_lead_from_one_root_to_the_document(made: Any) -> None:
    hits = made.search("guitar rhythm", 8)
    assert len({hit.path[0].id for hit in hits}) == 1
    for hit in hits:
        assert hit.path[0].size == COUNT
        assert [concept.depth for concept in hit.path] == list(range(len(hit.path)))
        sizes = [concept.size for concept in hit.path]
        assert sizes == sorted(sizes, reverse=True)
        for above, concept in zip(hit.path, hit.path[1:], strict=False):
            assert concept.parent == above.id
            assert concept.id in above.children
            assert concept.path[-2:] == (above.id, concept.id)
        assert hit.path[-1].exemplars[0].id == hit.id
        assert hit.id in made.ids(within=hit.path[1].id)


def test_concepts_form_one_tree(made: Any) -> None:
    concepts = made.concepts(None)
    seen = {concept.id: concept for concept in concepts}
    assert len(seen) == len(concepts)
    root, *others = concepts
    assert (root.parent, root.size, root.depth) == (None, COUNT, 0)
    for concept in others:
        assert concept.id in seen[concept.parent].children
        assert made.concept(concept.id).size == concept.size
    for concept in concepts:
        if concept.children:
            assert sum(seen[child].size for child in concept.children) == concept.size
            assert concept.label
    assert max(concept.depth for concept in made.concepts(1)) == 1
    with pytest.raises(UnknownIdError):
        made.concept(10**9)
    inside = max(others, key=lambda concept: concept.size)
    assert {hit.id for hit in made.search("a", COUNT, within=inside.id)} == set(made.ids(within=inside.id))
    assert len(made.ids(within=inside.id)) == inside.size


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_topics_cover_every_document_once(made: Any, n: int) -> None:
    topics = made.topics(n)
    assert len(topics.concepts) == n
    assert sum(concept.size for concept in topics.concepts) == COUNT
    assert set(topics.assignments) == set(made.ids())
    counts = {concept.id: 0 for concept in topics.concepts}
    for group in topics.assignments.values():
        counts[group] += 1
    assert counts == {concept.id: concept.size for concept in topics.concepts}
    assert made.topics(n, assignments=False).assignments == {}


def test_assign_tells_where_a_text_would_lie(made: Any) -> None:
    texts, ids, _ = corpus(COUNT)
    path = made.assign(texts[8])
    assert path[0].size == COUNT
    assert ids[8] in made.ids(within=path[-1].id)
    assert [each[0].id for each in made.assign(texts[:3])] == [path[0].id] * 3


@pytest.mark.parametrize("hybrid", [True, False])
def test_an_explanation_adds_up_and_ranks_among_all(made: Any, hybrid: bool) -> None:
    everything = made.search("bread oven and a moon", COUNT, hybrid=hybrid, recall=1.0)
    for place in (0, 1, 7, 30, COUNT - 1):
        hit = everything[place]
        why = made.explain("bread oven and a moon", hit.id, k=5, hybrid=hybrid)
        assert (why.rank, why.of) == (place + 1, COUNT)
        assert why.score == pytest.approx(hit.score, abs=1e-9)
        assert why.base + sum(step.contribution for step in why.path) + why.opening == pytest.approx(
            why.dense, abs=1e-9
        )
        assert why.dense + why.lexical == pytest.approx(why.score, abs=1e-9)
        assert [step.concept.id for step in why.path] == [concept.id for concept in hit.path]
        assert why.rival is not None
        assert why.rival.id == everything[1 if place == 0 else 0].id
        assert (why.missing > 0.0) == (place >= 5)
        assert str(why)
    with pytest.raises(UnknownIdError):
        made.explain("bread", "none")


def test_facets_count_values(made: Any) -> None:
    facets = made.facets(where={"number": {"$lt": 20}})
    themes = next(each for each in facets.fields if each.field == "theme")
    assert {value.value: value.count for value in themes.values} == dict.fromkeys(
        ("baking", "cycling", "sky", "music", "garden"), 4
    )
    numbers = next(each for each in facets.fields if each.field == "number")
    assert (numbers.least, numbers.most, numbers.distinct, facets.documents) == (0, 19, 20, 20)


def test_long_texts_are_divided(made: Any) -> None:
    long = " ".join(["bread dough flour oven"] * 40 + ["violin concert melody rhythm"] * 40 + ["moon comet"] * 60)
    made.add([long], ids=["long"])
    found = made.search("violin concert melody rhythm", 1, hybrid=False)[0]
    assert (found.id, "violin" in found.passage, len(found.passage) < len(long)) == ("long", True, True)
    assert made.vectors(["long"]).shape == (1, 32)


def test_wrong_input_is_refused_and_changes_nothing(made: Any) -> None:
    calls: list[tuple[type[Exception], Callable[[], object]]] = [
        (EmptyTextError, lambda: made.add(["a", " "])),
        (DuplicateIdError, lambda: made.add(["a", "b"], ids=["x", "x"])),
        (DimensionError, lambda: made.add(["a"], vectors=[[1.0, 2.0]])),
        (DimensionError, lambda: made.search("a", vector=[1.0, 2.0])),
        (ParameterError, lambda: made.search("a", 0)),
        (ParameterError, lambda: made.search()),
        (ParameterError, lambda: made.topics(0)),
        (ParameterError, lambda: made.delete()),
    ]
    for error, call in calls:
        with pytest.raises(error):
            call()
    assert made.ids() == corpus(COUNT)[1]
