"""Which module reads which kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from gossamer.readers.delimited import read_csv, read_tsv
from gossamer.readers.fields import Job
from gossamer.readers.json_file import read_json
from gossamer.readers.jsonl import read_jsonl
from gossamer.readers.parquet import read_parquet
from gossamer.readers.record import Record
from gossamer.readers.stdin import read_stdin
from gossamer.readers.text import read_markdown, read_text
from gossamer.readers.walk import STDIN, Source

Format: TypeAlias = Callable[[Source, Job], Iterator[Record]]

FORMATS: dict[str, Format] = {
    ".txt": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
}


def kind(path: Path) -> str:
    """What the name says the file is, under its compression: ".jsonl" for ``a.JSONL.gz``."""
    if path.suffix.lower() != ".gz":
        return path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if inner != ".parquet" else ""


def is_known(path: Path) -> bool:
    """Whether a file is read when it lies in a folder and no glob asks for others."""
    return kind(path) in FORMATS


def format_of(path: Path) -> Format:
    """The reader for a file; what is not known is taken for plain text."""
    return read_stdin if path == STDIN else FORMATS.get(kind(path), read_text)
