"""`gossamer demo`: index and search the docstrings of the Python standard library, which every machine has."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import prepare_encoder
from gossamer.cli.options import Json, Quiet, complete_encoder, complete_index
from gossamer.cli.screen import Screen
from gossamer.cli.search import as_json, show_hits
from gossamer.errors import MissingExtraError, ModelUnavailableError

if TYPE_CHECKING:
    from gossamer.cli.stdlib import Docstring
    from gossamer.index import Index

EXAMPLES = examples("gossamer demo", "gossamer demo --to /tmp/stdlib.gsm --encoder lsa --limit 1000")

QUESTIONS = (
    "run a command and capture its output",
    "walk through a directory tree",
    "parse command line arguments",
    "measure how long something takes",
    "compress a file",
)

STRUCTURE = (
    "The tree is a living one: built from all documents at once; what you add later goes beside what is nearest to it, "
    "and the tree is renewed in the background as it grows."
)


@command
def demo(
    to: Annotated[
        Path, typer.Option(metavar="INDEX", help="Where the index goes.", autocompletion=complete_index)
    ] = Path("stdlib.gsm"),
    encoder: Annotated[
        str | None, typer.Option(help="minilm (default), lsa, st:MODEL, hf:MODEL.", autocompletion=complete_encoder)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Documents to take, at most.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers to each question.")] = 3,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Index the docstrings of Python's standard library, and ask it five questions.

    A second run uses the index of the first one.
    """
    screen = Screen(json=json, quiet=quiet)
    start = time.perf_counter()
    ix, built = _index(to, encoder, limit, screen)
    with ix:
        about = ix.info()
        prepare_encoder(about.encoder, screen)
        if not screen.json:
            done = f"made in {time.perf_counter() - start:.0f} s" if built else "there already; remove it to start anew"
            shape = f"{about.documents:,} documents, {about.concepts:,} concepts, encoder {about.encoder}"
            screen.show(f"{about.path} ({done})", shape, STRUCTURE)
        answers = [_ask(ix, question, k, screen) for question in QUESTIONS]
    if screen.json:
        about_it = {"index": str(to), "built": built, "documents": about.documents, "encoder": about.encoder}
        screen.emit({**about_it, "seconds": round(time.perf_counter() - start, 3), "answers": answers})
    else:
        _what_next(to, answers, screen)


def _index(to: Path, encoder: str | None, limit: int | None, screen: Screen) -> tuple[Index, bool]:
    """The index, and whether it was built now. An earlier run left all documents or none."""
    with screen.working("starting"):
        from gossamer.index import Index
    if to.exists():
        ix = Index.open(to, encoder, mode="r")
        if len(ix):
            return ix, False
        ix.close()
    name = encoder if to.exists() else _encoder(encoder, screen)
    documents = _read(limit, screen)
    ix = Index.open(to, name) if to.exists() else Index.create(to, name or "minilm")
    try:
        _add(ix, documents, screen)
    except BaseException:
        ix.close()
        raise
    return ix, True


def _read(limit: int | None, screen: Screen) -> list[Docstring]:
    from gossamer.cli.stdlib import collect, evenly

    screen.say(f"reading the docstrings of Python {sys.version_info.major}.{sys.version_info.minor}")
    with screen.bar("reading", "files") as bar:
        documents = evenly(collect(bar), limit)
    screen.say(f"indexing {len(documents):,} of them")
    return documents


def _encoder(wanted: str | None, screen: Screen) -> str:
    """The encoder asked for; by default minilm, or lsa if the files of minilm cannot be had."""
    try:
        prepare_encoder(wanted or "minilm", screen)
    except (ModelUnavailableError, MissingExtraError) as error:
        if wanted is not None:
            raise
        screen.say(f"{error}\nGoing on with lsa, which learns from the documents alone and answers less well.")
        return "lsa"
    return wanted or "minilm"


def _add(ix: Index, documents: list[Docstring], screen: Screen) -> None:
    texts, ids, metadata = zip(*((each.text, each.id, each.metadata) for each in documents), strict=True)
    with screen.bar("encoding", "documents", then="building the tree; slower the very first time") as bar:
        ix.add(texts, ids, metadata, progress=bar)
    with screen.working("naming concepts"):
        ix.settle()


def _ask(ix: Index, question: str, k: int, screen: Screen) -> dict[str, Any]:
    start = time.perf_counter()
    hits = ix.search(question, k)
    answer = as_json(question, hits, time.perf_counter() - start)
    if not screen.json:
        from rich.text import Text

        screen.show("", Text(f"“{question}”", style="bold"))
        show_hits(screen, hits)
    return answer


def _what_next(to: Path, answers: list[dict[str, Any]], screen: Screen) -> None:
    index, gossamer = shlex.quote(str(to)), _as_called()
    question, id = next((each["query"], each["hits"][0]["id"]) for each in answers if each["hits"])
    screen.show("", "Next:")
    for line in (
        f'{gossamer} search {index} "sort a list" --interactive',
        f'{gossamer} explain {index} "{question}" {shlex.quote(id)}',
        f"{gossamer} tree {index}",
        f"{gossamer} index YOUR_FILES --to yours.gsm",
    ):
        screen.out.print(f"  {line}", soft_wrap=not screen.out.is_terminal)
    screen.show("", "Look at it as a map of concepts, in a browser:")
    screen.out.print(f"  {gossamer} serve {index}", soft_wrap=not screen.out.is_terminal)


def _as_called() -> str:
    """How to call this program: by name if the shell finds it, else by the path it was called by."""
    called = sys.argv[0]
    if shutil.which("gossamer") or not called.endswith("gossamer"):
        return "gossamer"
    return shlex.quote(os.path.relpath(called))
