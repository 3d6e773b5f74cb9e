"""Texts → terms: words, stems, accents, languages."""

from __future__ import annotations

import pytest

from bag import encode
from gossamer.errors import ParameterError
from gossamer.index import Index
from gossamer.lexical.analysis import Analyser, detect_language, languages, words_of
from gossamer.lexical.query_text import QueryText, parse


def test_words() -> None:
    assert words_of("The red, planet_Mars \U0001f680 (NOT) 3.5") == ["The", "red", "planet", "Mars", "NOT", "3", "5"]
    assert words_of("cafe\u0301 हिन्दी สวัสดี") == ["cafe\u0301", "हिन्दी", "สวัสดี"], "marks belong to their letters"
    assert words_of("?! …") == []


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("english", ["Parsing", "parsed", "PARSES"]),
        ("english", ["café", "cafe\u0301", "CAFÉS", "cafe"]),
        ("german", ["Häuser", "Hauses", "haus"]),
        ("french", ["chevaux", "Chevaux", "cheval"]),
        ("russian", ["книги", "книга", "КНИГУ"]),
        ("none", ["Moon", "moon", "MOON"]),
    ],
)
def test_forms_of_one_word_are_one_term(language: str, forms: list[str]) -> None:
    analyser = Analyser(language)
    assert len({analyser.term(form) for form in forms}) == 1


def test_without_stemming_words_stand_as_they_are() -> None:
    assert Analyser("none").term("Parsing") == "parsing"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the best way to learn the guitar and how long is it going to take?", "english"),
        ("Wie lernt man am besten Gitarre, und was kostet der Unterricht für die Kinder?", "german"),
        ("Quelle est la meilleure façon d'apprendre la guitare, et que faut-il pour les enfants ?", "french"),
        ("¿Cuál es la mejor manera de aprender a tocar la guitarra y qué se necesita para los niños?", "spanish"),
        ("Как лучше всего научиться играть на гитаре, и что для этого нужно в начале?", "russian"),
        ("def f(x): return x ** 2", None),
        ("", None),
        ("the sun", None),  # two words are not enough
    ],
)
def test_a_language_is_told_by_its_small_words(text: str, language: str | None) -> None:
    assert detect_language([text]) == language
    assert language is None or language in languages()


def test_an_index_takes_the_language_of_its_first_documents_or_the_one_chosen() -> None:
    with Index(encode) as index:
        index.add(["Häuser"], ["a"])
        assert index.state.settings.language == "auto"
        index.add(["Der Hund und die Katze sind in dem Garten", "Die Straßen der Stadt"], ["b", "c"])
        index.add(["the dog and the cat of the house are in the garden"] * 3)
        index.check()
        assert index.state.settings.language == "german"
        assert index.search("Hauses", k=5, hybrid=5.0)[0].lexical == pytest.approx(5.0)
    with Index(encode, language="none") as index:
        index.add(["the parsing of the moon"], ["a"])
        assert index.search("parsing", k=1)[0].lexical > 0.0
        assert index.search("parsed", k=1)[0].lexical == 0.0
    with pytest.raises(ParameterError, match="language"):
        Index(encode, language="klingon")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red planet", QueryText("red planet", ("red", "planet"))),
        ('the "red planet"', QueryText('the "red planet"', ("the", "red", "planet"), (("red", "planet"),))),
        ("“red planet” moon", QueryText("“red planet” moon", ("red", "planet", "moon"), (("red", "planet"),))),
        ("moon -mars", QueryText("moon", ("moon",), (), (("mars",),))),
        ('moon -"red planet"', QueryText("moon", ("moon",), (), (("red", "planet"),))),
        ('unclosed "quote', QueryText('unclosed "quote', ("unclosed", "quote"))),
        ("e-mail 3-5 -5 - -x ;--", QueryText("e-mail 3-5 -5 - -x ;--", ("e", "mail", "3", "5", "x"))),
        ("-mars", QueryText("-mars", ("mars",))),
        ('""', QueryText('""', ())),
        (
            "a b c d e f g h i -jay kay ell",
            QueryText("a b c d e f g h i  kay ell", (*"abcdefghi", "kay", "ell"), (), (("jay",),)),
        ),
        (
            'a b c d e f g h i "jay" kay ell -em',
            QueryText('a b c d e f g h i "jay" kay ell -em', (*"abcdefghi", "jay", "kay", "ell", "em")),
        ),
    ],
)
def test_what_people_type(text: str, expected: QueryText) -> None:
    assert parse(text) == expected
