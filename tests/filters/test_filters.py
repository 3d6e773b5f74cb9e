"""Filters: the meaning, example by example; columns against plain Python on random input; what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.errors import FilterError
from gossamer.filters import OPERATORS, Column, Path, check_size, evaluate, parse
from oracles.filters import matches


def select(where: dict[str, Any], documents: list[dict[str, Any]]) -> list[bool]:
    """For each document, whether the columns find it."""
    return evaluated(where, [(document, None) for document in documents])


def evaluated(where: dict[str, Any], documents: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> list[bool]:
    """The same where documents come one batch after the other, and some get other metadata in the end."""
    columns: dict[Path, Column] = {}
    half = len(documents) // 2

    def column(path: Path) -> Column:
        found = columns.setdefault(path, Column(path))
        if not found.rows:
            found.extend([before for before, _ in documents[:half]])
            found.extend([before for before, _ in documents[half:]])
            replaced = {row: after for row, (_, after) in enumerate(documents) if after is not None}
            if replaced:
                found.replace(list(replaced), list(replaced.values()))
        return found

    return list(map(bool, evaluate(parse(where), column, len(documents))))


def both(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """The answer of the columns and of the oracle, which must be the same."""
    answer = matches(where, metadata)
    assert select(where, [metadata, {}, metadata])[::2] == [answer, answer]
    return answer


PAPER = {
    "title": "Trees",
    "year": 2020,
    "score": 1.5,
    "draft": False,
    "note": None,
    "date": "2020-05-01",
    "when": "2020-05-01T12:30:00+02:00",
    "never": "2020-02-30",
    "tags": ["tree", "cobweb", 3],
    "author": {"name": "Ada", "born": {"year": 1815}},
    "reviewers": [{"name": "Grace", "marks": [1, 5]}, {"name": "Alan"}, "anonymous"],
    "a.b": "dotted",
    "$price": 5,
    'say "hi"': 1,
    "back\\slash": 2,
    "naïve key": "ü",
    "": "empty",
    "big": 2**70,
    "empty": [],
    "matrix": [[1, 2]],
}

TRUE: list[dict[str, Any]] = [
    {},
    {"year": 2020},
    {"year": 2020.0},
    {"year": {"$eq": 2020}},
    {"year": {"$gte": 2020, "$lt": 2021}},
    {"year": {"$gt": 2019.5}},
    {"score": {"$lte": 1.5}},
    {"year": {"$ne": 2021}},
    {"draft": False},
    {"draft": {"$ne": 0}},
    {"date": {"$gte": "2020-01-01", "$lt": "2020-12-31"}},
    {"title": {"$gt": "Apples"}},
    {"year": {"$in": [1, "x", 2020]}},
    {"year": {"$nin": [1, "2020", True]}},
    {"year": {"$nin": []}},
    {"note": None},
    {"note": {"$exists": True}},
    {"nothing": None},
    {"nothing": {"$in": ["x", None]}},
    {"nothing": {"$exists": False}},
    {"nothing": {"$ne": 5}},
    {"nothing": {"$nin": [5]}},
    {"nothing": {"$not": {"$gt": 5}}},
    {"$not": {"nothing": 5}},
    {"tags": "tree"},
    {"tags": 3},
    {"tags": {"$in": ["x", "cobweb"]}},
    {"tags": {"$gt": 2}},
    {"author.name": "Ada"},
    {"author.born.year": {"$lt": 1900}},
    {"author": {"$exists": True}},
    {"author.died": None},
    {"title.sub": {"$exists": False}},
    {"reviewers.name": "Alan"},
    {"reviewers.marks": 5},
    {"reviewers": "anonymous"},
    {"reviewers.nothing": None},
    {r"a\.b": "dotted"},
    {r"\$price": {"$gte": 5}},
    {'say "hi"': 1},
    {"back\\slash": 2},
    {"naïve key": "ü"},
    {"": "empty"},
    {"big": 2**70},
    {"big": 2**70 + 1},
    {"big": {"$gt": 2**62}},
    {"empty": {"$exists": True}},
    {"year": 2020, "draft": False},
    {"$and": [{"year": 2020}, {"draft": False}]},
    {"$or": [{"year": 1}, {"draft": False}]},
    {"year": 2020, "$or": [{"title": "x"}, {"title": "Trees"}]},
    {"$not": {"year": 2020, "draft": True}},
    {"year": {"$not": {"$not": {"$eq": 2020}}}},
    {"title": {"$contains": "ree"}},
    {"title": {"$startswith": "Tr"}},
    {"title": {"$startswith": "Trees"}},
    {"tags": {"$contains": "web"}},
    {"tags": {"$startswith": "cob"}},
    {"reviewers.name": {"$startswith": "Al"}},
    {"nothing": {"$not": {"$contains": "x"}}},
    {"date": date(2020, 5, 1)},
    {"date": {"$in": [datetime(2020, 5, 1, tzinfo=UTC)]}},
    {"date": {"$gte": date(2020, 5, 1), "$lt": date(2020, 5, 2)}},
    {"date": {"$gt": "2020-04-30T23:59:59Z"}},
    {"date": {"$lte": "2020-05-01T02:00+02:00"}},
    {"date": {"$gt": "2020-05-01 01:00+02:00"}},
    {"when": datetime(2020, 5, 1, 10, 30, tzinfo=UTC)},
    {"when": datetime(2020, 5, 1, 11, 30, tzinfo=timezone(timedelta(hours=1)))},
    {"when": {"$lt": "2020-05-01T12:00:00"}},
    {"when": {"$gt": datetime(2020, 5, 1, 10, 29)}},
    {"when": "2020-05-01T12:30:00+02:00"},
    {"date": {"$gt": "2020"}},
]

FALSE: list[dict[str, Any]] = [
    {"year": 2021},
    {"year": "2020"},
    {"year": {"$gt": "1999"}},
    {"title": {"$gt": 0}},
    {"draft": 0},
    {"draft": {"$in": [0, 0.0, None, ""]}},
    {"draft": {"$lt": 1}},
    {"note": {"$gt": 0}},
    {"note": {"$ne": None}},
    {"note": {"$exists": False}},
    {"nothing": {"$exists": True}},
    {"nothing": {"$gt": 0}},
    {"nothing": {"$ne": None}},
    {"year": {"$in": []}},
    {"year": {"$nin": [2020]}},
    {"tags": {"$ne": "tree"}},
    {"tags": {"$nin": ["x", "tree"]}},
    {"tags": None},
    {"tags": {"$gt": 3}},
    {"tags": True},
    {"author": "Ada"},
    {"author.name.first": "A"},
    {"a.b": "dotted"},
    {"reviewers.name": "Ada"},
    {"empty": None},
    {"matrix": 1},
    {"year": {"$gte": 2020, "$lt": 2020}},
    {"year": 2020, "draft": True},
    {"$or": [{"year": 1}, {"draft": True}]},
    {"$and": [{"year": 2020}, {"draft": True}]},
    {"year": {"$not": {"$gte": 2020}}},
    {"big": 2**70 + 2**20},
    {"title": {"$contains": "REE"}},
    {"title": {"$startswith": "rees"}},
    {"title": {"$startswith": "Trees!"}},
    {"year": {"$contains": "20"}},
    {"author": {"$contains": "Ada"}},
    {"title": {"$gt": date(2020, 1, 1)}},
    {"title": date(2020, 1, 1)},
    {"year": {"$gte": date(1, 1, 1)}},
    {"date": date(2020, 5, 2)},
    {"date": "2020-05-01T00:00:00"},
    {"date": {"$gt": "2020-05-01T00:00:00Z"}},
    {"when": {"$gt": "2020-05-01T12:00:00Z"}},
    {"when": "2020-05-01T10:30:00Z"},
    {"never": {"$gt": date(1, 1, 1)}},
]


@pytest.mark.parametrize("where", TRUE, ids=repr)
def test_what_matches(where: dict[str, Any]) -> None:
    assert both(where, PAPER)


@pytest.mark.parametrize("where", FALSE, ids=repr)
def test_what_does_not_match(where: dict[str, Any]) -> None:
    assert not both(where, PAPER)


def test_one_and_true_are_different() -> None:
    assert not both({"x": True}, {"x": 1})
    assert not both({"x": 1}, {"x": True})
    assert both({"x": True}, {"x": True})
    assert not both({"x": {"$gte": 0}}, {"x": [True]})


def test_null_in_a_list_is_found() -> None:
    assert both({"x": None}, {"x": [1, None]})
    assert not both({"x": None}, {"x": [1]})


def test_a_backslash_before_a_dot_can_be_written() -> None:
    assert both({"a\\\\.b": 1}, {"a\\": {"b": 1}})
    assert not both({"a\\.b": 1}, {"a\\": {"b": 1}})


def test_many_values_of_in() -> None:
    where = {"x": {"$in": list(range(10_000))}}
    assert select(where, [{"x": 9999}, {"x": 10000}]) == [True, False]


def test_the_values_of_in_may_be_a_set() -> None:
    assert [both({"x": {"$in": {1, 2}}}, {"x": value}) for value in (1, 2, 3)] == [True, True, False]


# ── columns against Python ─────────────────────────────────────────────────────────────────────────────────────

NAMES = ["a", "b", "a.b", 'q"uote', "sp ace", "it's", "ключ", "😀", "$d", "", "back\\", "\\.", "new\nline", "[0]"]
NUMBERS = [0, 1, -1, 2, 1.0, 1.5, -0.0, 0.1, 1e300, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, 2**63, -(2**70)]
TEXTS = ["", "a", "b", "A", "1", "é", "e\u0301", "z", "😀", "\uffff", "2020-01-01", "o'r", '"', "\n", "true", "null"]
DATES = [
    "2020-01-01T00:00:00Z",
    "2020-01-01 01:00+01:00",
    "2019-12-31T23:30:00.5-00:30",
    "2020-13-01",
    "2020",
    "9999-12-31",
]
dates = st.one_of(st.dates(), st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=-5))])))
scalars = st.one_of(
    st.sampled_from([None, True, False, *NUMBERS, *TEXTS, *DATES]),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
)
names = st.sampled_from(NAMES)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
metadatas = st.dictionaries(names, values, max_size=4)


def escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(".", "\\.").replace("$", "\\$")


keys = st.lists(names, min_size=1, max_size=3).map(lambda path: ".".join(map(escaped, path)))
operands = scalars | dates
ordered = operands.filter(lambda value: value is not None and not isinstance(value, bool))
parts = st.sampled_from(["a", "A", "é", "20", "2020-01", "😀", "\uffff", "\U0010ffff"]) | st.text("ab", min_size=1)
operator_dicts = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(["$eq", "$ne"]), operands),
        st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ordered),
        st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(operands, max_size=4)),
        st.tuples(st.sampled_from(["$contains", "$startswith"]), parts),
        st.tuples(st.just("$exists"), st.booleans()),
    ).map(lambda pair: {pair[0]: pair[1]}),
    lambda inner: st.one_of(
        inner.map(lambda operators: {"$not": operators}), st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1])
    ),
    max_leaves=3,
)
wheres = st.recursive(
    st.dictionaries(keys, scalars | operator_dicts, min_size=1, max_size=2),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["$and", "$or"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda pair: {pair[0]: pair[1]}
        ),
        inner.map(lambda where: {"$not": where}),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=5,
)


@settings(max_examples=400)
@given(where=wheres, documents=st.lists(st.tuples(metadatas, st.none() | metadatas), min_size=1, max_size=6))
def test_columns_and_python_agree(
    where: dict[str, Any], documents: list[tuple[dict[str, Any], dict[str, Any] | None]]
) -> None:
    """Documents come in two batches, and some are then given other metadata."""
    now = [before if after is None else after for before, after in documents]
    assert evaluated(where, documents) == [matches(where, document) for document in now]


numbers = st.sampled_from(NUMBERS) | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False)


@settings(max_examples=200)
@given(order=st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq"]), operand=numbers, values=st.lists(numbers))
def test_numbers_compare_exactly(order: str, operand: float, values: list[float]) -> None:
    """Also whole numbers that lie between two floats, and those beyond all floats or whole numbers of 64 bits."""
    if isinstance(operand, float) and not np.isfinite(operand):
        return
    where = {"x": {order: operand}}
    documents = [{"x": value} for value in values]
    assert select(where, documents) == [matches(where, document) for document in documents]


ALIKE: list[list[dict[str, Any]]] = [
    [{"a": {"b": "x"}}, {"a": {"b": "y"}}, {"a": {"b": "x"}}],
    [{"a": {"b": 3}}, {"a": {}}, {}],
    [{"a": {"b": 3}}, {"a": [{"b": 4}]}, {"a": 5}],
    [{"a": {"b": ["x", "y"]}}, {"a": {"b": ["y"]}}, {"a": {"b": ["z", "x", "x"]}}],
    [{"a": {"b": [1, 2]}}, {"a": {"b": [2**63]}}],
    [{"a": {"b": [1, 2]}}, {"a": {"b": [3]}}],
    [{"a": {"b": ["x", "y"]}}, {"a": {"b": []}}],
    [{"a": {"b": [["x"], {"b": "x"}]}}, {"a": {"b": [["y"]]}}],
    [{"a": {"b": {"b": "x"}}}, {"a": {"b": {"b": 3}}}],
    [{}, {}, {"a": {"b": None}}],
]


@pytest.mark.parametrize("documents", ALIKE, ids=repr)
def test_documents_alike_are_as_documents_one_by_one(documents: list[dict[str, Any]]) -> None:
    """Values of one kind are taken together."""
    column = Column(("a", "b"))
    column.extend(documents)
    column.extend(documents)
    conditions: list[Any] = ["x", 3, None, {"$gte": 2}, {"$exists": True}, {"$in": ["y", 1]}, {"$startswith": "z"}]
    for condition in conditions:
        where = {"a.b": condition}
        node = parse(where)
        expected = [matches(where, document) for document in documents]
        assert evaluate(node, lambda _: column, column.rows).tolist() == expected * 2
    assert column.present == any(matches({"a.b": {"$exists": True}}, document) for document in documents)


@settings(max_examples=200)
@given(metadata=metadatas)
def test_every_value_is_found_under_its_own_key(metadata: dict[str, Any]) -> None:
    """The agreement above would hold between two readings that never match anything; this one would not."""
    plain = {key: value for key, value in metadata.items() if not isinstance(value, dict | list)}
    for key, value in plain.items():
        assert both({escaped(key): value}, metadata)
        assert not both({escaped(key): {"$ne": value}}, metadata)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({"x": "a"}, False),
        ({"x": {"$in": ["a", "b"]}}, False),
        ({"x": {"$ne": "a"}}, True),
        ({"x": {"$gt": "a"}}, True),
        ({"x": {"$lte": "a"}}, False),
        ({"x": {"$lt": "ab"}}, True),
        ({"list": "a"}, False),
        ({"deep.x": "a"}, False),
        ({"a": 1}, False),
        ({"a": {"$exists": True}}, False),
        ({"escaped": r"\u0000"}, True),
        ({r"back\u0000": 2}, True),
    ],
)
def test_a_nul_stored_earlier_cuts_nothing(where: dict[str, Any], wanted: bool) -> None:
    metadata = {
        "x": "a\0b", "list": ["a\0b"], "deep": {"x": "a\0b"}, "a\0b": 1, "escaped": r"\u0000", r"back\u0000": 2,
    }  # fmt: skip
    assert both(where, metadata) == wanted


# ── what is refused ────────────────────────────────────────────────────────────────────────────────────────


def nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"x": 1}
    for level in range(depth - 1):
        where = {"$or": [{"y": 2}, where]} if level % 2 else {"z": 3, "$not": where}
    return where


class NotATime(datetime):
    """A datetime in name alone, as pandas' NaT."""

    def __new__(cls) -> NotATime:
        return super().__new__(cls, 2020, 1, 1)

    def utcoffset(self) -> Any:
        return "NaT"


REFUSED: list[tuple[Any, str]] = [
    ([("a", 1)], "must be a dict"),
    ("year > 3", "must be a dict"),
    ({1: 2}, "a key must be a string"),
    ({"$where": "1"}, "unknown operator '$where'"),
    ({"$price": 3}, r"\\$price"),
    ({"$gt": 3}, "under a key"),
    ({"year": {"$regex": "x"}}, "unknown operator '$regex' on 'year'"),
    ({"year": {3: 4}}, "unknown operator"),
    ({"author": {"name": "Ada"}}, "'author.name'"),
    ({"year": {"$and": [{"$gt": 3}]}}, "{'$and': [{'year': …}, …]}"),
    ({"year": {}}, "empty dict"),
    ({"$not": {}}, "empty dict"),
    ({"$and": [{}]}, "empty dict"),
    ({"$and": []}, "list of at least one"),
    ({"$or": {"a": 1}}, "list of at least one"),
    ({"$or": ["a"]}, "must be a dict"),
    ({"year": {"$not": 3}}, "write $ne"),
    ({"year": {"$in": 3}}, "takes a list"),
    ({"year": {"$in": "abc"}}, "takes a list"),
    ({"year": {"$nin": {"a": 1}}}, "takes a list"),
    ({"year": {"$in": [[1]]}}, "whole list"),
    ({"year": [1, 2]}, "'$in'"),
    ({"year": {"$eq": {"a": 1}}}, "must be a string, number"),
    ({"year": {"$exists": 1}}, "True or False"),
    ({"year": {"$gt": None}}, "no order"),
    ({"year": {"$gt": True}}, "no order"),
    ({"year": {"$gt": [1]}}, "whole list"),
    ({"year": float("nan")}, "not finite"),
    ({"year": {"$lt": float("inf")}}, "not finite"),
    ({"year": 10**400}, "not finite"),
    ({"year": time(12, 30)}, "isoformat"),
    ({"year": {"$contains": 3}}, "write $eq"),
    ({"year": {"$startswith": None}}, "write $eq"),
    ({"year": {"$contains": ""}}, "at least one character"),
    ({"year": NotATime()}, "no date"),
    ({"year": b"2020"}, "must be a string, number"),
    ({"x": "a\0b"}, "NUL"),
    ({"a\0b": 1}, "NUL"),
    ({"x": "\ud800"}, "surrogate"),
    ({"x\ud800": 1}, "surrogate"),
    (nested(33), "nested more than 32"),
    ({"x": json.loads('{"$not":' * 40 + '{"$eq":1}' + "}" * 40)}, "nested more than 32"),
    ({".".join("x" * 33): 1}, "33 levels deep"),
    ({"$or": [{"x": value} for value in range(257)]}, "more than 256 conditions are too many"),
    ({"$or": [{".".join("x" * 32): value} for value in range(33)]}, "keys go more than 1,024 levels deep in sum"),
    ({"a.b.c.d": {"$in": [1]}, "$and": [{"a.b.c.d.e": {"$ne": 1, "$exists": True}}] * 103}, "more than 1,024 levels"),
    ({"x" * 1001: 1}, "has 1,001 characters (at most 1,000)"),
    ({"x": "y" * 100_001}, "has 100,001 characters (at most 100,000)"),
    ({"x": {"$in": list(range(10_001))}}, "has 10,001 values (at most 10,000)"),
    ({"x": {"$in": ["y" * 100_000] * 11}}, "more than 1,000,000 characters in sum"),
    ({"$or": [{"x": {"$in": [10**300] * 1000}}] * 4}, "more than 1,000,000 characters in sum"),
]

MEGABYTES = "x" * 2_000_000
HUGE: list[Any] = [
    {MEGABYTES: 1},
    {"." * 2_000_000: 1},
    {MEGABYTES: {}},
    {MEGABYTES: {"$near": 1}},
    {"$" + MEGABYTES: 1},
    {"x": {MEGABYTES: 1}},
    {"x": {"$" + MEGABYTES: 1}},
    {"x": MEGABYTES},
    {"x": MEGABYTES + "\0"},
    {"x": {"$in": MEGABYTES}},
    {"x": {"$exists": [MEGABYTES]}},
    {"x": {"$exists": 10**5000}},
    {"x": {"$not": list(range(1_000_000))}},
    {"$and": MEGABYTES},
    {"$or": [{"x": 1}] * 1_000_000},
    {"x": {"$in": [1] * 1_000_000}},
    MEGABYTES,
]


@pytest.mark.parametrize("where", HUGE, ids=range(len(HUGE)))
def test_huge_filters_are_refused_in_few_words(where: Any) -> None:
    with pytest.raises(FilterError) as caught:
        parse(where)
    assert len(str(caught.value)) < 600


def test_counting_stops_at_the_first_that_is_too_many() -> None:
    class Watched(list[Any]):
        seen = 0

        def __iter__(self) -> Iterator[Any]:
            for item in super().__iter__():
                self.seen += 1
                yield item

    conditions = Watched([{"x": 1}] * 1000)
    with pytest.raises(FilterError):
        parse({"$or": conditions})
    assert conditions.seen == 257


def test_a_caller_may_have_bounds_of_its_own() -> None:
    two = {"a": "xyz", "b": {"$not": {"$gt": 10}}}
    check_size(two, conditions=2, characters=7)
    with pytest.raises(FilterError, match="more than 1 conditions"):
        check_size(two, conditions=1, characters=7)
    with pytest.raises(FilterError, match="more than 6 characters"):
        check_size(two, conditions=2, characters=6)


@pytest.mark.parametrize(("where", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_bad_filters_are_refused_with_the_cure(where: Any, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(where)
    assert message in str(caught.value)
    assert all(operator in str(caught.value) for operator in OPERATORS)


# ── limits ─────────────────────────────────────────────────────────────────────────────────────────────────


def bushy(depth: int, size: int) -> dict[str, Any]:
    """Filters that are as hard to parse as they come: deep on every side."""
    if depth <= 1 or size <= 2:
        return nested(depth)
    half = bushy(depth - 1, size // 2)
    return {
        "x.y": {"$in": [1, "a", None]},
        "$or": [{"a": 1, **half}, {"$not": {"b": 1, **bushy(depth - 2, size // 2)}}],
    }


@pytest.mark.parametrize(
    "where", [nested(32), bushy(32, 4), bushy(30, 16), bushy(12, 64)], ids=["deep", "4", "16", "64"]
)
def test_the_deepest_filters_are_accepted(where: dict[str, Any]) -> None:
    both(where, {"x": 1, "y": 3, "z": 3})


def test_the_widest_filters_are_accepted() -> None:
    assert both({"$or": [{"x": value} for value in range(256)]}, {"x": 255})
    assert both({f"k{value}": {"$ne": 0} for value in range(256)}, {"k255": 1})


def test_the_longest_key_is_accepted() -> None:
    value: Any = 7
    for _ in range(32):
        value = {"x": value}
    assert both({".".join("x" * 32): 7}, value)


def test_scalars_of_numpy_are_those_of_python() -> None:
    for ours, theirs in ((np.int64(5), 5), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a")):
        assert parse({"a": ours}) == parse({"a": theirs})
        assert parse({"a": {"$in": [ours]}}) == parse({"a": {"$in": [theirs]}})
    assert parse({"a": {"$exists": np.bool_(False)}}) == parse({"a": {"$exists": False}})
    for wrong in (np.timedelta64(1, "ns"), np.datetime64("2026-01-01", "ns"), np.complex64(1), np.float64("nan")):
        with pytest.raises(FilterError):
            parse({"a": wrong})
