"""HTML → text: what a reader of the page would read.

Scripts, styles, forms, menus and footers are left out. Nothing is loaded or executed. The scanner goes through the
page once and needs no stack: html.parser takes quadratic time on some malformed pages, and trees can be deep.
"""

import re
from collections.abc import Iterator
from functools import partial
from html import unescape

from gossamer.checks import LONGEST_TEXT
from gossamer.readers.charsets import declared
from gossamer.readers.fields import Job, document, with_title
from gossamer.readers.opening import open_text
from gossamer.readers.record import Record
from gossamer.readers.walk import Source

_RAW = frozenset({"script", "style", "textarea", "title", "noscript", "template", "iframe", "xmp"})
"""Elements whose content is no markup up to their end tag; of these only the title is wanted."""

_LEFT_OUT = frozenset(
    {"nav", "footer", "aside", "form", "button", "select", "svg", "object", "audio", "video", "dialog"}
)
_BLOCKS = frozenset(
    {
        "address", "article", "blockquote", "body", "br", "caption", "center", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "li",
        "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
    }
)  # fmt: skip
"""Elements that begin a new line."""
_CELLS = frozenset({"td", "th"})
_NAME = re.compile(r"[a-zA-Z][^\s/>]{0,100}")
_UNQUOTED = re.compile(r"[^\"'>]*")
_SPACES = re.compile(r"[ \t\r\f\v\n]+")
_META = re.compile(rb"""<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w.:-]{1,40})""", re.IGNORECASE)
_BOILERPLATE = re.compile(
    r"""(?:role|class|id)\s*=\s*["']?(?:navigation|banner|contentinfo|search|sphinxsidebar|toc)\b""", re.IGNORECASE
)


def read_html(source: Source, job: Job) -> Iterator[Record]:
    """A page: its text, with the title in the metadata."""
    with open_text(source, job.account, declared=partial(declared, declaration=_META)) as file:
        page = file.read(LONGEST_TEXT)
    title, text = text_of(page)
    yield from document(with_title(title, text) if text else "", source, job, title=title)


def text_of(page: str) -> tuple[str | None, str]:
    """The title of an HTML page, if it has one, and its text: paragraphs and table rows on lines of their own.

    >>> text_of("<title>T</title><p>One <b>two</b>.<script>alert(1)</script><p>Three &amp; four")
    ('T', 'One two.\\nThree & four')
    """
    scan = _Scan(page)
    scan.run()
    lines = (_SPACES.sub(" ", line).strip() for line in "".join(scan.parts).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return _SPACES.sub(" ", scan.title).strip() or None, text


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a character reference of more digits than Python reads
        return text


class _Scan:
    """One pass over a page."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.lower = page.lower() if len(page.lower()) == len(page) else page
        """For end tags; a few characters change their length in lower case, and then only plain end tags are found."""
        self.parts: list[str] = []
        self.title = ""
        self.skipped = 0
        """Open elements that are left out, around this place."""
        self.skipped_name = ""
        self.preformatted = 0
        self.no_more: set[str] = set()
        """What is not found any further: without this, many unclosed tags would be searched to the end each."""

    def run(self) -> None:
        """Collect the text in `parts`, and the title."""
        at = 0
        while (start := self.page.find("<", at)) >= 0:
            self._text(at, start)
            at = self._markup(start)
        self._text(at, len(self.page))

    def _find(self, what: str, start: int, text: str | None = None) -> int:
        """Where `what` is found from `start` on; -1 if nowhere, which is looked for once."""
        if what in self.no_more:
            return -1
        found = (self.page if text is None else text).find(what, start)
        if found < 0:
            self.no_more.add(what)
        return found

    def _text(self, start: int, stop: int) -> None:
        if start < stop and not self.skipped:
            text = _unescaped(self.page[start:stop])
            # Line breaks of the source are spaces, except in <pre>.
            self.parts.append(text if self.preformatted else text.replace("\n", " "))

    def _markup(self, start: int) -> int:
        """Read what begins with "<" at `start`; returns where it ends."""
        page = self.page
        if page.startswith("<!--", start):
            end = self._find("-->", start + 4)
            return len(page) if end < 0 else end + 3
        if page.startswith(("<!", "<?"), start):
            end = self._find(">", start)
            return len(page) if end < 0 else end + 1
        closing = page.startswith("</", start)
        name = _NAME.match(page, start + 2 if closing else start + 1)
        if name is None:
            self._text(start, start + 1)  # a plain "<"
            return start + 1
        end = self._tag_end(name.end())
        self._tag(name[0].lower(), closing, page[name.end() : min(end, name.end() + 500)])
        if not closing and name[0].lower() in _RAW:
            return self._raw(name[0].lower(), end)
        return end

    def _tag_end(self, at: int) -> int:
        """The place after the ">" of a tag; one inside a quoted attribute does not count."""
        page = self.page
        while (at := _UNQUOTED.match(page, at).end()) < len(page):  # type: ignore[union-attr]
            if page[at] == ">":
                return at + 1
            close = self._find(page[at], at + 1)
            if close < 0:  # an open quote: the tag ends at the next ">" after all
                end = self._find(">", at)
                return len(page) if end < 0 else end + 1
            at = close + 1
        return len(page)

    def _tag(self, name: str, closing: bool, attributes: str) -> None:
        if self.skipped:
            if name == self.skipped_name:
                self.skipped += -1 if closing else 1
            return
        if not closing and (name in _LEFT_OUT or (name in ("div", "ul") and _BOILERPLATE.search(attributes))):
            self.skipped, self.skipped_name = (0 if attributes.endswith("/>") else 1), name
        elif name in _BLOCKS:
            self.parts.append("\n")
            if name == "pre":
                self.preformatted = max(0, self.preformatted + (-1 if closing else 1))
        elif name in _CELLS:
            self.parts.append(" ")

    def _raw(self, name: str, start: int) -> int:
        """Skip the content of a script and the like, and keep that of the first title; returns where it ends."""
        end = self._find(f"</{name}", start, self.lower)
        if end < 0:
            return start if name == "title" else len(self.page)
        if name == "title" and not self.title and not self.skipped:
            self.title = _unescaped(self.page[start:end])
        return self._tag_end(end + 2 + len(name))
