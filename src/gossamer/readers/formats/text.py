"""Plain text and Markdown: one document a file, or one a line."""

import re
from collections.abc import Iterable, Iterator

from gossamer.checks import LONGEST_TEXT
from gossamer.readers.fields import Job, document
from gossamer.readers.formats import man_pages
from gossamer.readers.hyphenation import without_hyphens_at_line_ends
from gossamer.readers.opening import open_text
from gossamer.readers.record import Account, Record
from gossamer.readers.values import clean
from gossamer.readers.walk import Source

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")


def read_text(source: Source, job: Job) -> Iterator[Record]:
    """A plain text file. Of a formatted man page the headers, footers and legal sections are left out."""
    with open_text(source, job.account) as file:
        if job.lines:
            yield from documents_by_line(file, source, job.account)
            return
        text = file.read(LONGEST_TEXT)
    if page := man_pages.formatted(text):
        yield from document(page.text, source, job, title=page.title)
    else:
        yield from document(without_hyphens_at_line_ends(text), source, job)


def read_markdown(source: Source, job: Job) -> Iterator[Record]:
    """A Markdown file: its first heading becomes the title in the metadata."""
    with open_text(source, job.account) as file:
        if job.lines:
            yield from documents_by_line(file, source, job.account)
            return
        text = file.read(LONGEST_TEXT)
    yield from document(text, source, job, title=title_of(text))


def documents_by_line(lines: Iterable[str], source: Source, account: Account) -> Iterator[Record]:
    """One document a line; blank lines are counted as empty."""
    for number, line in enumerate(lines, 1):
        record = Record(f"{source.name}:{number}", clean(line).strip(), {}, source.place)
        if not record.text:
            account.empty += 1
        elif account.takes(record, f"{source.place}:{number}"):
            yield record


def title_of(markdown: str) -> str | None:
    """The first heading, outside of code blocks and front matter."""
    before, fence = "", ""
    for line in _without_front_matter(markdown.splitlines()):
        opened = _FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1].startswith(fence) else fence
        elif opened:
            fence = opened[1]
        elif heading := _HEADING.match(line):
            return line[heading.end() :].rstrip(" \t").rstrip("#").strip() or None
        elif before.strip() and _UNDERLINE.match(line):
            return before.strip()
        before = line
    return None


def _without_front_matter(lines: list[str]) -> list[str]:
    """The lines after the front matter (YAML between two lines of dashes), which may look like headings."""
    if lines and lines[0].rstrip() == "---" and "---" in (rest := [line.rstrip() for line in lines[1:]]):
        return lines[rest.index("---") + 2 :]
    return lines
