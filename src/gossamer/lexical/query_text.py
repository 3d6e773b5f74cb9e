"""What people type → words to look for, phrases that must be there, and words that must not."""

import re
from dataclasses import dataclass
from typing import Final

from gossamer.lexical.analysis import words_of

_EXCLUDED: Final = re.compile(r'(?<!\S)-(?:"([^"\n]+)"|((?=[^\W\d_]{2})\S+))')
_PHRASE: Final = re.compile(r'"([^"\n]+)"')

_PROSE: Final = 12
"""Words from which on a query is prose and not an expression."""


@dataclass(frozen=True)
class QueryText:
    """A query taken apart. A word is a phrase of one.

    text        the query without what must not be there
    words       of that text, each once
    phrases     each must stand in a document as it is, but for the forms of its words
    excluded    none may stand in a document
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()


def parse(text: str) -> QueryText:
    """Take a query apart: "like this" must be in a document, -word and -"like this" must not.

    A minus counts at the beginning of a word of two letters or more: 3-5, e-mail, -5 and - are no exclusions. Where
    nothing but exclusions is there, the query is searched as it stands. So is one of more than twelve words: in prose
    quotes mention something, and a minus is a dash. (Quotes had seven of CACM's 52 questions, which are paragraphs,
    refuse their answers, and cost 3 nDCG@10.)

    >>> parse('a "red planet" -mars')
    QueryText(text='a "red planet"', words=('a', 'red', 'planet'), phrases=(('red', 'planet'),), excluded=(('mars',),))
    """
    if len(words_of(text)) > _PROSE:
        return QueryText(text, _each_once(text))
    quoted = text.replace("“", '"').replace("”", '"')
    rest = _EXCLUDED.sub("", quoted).strip() if "-" in text else text
    words = _each_once(rest)
    if not words:
        return QueryText(text, _each_once(text))
    excluded = [one or other for one, other in _EXCLUDED.findall(quoted)] if "-" in text else []
    phrases = _PHRASE.findall(_EXCLUDED.sub("", quoted)) if '"' in quoted else []
    return QueryText(rest, words, _as_words(phrases), _as_words(excluded))


def _each_once(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words_of(text.lower())))


def _as_words(phrases: list[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(words for phrase in phrases if (words := tuple(words_of(phrase.lower()))))
