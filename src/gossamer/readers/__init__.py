"""Files → records: folders, text, Markdown, JSON Lines, JSON, CSV, TSV, Parquet and standard input.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = pathlib.Path(folder, "notes.md").write_text("# Trees\\n\\nThey grow.")
...     _ = pathlib.Path(folder, "rows.csv").write_text("id,text,year\\na1,A row,2020\\n")
...     for record in read(folder):
...         print(record.id, record.metadata)
notes.md {'title': 'Trees'}
a1 {'year': 2020}

JSON Lines, CSV and Parquet are streamed: no more than a batch of rows is held. A line may have 67,108,864 characters,
a document 16,777,216 and a .json file, which is held whole, 268,435,456. What is larger, or unpacks to more, is not
read.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gossamer.checks import one_of
from gossamer.readers.fields import ID_FIELDS, TEXT_FIELDS, Job
from gossamer.readers.formats import FORMATS, format_of, is_known, kind
from gossamer.readers.opening import NotTextError, TooLargeError
from gossamer.readers.parquet import require_pyarrow
from gossamer.readers.record import Account, OnError, Reading, Record
from gossamer.readers.walk import STDIN, Source, find

__all__ = ["FORMATS", "ID_FIELDS", "TEXT_FIELDS", "Reading", "Record", "read"]

logger = logging.getLogger(__name__)


def read(
    paths: str | Path | Iterable[str | Path],
    *,
    text_field: str | None = None,
    id_field: str | None = None,
    glob: str | Sequence[str] | None = None,
    lines: bool = False,
    follow_links: bool = False,
    on_error: OnError = "raise",
) -> Reading:
    """The documents in files and folders, one after the other; "-" is standard input.

    `text_field`: the field with the text; without it the first of TEXT_FIELDS that is there, with ``title``
    before it. `id_field`: likewise the first of ID_FIELDS, else "<file>:<line>". All other fields become
    metadata. `glob`: patterns as in .gitignore that choose the files in folders. `lines`: text files hold one
    document a line. `follow_links`: read files in folders also where they are symbolic links out of the folder.
    `on_error`: "raise" stops at the first line that cannot be read, "skip" counts it.

    Files are looked for now, and a path that does not exist is an InputError; they are read as you iterate.
    """
    one_of(on_error, "on_error", ("raise", "skip"))
    given = [paths] if isinstance(paths, str | Path) else paths
    sources, links = find(given, is_known, glob, follow_links=follow_links)
    if any(kind(source.path) == ".parquet" for source in sources):
        require_pyarrow()
    account = Account(on_error, bytes_total=_size(sources), links=links)
    job = Job(account, text_field, id_field, lines)
    return Reading(_records(sources, job), account)


def _size(sources: list[Source]) -> int | None:
    return None if any(source.path == STDIN for source in sources) else sum(source.size for source in sources)


def _records(sources: list[Source], job: Job) -> Iterator[Record]:
    for source in sources:
        try:
            yield from format_of(source.path)(source, job)
        except NotTextError:
            _binary(source, job.account)
        except TooLargeError as error:
            job.account.problem(source.place, error.what, error.cure)
        except (OSError, EOFError, zlib.error) as error:
            job.account.problem(source.place, f"cannot be read ({error})", "Check the file")
        _close(source, job.account)


def _binary(source: Source, account: Account) -> None:
    """Folders hold all sorts of files; one that was named is another matter."""
    if source.named:
        account.problem(source.place, "a binary file, not text", "Convert it to text")
        return
    account.binary += 1
    logger.warning("skipped %s: a binary file, not text", source.place)


def _close(source: Source, account: Account) -> None:
    """From now on the file counts as done, with the size it was announced with."""
    account.finished += account.position() if source.path == STDIN else source.size
    account.position = int
