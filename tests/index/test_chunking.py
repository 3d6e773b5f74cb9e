"""Passages: sentences kept whole, and what holds for any text at all."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.errors import DtypeError, ParameterError
from gossamer.index.chunking import Passage, count_tokens, sentence_ends, split

# A sentence must end at every | and nowhere else.
MARKED = [
    "The first sentence.| The second.| A third one.",
    "Is it a question?| It was!| So that is it.",
    "Dr. Smith met Mrs. Jones at St. Mary.| They left the U.S. at 5 a.m. sharp.",
    "It costs 3.14 dollars or 1,000.50 euros.| That is version 2.0.1 now.",
    "J. R. R. Tolkien wrote books.| Others, e.g. Lewis, i.e. the other one, did too.",
    "See Fig. 2, No. 5 and vol. 3.| He told me no.| And he went in Mar. 2020 again.",
    "They sell pens, ink, etc. in the shop.| We buy pens, etc.| Nobody reads.",
    '"Is it true?" he asked.| "It is!"| Nobody had said so before.',
    "It went on... and then it ended.| The rest is silence...| Or so they say.",
    "it is all written small.| there is no capital.| still it has sentences.",
    "今日は良い天気です。|明日は雨？|「はい、降ります。」|それは困りました。",
    "A heading of its own\n|Another heading\n|- an item\n|- another",
    "A paragraph without a full stop\n\n|and another one in small letters",
    "This line was wrapped in the\nmiddle of a sentence.| Then comes one more.",
    "1. The first item\n|2. The second item\n|  3. It was in 1999.| Then it was not.",
]


@pytest.mark.parametrize("marked", MARKED)
def test_sentences_end_where_they_should(marked: str) -> None:
    text = marked.replace("|", "")
    ends = [*sentence_ends(text), len(text)]
    parts = [text[start:end].strip() for start, end in pairwise([0, *ends])]
    assert [part for part in parts if part] == [part.strip() for part in marked.split("|")]


def test_a_short_text_is_one_passage_itself() -> None:
    text = "  One short text.\nWith two lines. "
    assert split(text) == [Passage(text, 0, len(text))]


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0\u3000"])
def test_nothing_visible_is_no_passage(text: str) -> None:
    assert split(text) == []


def test_a_text_of_just_the_budget_is_not_cut() -> None:
    text = "word " * 200
    assert [passage.text for passage in split(text)] == [text]
    assert len(split(text + "word")) == 2


def test_passages_are_packed_full_and_overlap_by_whole_sentences() -> None:
    lines = [f"Sentence {number} is here now." for number in range(10)]
    assert {count_tokens(line) for line in lines} == {7}
    passages = [passage.text for passage in split(" ".join(lines), max_tokens=30, overlap=14)]
    assert passages == [" ".join(lines[at : at + 4]) for at in (0, 2, 4, 6)]


def test_a_sentence_longer_than_the_overlap_is_not_repeated() -> None:
    lines = [f"Sentence {number} is here now." for number in range(4)]
    assert [passage.text for passage in split(" ".join(lines), max_tokens=15, overlap=6)] == [
        " ".join(lines[:2]),
        " ".join(lines[2:]),
    ]


def test_the_overlap_gives_way_to_a_long_sentence() -> None:
    long = "and again " * 9 + "so."
    passages = split(f"One two three. Four five six. {long.capitalize()}", max_tokens=22, overlap=10)
    assert [passage.text for passage in passages] == ["One two three. Four five six.", long.capitalize()]


def test_a_long_sentence_is_cut_between_words() -> None:
    words = [f"w{number}" for number in range(50)]
    passages = [passage.text for passage in split(" ".join(words), max_tokens=20, overlap=0)]
    assert [passage.split() for passage in passages] == [words[:20], words[20:40], words[40:]]


def test_a_long_sentence_is_cut_at_its_lines_first() -> None:
    verse = "\n".join(["all small letters in this line", "and in the next one of them", "no stop at all here"])
    assert [passage.text for passage in split(verse, max_tokens=7, overlap=0)] == verse.split("\n")


def test_a_long_word_is_cut_hard() -> None:
    passages = split("see " + "x" * 100 + " end", max_tokens=5, overlap=2)
    assert [len(passage.text) for passage in passages[1:4]] == [30, 30, 30]
    assert passages[0].text == "see"
    assert passages[-1].text.endswith("end")


def test_tokens_are_counted_as_documented() -> None:
    assert count_tokens("tree") == 1
    assert count_tokens("hierarchical") == 2
    assert count_tokens("Well, yes!") == 4
    assert count_tokens("漢字かな 한글") == 6
    assert count_tokens(" \n ") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "at least 1"),
        ({"max_tokens": 2.5}, "whole number"),
        ({"overlap": -1}, "from 0 to max_tokens - 1 = 199"),
        ({"overlap": 200}, "from 0 to max_tokens - 1 = 199"),
        ({"overlap": True}, "got True"),
    ],
)
def test_parameters_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        split("text", **options)


def test_only_text_is_split() -> None:
    with pytest.raises(DtypeError, match="bytes"):
        split(b"text")  # type: ignore[arg-type]


# Texts that look like texts are rare among random characters, so both kinds are drawn.
words = st.sampled_from(
    ["a", "the", "Dr.", "e.g.", "3.14", "end.", "Stop!", '"Why?"', "1.", "漢字。", "ключ", "x" * 40]
)
gaps = st.sampled_from([" ", "  ", "\n", "\n\n", "", "\u3000"])
prose = st.lists(st.tuples(words, gaps).map("".join), max_size=40).map("".join)
texts = st.one_of(prose, st.text(max_size=200), st.text('. \na。"', max_size=80))
budgets = st.integers(1, 20).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most - 1)))


@settings(max_examples=500)
@given(text=texts, budget=budgets)
@example(text="a. " * 10, budget=(1, 0))
def test_what_holds_for_any_text(text: str, budget: tuple[int, int]) -> None:
    most, overlap = budget
    passages = split(text, max_tokens=most, overlap=overlap)
    assert passages == split(text, max_tokens=most, overlap=overlap)
    covered = set[int]()
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert 0 < count_tokens(passage.text) <= most
        covered.update(range(passage.start, passage.end))
    assert all(char.isspace() or at in covered for at, char in enumerate(text))
    for one, two in pairwise(passages):
        assert one.start < two.start
        assert one.end < two.end
        assert count_tokens(text[two.start : one.end]) <= overlap


@given(text=texts, budget=budgets)
def test_counts_add_up_over_passages_without_overlap(text: str, budget: tuple[int, int]) -> None:
    passages = split(text, max_tokens=budget[0], overlap=0)
    assert sum(count_tokens(passage.text) for passage in passages) == count_tokens(text)


MEGABYTES = {
    "prose": "The quick brown fox jumps over the lazy dog. " * 23_000,
    "no spaces": "x" * 1_000_000,
    "stops": "." * 999_999 + "x",
    "closed stops": '."' * 500_000,
    "newlines": "\n" * 1_000_000 + "x",
    "spaces": " " * 1_000_000 + "x",
    "abbreviations": "e.g. " * 200_000,
    "ideographs": "漢" * 1_000_000,
}


@pytest.mark.parametrize("name", MEGABYTES)
def test_a_megabyte_is_quick(name: str) -> None:
    """Each takes 0.03 to 0.7 s; a quadratic step anywhere would take minutes."""
    text = MEGABYTES[name]
    started = time.perf_counter()
    passages = split(text, overlap=199)
    assert time.perf_counter() - started < 10
    assert passages[-1].end == len(text.rstrip())
