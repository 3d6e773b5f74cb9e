"""A .json file: a list of objects, or one object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gossamer.readers.fields import Job, Row, records
from gossamer.readers.jsonl import brief
from gossamer.readers.opening import open_text
from gossamer.readers.record import Account, Record
from gossamer.readers.walk import Source

_LONGEST = 2**28
"""Characters in a file: what Python makes of them may take twenty times as many bytes."""


def read_json(source: Source, job: Job) -> Iterator[Record]:
    """Held in memory whole, as JSON must be; large collections are better kept as .jsonl."""
    with open_text(source, job.account) as file:
        text = file.read(_LONGEST, "Write it as .jsonl, one object a line")
    if not text.strip():
        job.account.empty += 1
        return
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        cure = "Repair it, or call it .jsonl if it holds one object a line"
        job.account.problem(source.place, f"not valid JSON ({brief(error)})", cure)
        return
    yield from records(_rows(value, source, job.account), source, job)


def _rows(value: Any, source: Source, account: Account) -> Iterator[Row]:
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
