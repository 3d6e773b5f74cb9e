"""Highlighting: where the words of a query stand in texts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bag import encode
from gossamer import Index
from gossamer.array_types import DocumentNumber
from gossamer.lexical.query_text import parse
from gossamer.lexical.scores import LexicalScores
from gossamer.lexical.words import Words, WordsOf


def matches_in(texts: list[str], query: str) -> list[tuple[tuple[int, int], ...]]:
    """The places in an index that holds just the query, so that its words are known."""
    words = Words.empty("english").changed((), [WordsOf(DocumentNumber(1), query, "")])
    return LexicalScores(words, parse(query).words, 1.0).matches_in(texts)


def marked(text: str, query: str) -> list[str]:
    (spans,) = matches_in([text], query)
    return [text[start:stop] for start, stop in spans]


# -- where words stand -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Parsing: a parser parsed it, unparsed", "parse", ["Parsing", "parsed"]),  # "parser" has another stem
        ("Dreams, a dream, dreaming, dreamy", "dreams", ["Dreams", "dream", "dreaming"]),
        ("Über den CAFÉS und cafe\u0301", "cafe uber", ["Über", "CAFÉS", "cafe\u0301"]),
        ("\U0001f680\U0001f468\u200d\U0001f469\u200d\U0001f467 moon \U0001f319 moon", "moon", ["moon", "moon"]),
        ("before\0moon and\0after", "moon after", ["moon", "after"]),
        ("AND or NOT near", "and not", ["AND", "NOT"]),
        ("moon-moon moon_moon", "moon", ["moon", "moon", "moon", "moon"]),
        ("nothing here", "moon", []),
        ("", "moon", []),
        ("\ue000moon \ufffe moon", "moon", ["moon", "moon"]),
    ],
)
def test_words_in_all_their_forms(text: str, query: str, expected: list[str]) -> None:
    assert marked(text, query) == expected


def test_several_texts_at_once() -> None:
    texts = ["ñandú moon", "", "no match", "\U0001f319moons\n", "moon"]
    assert matches_in(texts, "moon") == [((6, 10),), (), (), ((1, 6),), ((0, 4),)]
    assert matches_in(texts, "?") == [()] * 5
    assert matches_in([], "moon") == []


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    assert matches_in(["moon " * 100_000], "moon")[0] == tuple((at, at + 4) for at in range(0, 4_000, 5))


@given(st.lists(st.text(max_size=30), max_size=4))
def test_offsets_are_of_characters_in_any_text(parts: list[str]) -> None:
    text = " moon ".join(parts)
    (spans,) = matches_in([text], "moon")
    found = [text[start:stop].lower() for start, stop in spans]
    assert found.count("moon") >= len(parts) - 1 if parts else not found
    assert list(spans) == sorted(spans)
    assert all(stop <= next_start for (_, stop), (next_start, _) in pairwise(spans))


# -- in hits -----------------------------------------------------------------------------------------


def test_hits_say_where_the_words_of_the_query_are() -> None:
    with Index(encode) as index:
        index.add(["\U0001f680 Moons and a moon", "bread, Crème brûlée", "comet"], ["m", "b", "c"])
        hits = {hit.id: hit for hit in index.search("moon creme", k=3)}
        assert hits["m"].matches == ((2, 7), (14, 18))
        assert hits["b"].matches == ((7, 12),)
        assert hits["c"].matches == ()
        for kept in (index.search("moon", hybrid=False), index.search(vector=encode(["moon"])[0])):
            assert all(hit.matches == () for hit in kept)


def test_matches_are_those_of_the_passage() -> None:
    """A long text is split: offsets are into the passage that is shown, not into the text."""
    with Index(encode, max_tokens=8, overlap=0) as index:
        text = "moon comet planet orbit. " * 6 + "bread oven yeast dough. " * 6 + "bread of the moon"
        index.add([text, "violin piano"], ["long", "short"])
        hit = index.search("breads", k=1)[0]
        assert hit.start > 0
        assert hit.passage == text[hit.start : hit.start + len(hit.passage)]
        assert hit.matches
        assert {hit.passage[start:stop] for start, stop in hit.matches} == {"bread"}
        assert len(hit.matches) == hit.passage.count("bread")


def test_in_a_large_index_common_words_are_not_marked() -> None:
    texts = [f"a moon {at}" if at % 50 == 0 else f"a river {at}" for at in range(1200)]
    words = Words.empty("english").changed((), [WordsOf(DocumentNumber(at), text, "") for at, text in enumerate(texts)])
    found = LexicalScores(words, parse("a moon").words, 1.0)
    assert found.words == ("moon", "a"), "it counts all the same"
    assert found.matches_in(["such a moon"]) == [((7, 11),)]
