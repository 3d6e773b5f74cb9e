"""Words, pairs of words, and runs of characters where nobody marks words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.explain.terms import Counts, contains, language_of, related, stop_words, terms_of


def test_words_and_pairs_without_stop_words() -> None:
    assert set(terms_of("The wheels of my red bicycle")) == {"wheel", "red", "bicycle", "red bicycle"}


def test_no_pair_reaches_over_punctuation_or_a_stop_word() -> None:
    assert "tea coffee" not in terms_of("tea, coffee")
    assert "tea coffee" not in terms_of("tea and coffee")
    assert "tea coffee" in terms_of("tea-coffee")


@pytest.mark.parametrize("forms", [("tyre", "Tyres"), ("movie", "movies"), ("city", "cities"), ("box", "Boxes")])
def test_plural_and_singular_meet(forms: tuple[str, str]) -> None:
    one, other = (terms_of(form) for form in forms)
    assert one.keys() == other.keys()
    assert list(other.values()) == [forms[1]]


def test_numbers_speak_only_beside_a_word() -> None:
    assert "10" not in terms_of("Windows 10")
    assert "window 10" in terms_of("Windows 10")
    assert terms_of("3 1415 92653589793") == {}


def test_addresses_are_no_words() -> None:
    found = terms_of("write to ann@example.org or see https://example.org/a?b=c or www.example.org today")
    assert set(found) == {"today"}


def test_possessives_and_contractions() -> None:
    assert set(terms_of("Anna's garden isn't hers")) == {"anna", "garden", "anna garden"}
    assert set(terms_of("the dogs’ bowl")) == {"dog", "bowl", "dog bowl"}


def test_scripts_without_spaces_are_cut_into_runs() -> None:
    assert {"東京", "東京都", "京都"} <= terms_of("東京都へ").keys()
    assert not any("へ" in term for term in terms_of("東京都へ"))
    assert "ภาษ" in terms_of("ภาษาไทย")


def test_other_scripts_keep_their_marks() -> None:
    assert "हिन्दी" in terms_of("हिन्दी भाषा")
    assert "café" in terms_of("cafe\u0301")


def test_what_a_longer_term_contains() -> None:
    assert contains("machine learning", "learning")
    assert not contains("machine learning", "machine learning")
    assert not contains("learning", "earn")
    assert contains("機械学習", "学習")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("compute", "computer", True),
        ("india", "indian", True),
        ("red wine", "white wine", True),
        ("interest", "internet", False),
        ("moon", "comet", False),
        ("機械学習", "学習", True),
    ],
)
def test_words_of_one_family(one: str, other: str, expected: bool) -> None:
    assert related(one, other) is related(other, one) is expected


@given(st.text(max_size=200))
def test_any_text_gives_clean_terms(text: str) -> None:
    for key, written in terms_of(text).items():
        assert key.strip() == key != ""
        assert written
        assert key not in stop_words("english")
        assert len(key.split()) <= 2


def test_counts_are_of_passages() -> None:
    counts = Counts.over([terms_of("moon moon"), terms_of("moon comet"), terms_of("bread")])
    assert (counts.of["moon"], counts.of["comet"], counts.of["nowhere"], counts.passages) == (2, 1, 0, 3)
    assert counts.share("moon") == 2.5 / 4
    assert 0 < counts.share("nowhere") < counts.share("comet")


GERMAN = [
    "Das Haus ist alt und der Garten ist nicht groß",
    "Die Gans und das Gras sind auf der Wiese",
    "Wie ist das Glas mit dem Wein auf den Tisch von der Oma gekommen",
]
RUSSIAN = ["Луна была над лесом и это было не видно", "Как на реке по утрам мы видим туман и что из этого"]


def test_the_language_is_told_by_function_words() -> None:
    assert language_of(GERMAN) == "german"
    assert language_of(RUSSIAN) == "russian"
    assert language_of(["The cat is on the roof of the house", "what is in the box"]) == "english"
    assert language_of(["bread oven flour", "comet orbit"]) == "english", "ASCII letters, and nothing that tells"
    assert language_of(["月の裏側を写真に撮る", "自転車の歯車"]) == "none"


def test_plurals_are_an_english_rule() -> None:
    assert terms_of("Kreis und Gras", "german").keys() == {"kreis", "gras"}
    assert "gra" in terms_of("Gras", "english")
    assert terms_of("les chats noirs", "none").keys() == {"chats", "noirs", "chats noirs"}


def test_stop_words_are_those_of_the_language() -> None:
    assert {"war", "son", "die"} <= terms_of("war; son; die", "english").keys()
    assert terms_of("war; die", "german") == {}
    assert "что" not in terms_of("что такое луна", "russian")
    assert "луна" in terms_of("что такое луна", "russian")


def test_a_run_of_katakana_is_one_word() -> None:
    assert terms_of("プログラミング言語を学ぶ").keys() == {"プログラミング", "言語", "学"}
