"""Texts → terms: how a text is split into words, and how the forms of one word become one term.

A word is a run of letters, digits and the marks that belong to them. In lower case it is stemmed by the Snowball
stemmer of the index's language, and accents are removed last, since a stemmer needs them: "Cafés" becomes "cafe".
Documents, queries and highlighting all go through here, so what is found and what is marked are the same words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final
from unicodedata import normalize

import Stemmer

_ACCENTS: Final = "\u0300-\u036f"
_MARKS: Final = (
    f"{_ACCENTS}\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd"
    "\u0f18-\u0f39\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u3099\u309a"
)
"""Ranges of characters in which accents and vowel signs are. Python's \\w leaves these out, and would split words."""

_WORD: Final = re.compile(r"[^\W_]+")
_MARKED_WORD: Final = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*")
_ACCENT: Final = re.compile(f"[{_ACCENTS}]+")

NO_STEMMING: Final = "none"
DETECT: Final = "auto"
"""The language is that of the first documents that tell one. Up to then words are stemmed as in `USUAL`."""

USUAL: Final = "english"

FUNCTION_WORDS: Final = {
    "arabic": "في من على إلى أن التي هذا مع عن كان هذه الذي لا ما",
    "danish": "og det af til en på er som ikke jeg han hvad hvordan blev efter",
    "dutch": "de het een van en is dat niet op te zijn voor met hoe wat",
    "english": "the of and to a in is that for it on with as what how are this be",
    "finnish": "ja on ei se että hän oli mutta mitä miten ovat kuin tämä joka myös",
    "french": "le la les de des et est une un que dans pour du qui pas sur au",
    "german": "der die das und ist nicht ein eine zu den mit von wie was auf für dem",
    "hungarian": "a az és hogy nem egy is van volt mint meg ez mi hogyan azt",
    "italian": "il di che e la un una per non è sono del della con come gli",
    "norwegian": "og det av til en på er som ikke jeg han hva hvordan ble etter",
    "portuguese": "o a de que e do da em um uma não para com os é se na no como",
    "romanian": "și în de la nu este cu pe un o că din care mai pentru sunt ce",
    "russian": "и в не на что с как это по он но из за к у то мы был",
    "spanish": "el la de que y en un una los las es por con no del para se cómo qué",
    "swedish": "och det att i en på är som inte av för med han hur vad jag",
    "turkish": "ve bir bu da de için ile ne çok daha gibi olarak nasıl olan var",
}
"""Languages that are detected, with frequent words that carry no meaning. The stemmer knows more: see `languages`."""

_TELLING: Final = 0.06
_ENOUGH: Final = 5
"""The share of function words from which a language counts as detected, and how many it must be at least. English texts
have a share of about .35, German ones of .3."""

_SAMPLE: Final = 200_000
"""Characters that are looked at to detect a language, at most."""


@cache
def languages() -> tuple[str, ...]:
    """The languages whose words can be stemmed, and "none"."""
    return (*sorted(set(Stemmer.algorithms()) - {"porter"}), NO_STEMMING)


def detect_language(texts: Iterable[str]) -> str | None:
    """The language of most words, told by its function words; None where no language is told."""
    counts: Counter[str] = Counter()
    room = _SAMPLE
    for text in texts:
        counts.update(words_of(text[:room].lower()))
        room -= len(text)
        if room <= 0:
            break
    found = {language: sum(counts[word] for word in words.split()) for language, words in FUNCTION_WORDS.items()}
    best = max(found, key=lambda language: found[language])
    return best if found[best] >= max(_ENOUGH, _TELLING * counts.total()) else None


def words_of(text: str) -> list[str]:
    """The words of a text as they stand there."""
    return (_WORD if text.isascii() else _MARKED_WORD).findall(text)


def places_of(text: str) -> Iterator[re.Match[str]]:
    """The words of a text and where they stand."""
    return (_WORD if text.isascii() else _MARKED_WORD).finditer(text)


class Analyser:
    """Words → terms, for one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._stemmer: Any = None if language == NO_STEMMING else Stemmer.Stemmer(language, 0)

    def term(self, word: str) -> str:
        """The term of a word: in lower case, stemmed, without accents."""
        plain = normalize("NFKC", word.lower())
        stem = plain if self._stemmer is None else self._stemmer.stemWord(plain) or plain
        return stem if stem.isascii() else normalize("NFC", _ACCENT.sub("", normalize("NFD", stem))) or stem
