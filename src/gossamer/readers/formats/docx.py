"""Word documents (.docx): a zip archive with the text as XML.

The XML is read as a stream, by events, so that neither its depth nor its size matters; a document type definition,
which could define entities that expand without end, is refused. Macros and linked files are not looked at.
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from xml.parsers import expat

from gossamer.checks import LONGEST_TEXT
from gossamer.readers.fields import Job, document
from gossamer.readers.opening import TooLargeError, open_archive
from gossamer.readers.record import Record
from gossamer.readers.walk import Source

_MOST_XML = 2**26
"""Bytes of XML that are unpacked, at most: a few compressed kilobytes can unpack to gigabytes."""

_BLOCK = 1 << 16
_TITLES = frozenset({"title", "heading1", "heading 1"})
"""Styles of paragraphs that are a title, in lower case."""


class NotXmlError(Exception):
    """The XML is not well-formed, or has a document type definition."""


def read_docx(source: Source, job: Job) -> Iterator[Record]:
    """A Word document: paragraphs and rows of tables on lines of their own; deleted text is not read."""
    try:
        with open_archive(source, job.account) as archive:
            body = _Body()
            _parse(archive, "word/document.xml", body)
            title = _core_title(archive) or body.title
    except (NotXmlError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        # RuntimeError: encrypted; KeyError: no such file in the archive
        job.account.problem(source.place, f"not a Word document ({error})", "Save it again as .docx")
        return
    yield from document(body.text(), source, job, title=title)


def _core_title(archive: zipfile.ZipFile) -> str | None:
    """The title among the properties, if there is one."""
    properties = _Properties()
    try:
        _parse(archive, "docProps/core.xml", properties)
    except (NotXmlError, KeyError):
        return None
    return properties.title.strip() or None


def _parse(archive: zipfile.ZipFile, name: str, handler: Any) -> None:
    """Send the elements and texts of an XML file in the archive to `handler`."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.data
    parser.StartDoctypeDeclHandler = _refuse
    left = _MOST_XML
    try:
        with archive.open(name) as content:
            while block := content.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise TooLargeError(f"{name} has more than {_MOST_XML:,} bytes", "Split it into several")
                parser.Parse(block, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise NotXmlError(f"{name}: {error}") from error
    finally:
        for each in ("StartElementHandler", "EndElementHandler", "CharacterDataHandler"):
            setattr(parser, each, None)  # the parser and its handlers refer to each other


def _refuse(*_: object) -> None:
    raise NotXmlError("a document type definition, which Word does not write")


def _local(name: str) -> str:
    """The name of an element or attribute without its namespace."""
    return name.rpartition(" ")[2]


class _Body:
    """Collects the text of word/document.xml."""

    def __init__(self) -> None:
        self.title: str | None = None
        self._parts: list[str] = []
        self._length = 0
        self._inside = False
        self._paragraph = 0
        """Where the text of the paragraph begins in `_parts`."""
        self._is_title = False
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "t": self._start_text,
            "p": self._start_paragraph,
            "pStyle": self._style,
            "tab": lambda _: self._add("\t"),
            "br": lambda _: self._add("\n"),
            "cr": lambda _: self._add("\n"),
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if handle := self._starts.get(_local(name)):
            handle({_local(key): value for key, value in attributes.items()})

    def end(self, name: str) -> None:
        """An element ends."""
        local = _local(name)
        if local == "t":
            self._inside = False
        elif local == "p":
            if self._is_title and self.title is None:
                self.title = "".join(self._parts[self._paragraph :]).strip() or None
            self._add("\n")
        elif local == "tc":  # the cells of a row stay on a line
            if self._parts and self._parts[-1] == "\n":
                self._parts[-1] = " "
        elif local == "tr":
            self._add("\n")

    def data(self, text: str) -> None:
        """Text, wanted inside of <w:t> alone."""
        if self._inside:
            self._add(text)

    def text(self) -> str:
        """Everything that was collected."""
        return "".join(self._parts).strip()

    def _start_text(self, _: dict[str, str]) -> None:
        self._inside = True

    def _start_paragraph(self, _: dict[str, str]) -> None:
        self._paragraph, self._is_title = len(self._parts), False

    def _style(self, attributes: dict[str, str]) -> None:
        self._is_title = attributes.get("val", "").lower() in _TITLES

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
        if self._length > LONGEST_TEXT:
            raise TooLargeError(f"more than {LONGEST_TEXT:,} characters of text", "Split it into several")


class _Properties:
    """Finds the title in docProps/core.xml."""

    def __init__(self) -> None:
        self.title = ""
        self._inside = False

    def start(self, name: str, _: dict[str, str]) -> None:
        """An element begins."""
        self._inside = _local(name) == "title"

    def end(self, _: str) -> None:
        """An element ends."""
        self._inside = False

    def data(self, text: str) -> None:
        """Text."""
        if self._inside and len(self.title) < 1000:
            self.title += text
