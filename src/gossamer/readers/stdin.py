"""Standard input: JSON Lines if the first line is an object, otherwise a document a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

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
        head = []
        for line in lines:
            head.append(line)
            if line.strip():
                break
        if not job.lines and head and is_object(head[-1]):
            yield from records(rows(chain(head, lines), source, job.account), source, job)
        else:
            yield from documents_by_line(chain(head, lines), source, job.account)
