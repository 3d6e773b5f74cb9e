"""Words of a query: which of them count, and where they stand in texts."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bag import encode
from gossamer import Index
from gossamer.lexical.fulltext import TOKENIZER, bm25, informative_words, matches_in, query_words, words_in
from gossamer.store.schema import SCHEMA


def marked(text: str, query: str) -> list[str]:
    (spans,) = matches_in([text], query_words(query))
    return [text[start:stop] for start, stop in spans]


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """2,000 documents: "common" in all, "frequent" in 200, "many" in 201, "rare" in two."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, tokenize='{TOKENIZER}')")
    for number in range(2000):
        words = ["common", "frequent" * (number < 200), "many" * (number < 201), "rare" * (number < 2)]
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, " ".join(words)))
    yield connection
    connection.close()


# -- words that count --------------------------------------------------------------------------------


def test_words_of_a_query() -> None:
    words = ["the", "red", "planet", "mars", "not", "3", "5"]
    assert query_words("The red, RED planet_Mars \U0001f680 (NOT) 3.5") == words
    assert query_words("cafe\u0301") == ["café"]
    assert query_words("?! …") == []


def test_words_that_say_little_are_left_out_of_a_large_index(db: sqlite3.Connection) -> None:
    words = ["common", "many", "frequent", "rare", "nowhere"]
    assert informative_words(db, words, 2000) == ["rare", "frequent"]
    assert informative_words(db, words, 999) == ["rare", "frequent", "many"]  # "common" is in more than there are
    assert bm25(db, []) == {}
    assert set(bm25(db, ["rare"])) == {0, 1}
    assert words_in(db, ["rare", "frequent"], [1, 5, 700]) == {1: ("rare", "frequent"), 5: ("frequent",), 700: ()}


# -- where words stand -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        (
            "Parsing: a parser parsed it, unparsed",
            "parse",
            ["Parsing", "parsed"],
        ),  # Porter's stems: "parser" is another
        ("Dreams, a dream, dreaming, dreamy", "dreams", ["Dreams", "dream", "dreaming"]),
        ("Über den CAFÉS und cafe\u0301", "cafe uber", ["Über", "CAFÉS", "cafe\u0301"]),
        ("\U0001f680\U0001f468\u200d\U0001f469\u200d\U0001f467 moon \U0001f319 moon", "moon", ["moon", "moon"]),
        ("before\0moon and\0after", "moon after", ["moon", "after"]),
        ("AND or NOT near", "and not", ["AND", "NOT"]),
        ("moon-moon moon_moon", "moon", ["moon", "moon", "moon", "moon"]),
        ("nothing here", "moon", []),
        ("", "moon", []),
        ("\ue000moon \ufffe moon", "moon", ["moon"]),  # private use counts as letters
    ],
)
def test_the_words_that_fts5_finds(text: str, query: str, expected: list[str]) -> None:
    assert marked(text, query) == expected


def test_several_texts_at_once() -> None:
    texts = ["ñandú moon", "", "no match", "\U0001f319moons\n", "moon"]
    assert matches_in(texts, ["moon"]) == [((6, 10),), (), (), ((1, 6),), ((0, 4),)]
    assert matches_in(texts, []) == [()] * 5
    assert matches_in([], ["moon"]) == []


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    assert matches_in(["moon " * 100_000], ["moon"])[0] == tuple((at, at + 4) for at in range(0, 4_000, 5))


@given(st.lists(st.text(max_size=30), max_size=4))
def test_offsets_are_of_characters_in_any_text(parts: list[str]) -> None:
    text = " moon ".join(parts)
    (spans,) = matches_in([text], ["moon"])
    found = [text[start:stop].lower() for start, stop in spans]
    assert found.count("moon") >= len(parts) - 1 if parts else not found
    assert list(spans) == sorted(spans)
    assert all(stop <= next_start for (_, stop), (next_start, _) in pairwise(spans))


def test_threads_do_not_mix_their_texts() -> None:
    wrong: list[object] = []

    def look(word: str) -> None:
        for _ in range(50):
            found = matches_in([f"a {word}", word], [word])
            if found != [((2, 2 + len(word)),), ((0, len(word)),)]:
                wrong.append(found)

    threads = [threading.Thread(target=look, args=("x" * n,)) for n in range(3, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_index_splits_texts_in_the_same_way() -> None:
    assert f"tokenize='{TOKENIZER}'" in SCHEMA


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
