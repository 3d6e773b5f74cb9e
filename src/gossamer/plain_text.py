"""Texts as people read them: without control characters, on one line, cut to a length."""

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """`text` with control characters, which a terminal would obey, replaced one by one; offsets stay as they are."""
    return _CONTROL.sub("�", text.replace("\r\n", " \n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """`text` with every run of white space as one space, and control characters replaced."""
    return " ".join(printable(text).split())


def shortened(line: str, most: int) -> str:
    """At most `most` characters of `line`; a cut is made between words where that keeps half, and marked by "…".

    >>> shortened("one two three four", 12)
    'one two…'
    """
    if len(line) <= most:
        return line
    head = line[: max(most - 1, 1)]
    cut = head.rsplit(" ", 1)[0].rstrip(" ,;:.")
    return (cut if len(cut) > most // 2 else head) + "…"


def beginning(text: str, most: int) -> str:
    """The beginning of a text on one line, at most `most` characters long."""
    return shortened(" ".join(text[: 4 * most].split()), most)


def is_storable(text: str) -> bool:
    """Whether UTF-8, and so SQLite, can hold a text: half of a surrogate pair it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 value", "2,000 values"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
