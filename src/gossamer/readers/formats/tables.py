"""Tables: CSV and TSV row by row, Parquet by batches of rows.

The delimiter is the one of comma, semicolon, tab and bar that splits the header into the most fields: the standard
library's sniffer also considers letters, and is often wrong. Quotes are parsed strictly, so that one left open is an
error that names its line, not a field that contains the rest of the file.

Files with tabs are of two kinds: quoted as in CSV, or one row a line where quotes have no meaning. If each of the first
thousand lines has as many fields as the header, the file is taken for the second kind, and every row must have exactly
that many fields.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from typing import Any

from gossamer.errors import MissingExtraError
from gossamer.readers.fields import Job, Row, left_out, records
from gossamer.readers.opening import LONGEST_LINE, TooLargeError, open_text
from gossamer.readers.record import Account, Record
from gossamer.readers.values import typed
from gossamer.readers.walk import Source
from gossamer.results.tables import is_export

_SAMPLE = 1000
"""Lines from which the kind of quoting is told."""

_SAMPLE_CHARACTERS = 2**24
"""Characters after which no further line is sampled."""

_BATCH = 64
"""Rows of a Parquet file read at a time: few, since a column may repeat one long text at no cost in the file."""


def read_csv(source: Source, job: Job) -> Iterator[Record]:
    """A file with commas, semicolons, tabs or bars."""
    return _read(source, job, ",;\t|")


def read_tsv(source: Source, job: Job) -> Iterator[Record]:
    """A file with tabs."""
    return _read(source, job, "\t")


def _read(source: Source, job: Job, delimiters: str) -> Iterator[Record]:
    with open_text(source, job.account, newline="") as file:
        # A field may be as long as a line. The limit is global to the csv module, so it is only ever raised.
        csv.field_size_limit(max(LONGEST_LINE, csv.field_size_limit()))
        lines = iter(file)
        sample, ended = _sample(lines)
        delimiter = max(delimiters, key=lambda each: len(_fields(sample[:1], each)))
        unquoted = delimiter == "\t" and _is_unquoted(sample, ended)
        quoting: Any = csv.QUOTE_NONE if unquoted else csv.QUOTE_MINIMAL
        bounded = _Bounded(chain(sample, lines), job.longest_row)
        reader = csv.reader(bounded, delimiter=delimiter, quoting=quoting, strict=True)
        yield from records(_rows(reader, bounded, unquoted, source, job), source, job, typed)


class _Bounded(Iterator[str]):
    """The lines of a file, with a limit on the characters of a row: a quoted field can contain any number of lines."""

    def __init__(self, lines: Iterator[str], most: int) -> None:
        self._lines = lines
        self._most = most
        self._characters = 0
        self._row = 1

    def begin_row(self, line: int) -> None:
        """Count the characters from `line` on as those of a new row."""
        self._characters, self._row = 0, line

    def __next__(self) -> str:
        line = next(self._lines)
        self._characters += len(line)
        if self._characters > self._most:
            where = f"the row that begins at line {self._row} has more than {self._most:,} characters"
            raise TooLargeError(f"{where}, and the file is not read any further", "Look for an open quote")
        return line


def _fields(lines: list[str], delimiter: str) -> list[str]:
    return next(csv.reader(lines, delimiter=delimiter), [])


def _sample(lines: Iterator[str]) -> tuple[list[str], bool]:
    """The first lines, and whether the file ends there."""
    sample: list[str] = []
    characters = 0
    for line in lines:
        sample.append(line)
        characters += len(line)
        if len(sample) == _SAMPLE or characters > _SAMPLE_CHARACTERS:
            return sample, False
    return sample, True


def _is_unquoted(sample: list[str], ended: bool) -> bool:
    """Whether a file with tabs is valid without quoting, or at least invalid with it."""
    width = len(_fields(sample[:1], "\t"))
    if all(line.count("\t") + 1 == width for line in sample if line.strip()):
        return True
    try:
        for _ in csv.reader(sample, delimiter="\t", strict=True):
            pass
    except csv.Error as error:
        # A quoted field may continue after the end of the sample.
        return ended or "end of data" not in str(error)
    return False


def _rows(reader: Any, lines: _Bounded, unquoted: bool, source: Source, job: Job) -> Iterator[Row]:
    account = job.account
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        lines.begin_row(line)
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            account.problem(f"{source.place}:{line}", f"not valid CSV ({error})", "Look for an open quote")
            continue
        if not values:  # a blank line
            continue
        if unquoted:
            values = [_stripped(value) for value in values]
        if header is None:
            header = _header(values, source, account)
            if left_out(header, source, job):
                return
        elif len(values) > len(header) or (unquoted and len(values) < len(header)):
            what = f"{len(values)} fields, but the header has {len(header)}"
            account.problem(f"{source.place}:{line}", what, "Quote fields that hold delimiters, as CSV does")
        else:
            yield Row(line, dict(zip(header, values, strict=False)))


def _stripped(value: str) -> str:
    """A field without the quotes around it; quotes inside a text stay."""
    inner = value[1:-1]
    if len(value) > 1 and value[0] == value[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return value


def _header(values: list[str], source: Source, account: Account) -> list[str]:
    """The names of the columns; one without a name (an index column of pandas) is named by its number."""
    names = [name.strip() or f"column_{number}" for number, name in enumerate(values, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        account.problem(f"{source.place}:1", f"two columns are called {twice[0]!r}", "Rename one of them")
    return names


def require_pyarrow() -> Any:
    """pyarrow.parquet, or the error that says how to install it."""
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError("Reading .parquet", "parquet") from error


def read_parquet(source: Source, job: Job) -> Iterator[Record]:
    """A Parquet file. Progress is counted in rows, since the columns of a row are not adjacent in the file."""
    return records(_parquet_rows(require_pyarrow(), source, job), source, job)


def _parquet_rows(parquet: Any, source: Source, job: Job) -> Iterator[Row]:
    done = 0
    try:
        with parquet.ParquetFile(source.path) as file:
            if is_export(file):
                job.account.problem(
                    source.place, "an export of an index, with vectors", "Take it over with gossamer import parquet"
                )
                return
            total = max(1, file.metadata.num_rows)
            job.account.position = lambda: source.size * done // total
            for batch in file.iter_batches(batch_size=_BATCH):
                for fields in batch.to_pylist():
                    done += 1
                    yield Row(done, fields)
    # A column of texts may contain invalid UTF-8, and dates may be out of the range of Python.
    except (import_module("pyarrow").ArrowException, ValueError, OverflowError) as error:
        job.account.problem(source.place, f"not valid Parquet ({error})", "Write the file again")
