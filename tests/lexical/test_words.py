"""The words of documents: scored as by the book, whatever was added and removed in which order, and saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.array_types import DocumentNumber
from gossamer.errors import CorruptError
from gossamer.files.bundle import Bundle
from gossamer.lexical.scores import LexicalScores, _best_places
from gossamer.lexical.words import Words, WordsOf
from oracles.bm25 import auto_weight, bm25

TEXTS = st.lists(st.sampled_from(["moon", "moons", "sun", "wolf", "of", "the", "queen", "gold"]), max_size=12).map(
    " ".join
)
CHANGES = st.lists(
    st.tuples(st.integers(1, 12), TEXTS, st.sampled_from(["", "", "moon gold"]), st.booleans()), max_size=25
)
QUERY = ["moon", "gold", "the", "wolf", "moons", "nowhere"]


def of(documents: dict[int, tuple[str, str]]) -> Words:
    added = [WordsOf(DocumentNumber(number), *documents[number]) for number in sorted(documents)]
    return Words.empty("english").changed((), added)


def scores(words: Words, query: list[str] = QUERY) -> dict[int, float]:
    lexical = LexicalScores(words, query, 1.0)
    found = lexical.above(0.0)
    return dict(zip(found.tolist(), lexical.of(found).tolist(), strict=True))


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["", "moon gold"])), max_size=60))
def test_the_weight_follows_how_far_the_best_document_stands_out(texts: list[tuple[str, str]]) -> None:
    documents = {number: text for number, text in enumerate(texts, 1) if any(text)}
    by_hand = bm25(documents, QUERY)
    auto, full = (LexicalScores(of(documents), QUERY, weight) for weight in ("auto", 1.0))
    assert auto.weight == pytest.approx(auto_weight(by_hand), abs=1e-9)
    numbers = np.array(sorted(documents), np.int64)
    np.testing.assert_allclose(auto.of(numbers), auto.weight * full.of(numbers), rtol=1e-9)


@given(st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0, 2.5]), max_size=400), st.integers(1, 101))
def test_the_best_scores_are_found_without_sorting_all(listed: list[float], k: int) -> None:
    sorted_places = sorted((at for at, score in enumerate(listed) if score > 0), key=lambda at: (-listed[at], at))
    assert _best_places(k, np.array(listed, np.float64)).tolist() == sorted_places[:k]


def test_words_that_many_hold_count_less_than_one_that_few_hold() -> None:
    words = of({n: ("moon of gold" + " wolf" * (n == 1) + " sun" * (n > 50), "") for n in range(1, 101)})
    assert LexicalScores(words, ["wolf"], "auto").weight == 0.4
    assert LexicalScores(words, ["sun"], "auto").weight == 0.1


def shares(by_hand: dict[int, float]) -> Any:
    best = max(by_hand.values(), default=1.0)
    return pytest.approx({number: score / best for number, score in by_hand.items()}, rel=1e-6)


@given(CHANGES)
def test_words_are_those_of_the_documents_whatever_happened_before(changes: list[tuple[int, str, str, bool]]) -> None:
    words, documents = Words.empty("english"), dict[int, tuple[str, str]]()
    for number, text, title, compacts in changes:
        replaced = [DocumentNumber(number)] if number in documents else []
        documents.pop(number, None)
        new = [WordsOf(DocumentNumber(number), text, title)] if text else []
        documents |= {each.document: (each.text, each.title) for each in new}
        words = words.changed(replaced, new)
        words = words.compact() if compacts else words
        assert words.documents == len(documents)
    assert scores(words) == shares(bm25(documents, QUERY))
    assert scores(words) == scores(of(documents)), "to the last bit"
    assert words.equals(of(documents))
    loaded = Words.from_bundle(words.to_bundle(), "english")
    assert loaded.equals(words)
    assert scores(loaded) == scores(words)
    for phrase in (["the", "moon"], ["gold"], ["moon", "gold"], ["nowhere"]):
        assert words.containing(phrase).tolist() == sorted(
            number for number, parts in documents.items()
            if any(f" {' '.join(phrase)} " in f" {part.replace('moons', 'moon')} " for part in parts)
        )  # fmt: skip


def test_an_earlier_value_stays_as_it_was() -> None:
    """A search goes on with the words it has, while others are made of them."""
    first = of({1: ("the moon", ""), 2: ("a wolf", "")})
    before = scores(first)
    second = first.changed([DocumentNumber(2)], [WordsOf(DocumentNumber(3), "gold moon", "")])
    third = second.changed([], [WordsOf(DocumentNumber(4), "gold gold", "wolf")])
    assert scores(first) == before
    assert scores(second) == shares(bm25({1: ("the moon", ""), 3: ("gold moon", "")}, QUERY))
    assert len(scores(third)) == 3


def test_a_change_that_was_given_up_leaves_nothing() -> None:
    base = of({1: ("the moon", "")})
    base.changed([], [WordsOf(DocumentNumber(2), "lost words of the sun", "")])
    words = base.changed([], [WordsOf(DocumentNumber(2), "gold", "")])
    assert words.equals(of({1: ("the moon", ""), 2: ("gold", "")}))
    assert b"lost" not in words.to_bundle().arrays["terms"].tobytes()


def test_nothing_of_a_removed_document_is_saved() -> None:
    words = of({1: ("the moon", ""), 2: ("a secret", "")}).changed([DocumentNumber(2)], ())
    assert b"secret" not in words.to_bundle().arrays["terms"].tobytes()
    assert words.find("secret") == 0


def test_the_best_are_those_of_all_scores() -> None:
    rng = np.random.default_rng(0)
    vocabulary = [f"w{at}" for at in range(300)]
    documents = {
        number: (" ".join(vocabulary[int(at)] for at in rng.zipf(1.3, 9) % 300), "") for number in range(1, 6001)
    }
    words = of(documents)
    for query in (["w1", "w2", "w250"], ["w7"], vocabulary[::9], ["nothing"]):
        lexical = LexicalScores(words, query, 0.2)
        everything = lexical.of(words.numbers)
        order = np.lexsort((words.numbers, -everything))
        order = order[everything[order] > 0]
        for k in (1, 10, 300, 9000):
            assert lexical.best(k).tolist() == words.numbers[order[:k]].tolist()
        some = lexical.among((words.numbers - 1) % 7 == 0)
        wanted = [number for number in words.numbers[order].tolist() if (number - 1) % 7 == 0]
        assert some.best(20).tolist() == wanted[:20]
        assert lexical.above(0.1).tolist() == words.numbers[everything > 0.1].tolist()
        assert some.above(0.0).tolist() == sorted(wanted)


def test_a_word_in_the_title_counts_more() -> None:
    words = of({1: ("moon wolf", ""), 2: ("wolf sun", "moon"), 3: ("gold", "")})
    found = scores(words, ["moon"])
    assert found[2] > found[1]


def test_words_of_a_query_in_a_document() -> None:
    lexical = LexicalScores(of({1: ("the moons", "gold"), 2: ("wolf", "")}), ["Moon", "gold", "moons", "sun"], 1.0)
    assert set(lexical.words) == {"Moon", "gold"}, "each once, whatever its form, and only those that are there"
    held = lexical.words_in(np.array([1, 2]))
    assert {number: set(words) for number, words in held.items()} == {1: {"Moon", "gold"}, 2: set()}


def broken(name: str, value: Any) -> Bundle:
    saved = of({1: ("the moon", "gold"), 2: ("wolf", "")}).to_bundle()
    return Bundle(saved.params, {**saved.arrays, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokens", np.array([1, 2, 0, 3, 99], np.int32)),
        ("tokens", np.array([1, 2, 0, 3], np.int32)),
        ("tokens", np.array([1, 2, -1, 3, 4], np.int32)),
        ("starts", np.array([0, 5, 4], np.int64)),
        ("starts", np.array([1, 4, 5], np.int64)),
        ("starts", np.array([0, 5], np.int64)),
        ("numbers", np.array([2, 1], np.int64)),
        ("numbers", np.array([0, 1], np.int64)),
        ("terms", np.frombuffer(b"the\nmoon\ngold\nthe", np.uint8)),
        ("terms", np.frombuffer(b"\xff\xfe", np.uint8)),
    ],
)
def test_saved_words_that_are_not_sound_are_refused(name: str, value: Any) -> None:
    with pytest.raises(CorruptError):
        Words.from_bundle(broken(name, value), "english")


def test_words_of_another_analysis_are_refused() -> None:
    saved = of({1: ("the moon", "")}).to_bundle()
    with pytest.raises(CorruptError, match="another analysis"):
        Words.from_bundle(saved, "german")
    with pytest.raises(CorruptError, match="another analysis"):
        Words.from_bundle(Bundle({**saved.params, "analysis": "0"}, saved.arrays), "english")
