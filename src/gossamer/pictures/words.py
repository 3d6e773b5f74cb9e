"""Texts made fit for a picture: one line, no control characters, not too long."""

from __future__ import annotations

import re
from typing import Final

_NOT_XML: Final = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold even escaped (and what a terminal would take for a command is among it)."""


def one_line(text: str) -> str:
    """The text on one line, and what no format can carry shown as a replacement character."""
    return " ".join(_NOT_XML.sub("\ufffd", text).split())
