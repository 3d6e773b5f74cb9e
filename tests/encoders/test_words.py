"""Words of any script."""

from __future__ import annotations

import pytest

from gossamer.encoders.words import terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case and C++", ["snake", "case", "and", "c"]),
        ("Straße", ["strasse"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),  # vowel signs are marks, which \w does not match
        ("한국어 문장", ["한국어", "문장"]),
        ("ｶﾀｶﾅ", ["カ", "タ", "カ", "ナ"]),
        ("iPhone発売", ["iphone", "発", "売"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("…!?", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_terms_are_words_and_pairs() -> None:
    assert terms("東京都") == ["東", "京", "都", "東 京", "京 都"]
    assert terms("a") == ["a"]
    assert terms("the the", stop={"the"}) == []
