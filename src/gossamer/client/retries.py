"""Which answers are worth another try, and after how long."""

from __future__ import annotations

from typing import Any, Final

from gossamer.client.calls import Call

_WORTH: Final = frozenset((429, 503))
"""Refused for now. Nothing else is tried again: of a timeout it is not known what was done."""

_FIRST: Final = 0.2
_LONGEST: Final = 10.0


def pause(call: Call[Any], status: int, retry_after: str | None, tried: int, retries: int) -> float | None:
    """Seconds to wait before the request is sent again; None where it is not."""
    if status not in _WORTH or not call.again or tried >= retries:
        return None
    asked = float(retry_after) if retry_after is not None and retry_after.isdigit() else 0.0
    return min(max(_FIRST * float(2**tried), asked), _LONGEST)
