"""`gossamer index`: put files and folders into an index."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import INTERRUPTED, command, examples
from gossamer.cli.formatting import documents
from gossamer.cli.ingest import BATCH, Ingest, Tally
from gossamer.cli.opening import filling, is_index, prepare_encoder
from gossamer.cli.options import Json, Quiet, TextFields, complete_encoder, complete_index
from gossamer.cli.screen import Screen
from gossamer.errors import InputError, NotAnIndexError, ParameterError
from gossamer.plain_text import counted, shortened

if TYPE_CHECKING:
    from gossamer.readers import Reading

EXAMPLES = examples(
    "gossamer index notes/ papers/*.pdf --to notes.gsm",
    "gossamer index news.jsonl --to news.gsm --text-field headline --text-field story --id-field url",
    "zcat corpus.jsonl.gz | gossamer index - --to corpus.gsm --encoder lsa",
)


class OnError(StrEnum):
    """What to do about a line or file that cannot be read: stop, go on, or stop only for files that were named."""

    AUTO = "auto"
    RAISE = "raise"
    SKIP = "skip"


_MOST_TOLD = 6
"""Kinds of files, or choices of fields, that are told."""

_FILES_TOLD = 3
"""Files of a kind that are named."""

_CHARSETS = {"cp1252": "Windows-1252", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
"""The usual names of encodings that are assumed."""

_CURES = {
    "no reader": " (--glob reads those that are text)",
    "no field with text": " (--text-field names one)",
    "not read compressed": " (gunzip takes the .gz away)",
    "made by a program": " (read when it is named)",
}
"""What to do about files that were left out, by the reason."""

_LEFT_OUT = ("skipped", "empty", "empty_files", "broken", "binary", "links", "twins", "charsets")
"""Attributes of a `Reading` that are told with --json."""

_FITTED = 20_000
"""Documents in a batch for an encoder that learns from the corpus: with small batches it would learn many times."""


@command
def index(
    paths: Annotated[list[str], typer.Argument(metavar="PATHS", help="Files and folders, or - for standard input.")],
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="INDEX",
            help="The index: made if it is not there. Left out, it is notes.gsm for notes/.",
            autocompletion=complete_index,
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="What makes vectors of texts: minilm (default), lsa, or another that 'gossamer models list' shows.",
            autocompletion=complete_encoder,
        ),
    ] = None,
    text_field: TextFields = None,
    id_field: Annotated[str | None, typer.Option(help="The field with the id, in tables and JSON.")] = None,
    glob: Annotated[
        list[str] | None, typer.Option(help="Which files of folders, as in .gitignore: '*.md'. Can be repeated.")
    ] = None,
    charset: Annotated[
        str | None,
        typer.Option(help="The encoding of files that are not UTF-8 and do not say so: cp1251, shift_jis, …"),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Text files hold one document a line.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Read files in folders that are links out of the folder.")
    ] = False,
    on_error: Annotated[
        OnError,
        typer.Option(help="What cannot be read stops it, is skipped, or stops it in files named as PATHS (auto)."),
    ] = OnError.AUTO,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents that PATHS do not hold any more.")] = False,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Documents added at a time: 500, fewer long ones; with lsa 20,000.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="Split longer texts into passages (200); 0 never splits.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Words are found in all their forms: english, german, …, or none. Else detected.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="paper: whitening and tree as in the paper, to compare; else default.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put files and folders into an index, and keep it up to date with them.

    Reads text, Markdown, reStructuredText, HTML, PDF, Word, notebooks, source code, man pages, mailboxes, CSV, TSV,
    Parquet, JSON and JSON Lines, also compressed (.gz), and says what it left out.

    Run it again to add only what is new or changed. It can be stopped at any time with Ctrl-C: what is in stays in.
    """
    from gossamer.readers import read

    _refuse_indexes(paths)
    screen, to = Screen(json=json, quiet=quiet), _named_after(paths) if to is None else to
    reading = read(
        paths, text_field=text_field, id_field=id_field, glob=glob or None, lines=lines, charset=charset,
        follow_links=follow_links, on_error=on_error.value,
    )  # fmt: skip
    start, tally = time.perf_counter(), Tally()
    options = {"max_tokens": max_tokens, "language": language, "preset": preset}
    made = _create_if_missing(to, encoder, options, screen)
    with filling(to, screen, encoder, made=made) as ix:
        if not made:
            prepare_encoder(ix.info().encoder, screen)
        learns = ix.info().encoder.startswith("lsa")
        size = batch or (_FITTED if learns else BATCH)
        ingest = Ingest(ix, tally, on_error=on_error.value, learns=learns)
        stopped = _run(ingest, reading, size, prune, screen)
        held, others = len(ix), [] if stopped or not tally.seen else ingest.others()
    unmade = made and not held and not tally.seen
    refused = prune and bool(reading.broken)
    _report(
        screen, to, tally, reading, time.perf_counter() - start, held, stopped, others, unmade=unmade, refused=refused
    )  # fmt: skip
    if unmade:
        shutil.rmtree(to)  # else the next run could not choose its encoder
    if not tally.seen and not stopped:
        so = f", so {to} was not made" if unmade else ""
        screen.say(f"no documents were found{so}: check the paths, or choose files with --glob")
    if stopped:
        chosen = ", ".join(_option(name) for name, value in options.items() if value is not None and not unmade)
        again = "run the same command again" + (f" without {chosen}" if chosen else "")
        kept = "nothing was added yet" if unmade else f"{documents(held)} in {to}"
        screen.say(f"stopped: {kept}, the batches under way are lost (--batch sets their size); {again} to go on")
        raise typer.Exit(INTERRUPTED)
    if refused:
        what = counted(reading.broken, "input")
        screen.err.print(
            f"error: nothing was pruned, since {what} could not be read: mend or leave out what is named above"
        )
        raise typer.Exit(1)


def _refuse_indexes(paths: Sequence[str]) -> None:
    for path in paths:
        if is_index(Path(path)):
            raise InputError(
                f"{path} is an index, not a folder of documents: name what it was made of, as in "
                f"gossamer index notes/ --to {path}, or look into it with: gossamer info {path}"
            )


def _named_after(paths: Sequence[str]) -> Path:
    """The index that gets its name from the only folder or file that is read; it lies in the current folder."""
    stem = Path(paths[0]).resolve().name.partition(".")[0] if len(paths) == 1 and paths[0] != "-" else ""
    if not stem:
        raise typer.BadParameter("say where the index goes, as in --to notes.gsm", param_hint="--to")
    return Path(f"{stem}.gsm")


def _create_if_missing(path: Path, encoder: str | None, options: Mapping[str, Any], screen: Screen) -> bool:
    """Create the index, with the options that are not None, if there is none; returns whether it was created."""
    chosen = {name: value for name, value in options.items() if value is not None}
    if path.is_dir() and any(path.iterdir()) and not is_index(path) and path.suffix != ".gsm":
        raise NotAnIndexError(
            f"--to names an index, new or there already, and {path} is another folder: as in notes.gsm"
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        for name in chosen:
            raise ParameterError(f"{_option(name)} is chosen when an index is made, and {path} exists: leave it out")
        return False
    name = encoder or "minilm"
    prepare_encoder(name, screen)
    with screen.working(f"making {path.name}"):
        from gossamer.index import Index

        if "max_tokens" in chosen:
            chosen["max_tokens"] = chosen["max_tokens"] or None
        Index.create(path, name, **chosen).close()
    return True


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _run(ingest: Ingest, reading: Reading, size: int, prune: bool, screen: Screen) -> bool:
    """Add all batches, then prune; returns whether Ctrl-C stopped it."""
    try:
        with screen.bar("indexing", "documents") as bar:
            bar(0, None)
            ingest.add(reading, size, lambda seen: bar(seen, _expected(reading)))
        if prune and not reading.broken:
            with screen.working("pruning"):
                ingest.prune()
    except KeyboardInterrupt:
        return True
    return False


def _expected(reading: Reading) -> float | None:
    """The expected number of documents, from the bytes read so far; None for standard input."""
    if not reading.bytes_total or not reading.bytes_done:
        return None
    return reading.records * reading.bytes_total / reading.bytes_done


def _report(
    screen: Screen,
    to: Path,
    tally: Tally,
    reading: Reading,
    seconds: float,
    held: int,
    stopped: bool,
    others: Sequence[str],
    *,
    unmade: bool,
    refused: bool,
) -> None:
    """Tell what a run has done.

    `unmade`: there is no index, since there was nothing to put into it. `refused`: nothing was pruned, since something
    could not be read.
    """
    rate = tally.seen / max(seconds, 1e-9)
    if screen.json:
        left_out = {name: getattr(reading, name) for name in _LEFT_OUT}
        unread = [
            {"suffix": suffix, "reason": reason, "files": count} for (suffix, reason), count in reading.unread.items()
        ]
        fields = [{"text": choice.text, "id": choice.id, "rows": rows} for choice, rows in reading.fields.items()]
        told = {"unread": unread, "fields": fields, "not_in_paths": len(others)}
        speed = {"seconds": round(seconds, 3), "documents_per_second": round(rate, 1)}
        counted = {"index": str(to), "documents": held, **asdict(tally), "prune_refused": refused}
        screen.emit({**counted, **left_out, **told, **speed, "stopped": stopped})
        return
    counts = {**asdict(tally), "skipped": reading.skipped}
    shown = [name for name in counts if counts[name] or name in ("added", "replaced", "unchanged")]
    parts = ", ".join(f"{counts[name]:,} {name}" for name in shown)
    if not unmade:
        screen.show(f"{to}: {documents(held)}", f"{parts} in {seconds:.1f} s ({rate:,.0f} documents/s)")
    for line in [*_told_fields(reading), *_told_charsets(reading), *_told_unread(reading)]:
        screen.say(line)
    if others:
        first = repr(shortened(others[0], 60))
        cure = "mend what could not be read, then --prune" if refused else "--prune"
        screen.say(
            f"1 document in {to} is not in what was read now, {first}: if its file is gone, {cure} removes it"
            if len(others) == 1
            else f"{documents(len(others))} in {to} are not in what was read now, such as {first}: "
            f"if their files are gone, {cure} removes them"
        )


def _told_fields(reading: Reading) -> Iterator[str]:
    """Which fields of tables and JSON became text and id."""
    for choice, rows in list(reading.fields.items())[:_MOST_TOLD]:
        identity = f"the id from {choice.id!r}" if choice.id else "the id is the file and the line"
        cure = "--text-field, --id-field choose others"
        yield f"{counted(rows, 'row')}: the text is from {choice.text!r}, {identity} ({cure})"


def _told_unread(reading: Reading) -> Iterator[str]:
    """What was left out and why: "147 .xyz files: no reader", the most frequent kinds of each reason."""
    reasons: dict[str, list[str]] = {}
    for (suffix, reason), count in reading.unread.items():
        files = "file" if count == 1 else "files"
        kind = f"{count:,} {suffix} {files}" if suffix else f"{count:,} {files} without a suffix"
        reasons.setdefault(reason, []).append(kind)
    for reason, kinds in reasons.items():
        more = f" and {len(kinds) - _MOST_TOLD} other kinds" if len(kinds) > _MOST_TOLD else ""
        cure = _CURES.get(reason, "")
        yield f"not read: {', '.join(kinds[:_MOST_TOLD])}{more}: {reason}{cure}"
    counts = {"binary": reading.binary, "without text": reading.empty, "broken": reading.broken}
    if any(counts.values()):
        yield "not read: " + ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    if reading.empty_files:
        yield f"without text: {_some_of(reading.empty_files)}"
    if reading.twins:
        links = "link" if reading.twins == 1 else "links"
        yield f"{reading.twins:,} {links} to files that are read anyway"


def _told_charsets(reading: Reading) -> Iterator[str]:
    """Which encodings were assumed, and of which files."""
    for charset, files in reading.charsets.items():
        which = f"{counted(len(files), 'file')}: {_some_of(files)}"
        if charset == "utf-8":
            yield f"not all UTF-8, what cannot be read is replaced by \ufffd: {which}"
        else:
            yield f"not UTF-8, read as {_CHARSETS.get(charset, charset)} (--charset names another): {which}"


def _some_of(files: Sequence[str]) -> str:
    return ", ".join(files[:_FILES_TOLD]) + (" and others (--json lists all)" if len(files) > _FILES_TOLD else "")
