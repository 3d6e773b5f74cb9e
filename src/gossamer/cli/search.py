"""`gossamer search`: questions to an index."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, complain, examples
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import (
    EncoderName,
    Hybrid,
    IndexPath,
    Json,
    Quiet,
    Weight,
    Where,
    Within,
    concept_path,
    hybrid_weight,
    parse_where,
)
from gossamer.cli.screen import Screen
from gossamer.cli.wording import excerpt, highlighted, one_line, path_shown, plain, telling
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from rich.text import Text

    from gossamer.index import Index
    from gossamer.results import Hit

EXAMPLES = examples(
    'gossamer search notes.gsm "how do plants make sugar"',
    'gossamer search notes.gsm "how do plants make sugar" --explain --min-confidence 0.05',
    'gossamer search news.gsm "floods" -k 5 --where \'{"year": {"$gte": 2020}}\' --json',
    "gossamer search notes.gsm --interactive",
)

_LINES = 4
"""Of a text, unless --full."""

_INDENT = "    "


@dataclass(frozen=True)
class Question:
    """All that is the same for each query of a session."""

    k: int
    where: dict[str, Any] | None
    within: int | None
    hybrid: bool | float
    full: bool
    explain: bool
    min_confidence: float


@command
def search(
    index: IndexPath,
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="What to look for.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Documents to show, at most.")] = 10,
    where: Where = None,
    within: Within = None,
    hybrid: Hybrid = True,
    weight: Weight = None,
    full: Annotated[bool, typer.Option("--full", help="Show the whole of each text.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say of each why it stands where it stands.")] = False,
    min_confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="No answers if the query is less at home here (try 0.05).")
    ] = 0.0,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask for more queries; an empty line or Ctrl-D ends it.")
    ] = False,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the documents that fit a query best, each with its path through the concepts.

    A path leads from all documents to ever narrower concepts, each named by what sets it apart; the basic level, the
    one people would name first, is bold.
    """
    if query is None and not interactive:
        raise typer.BadParameter("say what to look for, or use --interactive", param_hint="QUERY")
    screen = Screen(json=json, quiet=quiet)
    question = Question(k, parse_where(where), within, hybrid_weight(hybrid, weight), full, explain, min_confidence)
    with opened(index, screen, encoder=encoder) as ix:
        prepare_encoder(ix.info().encoder, screen)
        if query is not None:
            _answer(ix, query, question, screen)
        if interactive:
            _converse(ix, question, screen)


def _answer(ix: Index, query: str, question: Question, screen: Screen) -> None:
    start = time.perf_counter()
    with screen.working("searching"):
        hits = ix.search(
            query, question.k,
            where=question.where, within=question.within, hybrid=question.hybrid,
            explain=question.explain, min_confidence=question.min_confidence,
        )  # fmt: skip
    seconds = time.perf_counter() - start
    if screen.json:
        screen.emit(as_json(query, hits, seconds))
    elif not hits:
        screen.show(_nothing(ix, query, question))
    else:
        show_hits(screen, query, hits, full=question.full)


def _nothing(ix: Index, query: str, question: Question) -> str:
    """Why there are no answers."""
    if not len(ix):
        return "the index is empty"
    if question.min_confidence > 0.0:
        novelty = ix.novelty(query)
        if novelty.confidence < question.min_confidence:
            return f"no answer with this confidence ({one_line(novelty.verdict)})"
    return "nothing found"


def as_json(query: str, hits: list[Hit], seconds: float) -> dict[str, Any]:
    """An answer for machines."""
    return {
        "query": query,
        "seconds": round(seconds, 4),
        "hits": [
            {
                "rank": rank,
                "id": hit.id,
                "score": hit.score,
                "dense": hit.dense,
                "lexical": hit.lexical,
                "text": hit.text,
                "metadata": hit.metadata,
                "passage": hit.passage,
                "start": hit.start,
                "path": concept_path(hit.path),
                **({} if hit.explanation is None else {"explanation": hit.explanation.to_dict()}),
            }
            for rank, hit in enumerate(hits, 1)
        ],
    }


def show_hits(screen: Screen, query: str, hits: list[Hit], *, full: bool = False) -> None:
    """Hits for people: rank, score and id, the path in words, the text with the matching words marked."""
    from rich.text import Text

    stems = telling(query)
    width = screen.out.width - len(_INDENT)
    for rank, hit in enumerate(hits, 1):
        screen.show(
            Text.assemble((f"{rank:>2}. ", "bold"), (one_line(hit.id), "bold cyan"), (f"  {hit.score:.3f}", "dim")),
            *_indented(screen, path_shown(hit.path, 2 * width - 8), 2),
            *_indented(screen, _text(hit, stems, width, full=full), None if full else _LINES),
            *_indented(screen, _why(hit), None),
        )


def _why(hit: Hit) -> Text:
    """The explanation in sentences; nothing where none was asked for."""
    from rich.text import Text

    if hit.explanation is None:
        return Text()
    return Text(one_line(" ".join(hit.explanation.sentences[1:])), style="italic")


def _indented(screen: Screen, text: Text, most: int | None) -> Iterator[Text]:
    """The lines of a text as they fit, set in; at most so many."""
    from rich.text import Text

    if not text.plain:
        return
    width = screen.out.width - len(_INDENT)
    lines = text.wrap(screen.out, width)
    for number, line in enumerate(lines[:most], 1):
        line.rstrip()
        if number == most and len(lines) > most and not line.plain.endswith("…"):
            line.truncate(width - 1)
            line.append("…")
        yield Text(_INDENT) + line


def _text(hit: Hit, stems: set[str], width: int, *, full: bool) -> Text:
    """The text, or of a long one the passage that fits."""
    if full:
        return highlighted(plain(hit.text), stems)
    whole = len(one_line(hit.text)) <= _LINES * width
    shown = one_line(hit.text) if whole else _passage(hit, stems, _LINES * width - 2)
    return highlighted(shown, stems)


def _passage(hit: Hit, stems: set[str], most: int) -> str:
    shown = excerpt(hit.passage, stems, most)
    if hit.start and not shown.startswith("…"):
        shown = "…" + shown
    ends_early = hit.start + len(hit.passage) < len(hit.text.rstrip())
    return shown + "…" if ends_early and not shown.endswith("…") else shown


def _converse(ix: Index, question: Question, screen: Screen) -> None:
    """Queries until there are no more. One that goes wrong is told about, and the next one asked for."""
    for query in _queries(_prompt(screen)):
        try:
            _answer(ix, query, question, screen)
        except GossamerError as error:
            complain(error)
        except KeyboardInterrupt:
            screen.say("")


def _queries(ask: Callable[[], str]) -> Iterator[str]:
    """Lines up to an empty one or the end; Ctrl-C only drops the line that was being typed."""
    while True:
        try:
            line = ask().strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            typer.echo(err=True)
            continue
        if not line:
            return
        yield line


def _prompt(screen: Screen) -> Callable[[], str]:
    """How to get a line: with editing and history from a person, as it is from a pipe."""
    if not sys.stdin.isatty():
        return _from_pipe
    with suppress(ImportError):
        import readline  # noqa: F401  # input() then has editing and history
    if screen.json or not sys.stdout.isatty():  # a prompt is no answer
        return _prompt_on_stderr
    return lambda: input("? ")


def _prompt_on_stderr() -> str:
    typer.echo("? ", nl=False, err=True)
    return _from_pipe()


def _from_pipe() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
