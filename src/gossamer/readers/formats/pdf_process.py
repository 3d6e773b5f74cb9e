"""The process that reads one PDF: ``python -m gossamer.readers.formats.pdf_process FILE`` prints JSON.

It prints {"text", "title", "pages"} or {"problem"}, and has limits on the memory and time that it may take.
"""

import contextlib
import json
import logging
import sys
from typing import Any

LONGEST_TEXT = 2**24
"""As in `gossamer.checks`, which would have to be imported for every file."""

_MEMORY = 2 * 2**30
_SECONDS = 60


def limit() -> None:
    """Set the limits, where the system has them (not on Windows)."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


def extract(path: str) -> dict[str, Any]:
    """The text of a PDF, page by page, its title, and the number of pages."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every oddity of a file
    try:
        with open(path, "rb") as file:
            reader = pypdf.PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                return {"problem": "encrypted with a password"}
            pages, length = [], 0
            for page in reader.pages:
                pages.append(page.extract_text())
                length += len(pages[-1])
                if length > LONGEST_TEXT:
                    return {"problem": f"more than {LONGEST_TEXT:,} characters of text"}
            return {"text": "\n\n".join(pages), "title": _title(reader), "pages": len(pages)}
    except MemoryError:
        return {"problem": "takes more memory than a PDF may"}
    except Exception as error:  # pypdf raises errors of many kinds for files that are not as they should be
        return {"problem": f"not valid PDF ({type(error).__name__}: {str(error)[:200]})"}


def _title(reader: Any) -> str | None:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # the same
        return None
    return str(title)[:1000] if title else None


if __name__ == "__main__":
    limit()
    sys.stdout.write(json.dumps(extract(sys.argv[1])))
