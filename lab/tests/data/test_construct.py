"""The paper's construction: what must hold whatever the data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InputError
from gossamer_lab.data.collection import Collection, plain
from gossamer_lab.data.construct import Pair, cut, from_pairs

questions = st.integers(0, 60).map(lambda number: f"Question  {number}?" if number % 3 else f"question {number}?")
pairs = st.lists(st.builds(Pair, questions, questions, st.booleans()), min_size=5, max_size=80)


def check(made: Collection, documents: int, queries: int) -> None:
    assert len(made) == documents
    assert len(made.queries) == queries
    assert len({plain(text) for text in made.texts}) == documents
    assert len({plain(query) for query in made.queries}) == queries
    for query, text in zip(made.query_ids, made.queries, strict=True):
        assert made.answers[query]
        for id in made.answers[query]:
            assert plain(made.texts[made.row_of[id]]) != plain(text)
        same = {id for id, each in zip(made.ids, made.texts, strict=True) if plain(each) == plain(text)}
        assert made.own.get(query, frozenset()) == same


@given(pairs, st.integers(1, 20), st.integers(1, 5), st.integers(0, 3))
def test_pairs(pairs: list[Pair], documents: int, queries: int, seed: int) -> None:
    try:
        made = from_pairs(pairs, "made", documents=documents, queries=queries, seed=seed)
    except InputError:
        return
    check(made, documents, queries)
    again = from_pairs(pairs, "made", documents=documents, queries=queries, seed=seed)
    assert (made.texts, made.queries, made.fingerprint) == (again.texts, again.queries, again.fingerprint)
    asked = {(plain(pair.first), plain(pair.second)) for pair in pairs if pair.duplicate}
    for query, text in zip(made.query_ids, made.queries, strict=True):
        (answer,) = made.answers[query]
        assert (plain(text), plain(made.texts[made.row_of[answer]])) in asked


def test_pairs_that_suffice_are_enough() -> None:
    pairs = [Pair(f"ask {i}", f"answer {i}", i % 2 == 0) for i in range(40)]
    made = from_pairs(pairs, "made", documents=30, queries=10, seed=1)
    check(made, 30, 10)
    assert from_pairs(pairs, "made", documents=30, queries=10, seed=2).texts != made.texts


def test_too_much_asked() -> None:
    with pytest.raises(InputError, match="gives 1 queries, and 2 were asked for"):
        from_pairs([Pair("a", "b", True), Pair("c", "d", False)], "made", documents=2, queries=2)
    with pytest.raises(InputError, match="5 queries over 4 documents"):
        from_pairs([], "made", documents=4, queries=5)


@given(st.integers(1, 3), st.integers(3, 5), st.integers(0, 5))
def test_cutting_keeps_answers(queries: int, documents: int, seed: int) -> None:
    whole = Collection(
        "whole", tuple("abcde"), tuple("abcde"), ("x", "y", "z"), ("1", "2", "3"),
        {"x": {"a": 1}, "y": {"b": 1}, "z": {"c": 1}},
    )  # fmt: skip
    made = cut(whole, documents=documents, queries=queries, seed=seed)
    assert len(made) == documents
    assert len(made.queries) >= queries
    for query in made.query_ids:
        assert made.answers[query] == whole.answers[query]


def test_cutting_too_far() -> None:
    whole = Collection("w", ("a", "b"), ("a", "b"), ("x", "y"), ("1", "2"), {"x": {"a": 1}, "y": {"b": 1}})
    with pytest.raises(InputError, match="2 queries have 2 answers, more than 1 documents"):
        cut(whole, documents=1, queries=None)
