"""Filters in an index: columns that follow every change, where it is written and where it is read; warnings."""

from __future__ import annotations

import sqlite3
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bag import encode
from gossamer import Index, VectorIndex
from gossamer.errors import CorruptError, UnknownFieldWarning
from gossamer.index.document_table import DocumentTable
from oracles.filters import matches

WHERES: list[dict[str, Any]] = [
    {"n": {"$lt": 3}},
    {"n": {"$ne": 1}},
    {"tags": {"$in": ["a", "b"]}},
    {"day": {"$gte": date(2024, 1, 2)}},
    {"inner.x": {"$exists": True}},
    {"name": {"$startswith": "ab"}, "n": {"$not": {"$gt": 2}}},
    {"$or": [{"name": {"$contains": "c"}}, {"n": None}]},
]
metadatas = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from([0, 1, 2.5, 4, None, True, "1"]),
        "tags": st.lists(st.sampled_from(["a", "b", "c", 1]), max_size=3) | st.just("a"),
        "day": st.sampled_from(["2024-01-01", "2024-01-02T00:30:00+01:00", "2024-01-03", "soon"]),
        "inner": st.sampled_from([{}, {"x": 1}, [{"x": 2}, {"y": 1}], 3]),
        "name": st.sampled_from(["abc", "ab", "b", "ac"]),
    },
)
LONG = "The sun went down. The moon came up. " * 12
"""A text of several passages."""
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 2), metadatas),
        st.tuples(st.just("add long"), st.integers(0, 2), metadatas),
        *[st.tuples(st.just("update"), st.integers(0, 2), metadatas)] * 3,
        st.tuples(st.just("delete"), st.integers(0, 2), st.none()),
        st.tuples(st.just("rebuild"), st.just(0), st.none()),
    ),
    min_size=4,
    max_size=12,
)


def check(index: Index, expected: dict[str, dict[str, Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownFieldWarning)
        for where in WHERES:
            wanted = {id for id, metadata in expected.items() if matches(where, metadata)}
            assert set(index.ids(where=where)) == wanted
    found = index.search("sun and moon", k=20, where={"$or": [{"n": {"$exists": True}}, {"n": {"$exists": False}}]})
    assert {hit.id: hit.metadata for hit in found} == expected


@settings(max_examples=20, deadline=None)
@given(steps)
def test_columns_follow_every_change(tmp_path_factory: pytest.TempPathFactory, changes: list[Any]) -> None:
    """What a writer and a reader find is what the metadata at that moment says."""
    path = tmp_path_factory.mktemp("index") / "a.gsm"
    expected: dict[str, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    with Index.create(path, encode, max_tokens=30) as writer, Index.open(path, encode, mode="r") as reader:
        for at, (kind, number, metadata) in enumerate(changes):
            id = f"d{number}"
            if kind.startswith("add") or (kind == "update" and id in expected):
                if kind != "update":
                    texts[id] = f"{LONG if kind == 'add long' else 'wolf and tree'} {at}"
                expected[id] = metadata
                writer.add([texts[id]], [id], [metadata])
            elif kind == "delete":
                expected.pop(id, None)
                writer.delete(id)
            elif kind == "rebuild":
                writer.rebuild()
            check(writer, expected)
            if at % 2:
                check(reader, expected)


def test_more_updates_than_are_remembered(tmp_path: Path) -> None:
    ids = [f"d{i}" for i in range(700)]
    with Index.create(tmp_path / "a.gsm", encode) as writer:
        writer.add(["sun"] * 700, ids, [{"n": 0}] * 700)
        with Index.open(tmp_path / "a.gsm", encode, mode="r") as reader:
            for index in (writer, reader):
                assert index.ids(where={"n": 1}) == []
            writer.add(["sun"] * 3, ids[:3], [{"n": 1}] * 3)
            writer.add(["sun"] * 690, ids[10:], [{"n": 2}] * 690)
            writer.add(["sun"] * 2, ids[3:5], [{"n": 1}] * 2)
            for index in (writer, reader):
                assert index.ids(where={"n": 1}) == ids[:5]
                assert len(index.ids(where={"n": 2})) == 690
                assert index.ids(where={"n": 0}) == ids[5:10]


@pytest.fixture
def people() -> Index:
    index = Index(encode)
    metadata = [{"year": 2020 + n, "author": {"name": f"a{n}"}, "tags": ["x"]} for n in range(5)]
    index.add([f"{n} suns" for n in range(5)], metadata=metadata)
    return index


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"yaer": 2020}, "no document has the field 'yaer': did you mean 'year'?"),
        ({"YEAR": 2020}, "no document has the field 'YEAR': did you mean 'year'?"),
        ({"author.nmae": "a"}, "no document has the field 'author.nmae': did you mean 'author.name' or 'author'?"),
        ({"$not": {"year": 2020, "qqq": {"$gt": 1}}}, "no document has the field 'qqq': there are 'author', "
         "'author.name', 'tags', 'year'"),
    ],
)  # fmt: skip
def test_a_field_that_no_document_has(people: Index, where: dict[str, Any], told: str) -> None:
    with pytest.warns(UnknownFieldWarning) as caught:
        hits = people.search("sun", where=where)
    assert [str(each.message) for each in caught] == [told]
    assert caught[0].filename == __file__
    assert hits.warnings == (told,)
    with pytest.warns(UnknownFieldWarning) as caught:
        several = people.search(["sun", "moon"], where=where)
    assert len(caught) == 1
    assert [each.warnings for each in several] == [(told,)] * 2
    with pytest.warns(UnknownFieldWarning):
        people.ids(where=where)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"year": "2020"}, "the field 'year' holds numbers, and was compared with the text '2020'"),
        ({"author.name": {"$gte": 3}}, "the field 'author.name' holds text, and was compared with the number 3"),
        ({"year": {"$gt": date(2020, 1, 1)}}, "the field 'year' holds numbers, and was compared with a date"),
        ({"$not": {"tags": {"$in": [True, 1]}}}, "the field 'tags' holds text, and was compared with the value True"),
        ({"year": {"$contains": "20"}}, "the field 'year' holds numbers, and was compared with the text '20'"),
    ],
)
def test_values_of_a_kind_that_no_document_has(people: Index, where: dict[str, Any], told: str) -> None:
    with pytest.warns(UnknownFieldWarning) as caught:
        hits = people.search("sun", where=where)
    assert [str(each.message) for each in caught] == [f"{told}: that matches nothing"]
    assert hits.warnings == (f"{told}: that matches nothing",)


def test_a_text_that_is_no_date_beside_dates(people: Index) -> None:
    people.add(["one", "two"], metadata=[{"born": "2020-05-01"}, {"born": "2021-06-02T10:00:00Z"}])
    told = "the field 'born' holds dates, and was compared with the text 'last week', which is none"
    with pytest.warns(UnknownFieldWarning, match=told):
        people.search("one", where={"born": {"$gte": "last week"}})
    for fine in ("2020", "2020-05", "2020-05-01", "2020-05-01 10:00", date(2020, 5, 1)):
        assert people.search("one", where={"born": {"$gte": fine}}).warnings == ()
    people.add("three", metadata={"born": "long ago"})
    assert people.search("one", where={"born": {"$gte": "last week"}}).warnings == ()


def test_a_boost_by_a_field_without_dates(people: Index) -> None:
    people.add(["one", "two"], metadata=[{"born": "2020-05-01"}, {"born": "unknown"}])
    boost = {"field": "born", "half_life": "30d"}
    assert people.search("one", boost=boost).warnings == ()
    told = "the field 'author.name' holds no dates, so nothing is preferred by it"
    with pytest.warns(UnknownFieldWarning) as caught:
        hits = people.search("one", boost={**boost, "field": "author.name"})
    assert [str(each.message) for each in caught] == [told]
    assert hits.warnings == (told,)


def test_no_warning_where_a_value_could_match(people: Index) -> None:
    people.add("mixed", metadata={"year": "unknown", "empty": []})
    for where in ({"year": "2020"}, {"year": {"$in": ["2020", None]}}, {"empty": 1}, {"year": None}):
        assert people.search("sun", where=where).warnings == ()


def test_no_warning_for_a_field_that_comes_later_or_is_only_asked_for(people: Index) -> None:
    assert people.search("sun", where={"yaer": {"$exists": True}}) == []
    assert people.search("sun").warnings == ()
    with pytest.warns(UnknownFieldWarning):
        assert people.search("sun", where={"late": 1}) == []
    people.add("late", metadata={"late": 1})
    assert len(people.search("sun", where={"late": 1})) == 1
    with Index(encode) as empty:
        assert empty.search("sun", where={"x": 1}) == []
        assert empty.ids(where={"x": 1}) == []
        empty.add("sun")
        with pytest.warns(UnknownFieldWarning, match="none has any metadata"):
            empty.search("sun", where={"x": 1})


def test_altered_metadata_is_told(tmp_path: Path) -> None:
    for altered in ("{", "[1]", "{}, {}", "3"):
        with Index(encode) as index:
            index.add(["sun", "moon"], metadata=[{"a": 1}, {"a": 2}])
            with index.state.store.reading() as db:
                db.execute("UPDATE documents SET metadata = ? WHERE document = 1", (altered,))
            with pytest.raises(CorruptError, match="metadata of documents 1 to 2"):
                index.search("sun", where={"a": 1})


@pytest.mark.parametrize("n", [40, 1300])
@pytest.mark.parametrize("hybrid", [True, False])
def test_a_batch_is_answered_as_one_query_after_the_other(n: int, hybrid: bool) -> None:
    words = ["sun", "moon", "star", "river", "milk", "wolf", "tree", "queen", "silk", "gold", "iron"]
    texts = [f"{words[i % 11]} {words[i % 7]} {words[(i * i) % 5]} {i}" for i in range(n)]
    queries = ["sun and moon", "gold", "a river of milk", "iron", "wolf in a tree"] * 4
    options: dict[str, Any] = {"k": 5, "hybrid": hybrid, "where": {"at": {"$gte": 7}}, "explain": True}
    with Index(encode) as index:
        assert index.search([]) == []
        assert index.search(queries[:2]) == [[], []]
        index.add(texts, metadata=[{"at": i} for i in range(n)])
        index.settle()  # labels are made in the background, and change what a search shows
        one_by_one = [index.search(query, **options) for query in queries]
        assert index.search(queries, **options) == one_by_one
        assert all(len(hits) == 5 for hits in one_by_one)
        vectors = encode(queries)
        by_vector: Any = index.search(vector=vectors, k=3)
        assert by_vector == [index.search(vector=vector, k=3) for vector in vectors]
        assert by_vector[:1] == index.search(vector=vectors[:1], k=3)
        both = index.search(queries, vector=vectors, **options)
        assert both == one_by_one
        assert index.search(queries[:4], min_confidence=1.0) == [[], [], [], []]


def test_passages_whose_order_is_not_that_of_their_documents() -> None:
    """No index writes such a table now. One that did, would be read all the same."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE passages (passage INTEGER PRIMARY KEY, document INTEGER, gone INTEGER)")
    db.execute("CREATE TABLE documents (document INTEGER PRIMARY KEY, metadata TEXT)")
    rows = {1: 20, 2: 10, 3: 20, 4: 10, 5: 30}
    db.executemany("INSERT INTO passages VALUES (?, ?, NULL)", rows.items())
    vectors = VectorIndex(2)
    vectors.add(np.eye(2)[[0, 1, 0]] + np.arange(3)[:, None], ids=[1, 2, 3])
    table = DocumentTable()
    table.follow(db, vectors, 1)
    assert table.owners(np.arange(3)).tolist() == [20, 10, 20]
    assert table.passages(np.array([10, 20])).tolist() == [1, 0, 2]
    vectors.add([[5.0, 6.0], [7.0, 9.0]], ids=[4, 5])
    vectors.delete([2])
    table.follow(db, vectors, 2)
    assert table.passages(np.array([10, 30])).tolist() == [3, 4]
    assert table.all_passages().tolist() == [0, 2, 3, 4]
    assert table.owning(np.array([0, 0, 1, 1, 0], np.uint8)).tolist() == [10, 20]
    db.execute("INSERT INTO passages VALUES (6, 5, NULL)")
    vectors.add([[8.0, 1.0]], ids=[6])
    table.follow(db, vectors, 3)
    assert table.owners(np.array([0, 3, 4, 5])).tolist() == [20, 10, 30, 5]
    vectors.add([[8.0, 2.0]], ids=[7])
    with pytest.raises(CorruptError, match="missing from"):
        table.follow(db, vectors, 4)
