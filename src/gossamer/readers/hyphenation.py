"""Words that a formatter divided at the end of a line are put together again.

A hyphen at a line's end may also belong to the word ("well-known"). Which it is can be told from the rest of the text:
whether the word occurs in one piece, or with its hyphen inside a line.
"""

import re

_ALWAYS = re.compile(r"(?<=\w)[\u00ad\u2010]\n[ \t]*(?=\w)")
"""Soft hyphens, and the hyphens that groff writes: nobody types them."""

_DIVIDED = re.compile(r"\b([^\W\d_]{2,40})-\n[ \t]*([a-zß-ÿ]{2,40})\b")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def without_hyphens_at_line_ends(text: str, *, formatted: bool = False) -> str:
    """`text` with divided words in one piece, on the line where they begin.

    `formatted`: a program broke the lines (a man page, a PDF), so a word is taken for a divided one unless it also
    occurs with its hyphen. Otherwise it is taken for one only if it also occurs in one piece.

    >>> without_hyphens_at_line_ends("The docu-\\nment is well-\\nknown: a document.")
    'The document is well-\\nknown: a document.'
    """
    text = _ALWAYS.sub("", text)
    if "-\n" not in text:
        return text
    words = {word.lower() for word in _WORD.findall(text)}

    def whole(divided: re.Match[str]) -> str:
        left, right = divided.groups()
        with_hyphen, without = f"{left}-{right}", f"{left}{right}"
        if without.lower() in words or (formatted and with_hyphen.lower() not in words):
            return without
        return with_hyphen if formatted else divided[0]

    return _DIVIDED.sub(whole, text)
