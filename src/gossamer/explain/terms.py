"""Text to terms that may stand in a label: words and pairs of words without stop words, in any script.

A term has a key, under which forms of one word meet ("tyre", "Tyres"), and the form it was written in. Pairs are
words that stand side by side, with neither punctuation nor a stop word between. Scripts written without spaces
(Chinese, Japanese, Thai ...) are cut into runs of two to four characters. Addresses are no words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

from gossamer.explain.stopwords import STOP

_DIGITS: Final = re.compile(r"\d+")
_SPACELESS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_HIRAGANA: Final = re.compile("[\u3040-\u309f]+")
_LONGEST: Final = 30
"""Characters of a word; beyond are codes and slips."""

_RUNS: Final = (2, 3, 4)
"""Lengths of the pieces of a script without spaces."""

_BREAK: Final = "."
"""Stands for punctuation: no pair reaches over it."""


class Word(NamedTuple):
    """One word as it was written, and what stands for all its forms."""

    key: str
    written: str
    alone: bool
    """Whether it says something by itself; a number does only after a word ("Windows 10")."""


class _Table(dict[int, str]):
    """A table for `str.translate` that fills itself."""

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


def terms_of(text: str) -> dict[str, str]:
    """The terms of a text, each once: its key, and the form it was first written in.

    >>> terms_of("The brown foxes jumped: foxes!")
    {'brown': 'brown', 'fox': 'foxes', 'brown fox': 'brown foxes', 'jumped': 'jumped', 'fox jumped': 'foxes jumped'}
    """
    if "@" in text or "://" in text or "www." in text:
        text = " ".join([_BREAK if _is_address(piece) else piece for piece in text.split()])
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: dict[str, str] = {}
    before: Word | None = None
    for piece in text.translate(_TABLE).split():
        if not piece.isascii() and _SPACELESS.search(piece):
            found.update((run, run) for run in _runs(piece))
            before = None
            continue
        word = _word(piece)
        if word is not None:
            if word.alone:
                found.setdefault(word.key, word.written)
            if before is not None and before.alone and before.key != word.key:
                found.setdefault(f"{before.key} {word.key}", f"{before.written} {word.written}")
        before = word
    return found


def _is_address(piece: str) -> bool:
    return "@" in piece or "://" in piece or "www." in piece


@lru_cache(maxsize=1 << 16)
def _word(piece: str) -> Word | None:
    """None for a stop word, for punctuation, and for what is no word."""
    written = piece.strip("'").removesuffix("'s").removesuffix("'S")
    folded = written.casefold()
    if not 2 <= len(folded) <= _LONGEST or folded in STOP:
        return None if not (len(folded) == 1 and folded.isdigit()) else Word(folded, written, alone=False)
    digits = sum(map(len, _DIGITS.findall(folded)))
    if digits > len(folded) // 2:
        return Word(folded, written, alone=False) if digits == len(folded) <= 4 else None
    return Word(_singular(folded), written, alone=True)


def _singular(word: str) -> str:
    """English plurals and singulars meet; which of the two a label shows is decided by how often it is written.

    >>> [_singular(word) for word in ("cities", "boxes", "tyres", "glass", "bus", "species")]
    ['city', 'box', 'tyre', 'glass', 'bus', 'species']
    """
    if len(word) > 4 and word.endswith(("ies", "ie")) and word not in ("series", "species"):
        return word.removesuffix("s")[:-2] + "y"  # "movies" and "movie" meet here, "cities" and "city"
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ies")):
        return word
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _runs(piece: str) -> list[str]:
    """The pieces of a text without spaces. Hiragana are endings and particles beside other characters: they part words.

    >>> _runs("東京都へ")
    ['東京', '京都', '東京都']
    """
    found = []
    for match in _SPACELESS.finditer(piece):
        for run in _HIRAGANA.split(match[0]) if _HIRAGANA.search(match[0]) else [match[0]]:
            if len(run) == 1:
                found.append(run)
            found.extend(run[at : at + n] for n in _RUNS for at in range(len(run) - n + 1))
    return found


def contains(longer: str, shorter: str) -> bool:
    """Whether a term holds another one: as one of its words or, without spaces, as a part.

    >>> contains("machine learning", "machine"), contains("機械学習", "機械"), contains("learning", "earn")
    (True, True, False)
    """
    if longer == shorter:
        return False
    return shorter in longer.split() or (
        not shorter.isascii() and bool(_SPACELESS.search(shorter)) and shorter in longer
    )


def _spaceless(term: str) -> bool:
    return not term.isascii() and _SPACELESS.search(term) is not None


def akin(one: str, other: str) -> bool:
    """Whether two terms share a word, or words of one family, so that the second adds nothing to the first.

    >>> akin("program", "programming"), akin("deep learning", "machine learning"), akin("internet", "interest")
    (True, True, False)
    """
    return any(_family(first, second) for first in one.split() for second in other.split())


def _family(one: str, other: str) -> bool:
    if one == other or (_spaceless(one) and (one in other or other in one)):
        return True
    shorter = min(len(one), len(other))
    common = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    return common >= 4 and common >= 0.75 * shorter
