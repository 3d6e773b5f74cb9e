"""Bytes → the character encoding they are in, for files that need not say so.

A byte order mark, what the file declares, or UTF-8, if all bytes are valid. Anything else is an assumption, which is
told: UTF-16 by its zero bytes; UTF-8 with damaged places, if most characters beyond ASCII are valid; or Windows-1252,
if they are few beside the ASCII letters, as they are in western languages. No other encoding is guessed: the user names
it. (charset-normalizer tells other scripts well, but it read French and Spanish as cp1257 and cp1250, at any length.)
"""

import codecs
import re
from typing import Final

WESTERN: Final = "cp1252"

_MARKS: Final = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
"""Byte order marks; that of UTF-32 begins with that of UTF-16."""

_XML: Final = re.compile(rb"""<\?xml[^>]{0,200}encoding\s{0,9}=\s{0,9}["']\s{0,9}([\w.:-]{1,40})""")
_ESCAPES: Final = b"\\u0041 +AGE- ~{"
"""Text that encodings which are no superset of ASCII read as something else."""

_ASCII: Final = bytes(range(128))
_NO_LETTERS: Final = bytes(each for each in range(256) if not (each < 128 and chr(each).isalpha()))
_FEW: Final = 32
"""Bytes beyond ASCII that are too few to tell a script from."""


def known(name: str) -> str | None:
    """Python's name of an encoding that contains ASCII; None if it is not one. Others cannot declare themselves."""
    try:
        return codecs.lookup(name).name if _ESCAPES.decode(name, "replace") == _ESCAPES.decode() else None
    except (LookupError, ValueError):
        return None


def marked(head: bytes) -> str | None:
    """The encoding that the byte order mark of a file tells, or an XML declaration."""
    mark = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    return mark or declared(head, _XML)


def declared(head: bytes, declaration: re.Pattern[bytes]) -> str | None:
    """The encoding that the first group of `declaration` names, if it is one; that of the Web for Latin-1."""
    found = declaration.search(head)
    name = None if found is None else known(found[1].decode("ascii", "replace"))
    return {"iso8859-1": WESTERN, "ascii": None}.get(name or "ascii", name)


def by_zero_bytes(head: bytes) -> str | None:
    """UTF-16 in either order, if every second byte of most characters is zero and the others are printable; or None."""
    head = head[: len(head) // 2 * 2]
    for name, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if 0 not in others and zeros.count(0) > len(zeros) // 2:
            text = head.decode(name, "replace")
            if all(each.isprintable() or each.isspace() for each in text[:-1]):  # the last may be cut in two
                return name
    return None


def assumed(content: bytes) -> str | None:
    """The encoding to assume for bytes that are not valid UTF-8; None if they could be any."""
    beyond = len(content.translate(None, _ASCII))
    wrong = len(content) - len(content.decode("utf-8", "ignore").encode())
    if wrong <= (beyond - wrong) // 2:  # valid characters have at least two bytes
        return "utf-8"
    letters = len(content.translate(None, _NO_LETTERS))
    return None if beyond > _FEW and beyond > letters // 2 else WESTERN
