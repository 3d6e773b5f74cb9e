"""Text → terms that may stand in a label: words and pairs of words without stop words, in any script.

A term has a key, which is the same for all forms of a word ("tyre", "Tyres"), and the form it was written in. A pair
is two words side by side, with neither punctuation nor a stop word between them. Scripts written without spaces
(Chinese, Japanese, Thai ...) are cut into runs of two to four characters. Web and mail addresses are left out. Stop
words depend on the language of the corpus, and only in English plural and singular have the same key.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from gossamer.lexical.analysis import FUNCTION_WORDS, NO_STEMMING, USUAL, detect_language

Terms: TypeAlias = Mapping[str, str]
"""The terms of one passage: key to written form."""

_DIGITS: Final = re.compile(r"\d+")
SPACELESS: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""A character of a script that is written without spaces, as a regular expression."""

_SPACELESS: Final = re.compile(f"{SPACELESS}+")
_KATAKANA: Final = re.compile("[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]+")
_HIRAGANA: Final = re.compile("[\u3040-\u309f]+")
_PARTICLE: Final = "の"
_LONGEST: Final = 30
"""Characters of a word, at most; what is longer is a code or a slip."""

_RUNS: Final = (2, 3, 4)
"""Characters of a term in a script without spaces."""

_BREAK: Final = "."
"""Replaces punctuation. No pair reaches over it."""

_ENGLISH: Final = """
a about above across actually after again against ago all almost alone along already also although always am among an
and another any anybody anyone anything anyway are aren't around as ask asked asking at away back be became because
become becomes been before behind being below between both but by came can can't cannot come comes could couldn't did
didn't do does doesn't doing don't done down during each either else enough especially etc even ever every everybody
everyone everything exactly far few for from further gave get gets getting give given gives go goes going gone gonna
got had hadn't happen happened happens has hasn't have haven't having he he'd he'll her here hers herself him himself
his how however i i'd i'll i'm i've if in indeed instead into is isn't it it's its itself just keep kind know knows
known later least less let let's like likely ll lot lots made make makes making many may maybe me mean means might mine
more most mostly much must my myself near need needs neither never next no nobody none nor not nothing now of off often
ok okay on once one ones only onto or other others otherwise our ours ourselves out over own perhaps please possible
probably put quite rather re really regarding said same saw say saying says see seem seems seen several shall she she'd
should shouldn't since so some somebody someone something sometimes somewhat soon still such sure take takes taken
taking tell than thank thanks that that's the their theirs them themselves then there there's therefore these they
they'd they'll they're they've thing things think this those though through thus to together too took toward towards
tried try trying under unless until up upon us use used uses using usually ve very via want wanted wants was wasn't way
ways we we'd we'll we're we've well went were weren't what what's whatever when whenever where whether which while who
who's whoever whole whom whose why will with within without won't would wouldn't write writes writing wrote yes yet you
you'd you'll you're you've your yours yourself yourselves
"""

_OTHERS: Final = """
der die das den dem des ein eine einen einem einer und oder aber ist sind war nicht mit von vom zu zum zur im auf für
auch als wie bei nach aus dass sich wird werden hat haben es sie er wir ihr man kann noch nur wenn durch über um so
le la les un une des du de et ou mais est sont dans sur pour par avec pas que qui ce cette ces il elle on nous vous ne
se sa son ses plus au aux comme être avoir fait
el los las una unos unas y o pero es son en con por para del al que como más su sus se lo no sin sobre este esta
il lo gli uno di da del della dei delle che non si è sono per con su come più anche nel nella ma questo questa
um uma os as dos das do da em no na por para com não mais seu sua ao
het een van en of maar niet met voor op aan zijn was bij ook als dat dit naar om uit
"""

_ENGLISH_TOO: Final = frozenset({"die", "man", "met", "per", "plus", "pour", "sin", "son", "van", "war"})
"""Stop words of other languages that name things in English."""

_FOREIGN: Final = 0.01
"""The share of letters beyond ASCII from which texts are not taken for English, where function words do not tell."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Words that are no terms, in lower case: a corpus of one language may hold texts of others.

    Those of languages that are not listed score low by themselves, because they are frequent everywhere.
    """
    english, others = frozenset(_ENGLISH.split()), frozenset(_OTHERS.split())
    if language == USUAL:
        return english | (others - _ENGLISH_TOO)
    return english | others | frozenset(FUNCTION_WORDS.get(language, "").split())


def language_of(texts: Sequence[str]) -> str:
    """The language by whose rules terms are made: that of the function words, or English where all letters are ASCII.

    >>> language_of(["The moon rises over the hill", "what is the time of the day"]), language_of(["gęś i łabędź"])
    ('english', 'none')
    """
    found = detect_language(texts)
    if found is None:
        letters = [letter for text in texts for letter in text if letter.isalpha()]
        foreign = sum(not letter.isascii() for letter in letters)
        found = USUAL if foreign <= _FOREIGN * len(letters) else NO_STEMMING
    return found


class Word(NamedTuple):
    """One word of a text."""

    key: str
    """The same for all forms of the word."""
    written: str
    alone: bool
    """Whether it is a term by itself. A number is one only after a word ("Windows 10")."""


class _Table(dict[int, str]):
    """Character to what replaces it before a text is split (`str.translate`); filled as characters occur."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "'’":
            value = "'"
        elif unicodedata.category(character)[0] in "LNM":
            value = character
        else:
            value = " " if character.isspace() or character in "-_" else f" {_BREAK} "
        self[code] = value
        return value


_TABLE: Final = _Table()


def terms_of(text: str, language: str = USUAL) -> dict[str, str]:
    """The terms of a text: the key of each, and the form in which it first occurs.

    >>> terms_of("The brown foxes jumped: foxes!")
    {'brown': 'brown', 'fox': 'foxes', 'brown fox': 'brown foxes', 'jumped': 'jumped', 'fox jumped': 'foxes jumped'}
    """
    if "@" in text or "://" in text or "www." in text:
        text = " ".join([_BREAK if _is_address(piece) else piece for piece in text.split()])
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: dict[str, str] = {}
    word_of = _reader(language)
    before: Word | None = None
    for piece in text.translate(_TABLE).split():
        if not piece.isascii() and _SPACELESS.search(piece):
            found.update((run, run) for run in _runs(piece))
            before = None
            continue
        word = word_of(piece)
        if word is not None:
            if word.alone:
                found.setdefault(word.key, word.written)
            if before is not None and before.alone and before.key != word.key:
                found.setdefault(f"{before.key} {word.key}", f"{before.written} {word.written}")
        before = word
    return found


def _is_address(piece: str) -> bool:
    return "@" in piece or "://" in piece or "www." in piece


@cache
def _reader(language: str) -> Callable[[str], Word | None]:
    """A function from a piece of text to the word that it is in a language."""
    stopped, english = stop_words(language), language == USUAL

    @lru_cache(maxsize=1 << 16)  # terms_of takes 8 µs with it and 11 µs without, on QQP
    def word_of(piece: str) -> Word | None:
        """The word that a piece of text is; None for stop words, punctuation, codes and long numbers."""
        written = piece.strip("'").removesuffix("'s").removesuffix("'S")
        folded = written.casefold()
        if not 2 <= len(folded) <= _LONGEST or folded in stopped:
            return None if not (len(folded) == 1 and folded.isdigit()) else Word(folded, written, alone=False)
        digits = sum(map(len, _DIGITS.findall(folded)))
        if digits > len(folded) // 2:
            return Word(folded, written, alone=False) if digits == len(folded) <= 4 else None
        return Word(_singular(folded) if english else folded, written, alone=True)

    return word_of


def _singular(word: str) -> str:
    """The key of an English word: the same for singular and plural. It need not be a word itself.

    >>> [_singular(word) for word in ("cities", "boxes", "tyres", "glass", "bus", "species")]
    ['city', 'box', 'tyre', 'glass', 'bus', 'species']
    """
    if len(word) > 4 and word.endswith(("ies", "ie")) and word not in ("series", "species"):
        return word.removesuffix("s")[:-2] + "y"  # the same for "movies" and "movie", "cities" and "city"
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ies")):
        return word
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _runs(piece: str) -> list[str]:
    """The terms of a text without spaces. Hiragana separate words: beside other characters they are endings, particles.

    A run of katakana is one word.

    >>> _runs("東京都へ"), _runs("電気エンジンは")
    (['東京', '京都', '東京都'], ['エンジン', '電気'])
    """
    found = []
    for match in _SPACELESS.finditer(piece):
        run = match[0]
        found += [word for word in _KATAKANA.findall(run) if 1 < len(word) <= _LONGEST]
        for part in _HIRAGANA.split(_KATAKANA.sub(_PARTICLE, run)):
            if len(part) == 1:
                found.append(part)
            found.extend(part[at : at + n] for n in _RUNS for at in range(len(part) - n + 1))
    return found


def contains(longer: str, shorter: str) -> bool:
    """Whether `shorter` is a word of `longer` or, in a script without spaces, a part of it.

    >>> contains("machine learning", "machine"), contains("機械学習", "機械"), contains("learning", "earn")
    (True, True, False)
    """
    return longer != shorter and (shorter in longer.split() or (_spaceless(shorter) and shorter in longer))


def _spaceless(term: str) -> bool:
    return not term.isascii() and _SPACELESS.search(term) is not None


def related(one: str, other: str) -> bool:
    """Whether two terms share a word, or have words that begin alike, so that one of them is enough for a label.

    >>> related("program", "programming"), related("deep learning", "machine learning"), related("internet", "interest")
    (True, True, False)
    """
    return any(_begin_alike(first, second) for first in one.split() for second in other.split())


def _begin_alike(one: str, other: str) -> bool:
    """Whether two words are equal, or have their first four letters and three quarters of the shorter in common."""
    if one == other or (_spaceless(one) and (one in other or other in one)):
        return True
    shorter = min(len(one), len(other))
    common = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return common >= 4 and common >= 0.75 * shorter


@dataclass(frozen=True)
class Counts:
    """How many passages of a sample hold each term."""

    of: Counter[str]
    passages: int
    less: Counter[str] = field(default_factory=Counter)
    """Counts that are to be taken away: the difference is not computed for terms that nobody asks for."""

    @classmethod
    def over(cls, passages: Iterable[Terms]) -> Counts:
        """The counts of passages given by their terms."""
        listed = list(passages)
        return cls(Counter(chain.from_iterable(listed)), len(listed))

    def without(self, part: Counts) -> Counts:
        """The counts of the passages that are left when those of `part` are taken away."""
        return Counts(self.of, self.passages - part.passages, part.of)

    def count(self, key: str) -> int:
        """The number of passages that hold a term."""
        return self.of[key] - self.less[key]

    def share(self, key: str) -> float:
        """The share of passages that hold a term, smoothed so that it is never 0 or 1."""
        return (self.count(key) + 0.5) / (self.passages + 1.0)
