"""Jupyter notebooks (.ipynb): the sources of their cells. Outputs, which may be images or tables, are left out."""

import json
from collections.abc import Iterator
from typing import Any

from gossamer.readers.fields import Job, document
from gossamer.readers.formats.json_files import LONGEST_JSON, reason
from gossamer.readers.formats.text import title_of
from gossamer.readers.opening import open_text
from gossamer.readers.record import Record
from gossamer.readers.walk import Source


def read_notebook(source: Source, job: Job) -> Iterator[Record]:
    """A notebook: its first heading becomes the title in the metadata, beside the language."""
    with open_text(source, job.account) as file:
        text = file.read(LONGEST_JSON, "Clear its outputs")
    if not text.strip():
        job.account.without_text(source)
        return
    try:
        value: Any = json.loads(text)
        cells = [cell for cell in _cells(value) if cell[1].strip()]
    except (ValueError, RecursionError) as error:
        job.account.problem(source.place, f"not a notebook ({reason(error)})", "Save it again from Jupyter")
        return
    title = next((found for kind, text in cells if kind == "markdown" and (found := title_of(text))), None)
    language = _language(value)
    metadata = {"language": language} if language else None
    yield from document("\n\n".join(text for _, text in cells), source, job, title=title, metadata=metadata)


def _cells(notebook: Any) -> list[tuple[str, str]]:
    """The kind and source of every cell. Version 3 of the format has them in worksheets, and calls code "input"."""
    if not isinstance(notebook, dict):
        raise ValueError("an object is needed")
    cells = notebook.get("cells")
    if cells is None:
        sheets = notebook.get("worksheets")
        cells = [cell for sheet in sheets or [] if isinstance(sheet, dict) for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    return [
        (str(cell.get("cell_type")), _source(cell.get("source", cell.get("input", ""))))
        for cell in cells
        if isinstance(cell, dict)
    ]


def _source(value: Any) -> str:
    """The source of a cell: a text, or a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _language(notebook: dict[str, Any]) -> str | None:
    metadata = notebook.get("metadata")
    for name in ("language_info", "kernelspec"):
        found = metadata.get(name) if isinstance(metadata, dict) else None
        told = found.get("name" if name == "language_info" else "language") if isinstance(found, dict) else None
        if isinstance(told, str):
            return told[:100].lower()
    return None
