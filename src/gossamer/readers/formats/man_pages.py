r"""Man pages: their source (roff, with the macros man and mdoc), and pages that were formatted to plain text.

The source is not formatted as a terminal would show it: macros and escapes are taken out, what is left are the words.
Nothing in it is executed, and no other file is read. Sections that are the same in hundreds of pages are left out.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.checks import LONGEST_TEXT
from gossamer.readers.fields import Job, document
from gossamer.readers.hyphenation import without_hyphens_at_line_ends
from gossamer.readers.opening import open_text
from gossamer.readers.record import Record
from gossamer.readers.walk import Source

SUFFIX = re.compile(r"\.[1-9][a-z]{0,6}$|\.[1-9]x$|\.man$")
"""The suffixes of man pages: .1, .3pm, .1ssl."""

_LEGAL = {"COPYRIGHT", "REPORTING BUGS", "BUG REPORTS", "COLOPHON", "LICENSE", "LICENCE"}
"""Sections that are left out."""

_PAGE = re.compile(r"[\w.:+@\[-]{1,100}\([1-9][a-zA-Z]{0,6}\)")
_COLUMNS = re.compile(r"\s{2,}")
_OVERSTRIKE = re.compile("[^\n]\b")


class Page(NamedTuple):
    """The title, as in ls(1), and the text of a man page."""

    title: str | None
    text: str


def formatted(text: str) -> Page | None:
    """A man page formatted to plain text, without bold by overstriking, headers and footers; None for other texts."""
    first = _OVERSTRIKE.sub("", text[:2000].lstrip("\n").partition("\n")[0])
    if not _is_header(first):
        return None
    title = _columns(first)[0]
    kept, legal = [], False
    for line in _OVERSTRIKE.sub("", text).splitlines():
        if _is_header(line) or _is_footer(line, title):
            continue
        if line[:1].isalpha() and line == line.upper():
            legal = line.strip() in _LEGAL
        if not legal:
            kept.append(line)
    return Page(title.lower(), without_hyphens_at_line_ends(_squeezed("\n".join(kept)), formatted=True))


def _columns(line: str) -> list[str]:
    return _COLUMNS.split(line.strip())


def _is_header(line: str) -> bool:
    """NAME(1)   User Commands   NAME(1)."""
    columns = _columns(line)
    return len(columns) > 1 and columns[0] == columns[-1] and _PAGE.fullmatch(columns[0]) is not None


def _is_footer(line: str, title: str) -> bool:
    """GNU coreutils 9.1   September 2022   LS(1), or a number in place of the name."""
    columns = _columns(line) if line[:1].strip() else []
    return len(columns) == 3 and (columns[2] == title or columns[2].isdigit())


def read_man_page(source: Source, job: Job) -> Iterator[Record]:
    """The source of a man page. A file of that suffix that is none is left out."""
    with open_text(source, job.account) as file:
        text = file.read(LONGEST_TEXT)
    if not _is_roff(text):
        job.account.leave_out(source, "not a man page")
        return
    page = from_roff(text)
    yield from document(page.text, source, job, title=page.title)


_MACROS = re.compile(r"^\.[ \t]*(?:TH|SH|Dd|Dt|Sh|so)\b", re.MULTILINE)


def _is_roff(text: str) -> bool:
    first = next((line for line in text[:4000].splitlines() if line.strip()), "")
    return first.startswith((".", "'", "\\")) and _MACROS.search(text) is not None


# -- roff -----------------------------------------------------------------------------------

_CHARACTERS = {
    "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "co": "©", "rg": "®", "tm": "™", "bu": "•",
    "em": "—", "en": "–", "hy": "-", "mi": "-", "->": "→", "<-": "←", "ti": "~", "ha": "^", "rs": "\\", "ga": "`",
    "sq": "'", "at": "@", "sh": "#", "Do": "$", "mu": "×", "de": "°", ">=": "≥", "<=": "≤", "!=": "≠", "+-": "±",
    "ae": "æ", ":a": "ä", ":o": "ö", ":u": "ü", ":A": "Ä", ":O": "Ö", ":U": "Ü", "ss": "ß", "'e": "é", "`e": "è",
    "'a": "á", "'o": "ó", ",c": "ç", "~n": "ñ", "/o": "ø", "oa": "å", "ba": "|", "br": "|", "ul": "_",
}  # fmt: skip
_ESCAPE = re.compile(
    r"""\\(?:
    (?P<comment>["\#].*)
    | f(?:\[[^\]\n]*\]|\(..|.)                       # fonts
    | s[-+]?(?:\d{1,2}|\(..|\[[^\]\n]*\]|'[^'\n]*')  # sizes
    | [hvwblLoDXRxZ]'[^'\n]*'                        # movements and drawings
    | [knmMgFVY](?:\[[^\]\n]*\]|\(..|.)              # registers, colours
    | \*?\[(?P<long>[^\]\n]*)\] | \*?\((?P<two>..) | \*(?P<one>.)
    | (?P<other>.)
    )""",
    re.VERBOSE,
)
_OTHER = {
    "-": "-",
    "e": "\\",
    "\\": "\\",
    " ": " ",
    "~": " ",
    "0": " ",
    "'": "'",
    "`": "`",
    "t": " ",
    ".": ".",
    "p": " ",
}
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_FONTS = {"B", "I", "SM", "SB", "BR", "RB", "BI", "IB", "IR", "RI", "CW", "C", "R"}
_BREAKS = {
    "PP",
    "P",
    "LP",
    "TP",
    "IP",
    "HP",
    "TQ",
    "sp",
    "Pp",
    "It",
    "br",
    "Bl",
    "El",
    "Bd",
    "Ed",
    "D1",
    "Dl",
    "EX",
    "EE",
}
_HEADINGS = {"SH", "SS", "Sh", "Ss"}
_LINKS = {"UR", "MT", "Lk"}
_NO_TEXT = {"Os", "Dd", "Dt", "Bl", "El", "Bd", "Ed", "TH", "TE", "UE", "ME", "RS", "RE", "Tg", "PD", "EX", "EE", "TS"}
_MDOC = re.compile(r"[A-Z][a-z0-9]$|No$|Ns$")
"""Names of mdoc's macros, which may stand among the arguments of one another."""


def from_roff(text: str) -> Page:
    """The words of a page in roff: paragraphs, headings and arguments of macros, without definitions and conditions."""
    title: str | None = None
    out: list[str] = []
    legal, depth, ignoring, table = False, 0, False, False
    for line in text.splitlines():
        if ignoring:
            ignoring = not line.startswith("..")
            continue
        opened = line.count(r"\{") - line.count(r"\}")
        if depth or opened > 0:  # a conditional block: definitions for other formatters
            depth = max(0, depth + opened)
            continue
        if table:
            table = not line.rstrip().endswith(".")
            continue
        if line[:1] not in ".'":
            if not legal:
                out.append(unescaped(line))
            continue
        name, arguments = _macro(line)
        ignoring, table = name in ("de", "ig", "am", "de1"), name == "TS"
        if name in ("TH", "Dt") and len(arguments) > 1:
            title = f"{arguments[0].lower()}({arguments[1].lower()})"
        elif name in _HEADINGS:
            legal = " ".join(arguments).upper() in _LEGAL if name in ("SH", "Sh") else legal
            out += [] if legal else ["", " ".join(arguments)]
        elif not legal:
            out += _of_macro(name, arguments)
    return Page(title, _squeezed("\n".join(out)))


def _macro(line: str) -> tuple[str, list[str]]:
    """The name of a macro and its arguments, without escapes."""
    name, _, rest = line[1:].strip().partition(" ")
    rest = re.sub(r"\\\".*", "", rest)
    found = [unescaped((quoted or "").replace('""', '"') or plain) for quoted, plain in _ARGUMENT.findall(rest)]
    return name, found


def _of_macro(name: str, arguments: list[str]) -> list[str]:
    """The lines that a macro stands for."""
    if name in _BREAKS:
        shown = arguments[:1] if name in ("IP", "HP") else arguments if name == "It" else []
        return ["", " ".join(_mdoc(shown))] if shown else [""]
    if name in _FONTS:
        return [("" if len(name) == 2 and name not in ("SM", "SB", "CW") else " ").join(arguments)]
    if name in _LINKS:
        return [" ".join(arguments)]
    if _MDOC.match(name) and name not in _NO_TEXT:
        return [" ".join(_mdoc([name, *arguments]))]
    return []


def _mdoc(words: list[str]) -> list[str]:
    """Arguments of a macro of mdoc, in which Fl is a dash and other names of macros are not shown."""
    shown: list[str] = []
    dash = ""
    for word in words:
        if word == "Fl":
            dash = "-"
        elif not _MDOC.match(word):
            shown.append(dash + word)
            dash = ""
    return shown


def unescaped(line: str) -> str:
    r"""A line without roff's escapes.

    >>> unescaped(r"\fBls\fR \-l \(co 2024, it\(aqs \*(lqfine\*(rq")
    "ls -l © 2024, it's “fine”"
    """
    return _ESCAPE.sub(_character, line) if "\\" in line else line


def _character(found: re.Match[str]) -> str:
    name = found["long"] or found["two"] or found["one"]
    if name is None:
        return _OTHER.get(found["other"] or "", "")
    if re.fullmatch(r"u[0-9A-F]{4,5}", name):
        return chr(int(name[1:], 16))
    return _CHARACTERS.get(name, "")


def _squeezed(text: str) -> str:
    """At most one blank line in a row."""
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+\n", "\n\n", text).strip()
