"""`gossamer search`: find the documents that fit a query."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, complain, examples
from gossamer.cli.formatting import excerpt, highlighted, path_shown
from gossamer.cli.opening import is_index, opened, prepare_encoder
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
from gossamer.errors import GossamerError, NotAnIndexError, UnknownFieldWarning
from gossamer.plain_text import one_line

if TYPE_CHECKING:
    from rich.text import Text

    from gossamer.index import Index
    from gossamer.results import Hit, Hits

EXAMPLES = examples(
    'gossamer search notes.gsm "how do plants make sugar"',
    'gossamer search notes.gsm "how do plants make sugar" --explain --min-confidence 0.05',
    'gossamer search news.gsm "floods" -k 5 --where \'{"year": {"$gte": 2020}}\' --json',
    'gossamer search news.gsm "floods" --group-by source --recent date:30d',
    "gossamer search notes.gsm --interactive",
)

_LINES = 4
"""Lines shown of a text, unless --full."""

_INDENT = "    "

_FIELDS = ("id", "score", "dense", "lexical", "boost", "text", "metadata", "passage", "start", "matches")
"""Fields of a hit that are printed as they are with --json."""


class Method(StrEnum):
    """How documents are ranked."""

    GUIDED = "guided"
    PATH_SUM = "path-sum"
    BEST_FIRST = "best-first"


@command
def search(
    context: typer.Context,
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
    diversity: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Prefer answers that differ from those before them (try 0.2).")
    ] = 0.0,
    group_by: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The best document of each value of a metadata field.")
    ] = None,
    recent: Annotated[
        str | None,
        typer.Option(metavar="FIELD:TIME", help="Prefer recent dates in a field; half as much after TIME: date:30d."),
    ] = None,
    method: Annotated[
        Method, typer.Option(help="How documents are ranked: guided, or by the tree alone as in the paper.")
    ] = Method.GUIDED,
    text: Annotated[
        bool, typer.Option("--text/--no-text", help="With --json: the whole text of each, or its passage alone.")
    ] = True,
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
    if context.args:
        words = " ".join([query or "", *context.args])
        raise typer.BadParameter(f"put a query of several words in quotes: {shlex.quote(words)}", param_hint="QUERY")
    if not (query or "").strip() and not interactive:
        first = "" if index.exists() else f"{str(index)!r} is no index, which comes first; then "
        raise typer.BadParameter(f"{first}say what to look for, or use --interactive", param_hint="QUERY")
    if query and not is_index(index) and is_index(Path(query)):
        raise NotAnIndexError(
            f"{index} is no index, but {query} is one, and the index comes first: "
            f"gossamer search {shlex.quote(query)} {shlex.quote(str(index))}"
        )
    screen = Screen(json=json, quiet=quiet)
    options = {
        "k": k, "where": parse_where(where), "within": within, "hybrid": hybrid_weight(hybrid, weight),
        "explain": explain, "min_confidence": min_confidence, "diversity": diversity, "group_by": group_by,
        "boost": _boost(recent), "method": method.value,
    }  # fmt: skip
    with opened(index, screen, encoder=encoder) as ix:
        prepare_encoder(ix.info().encoder, screen)
        answer = partial(_answer, ix, screen, options, full=full, text=text)
        if query is not None:
            answer(query)
        if interactive:
            _interactive(answer, screen)


def _boost(recent: str | None) -> dict[str, str] | None:
    """--recent as the argument `boost` of `Index.search`."""
    if recent is None:
        return None
    field, colon, half_life = recent.rpartition(":")
    if not colon:
        raise typer.BadParameter("a field and a time are needed, as in date:30d", param_hint="--recent")
    return {"field": field, "half_life": half_life}


def _answer(ix: Index, screen: Screen, options: dict[str, Any], query: str, *, full: bool, text: bool) -> None:
    start = time.perf_counter()
    with screen.working("searching"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownFieldWarning)  # it is in `hits.warnings`
        hits = ix.search(query, **options)
    seconds = time.perf_counter() - start
    for message in hits.warnings:
        screen.err.print(f"warning: {message}", soft_wrap=True)
    if screen.json:
        screen.emit(as_json(query, hits, seconds, text=text))
    elif not hits:
        screen.show(_why_nothing(ix, query, options["min_confidence"]))
    else:
        show_hits(screen, hits, full=full)


def _why_nothing(ix: Index, query: str, min_confidence: float) -> str:
    """The reason why there are no answers."""
    if not len(ix):
        return "the index is empty"
    if min_confidence > 0.0:
        novelty = ix.novelty(query)
        if novelty.confidence < min_confidence:
            return f"no answer with this confidence ({one_line(novelty.verdict)})"
    return "nothing found"


def as_json(query: str, hits: Hits, seconds: float, *, text: bool = True) -> dict[str, Any]:
    """The answer to a query as JSON values; without `text`, hits have their passage alone."""
    shown = [name for name in _FIELDS if text or name != "text"]
    return {
        "query": query,
        "seconds": round(seconds, 4),
        "warnings": list(hits.warnings),
        "hits": [
            {
                "rank": rank,
                **{name: getattr(hit, name) for name in shown},
                "path": concept_path(hit.path),
                **({} if hit.explanation is None else {"explanation": hit.explanation.to_dict()}),
            }
            for rank, hit in enumerate(hits, 1)
        ],
    }


def show_hits(screen: Screen, hits: list[Hit], *, full: bool = False) -> None:
    """Print hits: rank, id and score, the path of concepts, and the text with the matching words marked."""
    from rich.text import Text

    width = screen.out.width - len(_INDENT)
    for rank, hit in enumerate(hits, 1):
        screen.show(
            Text.assemble((f"{rank:>2}. ", "bold"), (one_line(hit.id), "bold cyan"), (f"  {hit.score:.3f}", "dim")),
            *_indented(screen, path_shown(hit.path, 2 * width - 8), 2),
            *_indented(screen, _text(hit, width, full=full), None if full else _LINES),
            *_indented(screen, _explanation(hit), None),
        )


def _explanation(hit: Hit) -> Text:
    """The explanation in sentences; empty if none was asked for."""
    from rich.text import Text

    sentences = [] if hit.explanation is None else hit.explanation.sentences[1:]
    return Text(one_line(" ".join(sentences)), style="italic")


def _indented(screen: Screen, text: Text, most: int | None) -> Iterator[Text]:
    """The text wrapped and indented, at most `most` lines of it."""
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


def _text(hit: Hit, width: int, *, full: bool) -> Text:
    """The text; of a long one an excerpt of the passage, unless `full`."""
    from rich.text import Text

    in_text = [(hit.start + start, hit.start + stop) for start, stop in hit.matches]
    if full:
        return highlighted(hit.text, in_text)
    if len(one_line(hit.text)) <= _LINES * width:
        return excerpt(hit.text, in_text, _LINES * width)
    shown = excerpt(hit.passage, hit.matches, _LINES * width - 2)
    if hit.start and not shown.plain.startswith("…"):
        shown = Text("…") + shown
    ends_early = hit.start + len(hit.passage) < len(hit.text.rstrip())
    return shown + "…" if ends_early and not shown.plain.endswith("…") else shown


def _interactive(answer: Callable[[str], None], screen: Screen) -> None:
    """Answer queries until there are no more. An error is printed, and the next query read."""
    for query in queries(_prompt(screen)):
        try:
            answer(query)
        except GossamerError as error:
            complain(error)
        except KeyboardInterrupt:
            screen.say("")


def queries(ask: Callable[[], str]) -> Iterator[str]:
    """Lines up to an empty one or the end of input; Ctrl-C drops only the line being typed."""
    while True:
        try:
            line = ask().strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            typer.echo("\n(an empty line or Ctrl-D ends this)", err=True)
            continue
        if not line:
            return
        yield line


def _prompt(screen: Screen) -> Callable[[], str]:
    """A function that reads a line: with editing and history from a terminal, plainly from a pipe."""
    if not sys.stdin.isatty():
        return _from_pipe
    with suppress(ImportError):
        import readline  # noqa: F401  # input() then has editing and history
    if screen.json or not sys.stdout.isatty():  # standard output is for answers
        return lambda: _from_pipe("? ")
    return lambda: input("? ")


def _from_pipe(prompt: str = "") -> str:
    typer.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
