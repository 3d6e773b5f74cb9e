"""CSV and TSV, row by row.

The delimiter is told from the header alone (of comma, semicolon, tab and bar, the one that parts it most):
the standard library's sniffer guesses from letters too, and is wrong where it matters. Quotes are read
strictly, so that one left open is an error that names its line, not a field that swallows the rest.

Files with tabs come in two sorts: quoted as CSV is, or a row a line in which quotes mean nothing. Where every
line of the first thousand has as many fields as the header the file is of the second sort (or has never needed
its quotes), and then each row must have exactly that many.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from gossamer.readers.fields import Job, Row, records
from gossamer.readers.opening import LONGEST_LINE, TooLargeError, open_text
from gossamer.readers.record import Account, Record
from gossamer.readers.values import typed
from gossamer.readers.walk import Source

_SAMPLE = 1000
"""Lines that tell how a file is quoted; fewer where they are long."""
_SAMPLE_CHARACTERS = 2**24


def read_csv(source: Source, job: Job) -> Iterator[Record]:
    """Comma, semicolon, tab or bar."""
    return _read(source, job, ",;\t|")


def read_tsv(source: Source, job: Job) -> Iterator[Record]:
    """Tabs."""
    return _read(source, job, "\t")


def _read(source: Source, job: Job, delimiters: str) -> Iterator[Record]:
    with open_text(source, job.account, newline="") as file:
        # A field may be as long as a line. The limit belongs to the csv module as a whole: it is only ever raised.
        csv.field_size_limit(max(LONGEST_LINE, csv.field_size_limit()))
        lines = iter(file)
        sample, ended = _sample(lines)
        delimiter = max(delimiters, key=lambda each: len(_fields(sample[:1], each)))
        by_line = delimiter == "\t" and _is_a_row_a_line(sample, ended)
        quoting: Any = csv.QUOTE_NONE if by_line else csv.QUOTE_MINIMAL
        bounded = _Bounded(chain(sample, lines))
        reader = csv.reader(bounded, delimiter=delimiter, quoting=quoting, strict=True)
        yield from records(_rows(reader, bounded, by_line, source, job.account), source, job, typed)


class _Bounded(Iterator[str]):
    """Lines of a file, of which one row may take so many characters: quotes can hold any number of lines."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._characters = 0
        self._row = 1
        """The line where the row begins."""

    def begin_row(self, line: int) -> None:
        """What comes now belongs to another row."""
        self._characters, self._row = 0, line

    def __next__(self) -> str:
        line = next(self._lines)
        self._characters += len(line)
        if self._characters > LONGEST_LINE:
            where = f"the row that begins at line {self._row} has more than {LONGEST_LINE:,} characters"
            raise TooLargeError(f"{where}, and the file is not read any further", "Look for an open quote")
        return line


def _fields(lines: list[str], delimiter: str) -> list[str]:
    return next(csv.reader(lines, delimiter=delimiter), [])


def _sample(lines: Iterator[str]) -> tuple[list[str], bool]:
    """The first lines, and whether they are all there are."""
    sample: list[str] = []
    characters = 0
    for line in lines:
        sample.append(line)
        characters += len(line)
        if len(sample) == _SAMPLE or characters > _SAMPLE_CHARACTERS:
            return sample, False
    return sample, True


def _is_a_row_a_line(sample: list[str], ended: bool) -> bool:
    """Whether a file with tabs makes sense without quoting, or at least none with it."""
    width = len(_fields(sample[:1], "\t"))
    if all(line.count("\t") + 1 == width for line in sample if line.strip()):
        return True
    try:
        for _ in csv.reader(sample, delimiter="\t", strict=True):
            pass
    except csv.Error as error:
        # A field cut off where the sample ends is well quoted as far as can be seen.
        return ended or "end of data" not in str(error)
    return False


def _rows(reader: Any, lines: _Bounded, by_line: bool, source: Source, account: Account) -> Iterator[Row]:
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
        if by_line:
            values = [_unquoted(value) for value in values]
        if header is None:
            header = _header(values, source, account)
        elif len(values) > len(header) or (by_line and len(values) < len(header)):
            what = f"{len(values)} fields, but the header has {len(header)}"
            account.problem(f"{source.place}:{line}", what, "Quote fields that hold delimiters, as CSV does")
        else:
            yield Row(line, dict(zip(header, values, strict=False)))


def _unquoted(value: str) -> str:
    """A field wholly in quotes without them; quotes that are part of a text stay."""
    inner = value[1:-1]
    if len(value) > 1 and value[0] == value[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return value


def _header(values: list[str], source: Source, account: Account) -> list[str]:
    """The names of the columns; one without a name (an index column of pandas) is called by its number."""
    names = [name.strip() or f"column_{number}" for number, name in enumerate(values, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        account.problem(f"{source.place}:1", f"two columns are called {twice[0]!r}", "Rename one of them")
    return names
