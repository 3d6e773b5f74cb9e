"""Files → records: folders, text, Markdown, JSON Lines, JSON, CSV, TSV, Parquet and standard input.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = pathlib.Path(folder, "notes.md").write_text("# Trees\\n\\nThey grow.")
...     _ = pathlib.Path(folder, "rows.csv").write_text("id,text,year\\na1,A row,2020\\n")
...     for record in read(folder):
...         print(record.id, record.metadata)
notes.md {'title': 'Trees'}
a1 {'year': 2020}

JSON Lines, CSV and Parquet are streamed: at most a batch of rows is in memory. A line may have 67,108,864 characters,
a document 16,777,216 and a .json file, which is read whole, 268,435,456. Larger ones are not read, also where they are
compressed.
"""

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from gossamer.checks import one_of
from gossamer.readers.fields import ID_FIELDS, TEXT_FIELDS, Job
from gossamer.readers.json_files import read_json, read_jsonl, read_stdin
from gossamer.readers.opening import NotTextError, TooLargeError
from gossamer.readers.record import Account, OnError, Reading, Record
from gossamer.readers.tables import read_csv, read_parquet, read_tsv, require_pyarrow
from gossamer.readers.text import read_markdown, read_text
from gossamer.readers.walk import STDIN, Source, find

__all__ = ["FORMATS", "ID_FIELDS", "TEXT_FIELDS", "Reading", "Record", "read"]

logger = logging.getLogger(__name__)

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
"""The reader for each suffix. A file with another suffix is read as plain text if it is named or matches a glob."""


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

    `text_field`: the field with the text; by default the first of TEXT_FIELDS that is present, preceded by the
    ``title``. `id_field`: by default the first of ID_FIELDS that is present, else "<file>:<line>". All other fields
    become metadata. `glob`: patterns as in .gitignore that choose the files in folders. `lines`: text files hold one
    document a line. `follow_links`: read files in folders also if they are symbolic links out of the folder.
    `on_error`: "raise" stops at the first line that cannot be read, "skip" counts it.

    Files are listed now, and a path that does not exist is an InputError; they are read as you iterate.
    """
    one_of(on_error, "on_error", ("raise", "skip"))
    given = [paths] if isinstance(paths, str | Path) else paths
    sources, links = find(given, lambda path: _suffix(path) in FORMATS, glob, follow_links=follow_links)
    if any(_suffix(source.path) == ".parquet" for source in sources):
        require_pyarrow()
    stdin = any(source.path == STDIN for source in sources)
    total = None if stdin else sum(source.size for source in sources)
    account = Account(on_error, bytes_total=total, links=links)
    job = Job(account, text_field, id_field, lines)
    return Reading(_records(sources, job), account)


def _suffix(path: Path) -> str:
    """The suffix that tells the format, without that of the compression: ".jsonl" for ``a.JSONL.gz``."""
    if path.suffix.lower() != ".gz":
        return path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if inner != ".parquet" else ""


def _records(sources: list[Source], job: Job) -> Iterator[Record]:
    account = job.account
    for source in sources:
        stdin = source.path == STDIN
        try:
            yield from (read_stdin if stdin else FORMATS.get(_suffix(source.path), read_text))(source, job)
        except NotTextError:
            if source.named:
                account.problem(source.place, "a binary file, not text", "Convert it to text")
            else:  # folders contain all kinds of files
                account.binary += 1
                logger.warning("skipped %s: a binary file, not text", source.place)
        except TooLargeError as error:
            account.problem(source.place, error.what, error.cure)
        except (OSError, EOFError, zlib.error) as error:
            account.problem(source.place, f"cannot be read ({error})", "Check the file")
        # A finished file counts with the size it had when it was listed.
        account.finished += account.position() if stdin else source.size
        account.position = int
