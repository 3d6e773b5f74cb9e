"""Words of a query → documents and places that hold them: BM25 and highlighting by SQLite's FTS5.

The words of a query are searched as OR: a document need not hold all of them. In a large index, words that
over a tenth of the documents hold are left out, since they say next to nothing and cost nearly all the time:
on MS MARCO (31k documents, 471 queries, fused with MiniLM) nDCG@10 is 76.5 without them and 76.6 with, at 4 ms
a query and 27.
"""

import json
import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final
from unicodedata import normalize

from gossamer.array_types import DocumentNumber

TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
"""How the index's table `words` splits texts into words and stems them."""

_WORD: Final = re.compile(r"[^\W_]+")

_MOST_WORDS: Final = 64
"""Words of a query that are searched, at most: a longer query is a text, and its rarest words tell its subject."""

_MOST_COUNTED: Final = 256
"""Words of a query whose documents are counted to find the rarest, at most."""

_COMMON: Final = 0.1
_LARGE: Final = 1_000
"""In an index of at least `_LARGE` documents, words that more than the share `_COMMON` of them hold are left out."""

_HIGHLIGHTED: Final = 4_000
"""Characters of a text in which words are looked for, at most; a thousand take about 30 µs."""

_OPEN: Final = b"\xfe"
_CLOSE: Final = b"\xff"
"""Marks around a word. Neither byte occurs in UTF-8, so no text can hold them."""

_idle: Final[list[sqlite3.Connection]] = []
"""Databases in memory, each with an empty FTS5 table `shown`, that no thread is using: making one takes 0.5 ms."""


def query_words(text: str) -> list[str]:
    """The words of a query, each once, in lower case. Punctuation, emoji and FTS5's operators are left out."""
    composed = normalize("NFC", text).lower()  # an accent apart from its letter would split the word
    return list(dict.fromkeys(_WORD.findall(composed)))[:_MOST_COUNTED]


def informative_words(db: sqlite3.Connection, words: Iterable[str], documents: int) -> list[str]:
    """The words to search for, rarest first: those that some documents hold and, in a large index, not too many.

    `documents` is the number of documents in the index.
    """
    most = documents if documents < _LARGE else int(_COMMON * documents)
    counts = {word: _count(db, word, most + 1) for word in words}
    informative = [word for word in counts if 0 < counts[word] <= most]
    return sorted(informative, key=lambda word: (counts[word], word))[:_MOST_WORDS]


def bm25(db: sqlite3.Connection, words: Sequence[str]) -> dict[DocumentNumber, float]:
    """The BM25 score, above 0, of every document that holds one of the words."""
    if not words:
        return {}
    query = "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
    # FTS5 gives a word that most documents hold a weight of next to nothing, and rounding may make it 0 or less.
    return {document: score for document, score in db.execute(query, (_any_of(words),)) if score > 0.0}


def words_in(db: sqlite3.Connection, words: Iterable[str], documents: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Those of the words that each document holds, in whatever form."""
    held: dict[int, list[str]] = {document: [] for document in documents}
    query = "SELECT rowid FROM words WHERE words MATCH ? AND rowid IN (SELECT value FROM json_each(?))"
    listed = json.dumps(list(held))
    for word in words:
        for (document,) in db.execute(query, (_any_of([word]), listed)):
            held[document].append(word)
    return {document: tuple(found) for document, found in held.items()}


def matches_in(texts: Sequence[str], words: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
    """Where the words stand in each text, in whatever form: (start, stop) character offsets, ascending.

    FTS5's own highlight() marks the words, in a table in memory that holds just these texts: 0.08 ms for ten short
    documents of an index of 20,000, where the index's own table takes 0.6 ms. There FTS5 goes through all documents
    that hold a word, and through the whole of a long document instead of the passage that is shown.
    """
    if not words:
        return [()] * len(texts)
    pieces = [text[:_HIGHLIGHTED].replace("\0", " ").encode() for text in texts]  # FTS5 stops at a NUL
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    found: list[list[tuple[int, int]]] = [[] for _ in texts]
    for start, stop in _marked(b"\n".join(pieces), words):
        at = bisect_right(starts, start) - 1
        piece, first, last = pieces[at], start - starts[at], stop - starts[at]
        before = len(piece[:first].decode())
        found[at].append((before, before + len(piece[first:last].decode())))
    return [tuple(each) for each in found]


def _marked(text: bytes, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where FTS5 finds one of the words in a UTF-8 text: (start, stop) byte offsets, ascending."""
    try:
        db = _idle.pop()
    except IndexError:
        db = sqlite3.connect(":memory:", check_same_thread=False)
        db.execute(f"CREATE VIRTUAL TABLE shown USING fts5 (text, tokenize='{TOKENIZER}')")
    db.execute("INSERT INTO shown VALUES (CAST(? AS TEXT))", (text,))
    query = "SELECT CAST(highlight(shown, 0, ?, ?) AS BLOB) FROM shown WHERE shown MATCH ?"
    rows = db.execute(query, (_OPEN, _CLOSE, _any_of(words))).fetchall()
    db.rollback()
    _idle.append(db)
    before, *pieces = rows[0][0].split(_OPEN) if rows else [b""]
    spans, at = [], len(before)
    for piece in pieces:
        word, after = piece.split(_CLOSE)
        spans.append((at, at + len(word)))
        at += len(word) + len(after)
    return spans


def _count(db: sqlite3.Connection, word: str, most: int) -> int:
    """The number of documents that hold a word, counted up to `most`: a common word need not be counted to the end."""
    query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(db.execute(query, (_any_of([word]), most)).fetchone()[0])


def _any_of(words: Iterable[str]) -> str:
    """An FTS5 expression for any of the words. They are quoted, so that AND, NEAR and the like are words too."""
    return " OR ".join(f'"{word}"' for word in words)
