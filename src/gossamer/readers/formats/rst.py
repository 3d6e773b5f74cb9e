"""reStructuredText → text, line by line.

Markup is taken out and words stay. Docutils is not used: it can include other files and takes long for large ones.
"""

import re
from collections.abc import Iterator

from gossamer.checks import LONGEST_TEXT
from gossamer.readers.fields import Job, document
from gossamer.readers.opening import open_text
from gossamer.readers.record import Record
from gossamer.readers.walk import Source

_ADORNMENT = re.compile(r"""([!-/:-@\[-`{-~])\1{2,}[ \t]*$""")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|\n]{1,200}\|[ \t]+)?([\w:+.-]{1,100})::(?:[ \t]+(.*))?$")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]|$)")
_OPTION = re.compile(r":[\w-]{1,100}:")
_ROLE = re.compile(r":[\w:+.-]{1,100}:`([^`\n]*)`|`([^`\n]*)`(?::[\w:+.-]{1,100}:|__?)?")
_TARGET = re.compile(r"[ \t]*<[^<>\n]*>$")
_STARS = re.compile(r"(?<![\w*])(\*\*?|\|)(?=[^\s*|])([^*|\n]*[^\s*|])\1(?![\w*])")
_NO_TEXT = {
    "image", "include", "literalinclude", "raw", "toctree", "contents", "highlight", "module", "currentmodule", "index",
    "automodule", "autoclass", "autofunction", "role", "default-role", "figure", "only", "ifconfig", "plot", "meta",
    "autosummary", "sectnum", "tabularcolumns", "default-domain", "py:module", "py:currentmodule", "unicode", "replace",
    "auto-summary", "moduleauthor", "sectionauthor", "testsetup", "testcleanup",
}  # fmt: skip
"""Directives whose arguments are file names and settings; those below "toctree" and the like are too."""


def read_rst(source: Source, job: Job) -> Iterator[Record]:
    """A file of reStructuredText: its first heading becomes the title in the metadata."""
    with open_text(source, job.account) as file:
        text = file.read(LONGEST_TEXT)
    title, text = text_of(text)
    yield from document(text, source, job, title=title)


def text_of(rst: str) -> tuple[str | None, str]:
    """The first heading and the text.

    >>> text_of("Trees\\n=====\\n\\n.. note:: They :term:`grow <growth>` in *one* place.\\n\\n.. _target:\\n")
    ('Trees', 'Trees\\n\\nThey grow in one place.')
    """
    title: str | None = None
    out: list[str] = []
    hidden: int | None = None  # the indentation of a comment or directive whose content is left out
    options = False
    for line in rst.expandtabs().splitlines():
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if hidden is not None and stripped and indent <= hidden:
            hidden = None
        if hidden is not None or (options and _OPTION.match(stripped)):
            continue
        options = False
        if _ADORNMENT.match(stripped):
            if title is None and out and out[-1].strip():
                title = out[-1].strip()
            continue
        if _EXPLICIT.match(stripped):
            directive = _DIRECTIVE.match(stripped)
            if directive is None or directive[1].lower() in _NO_TEXT:
                hidden = indent
                continue
            options, line = True, " " * indent + (directive[2] or "")
        out.append(_plain(line).rstrip())
    return title, re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def _plain(line: str) -> str:
    """A line without inline markup."""
    if "`" in line:
        line = _ROLE.sub(
            lambda found: _TARGET.sub("", found[1] if found[1] is not None else found[2]).lstrip("~!"), line
        )
        line = line.replace("``", "").replace("`", "")
    if "*" in line or "|" in line:
        line = _STARS.sub(lambda found: found[2], line)
    return re.sub(r"::$", ":", line.rstrip())
