"""`gossamer index`: put files and folders into an index."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import INTERRUPTED, command, examples
from gossamer.cli.formatting import documents
from gossamer.cli.ingest import BATCH, Ingest, Tally
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import Json, Quiet, complete_encoder, complete_index
from gossamer.cli.screen import Screen
from gossamer.errors import ParameterError

if TYPE_CHECKING:
    from gossamer.readers import Reading

EXAMPLES = examples(
    "gossamer index notes/ --to notes.gsm",
    "gossamer index news.jsonl --to news.gsm --text-field body --id-field url",
    "zcat corpus.jsonl.gz | gossamer index - --to corpus.gsm --encoder lsa",
)


class OnError(StrEnum):
    """What to do about a line or file that cannot be read."""

    RAISE = "raise"
    SKIP = "skip"


_FITTED = 20_000
"""Documents in a batch for an encoder that learns from the corpus: with small batches it would learn many times."""


@command
def index(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATHS", help="Files and folders (.txt .md .json .jsonl .csv .tsv .parquet), or -."),
    ],
    to: Annotated[
        Path, typer.Option(metavar="INDEX", help="The index: made if it is not there.", autocompletion=complete_index)
    ],
    encoder: Annotated[
        str | None,
        typer.Option(
            help="What makes vectors of texts: minilm (default), lsa, st:MODEL, hf:MODEL.",
            autocompletion=complete_encoder,
        ),
    ] = None,
    text_field: Annotated[str | None, typer.Option(help="The field with the text, in tables and JSON.")] = None,
    id_field: Annotated[str | None, typer.Option(help="The field with the id, in tables and JSON.")] = None,
    glob: Annotated[
        list[str] | None, typer.Option(help="Which files of folders, as in .gitignore: '*.md'. Can be repeated.")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Text files hold one document a line.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Read files in folders that are links out of the folder.")
    ] = False,
    on_error: Annotated[OnError, typer.Option(help="What to do about what cannot be read.")] = OnError.RAISE,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents that PATHS no longer hold.")] = False,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Documents added at a time: 500, or 20,000 with lsa.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="Split longer texts into passages (200); 0 never splits.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Words are found in all their forms: english, german, …, or none. Else detected.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put files and folders into an index, and keep it up to date with them.

    Run it again to add only what is new or changed. It can be stopped at any time with Ctrl-C: what is in stays in.
    """
    from gossamer.readers import read

    screen = Screen(json=json, quiet=quiet)
    reading = read(
        paths, text_field=text_field, id_field=id_field, glob=_patterns(glob), lines=lines, follow_links=follow_links,
        on_error=on_error.value,
    )  # fmt: skip
    start, tally = time.perf_counter(), Tally()
    made = _create_if_missing(to, encoder, {"max_tokens": max_tokens, "language": language}, screen)
    with opened(to, screen, "w", encoder) as ix:
        if not made:
            prepare_encoder(ix.info().encoder, screen)
        learns = ix.info().encoder.startswith("lsa")
        size = batch or (_FITTED if learns else BATCH)
        stopped = _run(Ingest(ix, tally, on_error=on_error.value, learns=learns), reading, size, prune, screen)
        held = len(ix)
    _report(screen, to, tally, reading, time.perf_counter() - start, held, stopped)
    if not tally.seen and not stopped:
        screen.say("no documents were found: check the paths, or choose files with --glob")
    if stopped:
        screen.say(f"stopped: {documents(held)} in {to}; run the same command again to go on")
        raise typer.Exit(INTERRUPTED)


def _patterns(glob: Sequence[str] | None) -> list[str]:
    """Patterns of the files to read in a folder: those asked for, or all known formats; never the files of an index."""
    from gossamer.readers import FORMATS

    def any_case(suffix: str) -> str:
        return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() else letter for letter in suffix)

    known = [f"*{any_case(suffix + packed)}" for suffix in FORMATS for packed in ("", ".gz")]
    return [*(glob or known), "!*.gsm/"]


def _create_if_missing(path: Path, encoder: str | None, options: Mapping[str, Any], screen: Screen) -> bool:
    """Create the index, with the options that are not None, if there is none; returns whether it was created."""
    chosen = {name: value for name, value in options.items() if value is not None}
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        for name in chosen:
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(f"{option} is chosen when an index is made, and {path} exists: leave it out")
        return False
    name = encoder or "minilm"
    prepare_encoder(name, screen)
    with screen.working(f"making {path.name}"):
        from gossamer.index import Index

        if "max_tokens" in chosen:
            chosen["max_tokens"] = chosen["max_tokens"] or None
        Index.create(path, name, **chosen).close()
    return True


def _run(ingest: Ingest, reading: Reading, size: int, prune: bool, screen: Screen) -> bool:
    """Add all batches, then prune; returns whether Ctrl-C stopped it."""
    try:
        with screen.bar("indexing", "documents") as bar:
            bar(0, None)
            ingest.add(reading, size, lambda seen: bar(seen, _expected(reading)))
        if prune and reading.broken:
            screen.say(f"nothing was pruned, since {reading.broken:,} inputs could not be read")
        elif prune:
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


def _report(screen: Screen, to: Path, tally: Tally, reading: Reading, seconds: float, held: int, stopped: bool) -> None:
    rate = tally.seen / max(seconds, 1e-9)
    if screen.json:
        left_out = {name: getattr(reading, name) for name in ("skipped", "empty", "broken", "binary", "links")}
        speed = {"seconds": round(seconds, 3), "documents_per_second": round(rate, 1)}
        screen.emit({"index": str(to), "documents": held, **asdict(tally), **left_out, **speed, "stopped": stopped})
    else:
        counts = {**asdict(tally), "skipped": reading.skipped}
        shown = [name for name in counts if counts[name] or name in ("added", "replaced", "unchanged")]
        parts = ", ".join(f"{counts[name]:,} {name}" for name in shown)
        screen.show(f"{to}: {documents(held)}", f"{parts} in {seconds:.1f} s ({rate:,.0f} documents/s)")
