"""The formats of files, each a function from a file to records.

text         .txt and files without a format of their own; .md; one document a line
man_pages    .1 to .9, with any letters after it; also pages that were formatted to text
rst html docx pdf notebook      one document a file
code         source code: Python by functions and classes, others a file at a time
mail         .mbox, .eml
json_files   .jsonl, .json, standard input
tables       .csv, .tsv, .parquet
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from gossamer.readers.fields import Job
from gossamer.readers.formats.code import LANGUAGES, read_code, read_python
from gossamer.readers.formats.docx import read_docx
from gossamer.readers.formats.html import read_html
from gossamer.readers.formats.json_files import read_json, read_jsonl, read_stdin
from gossamer.readers.formats.mail import read_eml, read_mbox
from gossamer.readers.formats.man_pages import SUFFIX, read_man_page
from gossamer.readers.formats.notebook import read_notebook
from gossamer.readers.formats.pdf import read_pdf, require_pypdf
from gossamer.readers.formats.rst import read_rst
from gossamer.readers.formats.tables import read_csv, read_parquet, read_tsv, require_pyarrow
from gossamer.readers.formats.text import read_markdown, read_text
from gossamer.readers.record import Record
from gossamer.readers.walk import Source, suffix_of

__all__ = [
    "FORMATS", "REQUIRED", "ROWS", "Format", "format_of", "read_markdown", "read_stdin", "read_text", "why_unread",
]  # fmt: skip

Format: TypeAlias = Callable[[Source, Job], Iterator[Record]]

FORMATS: dict[str, Format] = {
    ".txt": read_text,
    ".text": read_text,
    ".adoc": read_text,
    ".org": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".rst": read_rst,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".ipynb": read_notebook,
    ".py": read_python,
    ".pyi": read_python,
    ".mbox": read_mbox,
    ".eml": read_eml,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
    **dict.fromkeys(LANGUAGES, read_code),
}
"""The reader for each suffix. A file with another suffix is read as plain text if it is named or matches a glob."""

REQUIRED: dict[str, Callable[[], object]] = {".parquet": require_pyarrow, ".pdf": require_pypdf}
"""Raises the error that names the extra, for formats that need one."""

ROWS: frozenset[Format] = frozenset({read_stdin, read_jsonl, read_json, read_csv, read_tsv, read_parquet})
"""Readers of documents that are rows, whose fields are all there is to know of them."""

_WHOLE_ON_DISK = frozenset({".parquet", ".pdf", ".docx"})
"""Formats that cannot be read from a stream, so not if they are compressed."""

_PLAIN = frozenset({"readme", "todo", "install", "faq", "notes", "hacking"})
"""Names of files that are plain text whatever their suffix, as README.Debian. Not change logs, which are long and say
little: in /usr/share/doc of a Debian they are nine tenths of all text."""


def why_unread(path: Path) -> str | None:
    """Why a file of a folder is not read, by its name; None if it is."""
    if format_of(path) is not None:
        return None
    return "not read compressed" if suffix_of(path) in _WHOLE_ON_DISK else "no reader"


def format_of(path: Path) -> Format | None:
    """The reader for a file, by its name; None if there is none."""
    suffix = suffix_of(path)
    if suffix in _WHOLE_ON_DISK and path.suffix.lower() == ".gz":
        return None
    if suffix in FORMATS:
        return FORMATS[suffix]
    if SUFFIX.fullmatch(suffix):
        return read_man_page
    return read_text if path.name.partition(".")[0].lower() in _PLAIN else None
