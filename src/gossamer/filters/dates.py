"""ISO dates and times → moments that can be compared."""

import re
from datetime import date, datetime, time, timedelta
from typing import Final

from gossamer.filters.nodes import Moment

_ISO: Final = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:[T ](?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):?\d\d)?)?",
    re.ASCII,
)
"""A date, alone or with a time, and with that a time zone. Other ISO forms (2024, 20240501, 2024-W18) stay text."""

_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)


def moment_of(value: date) -> Moment:
    """The moment of a date or a datetime: a date is its midnight, and without a time zone UTC is meant."""
    full = value if isinstance(value, datetime) else datetime.combine(value, time())
    offset = full.utcoffset() or timedelta()
    return Moment((full.replace(tzinfo=None) - _EPOCH - offset) // _MICROSECOND)


def read_moment(text: str) -> Moment | None:
    """The moment that a text names in ISO form; None where it is no date."""
    if len(text) < 10 or text[4] != "-" or not _ISO.fullmatch(text):
        return None
    try:
        return moment_of(datetime.fromisoformat(text))
    except ValueError:  # 30 February
        return None
