"""From when on changes are told: an operation, or a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

from gossamer.errors import ParameterError

Since: TypeAlias = int | date | str | timedelta
"""The number of an operation; a datetime or date, or one as ISO text, local where it names no zone; or how long ago."""


def operation_or_moment(since: Since) -> int | datetime:
    """The number of an operation, or a moment in UTC.

    >>> operation_or_moment(12), operation_or_moment("2026-05-01T12:00:00Z").isoformat()
    (12, '2026-05-01T12:00:00+00:00')
    """
    if isinstance(since, int) and not isinstance(since, bool):
        return since
    if isinstance(since, str):
        return operation_or_moment(_read(since))
    try:
        if isinstance(since, timedelta) and since >= timedelta():
            return datetime.now(UTC) - since
        if isinstance(since, date):
            return (since if isinstance(since, datetime) else datetime.combine(since, time())).astimezone(UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ParameterError(f"since={since!r} is outside the calendar: name a later date") from error
    raise ParameterError(
        f"since must be an operation, a date, a datetime or a timedelta that is not negative, got {since!r}: "
        "pass timedelta(days=1) for what changed since yesterday"
    )


def _read(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ParameterError(
            f"since={text!r} is no date: write it as in '2026-05-01' or '2026-05-01T12:00:00Z'"
        ) from error
