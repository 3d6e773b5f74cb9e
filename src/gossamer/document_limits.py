"""What a document may hold: checked where it comes in, so that whatever is stored can be filtered, read and sent.

id         1,000 characters
text       16,777,216 characters (2**24)
metadata   1,000,000 characters of JSON, 64 levels deep, with keys of up to 1,000 characters and whole numbers of
           64 bits; no NUL character, at which SQLite's JSON functions cut a text
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from gossamer.rendering import shortened

LONGEST_ID = 1_000
LONGEST_TEXT = 2**24
LONGEST_METADATA = 1_000_000
LONGEST_KEY = 1_000
DEEPEST_METADATA = 64
"""Levels of dicts and lists; the metadata itself is the first."""

_SUSPECT = re.compile(r"\\u0000|[0-9]{19}")
"""JSON text that may hold a NUL or a number of more than 64 bits."""


class Problem(NamedTuple):
    """What is wrong, in words that follow "document 3", and the cure."""

    what: str
    cure: str


TOO_DEEP = Problem(f"has metadata nested more than {DEEPEST_METADATA} levels deep", "make them flatter")


def id_problem(id: str) -> Problem | None:
    """What is wrong with the length of an id."""
    if len(id) <= LONGEST_ID:
        return None
    return Problem(f"has an id of {len(id):,} characters (at most {LONGEST_ID:,})", "give it a shorter one")


def text_problem(text: str) -> Problem | None:
    """What is wrong with the length of a text."""
    if len(text) <= LONGEST_TEXT:
        return None
    return Problem(f"has a text of {len(text):,} characters (at most {LONGEST_TEXT:,})", "split it into several")


def metadata_problem(text: str) -> Problem | None:
    """What is wrong with metadata, given as JSON text."""
    if len(text) > LONGEST_METADATA:
        what = f"has metadata of {len(text):,} characters of JSON (at most {LONGEST_METADATA:,})"
        return Problem(what, "leave out or shorten the longest values")
    if len(text) <= LONGEST_KEY and text.count("{") + text.count("[") <= DEEPEST_METADATA and not _SUSPECT.search(text):
        return None  # told in a microsecond, and so it is with nearly all
    try:
        level = [json.loads(text)]
    except RecursionError:
        return TOO_DEEP
    for _ in range(DEEPEST_METADATA):
        keys = [key for each in level if isinstance(each, dict) for key in each]
        values = [value for each in level for value in (each.values() if isinstance(each, dict) else each)]
        level = [value for value in values if isinstance(value, dict | list)]
        problem = _key_problem(keys) or _value_problem(values)
        if problem is not None or not level:
            return problem
    return TOO_DEEP


def _key_problem(keys: Iterable[str]) -> Problem | None:
    for key in keys:
        if len(key) > LONGEST_KEY:
            return Problem(f"has a metadata key of {len(key):,} characters (at most {LONGEST_KEY:,})", "shorten it")
        if "\0" in key:
            return Problem(f"has a NUL character in the metadata key {key!r}, which cannot be searched", "take it out")
    return None


def _value_problem(values: Iterable[Any]) -> Problem | None:
    for value in values:
        if isinstance(value, str) and "\0" in value:
            what = f"has a NUL character in the metadata value {shortened(value, 40)!r}, which cannot be searched"
            return Problem(what, "take it out")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            what = f"has the number {shortened(str(value), 25)} in its metadata, beyond -2**63 to 2**63 - 1"
            return Problem(what, "write it as text or as a float")
    return None
