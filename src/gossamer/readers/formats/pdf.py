"""PDF files, by pypdf, in a process of their own with limits on time and memory.

A PDF can be made so that reading it takes hours or gigabytes. The process that reads it may take a minute and two
gigabytes; one that takes more is a problem of that file alone. Scripts in a PDF are not run. Scanned pages without a
text layer have no text.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from gossamer.errors import MissingExtraError
from gossamer.readers.fields import Job, document
from gossamer.readers.hyphenation import without_hyphens_at_line_ends
from gossamer.readers.record import Record
from gossamer.readers.walk import Source

_SECONDS = 120
"""How long a file may take, on a busy machine."""


def require_pypdf() -> None:
    """Raise the error that says how to install pypdf if it is missing."""
    if find_spec("pypdf") is None:
        raise MissingExtraError("Reading .pdf", "files")


def read_pdf(source: Source, job: Job) -> Iterator[Record]:
    """A PDF file: its text page by page, with the title that it declares and the number of pages in the metadata."""
    require_pypdf()
    found = _extracted(source)
    if isinstance(found, str):
        job.account.problem(source.place, found, "Save it as text")
        return
    text = without_hyphens_at_line_ends(found["text"], formatted=True)
    if not text.strip():
        job.account.leave_out(source, "no text in it, maybe scanned")
        return
    yield from document(text, source, job, title=found["title"], metadata={"pages": found["pages"]})


def _extracted(source: Source) -> dict[str, Any] | str:
    """Text, title and number of pages, or what is wrong with the file."""
    command = [sys.executable, "-m", "gossamer.readers.formats.pdf_process", str(source.path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"not read in {_SECONDS} s"
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:  # it was killed, or ran out of memory
        return "takes more memory or time than a PDF may"
    return str(found["problem"]) if "problem" in found else found
