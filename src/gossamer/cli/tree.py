"""`gossamer tree`: the concepts of an index as lines in the terminal, as an HTML page, as JSON or DOT."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    "gossamer tree notes.gsm --format dot --out notes.dot",
)

_DEPTH = {"page": None, "export": 3, "terminal": 2}
"""Levels shown by default; None for all."""
_MOST = {"page": 10_000, "export": 2_000, "terminal": 20_000}
"""Largest number of concepts shown by default."""


class FormatName(StrEnum):
    """What --format takes."""

    json = "json"
    dot = "dot"


@command
def tree(
    index: IndexPath,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Levels to show: by default 2, of --format 3, in a page all.")
    ] = None,
    concept: Annotated[
        int | None, typer.Option("--concept", "--within", metavar="ID", help="Begin at this concept, not at the root.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Concepts to show below each, the largest first.")] = 12,
    examples: Annotated[int, typer.Option(min=0, help="Typical documents to show at the lowest level.")] = 0,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="Show where the answers to this lie.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers to --query.")] = 10,
    topics: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The best cut into N groups, whatever their depth.")
    ] = None,
    most: Annotated[int | None, typer.Option(min=1, help="Concepts to show, at most, the largest.")] = None,
    format: Annotated[FormatName | None, typer.Option(help="Write the tree for another program.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where --format goes; else to standard output.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page to explore in a browser; it needs no network.")
    ] = None,
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the concepts an index has formed, from the root down.

    Each has its number of passages (documents, where texts are short), its id for --concept, and its name.
    """
    screen = Screen(json=json, quiet=quiet)
    if out is not None and format is None:
        raise typer.BadParameter("say in which --format: json or dot", param_hint="--out")
    if screen.json and format is not None and out is None:
        raise typer.BadParameter("--json and --format both want standard output: give --out", param_hint="--format")
    with opened(index, screen, encoder=encoder) as ix:
        job = _Job(ix, screen, concept, depth, most, query)
        job.find(k, topics)
        if format is not None:
            _write_export(job, format.value, out)
        if html is not None:
            _write_page(job, html, index.stem)
        if format is None and html is None:
            _show(job, top, examples)
        elif screen.json:
            screen.emit({"written": [str(path) for path in (out, html) if path is not None]})


@dataclass
class _Job:
    """The index, the part of the tree that was asked for, and the answers and topics in it."""

    ix: Index
    screen: Screen
    concept: int | None
    depth: int | None
    most: int | None
    query: str | None
    hits: list[Hit] = field(default_factory=list)
    topics: Topics | None = None

    def find(self, k: int, topics: int | None) -> None:
        """Search and cut the tree, as far as that was asked for."""
        if self.query is not None:
            prepare_encoder(self.ix.info().encoder, self.screen)
            with self.screen.working("searching"):
                self.hits = self.ix.search(self.query, k, within=self.concept)
        if topics is not None:
            with self.screen.working("cutting the tree"):
                self.topics = self.ix.topics(topics)

    def branch(self, purpose: Literal["page", "export", "terminal"]) -> Branch | None:
        """The part of the tree to show, with the answers marked; None if the index is empty."""
        from gossamer.pictures.branch import branch_of_topics, mark, read_branch

        if self.topics is not None:
            branch = branch_of_topics(self.ix, self.topics, concept=self.concept)
        else:
            with self.screen.bar("reading the tree", "concepts") as bar:
                branch = read_branch(
                    self.ix,
                    concept=self.concept,
                    depth=_DEPTH[purpose] if self.depth is None else self.depth,
                    most=self.most or _MOST[purpose],
                    progress=lambda shown, most: bar(shown, None),  # how many there are is not known
                )
        if branch is None or self.query is None:
            return branch
        return mark(branch, self.hits, None if self.topics is None else self.topics.assignments)


def _show(job: _Job, top: int, examples: int) -> None:
    branch, screen = job.branch("terminal"), job.screen
    if screen.json:
        screen.emit(_as_json(job, branch, examples))
    elif branch is None:
        screen.show("the index is empty")
    else:
        from gossamer.pictures.terminal import to_tree

        screen.show(to_tree(branch, top=max(top, len(job.topics.concepts) if job.topics else 0), examples=examples))


def _as_json(job: _Job, branch: Branch | None, examples: int) -> dict[str, Any]:
    shown = list(branch.walk()) if branch is not None else []
    found: dict[str, Any] = {"concepts": [asdict(each.concept) for each in shown]}
    if examples:
        lowest = [each.concept for each in shown if not each.below]
        found["examples"] = {str(each.id): [asdict(one) for one in each.exemplars[:examples]] for each in lowest}
    if job.query is not None:
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
        _write(job.screen, out, text, branch)


def _write_page(job: _Job, path: Path, title: str) -> None:
    from gossamer.pictures.page import to_html

    branch = job.branch("page")
    if branch is None:
        raise DiskError(f"the index is empty, so there is nothing to draw in {path}: add documents first")
    concepts = sum(1 for each in branch.walk() if each.concept.children)
    info = job.ix.info()
    split = info.passages != info.documents
    about = f"{branch.concept.size:,} {'passages' if split else 'documents'} in {concepts:,} concepts"
    if split:
        about += f"; long texts are split, the index holds {info.documents:,} documents"
    page = to_html(branch, title=title, subtitle=about, query=job.query, passages=split)
    _write(job.screen, path, page, branch)


def _write(screen: Screen, path: Path, text: str, branch: Branch | None) -> None:
    """Write a file, and report its size and how much of the tree it shows."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DiskError(f"{path} cannot be written ({error.strerror}): choose another place") from error
    if screen.json:
        return
    shown = [] if branch is None else list(branch.walk())
    closed = sum(1 for each in shown if each.hidden)
    rest = f" ({closed:,} of them with more below)" if closed else ""
    count = f"{len(shown):,} concept{'' if len(shown) == 1 else 's'}"
    screen.say(f"{path}: {count}{rest}, {path.stat().st_size / 1e6:.1f} MB")
