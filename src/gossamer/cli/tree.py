"""`gossamer tree`: an index as a tree of concepts, in the terminal, for other programs, as a page, as a figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.opening import opened, prepare_encoder
from gossamer.cli.options import EncoderName, IndexPath, Json, Quiet
from gossamer.cli.screen import Screen
from gossamer.errors import DiskError

if TYPE_CHECKING:
    from gossamer.index import Index
    from gossamer.pictures.branch import Branch
    from gossamer.pictures.exports import Format
    from gossamer.results import Hit, Topics

EXAMPLES = examples(
    "gossamer tree notes.gsm",
    "gossamer tree notes.gsm --concept 42 --depth 1 --examples 3",
    'gossamer tree notes.gsm --query "how do plants make sugar"',
    "gossamer tree notes.gsm --topics 12",
    "gossamer tree notes.gsm --html notes.html",
    "gossamer tree notes.gsm --concept 42 --svg figure.svg",
    "gossamer tree notes.gsm --format dot --out notes.dot",
)

_DEPTH = 3
"""Levels shown unless others are asked for; of a page, all."""
_MOST = {"figure": 45, "page": 10_000, "export": 2_000, "terminal": 20_000}
"""Concepts shown, at most, unless others are asked for."""


class FormatName(StrEnum):
    """What --format takes."""

    json = "json"
    dot = "dot"
    mermaid = "mermaid"
    newick = "newick"
    graphml = "graphml"


@dataclass(frozen=True)
class _Wanted:
    """What of the tree was asked for."""

    concept: int | None
    depth: int | None
    most: int | None
    topics: int | None
    query: str | None
    k: int


@command
def tree(
    index: IndexPath,
    depth: Annotated[int | None, typer.Option(min=0, help="Levels to show; usually 3, in a page all.")] = None,
    concept: Annotated[
        int | None, typer.Option("--concept", "--within", metavar="ID", help="Begin at this concept, not at the root.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Concepts to show below each, the largest first.")] = 8,
    examples: Annotated[int, typer.Option(min=0, help="Typical documents to show at the lowest level.")] = 0,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="Show where the answers to this lie.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers to --query.")] = 10,
    topics: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The best cut into about N groups, whatever their depth.")
    ] = None,
    most: Annotated[int | None, typer.Option(min=1, help="Concepts to show, at most, the largest.")] = None,
    format: Annotated[FormatName | None, typer.Option(help="Write the tree for another program.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where --format goes; else to standard output.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page to explore in a browser; it needs no network.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Draw a figure for print.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw a figure for print, in lines.")] = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the concepts an index has formed, from the root down.

    Each has its number of passages (documents, where texts are short), its id for --concept, and its name.
    """
    screen = Screen(json=json, quiet=quiet)
    pictures = {kind: path for kind, path in (("html", html), ("png", png), ("svg", svg)) if path is not None}
    _check(screen, format, out, pictures)
    wanted = _Wanted(concept, depth, most, topics, query, k)
    with opened(index, screen, encoder=encoder) as ix:
        job = _Job(ix, wanted, screen)
        if format is not None:
            _write_export(job, format.value, out)
        for kind, path in pictures.items():
            _write_picture(job, kind, path, index.stem)
        if format is None and not pictures:
            _show(job, top, examples)
        elif screen.json:
            screen.emit({"written": [str(path) for path in (out, *pictures.values()) if path is not None]})


class _Job:
    """The index with the answers and topics asked for, each found once and only where there is something to show."""

    def __init__(self, ix: Index, wanted: _Wanted, screen: Screen) -> None:
        self.ix, self.wanted, self.screen = ix, wanted, screen
        self.hits: list[Hit] = []
        if wanted.query is not None:
            prepare_encoder(ix.info().encoder, screen)
            with screen.working("searching"):
                self.hits = ix.search(wanted.query, wanted.k, within=wanted.concept)
        self.topics: Topics | None = None
        if wanted.topics is not None:
            with screen.working("cutting the tree"):
                self.topics = ix.topics(wanted.topics)

    def branch(self, purpose: Literal["figure", "page", "export", "terminal"]) -> Branch | None:
        """What is shown."""
        from gossamer.pictures.branch import mark, read_branch

        wanted = self.wanted
        whole = purpose == "page" or wanted.topics is not None
        with self.screen.bar("reading the tree", "concepts") as bar:
            branch = read_branch(
                self.ix,
                concept=wanted.concept,
                depth=wanted.depth if whole or wanted.depth is not None else _DEPTH,
                most=wanted.most or _MOST[purpose],
                stop_at={concept.id for concept in self.topics.concepts} if self.topics else (),
                progress=bar,
            )
        return branch if branch is None or wanted.query is None else mark(branch, self.hits)


def _check(screen: Screen, format: str | None, out: Path | None, pictures: dict[str, Path]) -> None:
    """What contradicts itself or cannot be drawn is told before any work is done."""
    if out is not None and format is None:
        raise typer.BadParameter("say in which --format: json, dot, mermaid, newick or graphml", param_hint="--out")
    if screen.json and format is not None and out is None:
        raise typer.BadParameter("--json and --format both want standard output: give --out", param_hint="--format")
    if "png" in pictures or "svg" in pictures:
        from gossamer.pictures.figure import check_available

        check_available()


def _show(job: _Job, top: int, examples: int) -> None:
    branch, screen = job.branch("terminal"), job.screen
    if screen.json:
        screen.emit(_as_json(job, branch, examples))
    elif branch is None:
        screen.show("the index is empty")
    else:
        from gossamer.pictures.terminal import to_tree

        screen.show(to_tree(branch, top=max(top, job.wanted.topics or 0), examples=examples))


def _as_json(job: _Job, branch: Branch | None, examples: int) -> dict[str, Any]:
    shown = list(branch.walk()) if branch is not None else []
    found: dict[str, Any] = {"concepts": [asdict(each.concept) for each in shown]}
    if examples:
        lowest = [each.concept for each in shown if not each.below]
        found["examples"] = {str(each.id): [asdict(one) for one in each.exemplars[:examples]] for each in lowest}
    if job.wanted.query is not None:
        found["answers"] = [
            {"rank": rank, "id": hit.id, "score": hit.score, "path": [step.id for step in hit.path]}
            for rank, hit in enumerate(job.hits, 1)
        ]
    if job.topics is not None:
        found["topics"] = [concept.id for concept in job.topics.concepts]
        found["assignments"] = job.topics.assignments
        found["utility"] = job.topics.utility
    return found


def _write_export(job: _Job, format: Format, out: Path | None) -> None:
    from gossamer.pictures.exports import export

    branch = job.branch("export")
    text = "" if branch is None else export(branch, format)
    if out is None:
        typer.echo(text, nl=False)
    else:
        _write(out, text.encode())
        _tell(job.screen, out, branch)


def _write_picture(job: _Job, kind: str, path: Path, title: str) -> None:
    from gossamer.pictures.figure import to_figure
    from gossamer.pictures.page import to_html

    branch = job.branch("page" if kind == "html" else "figure")
    if branch is None:
        raise DiskError(f"the index is empty, so there is nothing to draw in {path}: add documents first")
    if kind == "html":
        about = f"{branch.concept.size:,} passages in {len(branch):,} concepts"
        data = to_html(branch, title=title, subtitle=about, query=job.wanted.query).encode()
    else:
        with job.screen.working("drawing"):
            data = to_figure(branch, cast("Literal['png', 'svg']", kind))
    _write(path, data)
    _tell(job.screen, path, branch)


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise DiskError(f"{path} cannot be written ({error.strerror}): choose another place") from error


def _tell(screen: Screen, path: Path, branch: Branch | None) -> None:
    if not screen.json:
        screen.say(f"{path}: {_concepts(branch)}, {path.stat().st_size / 1e6:.1f} MB")


def _concepts(branch: Branch | None) -> str:
    count = 0 if branch is None else len(branch)
    hidden: Iterable[int] = () if branch is None else (each.hidden for each in branch.walk())
    more = sum(1 for each in hidden if each)
    rest = f" ({more:,} of them with more below)" if more else ""
    return f"{count:,} concept{'' if count == 1 else 's'}{rest}"
