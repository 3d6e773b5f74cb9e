"""Files → records: folders, texts and pages of many formats, tables, JSON, e-mail, source code, standard input.

    formats/      a file of each format → records
    walk          paths → the files in them                ignore, the rules of .gitignore
    opening       a file → text                            charsets, its encoding
    fields        a row → text, id and metadata            values, what JSON can represent
    hyphenation   words divided at line ends
    record        what reading returns, and the account of what was left out

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = pathlib.Path(folder, "notes.md").write_text("# Trees\\n\\nThey grow.")
...     _ = pathlib.Path(folder, "rows.csv").write_text("id,text,year\\na1,A row,2020\\n")
...     for record in read(folder):
...         print(record.id, record.metadata.get("title"), record.metadata.get("path"), record.metadata.get("year"))
notes.md Trees notes.md None
a1 None None 2020

JSON Lines, CSV and Parquet are streamed: at most a batch of rows is in memory. A line may have 67,108,864 characters,
a document 16,777,216 and a .json file, which is read whole, 268,435,456. Larger ones are not read, also where they are
compressed.
"""

import logging
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gossamer.checks import one_of
from gossamer.errors import MissingExtraError, ParameterError
from gossamer.readers.charsets import known
from gossamer.readers.fields import ID_FIELDS, TEXT_FIELDS, Job
from gossamer.readers.formats import (
    FORMATS,
    REQUIRED,
    ROWS,
    format_of,
    read_markdown,
    read_stdin,
    read_text,
    why_unread,
)
from gossamer.readers.opening import NotTextError, UnreadableError
from gossamer.readers.record import Account, FieldChoice, OnError, Reading, Record
from gossamer.readers.walk import STDIN, Source, find

__all__ = ["FORMATS", "ID_FIELDS", "TEXT_FIELDS", "FieldChoice", "OnError", "Reading", "Record", "read"]

logger = logging.getLogger(__name__)


def read(
    paths: str | Path | Iterable[str | Path],
    *,
    text_field: str | Sequence[str] | None = None,
    id_field: str | None = None,
    glob: str | Sequence[str] | None = None,
    lines: bool = False,
    charset: str | None = None,
    follow_links: bool = False,
    on_error: OnError = "raise",
) -> Reading:
    """The documents in files and folders, one after the other; "-" is standard input.

    `text_field`: the field with the text, or several that are joined; by default the first of TEXT_FIELDS that is
    present, preceded by the ``title``. `id_field`: by default the first of ID_FIELDS that is present, else
    "<file>:<line>". All other fields become metadata; those of a file without rows are its path, as in the id, the time
    it was modified, and what it says of itself, such as its title. `glob`: patterns as in .gitignore that choose the
    files in folders. `lines`: text files hold one document a line. `charset`: the encoding of files that are not UTF-8
    and do not declare theirs; else they are read as Windows-1252 if they are western text. `follow_links`: read files
    in folders also if they are symbolic links out of the folder. `on_error`: "raise" stops at the first line or file
    that cannot be read, "skip" counts it; "auto" stops for files that were named, and counts those found in folders.

    Files are listed now, and a path that does not exist is an InputError; they are read as you iterate.
    """
    one_of(on_error, "on_error", ("raise", "skip", "auto"))
    if charset is not None and known(charset) is None:
        raise ParameterError(
            f"charset must be an encoding that contains ASCII, as cp1251 or shift_jis, got {charset!r}: UTF-16 is "
            "recognised without it"
        )
    given = [paths] if isinstance(paths, str | Path) else paths
    found = find(given, why_unread, glob, follow_links=follow_links)
    sources = found.sources
    for suffix, require in REQUIRED.items():
        if any(source.suffix == suffix and (source.named or on_error == "raise") for source in sources):
            require()
    stdin = any(source.path == STDIN for source in sources)
    total = None if stdin else sum(source.size for source in sources)
    account = Account(
        on_error, bytes_total=total, links=found.links, twins=found.twins, unread=found.unread, charset=charset
    )
    text_fields = [text_field] if isinstance(text_field, str) else text_field or ()
    job = Job(account, tuple(dict.fromkeys(text_fields)), id_field, lines)
    return Reading(_records(sources, job), account)


def _records(sources: list[Source], job: Job) -> Iterator[Record]:
    account = job.account
    rows = {*ROWS, read_text, read_markdown} if job.lines else ROWS
    for source in sources:
        stdin = source.path == STDIN
        account.named = source.named
        reader = read_stdin if stdin else format_of(source.path) or read_text
        try:
            for record in reader(source, job):
                yield record if reader in rows else record.with_file(source.about)
        except MissingExtraError as error:
            if source.named or account.on_error == "raise":
                raise
            account.leave_out(source, f'needs pip install "gossamer[{error.extra}]"')
        except NotTextError:
            if source.named:
                account.problem(source.place, "a binary file, not text", "Convert it to text")
            else:  # folders contain all kinds of files
                account.binary += 1
                logger.warning("skipped %s: a binary file, not text", source.place)
        except UnreadableError as error:
            account.problem(source.place, error.what, error.cure)
        except (OSError, EOFError, zlib.error) as error:
            account.problem(source.place, f"cannot be read ({error})", "Check the file")
        # A finished file counts with the size it had when it was listed.
        account.finished += account.position() if stdin else source.size
        account.position = int
