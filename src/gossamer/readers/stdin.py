"""Standard input: JSON Lines if the first line is an object, otherwise a document a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from gossamer.readers.fields import Job, records
from gossamer.readers.jsonl import is_object, rows
from gossamer.readers.opening import open_text
from gossamer.readers.record import Record
from gossamer.readers.text import documents_by_line
from gossamer.readers.walk import Source


def read_stdin(source: Source, job: Job) -> Iterator[Record]:
    """The first line that is not blank decides, so that nothing needs to be held back."""
    with open_text(source, job.account, newline="\n") as file:
        lines = iter(file)
        blank, first = 0, ""
        for first in lines:
            if first.strip():
                break
            blank += 1
        whole = chain(repeat("\n", blank), [first] if first.strip() else [], lines)
        if not job.lines and is_object(first):
            yield from records(rows(whole, source, job.account), source, job)
        else:
            yield from documents_by_line(whole, source, job.account)
