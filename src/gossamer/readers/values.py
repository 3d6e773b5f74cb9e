"""Convert values from files to what JSON metadata and SQLite can store."""

import math
import re
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

DROP = object()
"""In place of a value that JSON cannot represent: its key is left out."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,17}([eE][+-]?[0-9]{1,2})?")
_WORDS = {"true": True, "false": False}


def clean(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD: SQLite cannot store them."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.replace("\0", "\ufffd").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def json_value(value: Any) -> Any:
    """`value` as JSON can represent it, or DROP. NaN and infinity become None, dates ISO text."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return clean(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            items = ((clean(str(key)), json_value(inner)) for key, inner in value.items())
            return {key: inner for key, inner in items if inner is not DROP}
        case list() | tuple():
            return [kept for inner in value if (kept := json_value(inner)) is not DROP]
    return _other(value)


def _other(value: Any) -> Any:
    """Types of table columns that JSON does not have."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return json_value(float(value))
    if isinstance(value, UUID):
        return str(value)
    return DROP


def typed(text: str) -> Any:
    """A field of a CSV file as a number, a bool or text; DROP if it is empty.

    Without this, no filter such as {"year": {"$gte": 2020}} could match. Numbers with leading zeros stay text, since
    they are codes. Ids and texts are not converted.
    """
    word = text.strip()
    if not word:
        return DROP
    if _WHOLE.fullmatch(word):
        return int(word)
    if _DECIMAL.fullmatch(word):
        return float(word)
    return _WORDS.get(word.lower(), clean(text))
