"""Text to words, for any script.

Letters, digits and marks make words; everything else parts them. Scripts written without spaces
(Chinese, Japanese, Thai, Lao, Burmese, Khmer) are taken character by character, so that pairs of
neighbours stand in for the words nobody marked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container
from itertools import pairwise

_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # 々 and its like
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


class _Table(dict[int, str]):
    """A table for `str.translate` that fills itself: a lookup is faster than asking for the category."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character)[0] not in "LNM":
            value = " "
        elif any(first <= code <= last for first, last in _SPACELESS):
            value = f" {character} "
        else:
            value = character
        self[code] = value
        return value


_TABLE = _Table()


def words(text: str) -> list[str]:
    """The words of `text`, in order, without regard to case or width.

    >>> words("Don't panic, ＴＯＫＹＯ! 東京都")
    ['don', 't', 'panic', 'tokyo', '東', '京', '都']
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_TABLE).split()


def terms(text: str, stop: Container[str] = ()) -> list[str]:
    """Words and pairs of neighbouring words, less the words in `stop`.

    >>> terms("the red fox", stop={"the"})
    ['red', 'fox', 'red fox']
    """
    kept = [word for word in words(text) if word not in stop]
    return kept + [f"{left} {right}" for left, right in pairwise(kept)]
