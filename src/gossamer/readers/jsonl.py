"""JSON Lines: one object a line, read line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gossamer.readers.fields import Job, Row, records
from gossamer.readers.opening import open_text
from gossamer.readers.record import Account, Record
from gossamer.readers.walk import Source


def read_jsonl(source: Source, job: Job) -> Iterator[Record]:
    """Lines end at \\n only: JSON may hold other line separators as they are."""
    with open_text(source, job.account, newline="\n") as file:
        yield from records(rows(file, source, job.account), source, job)


def rows(lines: Iterable[str], source: Source, account: Account) -> Iterator[Row]:
    """The objects; blank lines are nothing, and anything else is a problem."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            account.problem(f"{source.place}:{number}", f"not valid JSON ({brief(error)})", "Repair the line")
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            what = f'a JSON object such as {{"text": …}} is needed, this is a {type(value).__name__}'
            account.problem(f"{source.place}:{number}", what, "Repair the line")


def is_object(line: str) -> bool:
    """Whether `line` is a JSON object: how standard input is told from plain lines."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def brief(error: Exception) -> str:
    """What is wrong with a text that is no JSON."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
