"""JSON: files with one object a line (.jsonl), a list of objects or one object (.json), and standard input."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

from gossamer.readers.fields import Job, Row, records
from gossamer.readers.formats.text import documents_by_line
from gossamer.readers.opening import open_text
from gossamer.readers.record import Account, Record
from gossamer.readers.walk import Source

LONGEST_JSON = 2**28
"""The most characters of a .json file: parsed, it may take twenty times as many bytes."""


def read_jsonl(source: Source, job: Job) -> Iterator[Record]:
    """One object a line. Lines end at \\n only: JSON may contain other line separators."""
    with open_text(source, job.account, newline="\n") as file:
        yield from records(_objects_by_line(file, source, job.account), source, job)


def read_json(source: Source, job: Job) -> Iterator[Record]:
    """A list of objects or one object, read whole; large collections are better kept as .jsonl."""
    with open_text(source, job.account) as file:
        text = file.read(LONGEST_JSON, "Write it as .jsonl, one object a line")
    if not text.strip():
        job.account.without_text(source)
        return
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        cure = "Repair it, or call it .jsonl if it holds one object a line"
        job.account.problem(source.place, f"not valid JSON ({reason(error)})", cure)
        return
    yield from records(_objects(value, source, job.account), source, job)


def read_stdin(source: Source, job: Job) -> Iterator[Record]:
    """Standard input: JSON Lines if the first line that is not blank is an object, otherwise a document a line."""
    with open_text(source, job.account, newline="\n") as file:
        lines = iter(file)
        blank, first = 0, ""
        for first in lines:
            if first.strip():
                break
            blank += 1
        whole = chain(repeat("\n", blank), [first] if first.strip() else [], lines)
        if not job.lines and _is_object(first):
            yield from records(_objects_by_line(whole, source, job.account), source, job)
        else:
            yield from documents_by_line(whole, source, job.account)


def _objects_by_line(lines: Iterable[str], source: Source, account: Account) -> Iterator[Row]:
    """The objects of lines; blank lines are skipped, and anything else is a problem."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            account.problem(f"{source.place}:{number}", f"not valid JSON ({reason(error)})", "Repair the line")
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            what = f'a JSON object such as {{"text": …}} is needed, this is a {type(value).__name__}'
            account.problem(f"{source.place}:{number}", what, "Repair the line")


def _objects(value: Any, source: Source, account: Account) -> Iterator[Row]:
    if isinstance(value, dict):
        yield Row(None, value)
        return
    if not isinstance(value, list):
        what = f"a list of objects or one object is needed, this is a {type(value).__name__}"
        account.problem(source.place, what, "Repair it")
        return
    for number, item in enumerate(value, 1):
        if isinstance(item, dict):
            yield Row(number, item)
        else:
            what = f"item {number} is a {type(item).__name__}, not an object"
            account.problem(f"{source.place}:{number}", what, "Repair it")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def reason(error: Exception) -> str:
    """Why a text is not valid JSON."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
