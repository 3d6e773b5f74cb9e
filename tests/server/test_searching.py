"""Questions over HTTP get the answers of the library."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from bag import encode
from gossamer import Client, Index
from gossamer.errors import InputError
from gossamer.server.limits import Limits
from server.running import Running, problem, running, small_index


def test_search_by_words_is_the_library_s(client: Client, index: Index) -> None:
    assert client.search("sun and moon") == index.search("sun and moon")
    assert client.search("wolf", 3, where={"at": {"$gte": 50}}, hybrid=0.4) == index.search(
        "wolf", 3, where={"at": {"$gte": 50}}, hybrid=0.4
    )


def test_answers_without_texts_are_short(service: Running, client: Client, index: Index) -> None:
    asked = {"query": "sun and moon", "k": 3}
    whole = service.http.post("/v1/search", json=asked).json()["hits"]
    short = service.http.post("/v1/search", json={**asked, "text": False}).json()["hits"]
    assert short == [{name: value for name, value in hit.items() if name != "text"} for hit in whole]
    assert all(hit["passage"] for hit in short)
    assert client.search("sun and moon", 3, text=False) == [
        replace(hit, text="") for hit in index.search("sun and moon", 3)
    ]


def test_search_by_vector_is_the_library_s(client: Client, index: Index) -> None:
    vector = encode(["sea and salt"])[0]
    assert client.search(vector=vector, k=4, recall=1.0) == index.search(vector=vector, k=4, recall=1.0)


def test_a_list_of_queries_is_one_batch(service: Running, client: Client, index: Index) -> None:
    queries = ["sun and moon", "wolf", '"sea" -salt', "king"]
    assert client.search(queries, 3, where={"at": {"$gte": 50}}) == index.search(queries, 3, where={"at": {"$gte": 50}})
    assert client.search(queries[:2], 2, explain=True) == index.search(queries[:2], 2, explain=True)
    vectors = encode(queries)
    assert client.search(vector=vectors, k=2) == index.search(vector=vectors, k=2)
    assert client.search(queries, 2, vector=vectors) == index.search(queries, 2, vector=vectors)
    assert client.search([]) == []
    answer = service.http.post("/v1/search/batch", json={"queries": queries, "k": 2}).json()
    alone = service.http.post("/v1/search", json={"query": "wolf", "k": 2}).json()
    assert answer["answers"][1]["hits"] == alone["hits"]
    assert answer["seconds"] > 0.0


def test_a_long_list_of_queries_is_answered_in_parts(index: Index) -> None:
    queries = ["sun and moon", "wolf", "king", "gold", "bread"]
    with (
        running({"main": small_index()}, limits=Limits(k=4, batch=5, answer=20_000)) as small,
        Client(small.url) as client,
    ):
        answers = small.http.post("/v1/search/batch", json={"queries": queries, "k": 2}).json()["answers"]
        assert [[hit["id"] for hit in each["hits"]] for each in answers] == [
            [hit.id for hit in hits] for hits in index.search(queries, 2)
        ]
        with pytest.raises(InputError, match="the number of queries in one request may be at most 5"):
            client.search([*queries, "salt"], 2)
        with pytest.raises(InputError, match="k may be at most 4"):
            client.search(queries, 5)
        whole = {"queries": queries, "k": 4, "concepts": True}
        assert "may be at most 20,000" in problem(small.http.post("/v1/search/batch", json=whole), 422)["detail"]


def test_a_batch_without_queries_is_refused(service: Running) -> None:
    assert "nothing to search for" in problem(service.http.post("/v1/search/batch", json={"k": 1}), 422)["detail"]
    wrong = {"queries": ["sun"], "vectors": [[0.0] * 32] * 2}
    assert "vectors: 2, queries: 1" in problem(service.http.post("/v1/search/batch", json=wrong), 422)["detail"]


@pytest.mark.filterwarnings("ignore::gossamer.errors.UnknownFieldWarning")
def test_more_like_a_document(client: Client, index: Index) -> None:
    assert client.more_like("d3") == index.more_like("d3")
    some = index.concepts(1)[1]
    options: Any = {"where": {"at": {"$lt": 90}}, "within": some.id, "group_by": "at"}
    assert client.more_like("d3", 4, **options) == index.more_like("d3", 4, **options)
    assert client.more_like("d3", 1, where={"att": 1}).warnings == index.more_like("d3", 1, where={"att": 1}).warnings
    assert [hit.text for hit in client.more_like("d3", 2, text=False)] == ["", ""]
    unknown: Any = {"speed": 3}
    with pytest.raises(TypeError, match=r"more_like\(\) got an unexpected keyword argument 'speed'"):
        client.more_like("d3", **unknown)


def test_near_duplicates(own: Running) -> None:
    with Client(own.url) as client:
        client.add(client.get("d7").text, "copy")
        groups = client.near_duplicates(1e-6)
        assert groups == own.app.state.service.catalog.first.index.near_duplicates(1e-6)
        assert ("d7", "copy") in [group.ids for group in groups]


def test_answers_are_chosen_as_in_the_library(client: Client, index: Index) -> None:
    options: Any = {
        "group_by": "at",
        "boost": {"field": "at", "half_life": "30d", "now": "2026-01-01"},
        "diversity": 0.2,
    }
    assert client.search("moon", 4, **options) == index.search("moon", 4, **options)
    assert client.search("moon", 4, method="path-sum") == index.search("moon", 4, method="path-sum")


def test_a_boost_that_is_wrong_is_refused(service: Running) -> None:
    for boost in (
        {"field": "at"},
        {"field": "at", "half_life": "soon"},
        {"field": "at", "half_life": "1d", "speed": 2},
    ):
        problem(service.http.post("/v1/search", json={"query": "moon", "boost": boost}), 422)


def test_search_within_a_concept(client: Client, index: Index) -> None:
    concept = index.concepts(1)[1]
    assert client.search("moon", within=concept.id) == index.search("moon", within=concept.id)


def test_explanations_come_along(client: Client, index: Index) -> None:
    assert client.search("king", 2, explain=True) == index.search("king", 2, explain=True)
    assert client.explain("king", "d7") == index.explain("king", "d7")
    assert str(client.explain("king", "d7", k=3)) == str(index.explain("king", "d7", k=3))


def test_an_explanation_has_its_sentences(service: Running, index: Index) -> None:
    found = service.http.post("/v1/explain", json={"query": "king", "id": "d7"}).json()
    assert found["text"] == index.explain("king", "d7").to_dict()["text"]
    hit = service.http.post("/v1/search", json={"query": "king", "explain": True}).json()["hits"][0]
    assert hit["explanation"]["text"].startswith("“" + hit["id"])


def test_nothing_for_a_query_that_is_not_at_home(client: Client, index: Index) -> None:
    assert client.search("sun", min_confidence=1.0) == index.search("sun", min_confidence=1.0) == []


def test_novelty(client: Client, index: Index) -> None:
    assert client.novelty("xylophone") == index.novelty("xylophone")
    assert client.novelty(vector=np.ones(32)) == index.novelty(vector=np.ones(32))


def test_concepts(client: Client, index: Index) -> None:
    assert client.concepts(2) == index.concepts(2)
    assert client.concepts(None) == index.concepts(None)
    assert client.find_concepts("bread", 3) == index.find_concepts("bread", 3)
    some = index.concepts(1)[1]
    assert client.concept(some.id) == some


def test_a_concept_with_its_surroundings(service: Running, index: Index) -> None:
    some = [concept for concept in index.concepts(2) if concept.children][-1]
    found = service.http.get(f"/v1/concepts/{some.id}").json()
    assert found["concept"]["id"] == some.id
    assert [each["id"] for each in found["path"]] == list(some.path)
    assert sorted(each["id"] for each in found["children"]) == sorted(some.children)
    sizes = [each["size"] for each in found["children"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == some.size


def test_find_concepts_by_get_and_by_post_agree(service: Running) -> None:
    by_get = service.http.get("/v1/concepts/find", params={"query": "gold", "k": 2}).json()
    assert by_get == service.http.post("/v1/concepts/find", json={"query": "gold", "k": 2}).json()


def test_topics(client: Client, index: Index, service: Running) -> None:
    assert client.topics(4) == index.topics(4)
    assert client.topics(levels=[2, 6]) == index.topics(levels=[2, 6])
    assert client.topics(4, assignments=False) == index.topics(4, assignments=False)
    small = service.http.get("/v1/topics", params={"n": 4, "assignments": "false"}).json()["levels"][0]
    assert small["assignments"] == {}
    assert [each["id"] for each in small["concepts"]] == [each.id for each in index.topics(4).concepts]


def test_the_map_is_the_tree(service: Running, index: Index) -> None:
    found = service.http.get("/v1/map", params={"depth": 64, "labels": "true"}).json()
    every = {concept.id: concept for concept in index.concepts(None)}
    assert set(found["ids"]) == set(every)
    assert found["sizes"] == [every[id].size for id in found["ids"]]
    assert found["parents"] == [every[id].parent for id in found["ids"]]
    assert found["depths"] == [every[id].depth for id in found["ids"]]
    assert found["children"] == [len(every[id].children) for id in found["ids"]]
    assert found["labels"] == [every[id].label for id in found["ids"]]
    places = {id: at for at, id in enumerate(found["ids"])}
    assert all(parent is None or places[parent] < at for at, parent in enumerate(found["parents"]))


def test_a_part_of_the_map(service: Running, index: Index) -> None:
    some = index.concepts(1)[1]
    found = service.http.get("/v1/map", params={"root": some.id, "depth": 1}).json()
    assert found["ids"][0] == some.id
    assert found["parents"][0] is None
    assert sorted(found["ids"][1:]) == sorted(some.children)
    assert found["labels"] is None
    assert len(service.http.get("/v1/map", params={"limit": 12}).json()["ids"]) <= 12
    assert min(service.http.get("/v1/map", params={"min_size": 9, "depth": 64}).json()["sizes"]) >= 9


def test_info(client: Client, index: Index, service: Running) -> None:
    assert client.info() == index.info()
    assert len(client) == 150
    found = service.http.get("/v1/info").json()
    assert (found["name"], found["writable"]) == ("main", True)


def test_several_indexes(service: Running, index: Index) -> None:
    listed = service.http.get("/v1/indexes").json()["indexes"]
    assert listed == [
        {"name": "main", "documents": 150, "writable": True, "default": True},
        {"name": "other", "documents": 20, "writable": True, "default": False},
    ]
    with Client(service.url, index="main") as main, Client(service.url, index="other") as other:
        assert main.search("sun") == index.search("sun")
        assert len(other) == 20
        assert {hit.id for hit in other.search("sun", 100)} == {f"d{at}" for at in range(20)}
    missing = problem(service.http.get("/v1/indexes/absent/info"), 404)
    assert missing["detail"] == "there is no index 'absent' here, but main, other"


def test_an_empty_index_has_answers_too(own: Running) -> None:
    with Client(own.url) as client:
        client.delete([f"d{at}" for at in range(30)])
        assert client.search("sun") == []
        assert client.concepts() == []
        assert client.topics(3).concepts == ()
        assert client.novelty("sun").nearest is None
    assert own.http.get("/v1/map").json()["ids"] == []


@pytest.mark.filterwarnings("ignore::gossamer.errors.UnknownFieldWarning")
def test_a_field_that_no_document_has(service: Running, client: Client) -> None:
    told = ["no document has the field 'att': did you mean 'at'?"]
    answer = service.http.post("/v1/search", json={"query": "sun", "where": {"att": 1}}).json()
    assert (answer["hits"], answer["warnings"]) == ([], told)
    assert client.search("sun", where={"att": 1}).warnings == tuple(told)
    assert client.search("sun").warnings == ()


def test_paths_are_short_unless_whole_concepts_are_asked_for(service: Running, index: Index) -> None:
    """A path of whole concepts, with terms and exemplars, is several times as long as its document."""
    hits = index.search("sun and moon")
    short = service.http.post("/v1/search", json={"query": "sun and moon"})
    whole = service.http.post("/v1/search", json={"query": "sun and moon", "concepts": True})
    wanted = [[(step.id, step.label, step.size, step.depth, step.basic) for step in hit.path] for hit in hits]
    assert [[tuple(step.values()) for step in hit["path"]] for hit in short.json()["hits"]] == wanted
    assert [hit["path"][0]["terms"] for hit in whole.json()["hits"]] == [list(hit.path[0].terms) for hit in hits]
    assert 2 * len(short.content) < len(whole.content)
    assert len(short.content) < 15_000


def test_facets(client: Client, index: Index) -> None:
    assert client.facets() == index.facets()
    assert client.facets("moon", k=9, most=3) == index.facets("moon", k=9, most=3)
    some = index.concepts(1)[1]
    asked = {"where": {"at": {"$gte": 50}}, "within": some.id}
    assert client.facets(**asked) == index.facets(**asked)  # type: ignore[arg-type]


def test_changes(own: Running) -> None:
    before = own.http.get("/v1/info").json()["operation"]
    index = own.app.state.service.catalog.first.index
    for batch in range(4):
        texts = [f"the wolf and the sea {batch} {at}" for at in range(60)]
        own.http.post("/v1/documents", json={"documents": [{"text": text} for text in texts]})
    with Client(own.url) as client:
        assert client.changes(before) == index.changes(before) != []
    told = own.http.get("/v1/changes", params={"since": before}).json()
    assert told["operation"] == index.info().operation
    there = {str(change["id"]) for change in told["changes"] if change["size_after"]}
    assert there <= set(told["labels"])
    assert {int(id): label for id, label in told["labels"].items()} == index.labels(map(int, told["labels"]))
    assert problem(own.http.get("/v1/changes", params={"since": -1}), 422)
    with Client(own.url) as client:
        assert client.changes(timedelta(days=1)) == index.changes(timedelta(days=1)) != []
    moment = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    assert own.http.get("/v1/changes", params={"time": moment}).json()["changes"]
    for wrong in ("", f"since=0&time={moment[:10]}", "time=yesterday"):
        assert problem(own.http.get(f"/v1/changes?{wrong}"), 422)


def test_assign(client: Client, index: Index, service: Running) -> None:
    assert client.assign("a wolf in the snow") == index.assign("a wolf in the snow")
    texts = ["a wolf in the snow", "bread and salt"]
    assert client.assign(texts) == index.assign(texts)
    assert client.assign([]) == []
    answer = service.http.post("/v1/assign", json={"texts": ["sun"] * 1001})
    assert "1,000" in problem(answer, 422)["detail"]


def test_a_map_of_several_parts(service: Running, index: Index) -> None:
    parts = [concept.id for concept in index.concepts(1)[1:4]]
    found = service.http.get("/v1/map", params={"root": parts, "depth": 1, "labels": True}).json()
    outlines = [index.outline(id, depth=1) for id in parts]
    assert found["ids"] == [id for outline in outlines for id in outline.ids]
    assert found["depths"] == [depth for outline in outlines for depth in outline.depths]
    assert found["labels"] == [index.labels([id])[id] for id in found["ids"]]
    problem(service.http.get("/v1/map", params={"root": [parts[0], 999_999]}), 404)
    problem(service.http.get("/v1/map", params={"root": list(range(201))}), 422)


def test_a_phrase_that_nobody_wrote_is_told_without_a_warning_of_fields(client: Client) -> None:
    """Warnings are errors in these tests."""
    assert "purple cow" in client.search('"purple cow"', 2).warnings[0]
