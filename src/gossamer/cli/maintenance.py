"""Commands about an index: `gossamer info`, `delete`, `compact`, `rebuild`, `reencode`, `backup` and `repair`."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.formatting import documents
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import EncoderName, IndexPath, Json, Quiet, Where, complete_encoder, parse_where
from gossamer.cli.screen import Screen
from gossamer.errors import GossamerError
from gossamer.plain_text import one_line, shortened

if TYPE_CHECKING:
    from gossamer.results import IndexInfo

COMPACT_EXAMPLES = examples("gossamer compact notes.gsm", "gossamer compact notes.gsm --erase --json")
INFO_EXAMPLES = examples("gossamer info notes.gsm", "gossamer info notes.gsm --json")
DELETE_EXAMPLES = examples(
    "gossamer delete notes.gsm old.md drafts/plan.md",
    'gossamer delete news.gsm --where \'{"year": {"$lt": 2000}}\' --dry-run',
    "cat ids.txt | gossamer delete news.gsm -",
)
REBUILD_EXAMPLES = examples("gossamer rebuild notes.gsm", "gossamer rebuild notes.gsm --json --quiet")
REENCODE_EXAMPLES = examples(
    "gossamer reencode notes.gsm --to minilm", "gossamer reencode notes.gsm --to ollama:nomic-embed-text --json"
)
BACKUP_EXAMPLES = examples(
    "gossamer backup notes.gsm /backups/notes.gsm", "gossamer backup /backups/notes.gsm notes.gsm"
)
REPAIR_EXAMPLES = examples(
    "gossamer repair notes.gsm", "gossamer repair notes.gsm --encoder st:all-mpnet-base-v2 --json"
)

_IDS_SHOWN: Final = 5
_LOST_SHOWN: Final = 20
_SHARE_SHOWN: Final = 0.01
"""Parts of an index that are shown with their size, as a share of all."""


@command
def info(index: IndexPath, json: Json = False, quiet: Quiet = False) -> None:
    """Show what an index holds, how it was made, and what it takes on disk."""
    from gossamer.index import Unloaded

    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen, encoder=Unloaded()) as ix:
        about = ix.info()
    if screen.json:
        screen.emit(asdict(about))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _info_rows(about).items():
        table.add_row(name, Text(one_line(value)))
    screen.show(table)


def _info_rows(about: IndexInfo) -> dict[str, str]:
    degraded = {"degraded": f"{about.degraded}: run gossamer repair"} if about.degraded else {}
    return degraded | {
        "index": about.path or "in memory",
        "documents": f"{about.documents:,}",
        "passages": f"{about.passages:,}",
        "concepts": f"{about.concepts:,}",
        "encoder": about.encoder + (f", {about.dim} dimensions" if about.dim else ""),
        "whitening": "fitted" if about.whitened else "not yet: too few documents",
        "on disk": _sizes(about.disk, about.bytes),
        "in memory": _sizes(about.memory, sum(about.memory.values())),
        "operations": f"{about.operation:,}, tree saved after {', '.join(map(str, about.snapshots)) or 'none'}",
        "created": f"{about.created} by Gossamer {about.written_by}",
    }


def _sizes(parts: dict[str, int], total: int) -> str:
    """A size and the parts of it that are worth a word, large ones first."""
    shown = sorted(((size, part) for part, size in parts.items() if size > _SHARE_SHOWN * total), reverse=True)
    listed = ", ".join(f"{part} {size / 1e6:,.1f}" for size, part in shown)
    return f"{total / 1e6:,.1f} MB" + (f": {listed}" if listed else "")


@command
def delete(
    index: IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(metavar="DOC_ID", help="Ids, or - for one a line.")] = None,
    where: Where = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all documents.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Delete documents by id, or all whose metadata match a filter. Ids that are not there are no error."""
    condition = {} if everything and where is None else parse_where(where)
    if (condition is None) == (not ids):
        raise typer.BadParameter("name either documents, a --where or --all", param_hint="DOC_ID")
    if condition == {} and not everything:
        raise typer.BadParameter(
            "an empty filter matches every document: to delete them, say --all", param_hint="--where"
        )
    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen, "r" if dry_run else "w", encoder) as ix:
        chosen = _with_stdin(ids) if ids else ix.ids(where=condition)
        known = set(ix.ids())
        found = [id for id in dict.fromkeys(chosen) if id in known]
        deleted = 0 if dry_run else ix.delete(found)
        left = len(ix)
    if screen.json:
        missing = len(set(chosen)) - len(found)
        screen.emit({"deleted": deleted, "found": found, "missing": missing, "documents": left, "dry_run": dry_run})
    elif dry_run:
        more = f" and {len(found) - _IDS_SHOWN:,} more" if len(found) > _IDS_SHOWN else ""
        names = f": {', '.join(found[:_IDS_SHOWN])}{more}" if found else ""
        screen.show(f"{documents(len(found))} would be deleted{names}")
    else:
        screen.show(f"{documents(deleted)} deleted, {left:,} left")
    if unknown := [id for id in dict.fromkeys(chosen) if id not in known]:
        screen.say(f"not in the index: {shortened(', '.join(map(repr, unknown)), 200)}")


def _with_stdin(ids: list[str]) -> list[str]:
    """The ids, with those on standard input in place of a dash."""
    if "-" not in ids:
        return ids
    lines = [line.strip() for line in sys.stdin]
    return [id for id in ids if id != "-"] + [line for line in lines if line]


@command
def rebuild(index: IndexPath, encoder: EncoderName = None, json: Json = False, quiet: Quiet = False) -> None:
    """Fit the whitening to all documents there are now, and build the tree again.

    Seldom needed: an index renews its tree as it grows, and fits the whitening again when its documents have changed.
    The encoder lsa learns again. All concepts get new ids.
    """
    screen = Screen(json=json, quiet=quiet)
    start = time.perf_counter()
    with opened(index, screen, "w", encoder) as ix:
        before = ix.info().concepts
        with screen.bar("rebuilding", "texts") as bar:
            bar(0, None)
            ix.refit(progress=bar)
        about = ix.info()
    seconds = time.perf_counter() - start
    if screen.json:
        counts = {"documents": about.documents, "concepts_before": before, "concepts": about.concepts}
        screen.emit({**counts, "whitened": about.whitened, "seconds": round(seconds, 3)})
    else:
        concepts = f"{before:,} concepts before, {about.concepts:,} now"
        screen.show(f"{about.documents:,} documents: {concepts} ({seconds:.1f} s)")


@command
def compact(
    index: IndexPath,
    erase: Annotated[
        bool, typer.Option("--erase", help="Leave nothing of deleted documents in any file: rebuilds the index.")
    ] = False,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give back the disk space that deleted documents left.

    With --erase nothing of a deleted text, its metadata or its vector is left in any file of the folder. Copies
    elsewhere, and blocks that the file system freed, are not reached.
    """
    from gossamer.index import Unloaded

    screen = Screen(json=json, quiet=quiet)
    needed = encoder if erase else Unloaded()  # one that learnt from the texts learns again
    with opened(index, screen, "w", needed) as ix, screen.bar("compacting", "texts") as bar:
        bar(0, None)
        done = ix.compact(erase=erase, progress=bar)
    if screen.json:
        screen.emit(asdict(done))
    else:
        erased = ", nothing of deleted documents is left" if done.erased else ""
        screen.show(f"{done.bytes_before / 1e6:,.1f} MB before, {done.bytes / 1e6:,.1f} MB now{erased}")


@command
def reencode(
    index: IndexPath,
    to: Annotated[str, typer.Option(metavar="NAME", help="The new encoder.", autocompletion=complete_encoder)],
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give an index another encoder: all texts are encoded again, and the tree is built again.

    It can be stopped at any time with Ctrl-C: run the same command again to go on.
    """
    screen = Screen(json=json, quiet=quiet)
    start = time.perf_counter()
    prepare_encoder(to, screen)
    with opened(index, screen, "w", encoder) as ix:
        with screen.bar("encoding", "texts") as bar:
            bar(0, None)
            encoded = ix.reencode(to, progress=bar)
        about = ix.info()
    seconds = time.perf_counter() - start
    if screen.json:
        counts = {"documents": about.documents, "encoded": encoded}
        screen.emit({"encoder": about.encoder, **counts, "seconds": round(seconds, 3)})
    else:
        held = documents(about.documents)
        screen.show(f"{held}, encoded by {about.encoder} now: {encoded:,} texts ({seconds:.1f} s)")


@command
def backup(
    index: IndexPath,
    to: Annotated[Path, typer.Argument(metavar="TO", help="The copy: must be new, or an earlier copy.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy an index as it is after one operation, also while it is being written.

    The copy is an index of its own: open it as it is, or restore it by copying it back.
    """
    from gossamer.index import Unloaded

    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen, encoder=Unloaded()) as ix, screen.working(f"copying {index.name}"):
        operation = ix.backup(to)
    size = sum(file.stat().st_size for file in to.rglob("*") if file.is_file())
    if screen.json:
        screen.emit({"path": str(to), "operation": operation, "bytes": size})
    else:
        screen.show(f"{to} is {index} as of operation {operation:,} ({size / 1e6:,.1f} MB)")


@command
def repair(
    index: IndexPath,
    encoder: Annotated[
        str | None, typer.Option(help="Encodes documents whose vectors are lost.", autocompletion=complete_encoder)
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a healthy index from whatever a damaged one still holds, and list what is lost.

    The damaged folder is kept beside it. An index without damage is left alone.
    """
    from gossamer.index import Index

    screen = Screen(json=json, quiet=quiet)
    with screen.bar("repairing", "texts") as bar:
        bar(0, None)
        done = Index.repair(index, encoder, progress=bar)
    if not done.was_sound:
        with suppress(GossamerError), screen.working("labelling"), Index.open(index, encoder) as ix:
            ix.labels()  # so that searches, which only read, have them
    if screen.json:
        screen.emit({**asdict(done), "was_sound": done.was_sound})
        return
    if done.was_sound:
        screen.show(f"{documents(done.documents)}, nothing to repair")
        return
    again = f", {done.encoded_again:,} of them encoded again" if done.encoded_again else ""
    screen.show(f"{documents(done.documents)} saved{again}; the damaged index is now {done.kept}")
    for lost in done.lost[:_LOST_SHOWN]:
        screen.show(f"lost: {lost.id}: {lost.reason}")
    if len(done.lost) > _LOST_SHOWN:
        screen.show(f"and {len(done.lost) - _LOST_SHOWN:,} more: see --json")
